#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tells apart why a step of the stage of measure_stage.py takes longer beside side work: its kernels, by kind and by
how long ago the last bubble was, and the gaps between them, from CUPTI's trace. Same options as measure_stage.py; the
first task and one row a task.

    LULL=on LULL_LIBRARY=build/gpu/apps/c/liblull.so PYTHONPATH=apps/python python3 scripts/stage_kernels.py \\
        --wait build/gpu/bin/bench/libstage_wait.so --connections 8 --tasks pagerank+product+step:vgg19

`step:` is before a model whose captured step runs as side work, as in measure_side_steps.py.

Each step launches the same kernels, so each is compared with itself: the median over steps with side work against
the median without. One JSON object on standard output. A trace slows the host, not the kernels: step times are
measure_stage.py's to tell."""

import contextlib
import json
import math
import os
import signal
import statistics
import sys

import measure_stage
from stage_trainer import GROUP, Trainer, no_bubble

STEPS = 8  # of each kind
BUBBLE_NS = 1_000_000  # a gap that long is a bubble
NEXT_NS = 20_000  # a longer one is no gap between two kernels that were enqueued together
AGES_MS = (1, 5, 20)  # since the last bubble
AHEAD_MS = (0.5, 2, 5)  # before the next one
STEP, SEGMENT_S = "step:", 1e-4
OURS = ("open_edge", "close_edge", "wait", "resident_kernel", "exchange_kernel")


def traced(torch, trainer, bubble):
    """(steps, kernels): start, end and name of the trainer's kernels."""
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as trace:
        for _ in range(STEPS // GROUP):
            trainer.groups([bubble])
    events = [
        one
        for one in trace.profiler.kineto_results.events()
        if str(one.device_type()) == "DeviceType.CUDA" and one.duration_ns() > 0
    ]
    streams = [one.device_resource_id() for one in events]
    stream = statistics.mode(streams)
    mine = sorted(
        (one.start_ns(), one.start_ns() + one.duration_ns(), one.name())
        for one in events
        if one.device_resource_id() == stream
        and not any(each in one.name() for each in OURS)
        and "Mem" not in one.name()
    )
    if len(mine) % STEPS:  # the trace has lost some, or steps differ
        sys.exit(f"stage_kernels.py: {len(mine)} kernels in {STEPS} steps: not the same in each")
    count = len(mine) // STEPS
    return [mine[at : at + count] for at in range(0, len(mine), count)]


def kind(name):
    if any(each in name for each in ("nvjet", "gemm", "cutlass")):
        return "products"
    return "attention" if "sdpa" in name or "flash" in name else "other"


def ages(step):
    """Since the last bubble, for each kernel; the first one's step began behind one."""
    found, since = [], step[0][0]
    for before, now in zip([None, *step], step):
        if before is not None and now[0] - before[1] > BUBBLE_NS:
            since = now[0]
        found.append((now[0] - since) / 1e6)
    return found


def times_ahead(step):
    """Until the next bubble, for the gap behind each kernel but the last; the last ones' step ends without one."""
    found, until = [], float("inf")
    for now, after in reversed(list(zip(step, step[1:]))):
        if after[0] - now[1] > BUBBLE_NS:
            until = now[1]
        found.append((until - now[1]) / 1e6)
    return found[::-1]


def gaps(steps):
    """Behind each kernel of a step, the mean over the steps in which the next one followed at once; None: in none."""
    found = []
    for one, now in zip(zip(*steps), list(zip(*steps))[1:]):
        followed = [after[0] - before[1] for before, after in zip(one, now) if after[0] - before[1] < NEXT_NS]
        found.append(statistics.fmean(followed) if followed else None)
    return found


def gaps_compared(plain, lull):
    """Microseconds, in the mean over gaps; by how long before the next bubble they are, too."""
    pairs = [
        each
        for each in zip(gaps(plain), gaps(lull), times_ahead(lull[0]))
        if each[0] is not None and each[1] is not None
    ]
    edges = (0, *AHEAD_MS, float("inf"))

    def change(holds):
        chosen = [(one, other) for one, other, ahead in pairs if holds(ahead)]
        means = [statistics.fmean(each) / 1e3 for each in zip(*chosen)] if chosen else [None, None]
        return {"gaps": len(chosen), "without": means[0], "with": means[1]}

    by_time = {
        f"{low} to {high}": change(lambda ahead, low=low, high=high: low <= ahead < high)
        for low, high in zip(edges, edges[1:])
    }
    return {
        "all": change(lambda ahead: True),
        "by_ms_before_a_bubble": by_time,
        "behind_the_last": change(math.isinf),
    }


def compared(plain, lull):
    def medians(steps):
        return [statistics.median(one[1] - one[0] for one in each) for each in zip(*steps)]

    before, after = medians(plain), medians(lull)
    names, since = [one[2] for one in plain[0]], ages(lull[0])

    def change(chosen):
        chosen = list(chosen)
        base = sum(before[at] for at in chosen)
        return {
            "kernels": len(chosen),
            "ms": base / 1e6,
            "longer_percent": 100 * (sum(after[at] for at in chosen) / base - 1) if base else 0,
        }

    all_of_them = range(len(before))
    edges = (0, *AGES_MS, float("inf"))
    return {
        "all": change(all_of_them),
        "by_kind": {
            each: change(at for at in all_of_them if kind(names[at]) == each)
            for each in ("products", "attention", "other")
        },
        "by_ms_since_a_bubble": {
            f"{low} to {high}": change(at for at in all_of_them if low <= since[at] < high)
            for low, high in zip(edges, edges[1:])
        },
        "gap_us": gaps_compared(plain, lull),
    }


@contextlib.contextmanager
def harvest(lull, trainer, task, steps):
    """The scope, and how many side steps it has done; `steps`: of the models that were captured before."""
    name = task.removeprefix(STEP)
    of_torch = name != task
    with lull.harvest([] if of_torch else [measure_stage.TASKS.get(task, task)]) as side:
        if side.mode != "on":
            sys.exit(f"stage_kernels.py: NOT RUN: Lull is {side.mode}: {side.why_off}")
        job = None
        if of_torch:
            import side_models

            steps[name] = steps.get(name) or side_models.step_of(name)
            job = side_models.submitted(side, name, *steps[name], SEGMENT_S)
            trainer.groups([lull.bubble] * side_models.LEARNING_GROUPS)
        measure_stage.warm_up(trainer, lull.bubble)
        yield job.rounds if job else None


def main():
    given = measure_stage.parse(None)
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(given.limit)
    if given.connections:
        os.environ["CUDA_DEVICE_MAX_CONNECTIONS"] = str(given.connections)
    import lull
    import torch

    if not torch.cuda.is_available():
        sys.exit("stage_kernels.py: NOT RUN: torch finds no GPU")
    trainer = Trainer(torch, given)
    rows, steps = [], {}
    for task in given.tasks:
        for _ in range(given.scopes):
            with harvest(lull, trainer, task, steps) as rounds:
                before = rounds() if rounds else None
                plain = traced(torch, trainer, no_bubble)
                beside = traced(torch, trainer, lull.bubble)
                plain += traced(torch, trainer, no_bubble)
                beside += traced(torch, trainer, lull.bubble)
                done = {"side_steps": rounds() - before} if rounds else {}  # a trace could stop them
            rows.append({"task": task, **compared(plain, beside), **done})
    print(
        json.dumps(
            {
                "name": "stage_kernels",
                "connections": given.connections,
                "torch": torch.__version__,
                "steps": 2 * STEPS,
                "rows": rows,
            }
        )
    )


if __name__ == "__main__":
    main()
