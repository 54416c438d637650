# SPDX-License-Identifier: Apache-2.0
"""What side work costs a captured iteration whose longest bubble is as long as --lengths say (microseconds), with
Lull's options as they are, and what it brings.

The iteration is that of stage 0 of 4 in 1F1B, of bf16 products. It is captured once with bubbles and once without;
groups of replays of either take turns, and each replay with bubbles is marked as a step. A scope is one
`with lull.harvest(…)`. `harvest` as in the program `stage`; the first groups, in which sites and cap learn, are left
out of the times: --learning steps."""

import sys

from lab.options import at_least, count, listed
from lab.reports import harvested, harvested_between, refuse_if_ended, report_of, speed_in_long_bubbles
from lab.trainer import ReplayedStage
from lab.treatment import ALONE, compared, harvest, in_turns, over_scopes, with_lull
from lab.work import jobs_of

LIMIT_S = 400


def scope(trainer, task, seconds, learning, reserved_groups):
    with harvest(jobs_of(task), reserved_groups=reserved_groups) as side:
        treatment = with_lull()
        trainer.capture(treatment, side)
        for _ in range(0, learning, trainer.group):
            trainer.groups([treatment])
        before = report_of(side)
        times = in_turns(trainer, treatment, seconds)
        trained, steps, counts = report_of(side), side.steps(), side.counts()
        speed, _ = speed_in_long_bubbles(trainer, side)
        refuse_if_ended(side)
    found = compared(*times) | harvested_between(before, trained)
    found["idle_ms"] = trainer.group * len(times[1]) * trainer.idle_ms
    if speed:
        found["harvest"] = found["items"] / speed / found["idle_ms"]
    return found | {"steps": steps, "counts": counts}


def measure(
    build,
    task="compute",
    lengths: listed(",", float) = (20, 50, 100, 200, 1000, 5000, 20000),
    scopes: count = 6,
    seconds=0.0,
    learning: count = 400,
    reserved_groups: at_least(0) = 0,
):
    rows = []
    for longest_us in lengths:
        trainer = ReplayedStage(build, longest_us / 1e3)
        trainer.capture(ALONE)
        found = [scope(trainer, task, seconds, learning, reserved_groups) for _ in range(scopes)]
        rows.append({"task": task, "longest_us": longest_us, **over_scopes(found)})
        print(f"{longest_us:g} us: {rows[-1]['slowdown_percent']:+.2f} %", file=sys.stderr, flush=True)
    return {"name": "replayed_lengths", "rows": rows}
