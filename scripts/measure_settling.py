#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How many steps a trainer takes to settle when side work begins or ends: for clocks and power follow slowly, and so a
step behind a change is not like those after it.

    LULL_LIBRARY=build/gpu/apps/c/liblull.so PYTHONPATH=apps/python python3 scripts/measure_settling.py \\
        --wait build/gpu/bin/bench/libstage_wait.so --tasks product+pagerank

The stage of measure_stage.py trains; spells of steps with side work in all bubbles and without any take turns. For each
place in a spell: the mean time of a step, in milliseconds, and the half-width of its 95 % interval over spells. One
JSON object on standard output."""

import json
import statistics
import sys

import measure_stage
from measure_stage import interval
from stage_trainer import HEAD_START_MS, no_bubble, on_gpu

SPELL = 12  # steps
TURNS = 20  # of both spells


def step_times(torch, trainer, kinds):
    """Milliseconds of each step. No pause stands between two."""
    marks = []

    def mark():
        marks.append(torch.cuda.Event(enable_timing=True))
        marks[-1].record()

    trainer.wait(HEAD_START_MS)
    mark()
    for kind in kinds:
        trainer.step(kind)
        mark()
    torch.cuda.synchronize()
    return [begin.elapsed_time(end) for begin, end in zip(marks, marks[1:])]


def by_place(times):
    """`times`: of spells of one kind."""
    found = []
    for place in zip(*times):
        mean, half = interval(list(place))
        found.append({"ms": mean, "ms_low": mean - half, "ms_high": mean + half})
    return found


def settled_after(places):
    """The first place from which on the interval holds the mean of the spell's second half."""
    settled = statistics.fmean(place["ms"] for place in places[len(places) // 2 :])
    off = [at for at, place in enumerate(places) if not place["ms_low"] <= settled <= place["ms_high"]]
    return max((at + 1 for at in off if at < len(places) // 2), default=0)


def measure_task(torch, trainer, bubble):
    """Both kinds of spells by turns; the first of each only warms up."""
    times = step_times(torch, trainer, ([bubble] * SPELL + [no_bubble] * SPELL) * (TURNS + 1))
    spells = [times[at : at + SPELL] for at in range(0, len(times), SPELL)]
    places = {"with": by_place(spells[2::2]), "without": by_place(spells[3::2])}
    return places | {f"settled_after_{name}": settled_after(places[name]) for name in places}


def main():
    given = measure_stage.parse(None)
    torch, lull, trainer = on_gpu("measure_settling.py", given)
    rows = []
    for task in given.tasks:
        with lull.harvest([measure_stage.TASKS.get(task, task)]) as side:
            if side.mode != "on":
                sys.exit(f"measure_settling.py: NOT RUN: Lull is {side.mode}: {side.why_off}")
            measure_stage.warm_up(trainer, lull.bubble)
            rows.append(
                {"task": task, "steps_a_spell": SPELL, "spells": TURNS, **measure_task(torch, trainer, lull.bubble)}
            )
    print(json.dumps({"torch": torch.__version__, "rows": rows}), flush=True)


if __name__ == "__main__":
    main()
