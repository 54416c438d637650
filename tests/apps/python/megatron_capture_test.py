# SPDX-License-Identifier: Apache-2.0
"""megatron_capture_test.py: two GPUs, Megatron core trains a GPT in two stages and captures its step by
`full_iteration` while a harvest is open, so that waits inside are bubbles of the graph. Losses and weights are
bit-equal with Lull and without, and the counts say what was captured and replayed. Exit code 77: it could not be run
here."""

import importlib
import os
import sys

import lull
from torch_capture_test import TASK, WRONG, wait_until
from torch_two_gpus_test import run_on_ranks, schedules, why_not

from lab.pipelines import trainers

GPUS = 2
REPLAYS = 8
STEPS = trainers.WARM_UP - 1 + REPLAYS  # one step comes before the scope
MICROBATCHES = 4
SMALL = {"width": 1024, "layers": 4, "rows": 256, "microbatches": MICROBATCHES, "captured": True}


def trained(torch, device, scope):
    """Losses, weights and problems of a training in that scope, which opens before the capture."""
    pipeline = trainers.make("megatron", device, **SMALL)
    losses, problems = pipeline.step(), []
    with scope as side:
        assert side is None or wait_until(side.ready), "no job stood ready"
        for _ in range(STEPS):
            losses += pipeline.step()
        torch.cuda.synchronize()
        if side is not None:
            problems = problems_of(side)
    return [each.cpu() for each in losses + [weight.detach() for weight in pipeline.parameters]], problems


def problems_of(side):
    """A step's exchanges are batches of two or alone: at least one bubble for each micro-batch."""
    captured = side.counts()["captured"]
    seen = wait_until(lambda: side.counts()["replayed"] >= REPLAYS * captured)
    counts = side.counts()
    found = [f"{name} is {counts[name]}" for name in WRONG if counts[name]]
    found += [f"the mode is {side.mode}"] if side.mode != "on" else []
    found += ["no worker was launched"] if counts["launches"] == 0 else []
    if captured < MICROBATCHES or not seen:
        found.append(f"{captured} bubbles were captured, and {counts['replayed']} replayed in {REPLAYS} steps")
    return found


def rank_main():
    import torch
    import torch.distributed as dist

    rank = int(os.environ["RANK"])
    device = torch.device("cuda", rank)
    torch.cuda.set_device(device)
    torch.use_deterministic_algorithms(True)
    dist.init_process_group("nccl", device_id=device)
    plain, _ = trained(torch, device, schedules.without_lull())
    lulled, problems = trained(torch, device, lull.harvest(TASK, executor="cuda"))
    if not all(bool(each.isfinite().all()) for each in plain):
        problems.append("what is compared is not finite")
    if not all(map(torch.equal, plain, lulled)):
        problems.append("losses or weights are others than without Lull")
    print(f"rank {rank}: {'; '.join(problems) or 'as it should be'}", flush=True)
    trainers.forget_captured()  # else NCCL does not end
    dist.barrier()
    dist.destroy_process_group()
    sys.exit(1 if problems else 0)


def why_not_here():
    try:
        importlib.import_module("megatron.core")
    except ImportError as why:
        return str(why)
    return why_not(dry=False)


if __name__ == "__main__":
    run_on_ranks(rank_main, why_not_here())
