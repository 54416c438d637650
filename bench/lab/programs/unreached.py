# SPDX-License-Identifier: Apache-2.0
"""What a bound on slowdown costs side work that never reaches it: the stage of the program `stage` trains without a
bound, with one, and without again.

`kept`: items a step under the bound, of those in the mean of the two scopes without; `kept_behind`: without the first
192 steps of the bound. `--supposed 0.005`: the bound begins with that slowdown."""

import statistics

from lab import lull, torch
from lab.options import at_least, share
from lab.programs.governed import DRAW_SEED, WARM_UP, marked
from lab.reports import refuse_if_ended, report_of, work_of
from lab.trainer import GROUP, Size, Stage
from lab.treatment import harvest
from lab.work import jobs_of

LIMIT_S = 300
GROUPS_A_CALL = 24  # the host may be so far ahead of the device
LEARNING, FREE = 48, 96  # steps of a scope without a bound


def items_a_step(trainer, side, bubble, steps):
    treatment = marked("bounded", bubble, side.step)

    def items():
        torch.cuda.synchronize()
        return work_of(report_of(side), "items")["items"]

    before = items()
    for _ in range(steps // (GROUP * GROUPS_A_CALL)):
        trainer.groups([treatment] * GROUPS_A_CALL)
        side.skip_step()  # the pause after it is this program's
    return (items() - before) / steps


def measure(
    build,
    task="mlp",
    bound: share = 0.02,
    supposed: share = None,
    steps: at_least(2 * WARM_UP, multiple=GROUP * GROUPS_A_CALL) = 960,
    size=Size(),
):
    trainer = Stage(build, size)

    def scope(parts, bound=0):
        """Items a step of each part, of so many steps; and what the bound told."""
        with harvest(jobs_of(task), max_slowdown=bound, tuning=lull.Tuning(draw_seed=DRAW_SEED)) as side:
            if supposed is not None:
                side.assume_slowdown(task.partition(":")[0], supposed)
            found = [items_a_step(trainer, side, lull.bubble, each) for each in parts], side.steps()
            refuse_if_ended(side)
            return found

    free = [scope([LEARNING, FREE])[0][1]]
    (begins, rest), told = scope([WARM_UP, steps - WARM_UP], bound)
    free.append(scope([LEARNING, FREE])[0][1])
    of_all = (begins * WARM_UP + rest * (steps - WARM_UP)) / steps
    row = {
        "task": task,
        "bound_percent": 100 * bound,
        "supposed_percent": None if supposed is None else 100 * supposed,
        "steps": steps,
        "items_free": free,
        "items_behind": rest,
        "kept": of_all / statistics.fmean(free),
        "kept_behind": rest / statistics.fmean(free),
        "told": told,
    }
    return {"rows": [row]}
