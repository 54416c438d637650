#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Whether a bound on slowdown is kept: the stage of measure_stage.py trains thousands of steps with a bound.

    LULL_LIBRARY=build/gpu/apps/c/liblull.so PYTHONPATH=apps/python python3 scripts/measure_governed.py \\
        --wait build/gpu/bin/bench/libstage_wait.so --task product --bound 0.005

By turns 16 steps run under the bound, withheld ones included, and 8 without bubbles. The bound's own estimate is not
asked: the slowdown is the mean of the turns' log ratios with its 95 % interval, of all turns and of those behind the
first 192 steps. `--task step:resnet50` is a captured step, as in stage_kernels.py. One JSON object on standard
output."""

import argparse
import json
import statistics
import sys

import measure_stage
from measure_stage import slowdown
from stage_trainer import GROUP, add_size, no_bubble, on_gpu

BOUNDED, PLAIN = 8, 4  # groups of a turn
TURNS_A_CALL = 4
WARM_UP = 192  # steps
STEP, SEGMENT_S = "step:", 1e-4
TRAINER = 1
FIRST = "first backward"  # where a step is marked


def kinds_of(side, bubble):
    """A turn's groups. A step is marked where its first bubble opens; the one that the groups without bubbles cut is
    skipped."""

    def bounded(name):
        if name == FIRST:
            side.step()
        return bubble(name)

    def plain(name):
        if name == FIRST:
            side.skip_step()
        return no_bubble(name)

    return [bounded] * BOUNDED + [plain] * PLAIN


def by_turn(times):
    """Milliseconds a step under the bound, and without bubbles, of each turn; without the first group of either, which
    has the clocks and the temperature that the other left."""
    size = BOUNDED + PLAIN
    turns = [times[at : at + size] for at in range(0, len(times), size)]
    means = [(statistics.fmean(turn[1:BOUNDED]), statistics.fmean(turn[BOUNDED + 1 :])) for turn in turns]
    return [with_lull for with_lull, _ in means], [plain for _, plain in means]


def judged(times):
    bounded, plain = by_turn(times)
    behind = WARM_UP // (BOUNDED * GROUP)
    return {
        **slowdown(plain, bounded),
        **slowdown(plain[behind:], bounded[behind:], "behind_percent"),
        "turns": len(plain),
        "steps": len(plain) * BOUNDED * GROUP,
        "step_ms_none": statistics.fmean(plain),
    }


def measure(torch, lull, trainer, given):
    name = given.task.removeprefix(STEP)
    of_torch = name != given.task
    tasks = [] if of_torch else measure_stage.jobs_of(given.task)
    with lull.harvest(tasks, max_slowdown=given.bound, trainer=TRAINER) as side:
        if side.mode != "on":
            sys.exit(f"measure_governed.py: NOT RUN: Lull is {side.mode}: {side.why_off}")
        if of_torch:
            import side_models

            side_models.submitted(side, name, *side_models.step_of(name), SEGMENT_S)
        turn, times, told = kinds_of(side, lull.bubble), [], []
        while len(times) // len(turn) * BOUNDED * GROUP < given.steps:
            times += trainer.groups(turn * TURNS_A_CALL)
            told.append(side.steps())
        torch.cuda.synchronize()
        work = measure_stage.harvested(measure_stage.report_of(side), 0, None)
        measure_stage.refuse_if_ended(side)
        return {
            "task": given.task,
            "bound_percent": 100 * given.bound,
            **judged(times),
            "items": work["items"],
            "lease_exits": work["lease_exits"],
            "told": side.steps(),
            "chances": [each["chance"] for each in told],
        }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--wait", required=True, help="libstage_wait.so, which the build makes")
    parser.add_argument("--task", default="product")
    parser.add_argument("--bound", type=float, default=0.005, help="a share of a step")
    parser.add_argument("--steps", type=int, default=2000, help="under the bound, about")
    parser.add_argument("--limit", type=int, default=500, help="seconds after which the process ends")
    add_size(parser)
    given = parser.parse_args()
    if not 0 < given.bound <= 1 or given.steps < 2 * WARM_UP or given.limit < 1:
        parser.error(f"the bound is above 0 and at most 1, steps at least {2 * WARM_UP}, the limit at least 1")
    torch, lull, trainer = on_gpu("measure_governed.py", given)
    print(json.dumps({"torch": torch.__version__, "rows": [measure(torch, lull, trainer, given)]}), flush=True)


if __name__ == "__main__":
    main()
