# SPDX-License-Identifier: Apache-2.0
"""What it costs a step that a bubble report is asked for: free memory, clocks and power are looked at then.

The stage of the program `stage` trains in scopes with a report and without, by turns; all harvest the same task. The
slowdown is the mean of the pairs' log ratios with its 95 % interval."""

import pathlib
import statistics
import tempfile

from lab.numbers import slowdown
from lab.options import at_least, count, one_of
from lab.reports import report_of
from lab.trainer import Size, Stage
from lab.treatment import abba, alternate, harvest, with_lull
from lab.work import TASKS

LIMIT_S = 300
WARM_UP = 4  # groups


def measure(
    build, task: one_of(TASKS) = "compute", pairs: at_least(2, multiple=2) = 8, groups: count = 14, size=Size()
):
    """`pairs`: of scopes; `groups`: of steps, of a scope."""
    trainer = Stage(build, size)
    with tempfile.TemporaryDirectory() as folder:

        def scope(is_told):
            with harvest([TASKS[task]], report=pathlib.Path(folder) / "bubbles.json" if is_told else None) as side:
                times = trainer.groups([with_lull()] * (WARM_UP + groups))[WARM_UP:]
                return statistics.fmean(times), report_of(side)["gpu"]

        found = alternate(lambda order: map(scope, order), abba(False, True, pairs // 2))
    plain, reported = ([ms for ms, _ in found[kind]] for kind in (False, True))
    times = {"step_ms_plain": plain, "step_ms_reported": reported, "gpu": [gpu for _, gpu in found[True]]}
    return {"rows": [{"task": task, **slowdown(plain, reported), "pairs": len(plain), **times}]}
