# SPDX-License-Identifier: Apache-2.0
"""torch_schedules_test.py [RANKS]: real torch without a GPU: the schedules of torch.distributed.pipelining over gloo,
on 2 ranks or more. Works on CPU tensors are taken for CUDA ones, so that every wait is a bubble of CPU threads. Losses
and weights are bit-equal with nothing, observed and harvested, and sites name neighbours by their global rank. Exit
code 77: there is no torch here.

TORCH_DISTRIBUTED_PIPELINE_PER_EDGE_P2P=1 in the environment makes torch 2.15 or later use a group for each edge."""

import contextlib
import importlib
import inspect
import io
import os
import pathlib
import re
import sys

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parents[3] / folder) for folder in ("bench", "apps/python")]

import gloo_ranks  # noqa: E402
import lull  # noqa: E402
from lab.pipelines import schedules  # noqa: E402

SKIPPED = 77
STEPS = 3
LIMIT_S = 400
SMALL = {"width": 32, "layers": 12, "rows": 8, "microbatches": 6}  # for 2 and for 3 ranks, of two stages each
TASKS = ["compute:items=65536"]


def peers_of(sites):
    return {int(peer) for site in sites for peer in re.findall(r"(?:from|to) (\d+)", site)}


def problems_of(run, plain, sites):
    """What is wrong with one training, whose sites are given."""
    import torch
    import torch.distributed as dist

    yield from gloo_ranks.problems_of(torch, run, plain, sites)
    rank, world = dist.get_rank(), dist.get_world_size()
    strangers = peers_of(sites) - {(rank - 1) % world, (rank + 1) % world}
    if strangers or any("group" in site or "?" in site for site in sites):
        yield f"sites name others than the neighbours: {sorted(set(sites))}"


def rank_main():
    import torch
    import torch.distributed as dist

    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    dist.init_process_group("gloo")
    importlib.import_module("torch.distributed.pipelining")
    rank = dist.get_rank()
    stream, sites = gloo_ranks.take_for_cuda(torch)
    failed = []
    for schedule in schedules.SCHEDULES:

        def train(scope):
            sites.clear()
            return schedules.trained(schedules.Pipeline(schedule, torch.device("cpu"), **SMALL), scope, STEPS)

        plain = train(schedules.without_lull())
        assert not sites
        for name, scope in (
            ("observe", lull.observe(executor="threads")),
            ("harvest", lull.harvest(TASKS, executor="threads")),
        ):
            with contextlib.redirect_stderr(io.StringIO()):  # the report
                run = train(scope)
            problems = list(problems_of(run, plain, sites))
            what = (
                "; ".join(problems)
                or f"as without, {len(sites)} bubbles with {', '.join(map(str, sorted(peers_of(sites))))}"
            )
            print(f"rank {rank} {schedule} {name}: {what}\n", end="", flush=True)
            failed += problems
    stream.synchronize()
    dist.barrier()
    dist.destroy_process_group()
    sys.exit(1 if failed else 0)


def why_not():
    try:
        import torch.distributed as dist
        from torch.distributed.pipelining import PipelineStage
    except ImportError as why:
        return str(why)
    if not (dist.is_available() and dist.is_gloo_available()):
        return "this torch has no gloo"
    if inspect.signature(PipelineStage).parameters["input_args"].default is inspect.Parameter.empty:
        return "the stages of this torch do not find their shapes out: 2.6 or later is needed"
    return ""


def main():
    reason = why_not()
    if reason:
        print(f"not run: {reason}")
        sys.exit(SKIPPED)
    if "RANK" in os.environ:
        rank_main()
    ranks = int(sys.argv[1]) if len(sys.argv) > 1 else 2
    sys.exit(schedules.launch([__file__], count=ranks, limit=LIMIT_S))


if __name__ == "__main__":
    main()
