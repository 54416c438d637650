# SPDX-License-Identifier: Apache-2.0
"""Runtimes of the C library as Python objects. Thread-safe as their C calls are."""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import dataclasses
import os
import time
import weakref
from collections.abc import Iterator
from typing import Any

from . import binding, heard
from .binding import (
    ArgumentError,
    Error,
    Status,
    TimedOut,
    check,
    given,
    in_ns,
    load,
    log,
    struct,
    text_of,
    wait_in_pieces,
)
from .captured_step import SideStep
from .job import GraphJob, Job, Made, OffStep, refuse_graph
from .job_keeper import JobKeeper
from .later_signals import later_signals
from .options import Options, bytes_of, one_of, with_options_of
from .side_step import StepJob
from .streams import LentStreams


_FORMS = {"text": 0, "json": 1, "trace": 2}
_LEAVING_S = 1  # of a runtime that ends: for the blocks of its jobs to leave


_open: weakref.WeakSet[Runtime] = weakref.WeakSet()


@atexit.register  # before any scope's: those end first
def _close_all():
    for side in list(_open):
        with contextlib.suppress(Error):
            side.close()


def _warn_where_off():
    """A line may have been that a runtime has turned itself off."""
    for side in list(_open):
        side._warn_if_off()


heard.after_lines = _warn_where_off


os.register_at_fork(after_in_child=_open.clear)  # they are the parent's to close


def _forget(library, handle, forks):
    """The end of a runtime that nobody holds any longer; nobody is there to be told of an error."""
    if forks != binding.forks:
        return
    library.lull_destroy(handle)
    heard.say()


def refuse_no_task(task: object) -> None:
    """In every mode, since what is wrong with a program must not show in one alone."""
    if callable(task) and not isinstance(task, SideStep):
        name = getattr(task, "__name__", task)
        raise ArgumentError(f"{name} is a function: wrap it, as in side.submit(lull.side_step({name}, steps=1000))")
    if not isinstance(task, (str, SideStep)):
        raise ArgumentError(f"{task!r} is no task: give a text, as lull.tasks() lists them, or a lull.side_step(…)")


def off_job(task: str | SideStep, name: str | None) -> Job:
    """Of what never runs."""
    return Job(None, task) if isinstance(task, str) else OffStep(name or str(getattr(task.step, "__name__", "step")))


def tasks() -> str:
    """Every task that can be asked for, with its options, as text."""
    return text_of(load().lull_tasks)


def no_counts() -> dict[str, int]:
    """What `counts` tells where nothing was counted."""
    return {name: 0 for name, *_ in binding.STRUCTS["counts"]._fields_ if name not in ("size", "reserved")}


