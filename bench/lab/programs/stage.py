# SPDX-License-Identifier: Apache-2.0
"""What harvesting costs a step of a GPT stage in PyTorch, and what it brings, scope after scope.

A scope is one `with lull.harvest(…)`. In each, groups of steps with bubbles and without take turns; a slowdown is the
mean of the pairs' log ratios with its 95 % interval. `harvest` is items done in bubbles against items that the task
does in as much time of long bubbles without training, on the SMs that workers may use.

  --tasks         side tasks, joined by +: those of work.py, or as `lull tasks` lists them; or wait: no side work, but a
                  pending wait of the program's own
  --scopes        of each plan           --seconds  of pairs a scope; six pairs at a time
  --armed-ahead   how long before its bubble a worker may be enqueued: seconds or `default`, with commas; a plan each
  --foreign       off, on or both: another stream of the program always has a wait pending
  --processors    SMs for workers at the most; 0: all that are not kept off
  --connections   CUDA_DEVICE_MAX_CONNECTIONS; 0: as it is        --stream  of the trainer: legacy or own"""

import dataclasses
import math
import os
import statistics
import sys

from lab import lull, torch
from lab.options import at_least, count, listed, one_of
from lab.reports import harvested, refuse_if_ended, report_of, speed_in_long_bubbles, waited
from lab.trainer import GROUP, Size, Stage, stream_of
from lab.treatment import WARM_UP, compared, harvest, in_turns, over_scopes, warm_up, with_lull
from lab.work import task_of

LIMIT_S = 300
WAIT = "wait"
FOREIGN = {"off": [False], "on": [True], "both": [False, True]}


def ahead(text):
    return None if text == "default" else float(text)


def measure(
    build,
    tasks: listed("+") = ("compute",),
    scopes: count = 6,
    seconds=0.0,
    armed_ahead: listed(",", ahead) = (None,),
    foreign: one_of(FOREIGN) = "off",
    processors: at_least(0) = 0,
    connections: at_least(0, 32) = 0,
    stream: one_of(("legacy", "own")) = "legacy",
    size=Size(),
):
    if connections:
        os.environ["CUDA_DEVICE_MAX_CONNECTIONS"] = str(connections)  # before CUDA starts
    with torch.cuda.stream(stream_of(stream)):
        trainer = Stage(build, size)
        plans = {(task, each, on): [] for task in tasks for each in armed_ahead for on in FOREIGN[foreign]}
        for number in range(scopes):
            for plan, found in plans.items():
                task, each, trainer.foreign.on = plan
                found.append(scope(trainer, task, each, processors, seconds))
                text = f"{found[-1]['slowdown_percent']:+.2f} %, harvest {found[-1].get('harvest', math.nan):.3f}"
                print(f"scope {number}, {plan}: {text}", file=sys.stderr, flush=True)
    step_ms = statistics.fmean(one["step_ms_none"] for each in plans.values() for one in each)
    return {
        "name": "stage",
        "connections": connections,
        "stream": stream,
        "processors": processors,
        "size": dataclasses.asdict(size),
        "forward_ms": trainer.forward_ms,
        "backward_ms": trainer.backward_ms,
        "idle_share": trainer.idle_ms / step_ms,
        "rows": [
            {"task": task, "armed_ahead_s": each, "foreign": on, **over_scopes(found)}
            for (task, each, on), found in plans.items()
        ],
    }


def scope(trainer, task, armed_ahead, processors, seconds):
    if task == WAIT:
        warm_up(trainer, trainer.waiting)
        return compared(*in_turns(trainer, trainer.waiting, seconds))
    tuning = lull.Tuning(armed_ahead=armed_ahead, processors=processors)
    with harvest([task_of(task)], tuning=tuning) as side:
        warm_up(trainer, with_lull())
        warm = report_of(side)
        times = in_turns(trainer, with_lull(), seconds)
        trained, counts = report_of(side), side.counts()  # of training alone
        speed, last = speed_in_long_bubbles(trainer, side)
        refuse_if_ended(side)
    found = compared(*times) | harvested(last)
    found["idle_ms"] = GROUP * (WARM_UP + len(times[1])) * trainer.idle_ms
    if speed:
        found["harvest"] = found["items"] / speed / found["idle_ms"]
    return found | waited(warm, trained) | {"counts": counts}
