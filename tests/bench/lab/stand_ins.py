# SPDX-License-Identifier: Apache-2.0
"""Stand-ins for torch and lull, with which the laboratory's programs run from begin to end without a GPU."""

import contextlib
import io
import itertools
import json
import os
import pathlib
import signal
import sys
from unittest import mock

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "bench"))
sys.dont_write_bytecode = True
from lab import __main__ as command_line  # noqa: E402

CUT = "7 nodes in 2 segments, 80.0 us each in the mean; the longest node takes 41.0 us: wgrad"
CLOSED = (
    "100 bubbles closed while it ran, and waited at most for what was under way: p50 1.5 us, p99 450.0 us, max "
    "450.0 us; most for 2 times 450.0 us: wgrad; 6 times 100.0 us: norm; 90 times 1.5 us: copy"
)


@contextlib.contextmanager
def stand_ins():
    """For torch and lull."""
    torch, lull = mock.MagicMock(__version__="2"), mock.MagicMock()
    with mock.patch.dict(os.environ), mock.patch.dict(sys.modules, torch=torch, lull=lull):
        try:
            yield torch, lull
        finally:
            signal.alarm(0)  # of on_gpu


def reports():
    """What a side says one time after the other: each has ten bubbles, 700 items and 3 ms more than the last."""
    for number in itertools.count(1):
        work = {"bubbles": 10 * number, "items": 700 * number, "lease_exits": 0, "waited_ms": number}
        site = {"bubbles": 10 * number, "total_ms": 3.0 * number, "p50_us": 1, "p99_us": 2, "side_work": work}
        gates = [{"sites": [{"site": name, **site} for name in ("first backward", "alone")]}]
        yield json.dumps({"gates": gates, "gpu": {}, "traceEvents": [{"args": {"us after the close": 3.0}}]})


def give_side(lull):
    """Each scope's, whose one job ends when it is asked to."""
    side, told = mock.MagicMock(mode="on"), reports()
    job = side.submit.return_value
    job.state, job.result.return_value = "placed", f"{CUT}\n{CLOSED}\n"
    job.rounds.side_effect = itertools.count(step=10)
    side.jobs, side.counts.return_value = [job], {"opened": 1}
    side.report.side_effect = lambda _: next(told)
    side.steps.return_value = {"chance": 0.5}
    lull.harvest.side_effect = lambda **_: contextlib.nullcontext(side)
    return side


def run(*arguments):
    """What the command line prints, a JSON object a line."""
    with contextlib.redirect_stdout(io.StringIO()) as said, contextlib.redirect_stderr(io.StringIO()):
        command_line.main(arguments)
    return [json.loads(line) for line in said.getvalue().splitlines()]
