# SPDX-License-Identifier: Apache-2.0
"""Why a step of the stage of the program `stage` takes longer beside side work: its kernels, by kind and by how long
ago the last bubble was, and the gaps between them, from CUPTI's trace.

A row a task and scope. `--tasks pagerank+product+step:vgg19`: `step:` is before a model whose captured step runs as
side work. Each step launches the same kernels, so each is compared with itself: the median over steps with side work
against the median without. A trace slows the host, not the kernels: step times are the program `stage`'s to tell."""

import contextlib
import math
import os
import statistics

from lab import NotRun, torch
from lab.models import LEARNING_GROUPS
from lab.options import at_least, count, listed
from lab.trainer import GROUP, Size, Stage
from lab.treatment import ALONE, harvest, warm_up, with_lull
from lab.work import STEP, Functor, Step

LIMIT_S = 300
STEPS = 8  # of each kind
BUBBLE_NS = 1_000_000  # a gap that long is a bubble
NEXT_NS = 20_000  # a longer one is no gap between two kernels that were enqueued together
AGES_MS = (0, 1, 5, 20, float("inf"))  # since the last bubble
AHEAD_MS = (0, 0.5, 2, 5, float("inf"))  # before the next one
OURS = ("open_edge", "close_edge", "wait", "resident_kernel", "exchange_kernel")


def traced(trainer, treatment):
    """(steps, kernels): start, end and name of the trainer's kernels."""
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as trace:
        for _ in range(STEPS // GROUP):
            trainer.groups([treatment])
    events = [
        one
        for one in trace.profiler.kineto_results.events()
        if str(one.device_type()) == "DeviceType.CUDA" and one.duration_ns() > 0
    ]
    stream = statistics.mode(one.device_resource_id() for one in events)
    mine = sorted(
        (one.start_ns(), one.start_ns() + one.duration_ns(), one.name())
        for one in events
        if one.device_resource_id() == stream and not any(each in one.name() for each in (*OURS, "Mem"))
    )
    if len(mine) % STEPS:  # the trace has lost some, or steps differ
        raise NotRun(f"{len(mine)} kernels in {STEPS} steps: not the same in each")
    each = len(mine) // STEPS
    return [mine[at : at + each] for at in range(0, len(mine), each)]


def kind(name):
    if any(each in name for each in ("nvjet", "gemm", "cutlass")):
        return "products"
    return "attention" if "sdpa" in name or "flash" in name else "other"


def ages(step):
    """Since the last bubble, for each kernel; the first one's step began after one."""
    found, since = [], step[0][0]
    for before, now in zip([None, *step], step):
        if before is not None and now[0] - before[1] > BUBBLE_NS:
            since = now[0]
        found.append((now[0] - since) / 1e6)
    return found


def times_ahead(step):
    """Until the next bubble, for the gap after each kernel but the last; the last ones' step ends without one."""
    found, until = [], float("inf")
    for now, after in reversed(list(zip(step, step[1:]))):
        if after[0] - now[1] > BUBBLE_NS:
            until = now[1]
        found.append((until - now[1]) / 1e6)
    return found[::-1]


def gaps(steps):
    """After each kernel of a step, the mean over the steps in which the next one followed at once; None: in none."""
    found = []
    for one, now in zip(zip(*steps), list(zip(*steps))[1:]):
        followed = [after[0] - before[1] for before, after in zip(one, now) if after[0] - before[1] < NEXT_NS]
        found.append(statistics.fmean(followed) if followed else None)
    return found


def by_range(edges, change, values):
    """`change` of the places whose value is in each range."""
    ranges = zip(edges, edges[1:])
    return {f"{low} to {high}": change(at for at, v in enumerate(values) if low <= v < high) for low, high in ranges}


def gaps_compared(plain, beside):
    """Microseconds, in the mean over gaps; by how long before the next bubble they are, too."""
    each = zip(gaps(plain), gaps(beside), times_ahead(beside[0]))
    pairs = [(one, other, ahead) for one, other, ahead in each if one is not None and other is not None]
    aheads = [ahead for *_, ahead in pairs]

    def change(places):
        chosen = [pairs[at][:2] for at in places]
        means = [statistics.fmean(each) / 1e3 for each in zip(*chosen)] or [None, None]
        return {"gaps": len(chosen), "without": means[0], "with": means[1]}

    return {
        "all": change(range(len(pairs))),
        "by_ms_before_a_bubble": by_range(AHEAD_MS, change, aheads),
        "behind_the_last": change(at for at, ahead in enumerate(aheads) if math.isinf(ahead)),
    }


def compared(plain, beside):
    def medians(steps):
        return [statistics.median(one[1] - one[0] for one in each) for each in zip(*steps)]

    before, after, kinds = medians(plain), medians(beside), [kind(one[2]) for one in plain[0]]

    def change(places):
        chosen = list(places)
        base = sum(before[at] for at in chosen)
        longer = 100 * (sum(after[at] for at in chosen) / base - 1) if base else 0
        return {"kernels": len(chosen), "ms": base / 1e6, "longer_percent": longer}

    of_kind = {
        name: [at for at, each in enumerate(kinds) if each == name] for name in ("products", "attention", "other")
    }
    return {
        "all": change(range(len(before))),
        "by_kind": {name: change(places) for name, places in of_kind.items()},
        "by_ms_since_a_bubble": by_range(AGES_MS, change, ages(beside[0])),
        "gap_us": gaps_compared(plain, beside),
    }


@contextlib.contextmanager
def beside(trainer, work):
    """A scope in which it runs; gives how many side steps it has done."""
    with harvest(work.tasks) as side:
        work.begin(side)
        if isinstance(work, Step):
            trainer.groups([with_lull()] * LEARNING_GROUPS)
        warm_up(trainer, with_lull())
        yield work.job.rounds if isinstance(work, Step) else lambda: 0


def measure(build, tasks: listed("+") = ("compute",), scopes: count = 6, connections: at_least(0, 32) = 0, size=Size()):
    if connections:
        os.environ["CUDA_DEVICE_MAX_CONNECTIONS"] = str(connections)
    trainer, rows = Stage(build, size), []
    for task in tasks:
        work = Step(task.removeprefix(STEP)) if task.startswith(STEP) else Functor(task)
        for _ in range(scopes):
            with beside(trainer, work) as rounds:
                before, treatment = rounds(), with_lull()
                found = {ALONE: [], treatment: []}
                for each in (ALONE, treatment) * 2:
                    found[each] += traced(trainer, each)
                done = {"side_steps": rounds() - before} if isinstance(work, Step) else {}  # a trace could stop them
            rows.append({"task": task, **compared(found[ALONE], found[treatment]), **done})
    return {"name": "kernels", "connections": connections, "steps": 2 * STEPS, "rows": rows}
