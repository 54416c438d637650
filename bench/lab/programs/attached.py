# SPDX-License-Identifier: Apache-2.0
"""What side work in a process of its own costs a step of a GPT stage, and what it brings, against the same work in the
trainer's process. The program is a client of an MPS daemon that it starts and stops.

In each scope groups of steps with bubbles and without take turns, as in the program `stage`. The places of side work:
  own     a job of the trainer's
  other   a job of `lull work --attach`
  none    bubbles are shared, and no worker is there

`harvest` is items done in bubbles against items that the task does in as much time of long bubbles without training."""

import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import types

from lab import NotRun, lull, torch
from lab.compare import servers
from lab.numbers import quantiles
from lab.options import count, listed
from lab.process import ANSWER_S
from lab.reports import ALONE, ALONE_MS, ALONE_WARM_UP, harvested, long_bubbles, report_of, speed_in_long_bubbles
from lab.trainer import GROUP, Size, Stage
from lab.treatment import WARM_UP, compared, harvest, in_turns, over_scopes, warm_up, with_lull
from lab.work import task_of

LIMIT_S = 400
PLACES = ("own", "other", "none")
REPORTED_S = 0.3  # a worker says what it has done each 0.1 s


class Worker:
    """`lull work --attach`, for a scope."""

    def __init__(self, build, address, task, folder):
        self._report = pathlib.Path(folder) / "worker.trace.json"
        command = [f"{build}/bin/lull", "work", "--executor", "cuda", "--attach", address, "--task", task_of(task)]
        environment = {**os.environ, "LULL_REPORT": str(self._report)}
        self._process = subprocess.Popen(command, env=environment, stdout=sys.stderr)

    def await_attached(self, side):
        until = time.monotonic() + ANSWER_S
        while not any(each["attached"] and each["jobs"] for each in workers_of(side)):
            if self._process.poll() is not None or time.monotonic() > until:
                raise NotRun("the worker did not attach")
            time.sleep(0.05)

    def end(self):
        """A trace of its bubbles."""
        self._process.send_signal(signal.SIGINT)
        try:
            self._process.wait(ANSWER_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            raise NotRun("the worker did not end") from None
        return json.loads(self._report.read_text())


def workers_of(side):
    return json.loads(side.report("json"))["workers"]


def items_of_workers(side):
    time.sleep(REPORTED_S)
    return sum(each["items"] for each in workers_of(side))


def drains_of(trace):
    """Of the bubbles in which work went on until the close, in µs."""
    told = (event.get("args", {}).get("us after the close", 0) for event in trace["traceEvents"])
    return {"drains_us": [each for each in told if each > 0]}


def idle_ms_of(trainer, times):
    return GROUP * (WARM_UP + len(times[1])) * trainer.idle_ms


def scope_own(trainer, task, seconds):
    with harvest([task_of(task)]) as side:
        warm_up(trainer, with_lull())
        times = in_turns(trainer, with_lull(), seconds)
        speed, last = speed_in_long_bubbles(trainer, side)
        drains = drains_of(json.loads(side.report("trace")))
    found = compared(*times) | harvested(last) | drains
    if speed:
        found["harvest"] = found["items"] / speed / idle_ms_of(trainer, times)
    return found


def scope_other(trainer, task, seconds, build):
    with tempfile.TemporaryDirectory() as folder, harvest([], share=f"unix:{folder}/socket") as side:
        worker = Worker(build, f"unix:{folder}/socket", task, folder)
        try:
            worker.await_attached(side)
            warm_up(trainer, with_lull())
            times = in_turns(trainer, with_lull(), seconds)
            items = [items_of_workers(side)]
            for several in (ALONE_WARM_UP, ALONE):
                long_bubbles(trainer, side, several)
                items.append(items_of_workers(side))
        finally:
            trace = worker.end()
    speed = (items[2] - items[1]) / (ALONE * ALONE_MS)
    found = compared(*times) | {"items": items[0]} | drains_of(trace)
    if speed:
        found["harvest"] = items[0] / speed / idle_ms_of(trainer, times)
    return found


def scope_none(trainer, seconds):
    with tempfile.TemporaryDirectory() as folder, harvest([], share=f"unix:{folder}/socket"):
        warm_up(trainer, with_lull())
        return compared(*in_turns(trainer, with_lull(), seconds))


def measure(build, tasks: listed("+") = ("compute",), scopes: count = 6, seconds=0.0, size=Size()):
    if os.environ.get(servers.UNDER) != "mps":
        sys.exit(servers.again_under(types.SimpleNamespace(server="mps", limit=LIMIT_S)))
    with torch.cuda.stream(torch.cuda.Stream()):
        trainer = Stage(build, size)
        found = {(task, place): [] for task in tasks for place in PLACES}
        for number in range(scopes):
            for (task, place), its in found.items():
                if place == "own":
                    its.append(scope_own(trainer, task, seconds))
                elif place == "other":
                    its.append(scope_other(trainer, task, seconds, build))
                else:
                    its.append(scope_none(trainer, seconds))
                text = f"{its[-1]['slowdown_percent']:+.2f} %, harvest {its[-1].get('harvest', 0):.3f}"
                print(f"scope {number}, {task}, {place}: {text}", file=sys.stderr, flush=True)
    rows = []
    for (task, place), its in found.items():
        drains = [each for one in its for each in one.pop("drains_us", ())]
        rows.append({"task": task, "place": place, "drain_us": quantiles(drains), **over_scopes(its)})
    return {"name": "attached", "lull": lull.__version__, "rows": rows}
