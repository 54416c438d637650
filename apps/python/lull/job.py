# SPDX-License-Identifier: Apache-2.0
"""Jobs of the C library as Python objects. Thread-safe as their C calls are."""

from __future__ import annotations

import contextlib
import ctypes
import os
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from . import binding
from .binding import ArgumentError, Error, Status, check, given, in_ns, load, log, text_of, wait_in_pieces, zero


_PROGRESS = ("phases", "round", "step", "failure", "items")
_JOB_STATES = ("queued", "placed", "paused", "finished", "failed", "cancelled", "evicted", "off")
FINAL = ("finished", "failed", "cancelled", "off")
_CLOSING_S = 10  # for the blocks of a job to leave it

_changing = threading.Lock()  # a job's handle and last status; one for all jobs, since one each is much for many
_AJob = TypeVar("_AJob", bound="Job")


def _after_fork():
    global _changing
    _changing = threading.Lock()


os.register_at_fork(after_in_child=_after_fork)


class Made:
    """What belongs to the process that made it, and has a handle. In a forked child it does nothing, and takes no
    time."""

    _handle: ctypes.c_void_p | None

    def __init__(self) -> None:
        self._forks = binding.forks

    @property
    def _is_parents(self):
        return self._forks != binding.forks

    def _do(self, call: Callable[..., int], *arguments: Any) -> bool:
        """Whether the C call with the handle says OK before its time is over."""
        return self._is_parents or check(call(self._handle, *arguments))

    def _given(self, kind: Any, call: Callable[..., int], *arguments: Any) -> Any:
        """What the C call with the handle gives, a number or a struct; in a forked child all of it is 0."""
        return zero(kind) if self._is_parents else given(kind, call, self._handle, *arguments)

    def _refuse_parents(self):
        if self._is_parents:
            raise Error(
                "this process was forked from the one that made it: make another after the fork", Status.ERROR_STATE
            )


def _status_of(handle):
    return given("job_status", load().lull_job_get_status, handle)


def refuse_graph(steps, segment, node_limit):
    """Of steps, and lengths in seconds, that cannot be."""
    if steps < 1:
        raise ArgumentError(f"steps is {steps}: it must be 1 or more")
    if not 0 < segment <= 1:
        raise ArgumentError(f"segment is {segment} seconds: it must be above 0 and at most 1")
    if node_limit is not None and not segment <= node_limit <= 1:
        raise ArgumentError(
            f"node_limit is {node_limit} seconds: it must be at least segment, {segment}, and at most 1"
        )