class Runtime(Made):
    """One a device. `close` is called for you where it is used as a scope. What it may be asked for: lull.Options."""

    @with_options_of(Options, "hook_allocator")
    def __init__(self, options: Options | None = None, /, **named: Any) -> None:
        """`options`, with what is named here instead of theirs."""
        super().__init__()
        asked = dataclasses.replace(options or Options(), **named)
        in_c = asked._in_c()
        self._library = load()
        self.device = asked.device or 0
        self._saved = asked._of_a_job()
        self._may_be_off = asked.mode == "off"  # without a word
        self.jobs: list[Job] = []
        self._has_warned = False  # of a bubble
        self._keeper = JobKeeper(self.device)
        self._graph_streams = LentStreams()
        heard.listen()
        try:
            handle = given(ctypes.c_void_p, self._library.lull_create, ctypes.byref(in_c))
        finally:
            heard.say()
        self._handle: ctypes.c_void_p | None = handle
        self._number = handle.value  # for the calls of each bubble
        self._forgotten = weakref.finalize(self, _forget, self._library, ctypes.c_void_p(handle.value), self._forks)
        self._forgotten.atexit = False
        _open.add(self)
        self._warn_if_off()

    def __enter__(self) -> Runtime:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Keeps what finished jobs brought, cancels the others, and frees all. A second call does nothing."""
        if self._handle is None or self._is_parents:
            return
        self._keeper.end()
        for job in self.jobs:
            job._cancel_unfinished()
        deadline = time.monotonic() + _LEAVING_S
        for job in self.jobs:
            job._end(deadline)
        self._warn_if_off()
        handle, self._handle, self._number = self._handle, None, 0
        self._forgotten.detach()
        try:
            check(self._library.lull_destroy(handle))
        finally:
            heard.say()

    def submit(self, task: str | SideStep, *, priority: int = 0, name: str | None = None) -> Job:
        """`task` is NAME or NAME:key=value,…; tasks() lists them. Or it is a lull.side_step(…). Blocks while inputs
        are read, or the step is captured. Where the mode is not on the job is off: nothing is read, and it never
        runs."""
        self._refuse_parents()
        refuse_no_task(task)
        self._keeper.settle()
        if isinstance(task, SideStep):
            return self._submit_step(task, priority, name)
        called = None if name is None else name.encode()
        options = struct("job_options", priority=priority, name=called, **self._saved)
        with later_signals():
            asked = self._handle, task.encode(), ctypes.byref(options)
            return self._kept(Job(given(ctypes.c_void_p, self._library.lull_submit, *asked), task))

    def _submit_step(self, step, priority, name):
        if self.mode != "on":
            return self._kept(off_job(step, name))
        asked = step, self.device, priority, name
        return StepJob(self._submit_graph, self._lend_graph_stream, *asked, self._kept)

    def _kept(self, job):
        self.jobs.append(job)
        self._keeper.add(job)
        return job

    def submit_graph(
        self,
        graph: int,
        *,
        steps: int = 1,
        segment: float = 1e-4,
        node_limit: float | None = None,
        is_fed: bool = False,
        priority: int = 0,
        name: str = "graph",
        hint: bool = True,
    ) -> GraphJob:
        """A cudaGraph_t, as an integer, of kernels, copies and memsets, run so often; host/lull.h says the rest. Its
        first step runs at once. What it reads and writes must live until the job is over. `segment`: about the
        seconds that a bubble which closes waits for, but for longer nodes. `node_limit`: it is refused if a node takes
        more seconds, as host/lull.h says; None: 0.002, or `segment` if that is more. `hint`: whether it goes by how
        long bubbles were lately, or by the gate alone."""
        self._keeper.settle()
        with later_signals():
            return self._kept(self._submit_graph(graph, steps, segment, node_limit, is_fed, priority, name, hint, None))

    def graph_stream(self) -> int:
        """A stream on the SMs of workers, as an integer, where a graph may be warmed up and captured. It goes with the
        runtime. Every call gives another: graphs of jobs that live at the same time need one each, because PyTorch
        keeps what cuBLAS works in a stream. When a job is over, the next may have its stream."""
        self._refuse_parents()
        return self._given(ctypes.c_void_p, self._library.lull_graph_stream).value or 0

    def _lend_graph_stream(self):
        return self._graph_streams.lend(self.graph_stream)

    def _submit_graph(self, graph, steps, segment, node_limit, is_fed, priority, name, hint, memory) -> GraphJob:
        self._refuse_parents()
        refuse_graph(steps, segment, node_limit)
        options = struct(
            "graph_options",
            priority=priority,
            steps=steps,
            segment_ns=max(round(segment * 1e9), 1),
            node_limit_ns=0 if node_limit is None else max(round(node_limit * 1e9), 1),
            is_fed=is_fed,
            no_hint=not hint,
            name=name.encode(),
            memory=memory,
        )
        asked = self._handle, graph, ctypes.byref(options)
        return GraphJob(given(ctypes.c_void_p, self._library.lull_submit_graph, *asked), name)

    @property
    def handle(self) -> ctypes.c_void_p | None:
        """Of the C library's; None when it has ended."""
        return self._handle

    def keep_reserve(self, seconds: float = 10) -> int:
        """As `give_back`, of what the device lacks of `reserve_bytes` now."""
        return self._give_back(0, seconds)

    @property
    def mode(self) -> str:
        if self._is_parents:
            return "off"
        mode = ctypes.c_int()
        check(self._library.lull_get_mode(self._handle, ctypes.byref(mode), None, 0, None))
        return ("off", "observe", "on")[mode.value - 1]

    @property
    def why_off(self) -> str:
        """Why the mode is off: what was found at the start, or the error that turned it off. Empty: it is not, or that
        was asked for."""
        if self._handle is None or self._is_parents:
            return ""
        return text_of(self._library.lull_get_mode, self._handle, ctypes.byref(ctypes.c_int()))

    def _warn_if_off(self):
        """Once; raises nothing."""
        with contextlib.suppress(Error):
            if not self._may_be_off and self._handle is not None and self.mode == "off":
                self._may_be_off = True
                log.warning("Lull is off: %s", self.why_off)

    def counts(self) -> dict[str, int]:
        """What became of the bubbles, as a dictionary; host/lull.h says what each count means."""
        now = self._given("counts", self._library.lull_get_counts)
        return {name: getattr(now, name) for name in no_counts()}

    def report(self, form: str = "text") -> str:
        """The bubble report so far, as text, json, or trace (for https://ui.perfetto.dev)."""
        if self._is_parents:
            return ""
        if form == "svg":
            raise ArgumentError(
                "Lull draws no SVG since 0.2: take 'trace', and open it as a file at https://ui.perfetto.dev"
            )
        return text_of(self._library.lull_report, self._handle, one_of("form", form, _FORMS))

    def ready(self, stream: int) -> bool:
        """Whether a job stands ready for a bubble on this stream, an integer."""
        return bool(self._given(ctypes.c_int, self._library.lull_ready, stream).value)

    def step(self, stream: int, number: int | None = None, work: float = 0) -> None:
        """Marks where a training step ends and the next begins, on the stream that trains, an integer."""
        if number is not None and not 0 <= number < binding.SKIP_STEP:
            raise ArgumentError(f"number is {number}: it must be at least 0 and below 2**64 - 2")
        self._do(self._library.lull_step, stream, binding.NEXT_STEP if number is None else number, work)

    def skip_step(self) -> None:
        """The time until the next step is not counted."""
        self._do(self._library.lull_step, None, binding.SKIP_STEP, 0)

    def bound_slowdown(self, max_slowdown: float) -> None:
        """Changes the bound; 0: none."""
        self._do(self._library.lull_bound_slowdown, max_slowdown)

    def assume_slowdown(self, name: str, slowdown: float) -> None:
        """How much longer jobs of that name make a step, until it is known."""
        if "\0" in name:
            raise ArgumentError("a name has no zero byte")
        self._do(self._library.lull_assume_slowdown, name.encode(), slowdown)

    def slowdown(self, name: str) -> tuple[float, float, float] | None:
        """Of steps in which jobs of that name ran and no others: low end, estimate, high end; None: not known yet."""
        now = self._given("steps", self._library.lull_get_steps, name.encode())
        return (now.slowdown_low, now.slowdown, now.slowdown_high) if now.is_known else None

    def steps(self) -> dict[str, float]:
        """The steps that were marked, as a dictionary; host/lull.h says what each value means. What is not known yet
        is not there."""
        if self._is_parents:
            return {}
        now = self._given("steps", self._library.lull_get_steps, None)
        unknown = [] if now.is_known else ["slowdown", "slowdown_low", "slowdown_high"]
        unknown += [] if now.steps_to_know else ["noise", "steps_to_know"]
        names = [name for name, *_ in now._fields_]
        return {name: getattr(now, name) for name in names if name not in ("size", "is_known", *unknown)}

    def open(self, site: bytes, stream: int) -> int:
        """Enqueues the opening edge on the stream, an integer; the host does not wait. Returns what close_bubble
        takes."""
        if self._forks != binding.forks:  # by itself, as close_bubble: each call of Python's delays the trainer
            return 0
        bubble = self._library.open_bubble(self._number, stream, site)
        if bubble < 0:
            check(-bubble)
        return bubble

    def close_bubble(self, bubble: int, stream: int) -> None:
        if self._forks == binding.forks and (status := self._library.close_bubble(self._number, bubble, stream)):
            check(status)

    def _warn_of_bubble(self, why):
        if self._handle is not None and not self._has_warned:  # else the runtime has ended meanwhile
            self._has_warned = True
            log.warning("a bubble is passed over: %s", why)

    def give_back(self, bytes: int, seconds: float = 10) -> int:
        """Asks jobs for device memory, the lowest first. Returns how many bytes went back to the driver within so many
        seconds. Jobs that are over give back first, for half of that time at most."""
        wanted = bytes_of("bytes", bytes)
        return self._give_back(wanted, seconds) if wanted else 0

    def _give_back(self, bytes, seconds):
        """0: what the reserve lacks. Jobs that are over give back first, for at most half of the time, since one may
        write a result meanwhile, and others are to be asked in time."""
        if self._is_parents:
            return 0
        at_most_ns, began_ns = in_ns(seconds), time.monotonic_ns()
        self._keeper.settle_within(at_most_ns / 2e9)
        left_ns = max(at_most_ns - (time.monotonic_ns() - began_ns), 0)
        return self._given(ctypes.c_uint64, self._library.lull_give_back, bytes, left_ns).value

    def wait_all(self, seconds: float | None = None) -> bool:
        """True when every job is over, False when the time is; None: it has no end. Somebody must go on to place
        bubbles meanwhile."""
        return self._is_parents or wait_in_pieces(self._library.lull_wait_all, self._handle, seconds)

    @contextlib.contextmanager
    def pause_all(self, seconds: float = 10) -> Iterator[None]:
        """A scope in which none of our blocks works. Raises where that is not reached in so many seconds."""
        if not self._do(self._library.lull_pause_all, in_ns(seconds)):
            raise TimedOut(f"workers did not leave within {seconds} s", Status.TIMED_OUT)
        try:
            yield
        finally:
            self._do(self._library.lull_resume_all)
