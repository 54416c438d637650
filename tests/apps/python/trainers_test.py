# SPDX-License-Identifier: Apache-2.0
"""trainers_test.py SCHEDULE [DTYPE]: Megatron core or DeepSpeed without a GPU: two stages of a GPT over gloo. Works on
CPU tensors are taken for CUDA ones. Losses and weights are bit-equal with nothing, observed and harvested; each
exchange of each micro-batch is one bubble with its name, and without names it is one bubble, too. Exit code 77: the
trainer is not installed."""

import collections
import contextlib
import importlib
import io
import os
import pathlib
import sys

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parents[3] / folder) for folder in ("bench", "apps/python")]

import gloo_ranks  # noqa: E402
import lull  # noqa: E402
from lab.pipelines import schedules  # noqa: E402
from lab.pipelines import trainers  # noqa: E402

SKIPPED = 77
STEPS = 3
LIMIT_S = 400
MICROBATCHES = 6
SMALL = {"width": 32, "layers": 4, "rows": 8, "microbatches": MICROBATCHES}
TASKS = ["compute:items=65536"]


def expected(schedule, rank):
    """The sites of a step: how many micro-batches are received and sent in each direction, and in how many tensors."""
    if schedule == "megatron_interleaved":  # a rank has two stages, and of four in a row two are at an end
        pieces = (
            ("send_forward", 2 - rank),
            ("recv_backward", 2 - rank),
            ("recv_forward", 1 + rank),
            ("send_backward", 1 + rank),
        )
    else:
        pieces = (
            (("send_forward", 1), ("recv_backward", 1)) if rank == 0 else (("recv_forward", 1), ("send_backward", 1))
        )
    sites = [f"{name} {number}" for name, times in pieces for number in range(times * MICROBATCHES)]
    if schedule == "megatron_interleaved" and rank == 0:
        sites.remove(f"send_forward {2 * MICROBATCHES - 1}")  # Megatron 0.16 never waits for it
    if schedule == "deepspeed":
        sites += [f"{site} #1" for site in sites if "_forward" in site]
    return collections.Counter(sites)


def fake_cuda(torch):
    """What Megatron asks of CUDA beside streams: its tensors are on the CPU, and no random number is drawn."""

    class OnCpu(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, function, types, args=(), kwargs=None):
            kwargs = dict(kwargs or {})
            if str(kwargs.get("device")).startswith("cuda"):
                kwargs["device"] = "cpu"
            return function(*args, **kwargs)

    OnCpu().__enter__()
    torch.cuda.current_device = lambda: torch.device("cpu")
    torch.cuda.synchronize = lambda *_: None
    torch.cuda.get_rng_state = lambda *_, **__: torch.get_rng_state()
    drawn = importlib.import_module("megatron.core.tensor_parallel.random")
    drawn._get_cuda_rng_state = torch.cuda.get_rng_state
    drawn._set_cuda_rng_state = lambda *_, **__: None


def untouched(schedule):
    """What the trainer's classes have, by identity."""
    if schedule == "deepspeed":
        owner = importlib.import_module("deepspeed.runtime.pipe.engine").PipelineEngine
        return [(name, id(value)) for name, value in [*vars(owner).items(), *owner._INSTRUCTION_MAP.items()]]
    owner = importlib.import_module("megatron.core.pipeline_parallel.p2p_communication").P2PCommunicator
    return [(name, id(value)) for name, value in vars(owner).items()]


def rank_main(schedule, dtype):
    import torch
    import torch.distributed as dist

    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    stream, sites = gloo_ranks.take_for_cuda(torch)
    if schedule != "deepspeed":
        fake_cuda(torch)
    failed = []

    def train(scope, named):
        sites.clear()
        pipeline = trainers.make(schedule, torch.device("cpu"), **SMALL, dtype=dtype, named=named)
        before = untouched(schedule)
        run = schedules.trained(pipeline, scope, STEPS)
        assert untouched(schedule) == before and not (schedule == "deepspeed" and pipeline.changed), "not restored"
        return run

    plain = train(schedules.without_lull(), named=False)
    train(schedules.without_lull(), named=True)
    assert not sites
    wanted = expected(schedule, rank)
    for name, named, scope in (
        ("observe", True, lull.observe(executor="threads")),
        ("harvest", True, lull.harvest(TASKS, executor="threads")),
        ("observe, not named", False, lull.observe(executor="threads")),
    ):
        with contextlib.redirect_stderr(io.StringIO()):  # the report
            run = train(scope, named)
        problems = list(gloo_ranks.problems_of(torch, run, plain, sites))
        found = collections.Counter(sites)
        if named and found != collections.Counter({site: STEPS * count for site, count in wanted.items()}):
            problems.append(f"not the sites of {STEPS} steps: {sorted(found.items())}")
        if not named and (
            len(sites) != STEPS * wanted.total() or any("from" not in s and "to" not in s for s in found)
        ):
            problems.append(f"not as many sites of peers as {STEPS} steps have: {sorted(found.items())}")
        print(
            f"rank {rank} {schedule} {name}: {'; '.join(problems) or f'as without, {len(sites)} bubbles'}\n",
            end="",
            flush=True,
        )
        failed += problems
    stream.synchronize()
    dist.barrier()
    dist.destroy_process_group()
    sys.exit(1 if failed else 0)


def main():
    schedule, dtype = sys.argv[1], (sys.argv[2:] or ["float32"])[0]
    os.environ.setdefault("DS_ACCELERATOR", "cpu")
    try:
        importlib.import_module("deepspeed" if schedule == "deepspeed" else "megatron.core")
    except ImportError as why:
        print(f"not run: {why}")
        sys.exit(SKIPPED)
    if "RANK" in os.environ:
        rank_main(schedule, dtype)
    sys.exit(schedules.launch([__file__, schedule, dtype], limit=LIMIT_S))


if __name__ == "__main__":
    main()