class Job(Made):
    """A submitted side task; `with side.submit(…) as job` closes it. What it took goes back when it is over, by itself.
    Closed, or after its runtime's end, it still tells its last status, and its result if it had finished."""

    def __init__(self, handle: ctypes.c_void_p | None, task: str) -> None:
        """`handle`: None: the job never runs, and is off."""
        super().__init__()
        self.task = task
        self._handle = handle
        self._last: tuple[Any, ...] = ("off" if handle is None else "queued", *[0] * len(_PROGRESS))
        self._result: str | None = None if handle is not None else ""

    def __enter__(self: _AJob) -> _AJob:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def status(self) -> dict[str, Any]:
        """A dictionary: state, phases, round, step, failure, items. The state is queued, placed, evicted, paused,
        finished, failed, cancelled, or off: the job never runs, since its runtime was off or only observed."""
        self._look()
        return dict(zip(("state", *_PROGRESS), self._last))

    @property
    def state(self) -> str:
        return self.status()["state"]

    @property
    def over(self) -> bool:
        """It has finished, failed, been cancelled, or is off: nothing of it will run from here on."""
        return self.state in FINAL

    def rounds(self) -> int:
        """How many rounds are over; a graph's are its steps."""
        return self.status()["round"]

    def pause(self) -> None:
        """It keeps what it has done. As `resume` and `cancel`, it does nothing to a job that is over."""
        self._control(load().lull_job_pause)

    def resume(self) -> None:
        self._control(load().lull_job_resume)

    def cancel(self) -> None:
        self._control(load().lull_job_cancel)

    def hold(self, seconds: float) -> bool:
        """True when the job's memory is on the device, where it stays until `let_go`; False when the time was over.
        For a program that reads or writes there while the job is not over."""
        return self._wait_in(load().lull_job_hold, seconds)

    def let_go(self) -> None:
        self._control(load().lull_job_let_go)

    def wait(self, seconds: float | None = None) -> bool:
        """True when the job is over and no block works on it, False when the time is. None: the time has no end; then
        somebody must go on to place bubbles."""
        return self._wait_in(load().lull_job_wait, seconds)

    def result(self) -> str:
        """Of a finished task: lines that sum it up; its files are written by the first call. Of a graph, at any time: a
        line that says how it was cut. Empty of a job that is off."""
        if self._result is None:
            self._result = text_of(load().lull_job_result, self._live())
        return self._result

    def verify(self) -> tuple[bool, str]:
        """Of a finished task: whether another algorithm found the same, and a sentence. It takes as much memory as the
        task did, for as long as it works. Of the latest 16 that have finished, and until `close`."""
        if self._last[0] == "off":
            return False, "the job is off: it never ran"
        ok = ctypes.c_int()
        sentence = text_of(load().lull_job_verify, self._live(), ctypes.byref(ok))
        return bool(ok.value), sentence

    def close(self) -> None:
        """Gives back all that the job took, and cancels it first if it is not over. The result of one that has finished
        is written before. A second call does nothing."""
        if self._is_parents:
            return
        self._cancel_unfinished()
        handle = self._handle
        self._end(time.monotonic() + _CLOSING_S)
        self._destroy(handle)

    def _look(self):
        """Asks the library for the status. The handle may go while it is asked."""
        now = None if self._is_parents else self._unless_gone(_status_of)
        if now is None:
            return
        state = _JOB_STATES[now.state] if now.state < len(_JOB_STATES) else f"unknown ({now.state})"
        with _changing:
            if self._handle is not None:  # else what it was last is known already
                self._last = (state, *(getattr(now, name) for name in _PROGRESS))

    def _control(self, call: Callable[..., int], *arguments: Any) -> None:
        self._refuse_parents()
        self._unless_gone(lambda handle: check(call(handle, *arguments)))

    def _wait_in(self, call: Callable[..., int], seconds: float | None) -> bool:
        self._refuse_parents()
        return self._unless_gone(lambda handle: wait_in_pieces(call, handle, seconds), True)

    def _unless_gone(self, ask: Callable[[Any], Any], otherwise: Any = None) -> Any:
        """What `ask` of the handle gives; `otherwise` where the handle has gone, or goes meanwhile."""
        handle = self._handle
        if handle is not None:
            try:
                return ask(handle)
            except Error:
                if self._handle is not None:
                    raise
        return otherwise

    def _is_over(self, seconds):
        """As wait, but raises nothing for what ended the job."""
        return self.wait(seconds)

    def _live(self):
        self._refuse_parents()
        if self._handle is None:
            raise Error(
                f"{self.task}: the job is {self._last[0]}, and is closed or its runtime has ended", Status.ERROR_STATE
            )
        return self._handle

    def _cancel_unfinished(self):
        with contextlib.suppress(Error):
            if not self.over:
                self.cancel()

    def _settle(self) -> bool:
        """Gives back what it holds, if it is over; False: it is not. Called by one thread at a time, and again where it
        raised."""
        if self._handle is None or self._is_parents:
            return True
        if not self._is_over(0) or not self.over:
            return False
        self._settle_now()
        return True

    def _settle_now(self):
        if self.state == "finished":
            self.result()  # with that its arrays go
        else:
            self._give_back_all()

    def _keep_result(self, deadline):
        """Before the handle goes: what is worth keeping. The job was cancelled if it had not finished."""
        if self._handle is None:
            return
        try:
            has_left = self._is_over(max(deadline - time.monotonic(), 0))
            if self.state == "finished" and has_left:
                self.result()
        except Error as why:
            log.warning("%s: %s", self.task, why)

    def _end(self, deadline):
        """Before the runtime goes, and the handle with it."""
        self._keep_result(deadline)
        self._let_handle_go()

    def _let_handle_go(self):
        with contextlib.suppress(Error):
            self.status()
        with _changing:
            handle, self._handle = self._handle, None
            if self._last[0] not in FINAL:
                self._last = ("cancelled", *self._last[1:])  # the library sees to that, when its blocks leave
            if self._last[0] == "off":
                self._result = ""
        return handle

    def _give_back_all(self):
        """Of a job that is over."""
        self._destroy(self._let_handle_go())

    def _destroy(self, handle):
        if handle is None:
            return
        try:
            if not check(load().lull_job_destroy(handle, in_ns(_CLOSING_S))):
                log.warning("%s: a block still works on it after %d s; it goes with its runtime", self.task, _CLOSING_S)
        except Error as why:
            if why.status != Status.ERROR_HANDLE:  # else its runtime went before
                log.warning("%s: %s", self.task, why)


class GraphJob(Job):
    """The job of a CUDA graph. Its rounds are steps; its results are where the graph writes."""

    def result(self) -> str:
        """At any time: how the graph was cut, and what bubbles have closed on so far."""
        if not self._is_parents:
            self._result = self._unless_gone(lambda handle: text_of(load().lull_job_result, handle), self._result)
        return super().result()

    def feed(self, fed: int) -> None:
        """Of a graph that is fed: step k begins only when `fed` is above k."""
        self._control(load().lull_job_feed, fed)

    def _settle_now(self):
        self.result()
        self._give_back_all()


class OffStep(GraphJob):
    """The job of a side step that never runs. It has what a StepJob has, and nothing comes of it."""

    def __init__(self, task: str) -> None:
        super().__init__(None, task)

    def outputs(self) -> Iterator[list[Any]]:
        return iter(())
