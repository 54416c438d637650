# SPDX-License-Identifier: Apache-2.0
"""Jobs of the C library as Python objects. Thread-safe as their C calls are."""

from __future__ import annotations

import contextlib
import ctypes
import logging
import time
from typing import Any

from . import binding
from .binding import Error, Status, check, load, text_of

log = logging.getLogger("lull")

_PROGRESS = ("phases", "round", "step", "failure", "items")
_JOB_STATES = ("queued", "placed", "paused", "finished", "failed", "cancelled", "evicted")
FINAL = ("finished", "failed", "cancelled")


class Made:
    """What belongs to the process that made it. In a forked child it does nothing, and takes no time."""

    def __init__(self):
        self._forks = binding.forks

    @property
    def _is_parents(self):
        return self._forks != binding.forks

    def _refuse_parents(self):
        if self._is_parents:
            raise Error(
                "this process was forked from the one that made it: make another after the fork", Status.ERROR_STATE
            )


def in_ns(seconds):
    if not seconds >= 0:
        raise Error(f"a time of {seconds} seconds: it must not be below 0")
    return int(min(seconds, 86_400) * 1e9)


def refuse_lengths(segment, node_limit):
    """In seconds, of a graph."""
    if not 0 < segment <= 1:
        raise Error(f"segment is {segment} seconds: it must be above 0 and at most 1")
    if node_limit is not None and not segment <= node_limit <= 1:
        raise Error(f"node_limit is {node_limit} seconds: it must be at least segment, {segment}, and at most 1")


class Job(Made):
    """A submitted side task. After its runtime's end it still tells its last status, and its result if it had
    finished."""

    def __init__(self, handle: ctypes.c_void_p, task: str) -> None:
        super().__init__()
        self.task = task
        self._handle: ctypes.c_void_p | None = handle
        self._last: dict[str, Any] = {"state": "queued", **dict.fromkeys(_PROGRESS, 0)}
        self._result: str | None = None

    def status(self) -> dict[str, Any]:
        """A dictionary: state, phases, round, step, failure, items. The state is queued, placed, evicted, paused,
        finished, failed or cancelled."""
        if self._handle is not None and not self._is_parents:
            now = binding.JobStatus(size=ctypes.sizeof(binding.JobStatus))
            check(load().lull_job_get_status(self._handle, ctypes.byref(now)))
            self._last = {name: getattr(now, name) for name in _PROGRESS}
            self._last["state"] = _JOB_STATES[now.state]
        return dict(self._last)

    @property
    def state(self) -> str:
        return self.status()["state"]

    def rounds(self) -> int:
        """How many rounds are over; a graph's are its steps."""
        return self.status()["round"]

    def pause(self) -> None:
        check(load().lull_job_pause(self._live()))

    def resume(self) -> None:
        check(load().lull_job_resume(self._live()))

    def cancel(self) -> None:
        check(load().lull_job_cancel(self._live()))

    def hold(self, seconds: float) -> bool:
        """True when the job's memory is on the device, where it stays until `let_go`; False when the time was over.
        For a program that reads or writes there while the job is not over."""
        self._refuse_parents()
        return self._handle is None or check(load().lull_job_hold(self._handle, in_ns(seconds)))

    def let_go(self) -> None:
        if self._handle is not None:
            check(load().lull_job_let_go(self._live()))

    def wait(self, seconds: float) -> bool:
        """True when the job is over and no block works on it, False when the time is."""
        return check(load().lull_job_wait(self._live(), in_ns(seconds)))

    def result(self) -> str:
        """Of a finished task: lines that sum it up; its files are written by the first call. Of a graph, at any time: a
        line that says how it was cut."""
        if self._result is None:
            self._result = text_of(load().lull_job_result, self._live())
        return self._result

    def verify(self) -> tuple[bool, str]:
        """Of a finished job: whether another algorithm found the same, and a sentence."""
        ok = ctypes.c_int()
        sentence = text_of(load().lull_job_verify, self._live(), ctypes.byref(ok))
        return bool(ok.value), sentence

    def _is_over(self, seconds):
        """As wait, but raises nothing for what ended the job."""
        return self.wait(seconds)

    def _live(self):
        self._refuse_parents()
        if self._handle is None:
            raise Error(f"{self.task}: its runtime has ended", Status.ERROR_HANDLE)
        return self._handle

    def _cancel_unfinished(self):
        with contextlib.suppress(Error):
            if self.state not in FINAL:
                self.cancel()

    def _end(self, deadline):
        """Before the runtime goes: what is worth keeping. It was cancelled if it had not finished."""
        try:
            has_left = self._is_over(max(deadline - time.monotonic(), 0))
            if self.state == "finished" and has_left:
                self.result()
        except Error as why:
            log.warning("%s: %s", self.task, why)
        if self._last["state"] not in FINAL:
            self._last["state"] = "cancelled"  # the library sees to that, when its blocks leave
        self._handle = None


class GraphJob(Job):
    """The job of a CUDA graph. Its rounds are steps; its results are where the graph writes."""

    def result(self) -> str:
        """At any time: how the graph was cut, and what bubbles have closed on so far."""
        if self._handle is not None and not self._is_parents:
            self._result = text_of(load().lull_job_result, self._live())
        return super().result()

    def feed(self, fed: int) -> None:
        """Of a graph that is fed: step k begins only when `fed` is above k."""
        check(load().lull_job_feed(self._live(), fed))
