# SPDX-License-Identifier: Apache-2.0
"""Treatments of a trainer's steps, such as alone or with Lull, and how they take turns."""

import contextlib
import statistics
import time
from typing import Callable, NamedTuple

from lab import NotRun, lull
from lab.numbers import slowdown

QUARTETS = 3  # of groups of steps, with and without, at a time
WARM_UP = 2  # groups, each after one without bubbles: a trainer's pauses are known, too


def no_bubble(_=None):
    return contextlib.nullcontext()


class Treatment(NamedTuple):
    """`bubble`: makes the bubble of a site; `around`: a context for the whole group of steps."""

    name: str
    bubble: Callable = no_bubble
    around: Callable = no_bubble


ALONE = Treatment("alone")


def with_lull(around=no_bubble):
    return Treatment("lull", lull.bubble, around)


def abba(one, other, times=1):
    return (one, other, other, one) * times


def alternate(run, order, seconds=0, all_over=bool):
    """Treatments by turns, `order` again and again until the seconds are over: {treatment: [result, …]}. `run`: does an
    order, and gives a result for each; `all_over`: what all who take part say of the time."""
    found, until = {treatment: [] for treatment in order}, time.monotonic() + seconds
    while True:
        for treatment, result in zip(order, run(order), strict=True):
            found[treatment].append(result)
        if all_over(time.monotonic() >= until):
            return found


def in_turns(trainer, treatment, seconds=0):
    """Milliseconds a step of groups alone and of groups with a treatment, in pairs."""
    found = alternate(trainer.groups, abba(ALONE, treatment, QUARTETS), seconds)
    return found[ALONE], found[treatment]


def warm_up(trainer, treatment):
    trainer.groups([treatment, ALONE] * WARM_UP)


def compared(plain, other):
    """Of steps' times in pairs."""
    steps = {"step_ms_none": statistics.geometric_mean(plain), "step_ms_worker": statistics.geometric_mean(other)}
    return {**slowdown(plain, other), "pairs": len(plain), **steps}


def over_scopes(scopes):
    """Over scopes: the interval is of their mean; `worst` is the slowest of them with its own. One scope says nothing:
    whether a worker that waits on the device slows the trainer differs from scope to scope."""
    row = slowdown([one["step_ms_none"] for one in scopes], [one["step_ms_worker"] for one in scopes])
    worst = max(scopes, key=lambda one: one["slowdown_percent"])
    row |= {f"worst_{key}": worst[key] for key in worst if key.startswith("slowdown_percent")}
    row["step_ms_none"] = statistics.fmean(one["step_ms_none"] for one in scopes)
    harvests = [one["harvest"] for one in scopes if "harvest" in one]
    if len(harvests) == len(scopes):
        row |= {"harvest": statistics.fmean(harvests), "least_harvest": min(harvests)}
    if all("lease_exits" in one for one in scopes):  # 0 would say that somebody counted
        row["lease_exits"] = sum(one["lease_exits"] for one in scopes)
    return row | {"scopes": scopes}


@contextlib.contextmanager
def harvest(tasks=(), **options):
    """A scope of Lull's, which must be on."""
    with lull.harvest(tasks=list(tasks), **options) as side:
        if side.mode != "on":
            raise NotRun(f"Lull is {side.mode}: {side.why_off}")
        yield side
