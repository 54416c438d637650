# SPDX-License-Identifier: Apache-2.0
"""Whether a bound on slowdown is kept: the stage of the program `stage` trains thousands of steps with a bound.

By turns 16 steps run under the bound, withheld ones included, and 8 without bubbles. The bound's own estimate is not
asked: the slowdown is the mean of the turns' log ratios with its 95 % interval, of all turns and of those after the
first 192 steps. `--task step:resnet50` is a captured step."""

import statistics

from lab import lull, torch
from lab.numbers import slowdown
from lab.options import at_least, share
from lab.reports import refuse_if_ended, report_of, work_of
from lab.trainer import GROUP, Size, Stage
from lab.treatment import Treatment, harvest, no_bubble
from lab.work import STEP, Step, jobs_of

LIMIT_S = 500
BOUNDED, PLAIN = 8, 4  # groups of a turn
TURNS_A_CALL = 4
WARM_UP = 192  # steps
DRAW_SEED = 1
FIRST = "first backward"  # where a step is marked


def marked(name, bubble, mark):
    """Marks a step where its first bubble opens."""

    def opened(site):
        if site == FIRST:
            mark()
        return bubble(site)

    return Treatment(name, opened)


def turn_of(side, bubble):
    """A turn's groups. The step that the groups without bubbles cut is skipped."""
    bounded, plain = marked("bounded", bubble, side.step), marked("alone", no_bubble, side.skip_step)
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
    warm = WARM_UP // (BOUNDED * GROUP)
    return {
        **slowdown(plain, bounded),
        **slowdown(plain[warm:], bounded[warm:], "behind_percent"),
        "turns": len(plain),
        "steps": len(plain) * BOUNDED * GROUP,
        "step_ms_none": statistics.fmean(plain),
    }


def measure(build, task="product", bound: share = 0.005, steps: at_least(2 * WARM_UP) = 2000, size=Size()):
    trainer = Stage(build, size)
    with harvest(
        [] if task.startswith(STEP) else jobs_of(task), max_slowdown=bound, tuning=lull.Tuning(draw_seed=DRAW_SEED)
    ) as side:
        if task.startswith(STEP):
            Step(task.removeprefix(STEP)).begin(side)
        turn, times, told = turn_of(side, lull.bubble), [], []
        while len(times) // len(turn) * BOUNDED * GROUP < steps:
            times += trainer.groups(turn * TURNS_A_CALL)
            told.append(side.steps())
        torch.cuda.synchronize()
        work = work_of(report_of(side), "items", "lease_exits")
        refuse_if_ended(side)
        found = {"task": task, "bound_percent": 100 * bound, **judged(times), **work}
        return {"rows": [{**found, "told": side.steps(), "chances": [each["chance"] for each in told]}]}
