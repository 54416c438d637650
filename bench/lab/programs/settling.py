# SPDX-License-Identifier: Apache-2.0
"""How many steps a trainer takes to settle when side work begins or ends: for clocks and power follow slowly, and so a
step after a change is not like those after it.

The stage of the program `stage` trains; spells of steps with side work in all bubbles and without any take turns. For
each place in a spell: the mean time of a step, in milliseconds, and its 95 % interval over spells."""

import statistics

from lab.numbers import mean_interval
from lab.options import listed
from lab.trainer import Size, Stage
from lab.treatment import ALONE, harvest, warm_up, with_lull
from lab.work import task_of

LIMIT_S = 300
SPELL = 12  # steps
TURNS = 20  # of both spells


def by_place(times):
    """`times`: of spells of one kind."""
    found = []
    for place in zip(*times):
        mean, half = mean_interval(list(place))
        found.append({"ms": mean, "ms_low": mean - half, "ms_high": mean + half})
    return found


def settled_after(places):
    """The first place from which on the interval holds the mean of the spell's second half."""
    settled = statistics.fmean(place["ms"] for place in places[len(places) // 2 :])
    off = [at for at, place in enumerate(places) if not place["ms_low"] <= settled <= place["ms_high"]]
    return max((at + 1 for at in off if at < len(places) // 2), default=0)


def spells(trainer, treatment):
    """Both kinds of spells by turns; the first of each only warms up."""
    times = trainer.groups(([treatment] * SPELL + [ALONE] * SPELL) * (TURNS + 1), steps=1)
    each = [times[at : at + SPELL] for at in range(0, len(times), SPELL)]
    places = {"with": by_place(each[2::2]), "without": by_place(each[3::2])}
    return places | {f"settled_after_{name}": settled_after(places[name]) for name in places}


def measure(build, tasks: listed("+") = ("compute",), size=Size()):
    trainer, rows = Stage(build, size), []
    for task in tasks:
        with harvest([task_of(task)]):
            warm_up(trainer, with_lull())
            found = spells(trainer, with_lull())
            rows.append({"task": task, "steps_a_spell": SPELL, "spells": TURNS, **found})
    return {"rows": rows}
