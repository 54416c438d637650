#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What it costs a step that a bubble report is asked for: free memory, clocks and power are looked at then.

    LULL_LIBRARY=build/gpu/apps/c/liblull.so PYTHONPATH=apps/python python3 scripts/measure_report.py \\
        --wait build/gpu/bin/bench/libstage_wait.so

The stage of measure_stage.py trains in scopes with a report and without, by turns (ABBA); all harvest the same task.
The slowdown is the mean of the pairs' log ratios with its 95 % interval. One JSON object on standard output."""

import argparse
import json
import pathlib
import statistics
import sys
import tempfile

import measure_stage
from stage_trainer import add_size, on_gpu

WARM_UP = 4  # groups


def step_ms(lull, trainer, given, report):
    """Of one scope, and what the report says of the GPU."""
    with lull.harvest([measure_stage.TASKS[given.task]], report=report) as side:
        if side.mode != "on":
            sys.exit(f"measure_report.py: NOT RUN: Lull is {side.mode}: {side.why_off}")
        times = trainer.groups([lull.bubble] * (WARM_UP + given.groups))[WARM_UP:]
        return statistics.fmean(times), measure_stage.report_of(side)["gpu"]


def measure(lull, trainer, given):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "bubbles.json"
        found = {True: [], False: []}
        for _ in range(given.pairs // 2):
            for with_report in (False, True, True, False):
                found[with_report].append(step_ms(lull, trainer, given, path if with_report else None))
    plain, reported = ([ms for ms, _ in found[kind]] for kind in (False, True))
    return {
        "task": given.task,
        **measure_stage.slowdown(plain, reported),
        "pairs": len(plain),
        "step_ms_plain": plain,
        "step_ms_reported": reported,
        "gpu": [gpu for _, gpu in found[True]],
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--wait", required=True, help="libstage_wait.so, which the build makes")
    parser.add_argument("--task", choices=measure_stage.TASKS, default="compute")
    parser.add_argument("--pairs", type=int, default=8, help="of scopes; even")
    parser.add_argument("--groups", type=int, default=14, help="of steps, of a scope")
    parser.add_argument("--limit", type=int, default=300, help="seconds after which the process ends")
    add_size(parser)
    given = parser.parse_args()
    if given.pairs < 2 or given.pairs % 2 or given.groups < 1 or given.limit < 1:
        parser.error("pairs are even and at least 2, groups and the limit at least 1")
    _, lull, trainer = on_gpu("measure_report.py", given)
    print(json.dumps({"rows": [measure(lull, trainer, given)]}), flush=True)


if __name__ == "__main__":
    main()
