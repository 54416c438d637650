#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a bound on slowdown costs side work that never reaches it: the stage of measure_stage.py trains without a bound,
with one, and without again.

    LULL_LIBRARY=build/gpu/apps/c/liblull.so PYTHONPATH=apps/python python3 scripts/measure_unreached.py \\
        --wait build/gpu/bin/bench/libstage_wait.so --task mlp --bound 0.02

`kept`: items a step under the bound, of those in the mean of the two scopes without; `kept_behind`: without the first
192 steps of the bound. `--supposed 0.005`: the bound begins with that slowdown. One JSON object on standard
output."""

import argparse
import json
import statistics
import sys

import measure_stage
from measure_governed import FIRST, TRAINER, WARM_UP
from stage_trainer import GROUP, add_size, on_gpu

GROUPS_A_CALL = 24  # the host may be so far ahead of the device
LEARNING, FREE = 48, 96  # steps of a scope without a bound


def items_a_step(torch, trainer, side, bubble, steps):
    def marked(name):
        if name == FIRST:
            side.step()
        return bubble(name)

    def items():
        torch.cuda.synchronize()
        return measure_stage.harvested(measure_stage.report_of(side), 0, None)["items"]

    before = items()
    for _ in range(steps // (GROUP * GROUPS_A_CALL)):
        trainer.groups([marked] * GROUPS_A_CALL)
        side.skip_step()  # the pause behind it is this program's
    return (items() - before) / steps


def scope(torch, lull, trainer, given, parts, bound=0):
    """Items a step of each part, of so many steps; and what the bound told."""
    with lull.harvest(measure_stage.jobs_of(given.task), max_slowdown=bound, trainer=TRAINER) as side:
        if side.mode != "on":
            sys.exit(f"measure_unreached.py: NOT RUN: Lull is {side.mode}: {side.why_off}")
        if given.supposed is not None:
            side.suppose(given.task.partition(":")[0], given.supposed)
        found = [items_a_step(torch, trainer, side, lull.bubble, steps) for steps in parts], side.steps()
        measure_stage.refuse_if_ended(side)
        return found


def measure(torch, lull, trainer, given):
    free = [scope(torch, lull, trainer, given, [LEARNING, FREE])[0][1]]
    (begins, behind), told = scope(torch, lull, trainer, given, [WARM_UP, given.steps - WARM_UP], given.bound)
    free.append(scope(torch, lull, trainer, given, [LEARNING, FREE])[0][1])
    of_all = (begins * WARM_UP + behind * (given.steps - WARM_UP)) / given.steps
    return {
        "task": given.task,
        "bound_percent": 100 * given.bound,
        "supposed_percent": None if given.supposed is None else 100 * given.supposed,
        "steps": given.steps,
        "items_free": free,
        "items_behind": behind,
        "kept": of_all / statistics.fmean(free),
        "kept_behind": behind / statistics.fmean(free),
        "told": told,
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--wait", required=True, help="libstage_wait.so, which the build makes")
    parser.add_argument("--task", default="mlp")
    parser.add_argument("--bound", type=float, default=0.02, help="a share of a step")
    parser.add_argument("--supposed", type=float, help="a share of a step")
    parser.add_argument("--steps", type=int, default=960, help="under the bound")
    parser.add_argument("--limit", type=int, default=300, help="seconds after which the process ends")
    add_size(parser)
    given = parser.parse_args()
    if (
        not 0 < given.bound <= 1
        or given.steps < 2 * WARM_UP
        or given.steps % (GROUP * GROUPS_A_CALL)
        or given.limit < 1
    ):
        parser.error(
            f"the bound is above 0 and at most 1, steps a multiple of {GROUP * GROUPS_A_CALL} and at least "
            f"{2 * WARM_UP}, the limit at least 1"
        )
    torch, lull, trainer = on_gpu("measure_unreached.py", given)
    print(json.dumps({"torch": torch.__version__, "rows": [measure(torch, lull, trainer, given)]}), flush=True)


if __name__ == "__main__":
    main()
