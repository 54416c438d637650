# SPDX-License-Identifier: Apache-2.0
"""Runtimes and streams of the C library as Python objects. Thread-safe as their C calls are."""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import os
import time
import weakref
from collections.abc import Iterator, Sequence

from . import binding, checked, heard
from .binding import Error, Status, check, load, text_of
from .captured_step import SideStep
from .job import GraphJob, Job, Made, in_ns, refuse_lengths
from .later_signals import later_signals
from .side_step import StepJob
from .streams import LentStreams

_EXECUTORS = {None: 0, "threads": 1, "cuda": 2}
_MODES = {None: 0, "off": 1, "observe": 2, "on": 3}
_LAUNCHES = {"at_close": 0, "at_open": 1}
_FORMS = {"text": 0, "json": 1, "trace": 2}
_LEAVING_S = 1  # of a runtime that ends: for the blocks of its jobs to leave


_open: weakref.WeakSet[Runtime] = weakref.WeakSet()


@atexit.register  # before any scope's: those end first
def _close_all():
    for side in list(_open):
        with contextlib.suppress(Error):
            side.close()


def _after_fork():
    _open.clear()  # they are the parent's to close


os.register_at_fork(after_in_child=_after_fork)


def _forget(library, handle, forks):
    """The end of a runtime that nobody holds any longer; nobody is there to be told of an error."""
    if forks != binding.forks:
        return
    library.lull_destroy(handle)
    heard.say()


def tasks() -> str:
    """Every task that can be asked for, with its options, as text."""
    return text_of(load().lull_tasks)


class Runtime(Made):
    """One a device. `close` is called for you where it is used as a scope. `tasks`: those whose code is loaded at
    start, and that have workers in captured graphs, with options that decide what is loaded
    (product:leave=saved;rows=64); None: all. `report`: file that the bubble report is written to at the end, in the
    format of its ending (.txt, .json, .trace.json); %p in it is the process, %d the device. `armed_ahead`:
    seconds that a worker may wait on the device for its bubble; None: Lull chooses; 0: workers are enqueued when the
    bubble is open, not before. `min_bubble`: no side work runs at a site whose last eight bubbles were shorter, in
    seconds; None: 30 µs. `rest_before_close`: side work rests so long before a bubble usually closes; None: 10 µs; 0:
    never. `max_slowdown`: by how much the trainer's steps may take longer in the mean, as a share;
    0: no bound. `step` marks them. `trainer`: a number that all ranks of a trainer share. `reserve_bytes` of device
    memory stay free for the trainer; `saved_bytes` of pinned host memory hold what evicted jobs had. `profile`: file of
    `lull.profile`, for `suppose` of each of its tasks. `checkpoint`: folder where tasks are saved, every
    `checkpoint_every` seconds and at the end; they take up what is there."""

    def __init__(
        self,
        *,
        executor: str | None = None,
        device: int = 0,
        mode: str | None = None,
        launch: str = "at_close",
        rooms: int | None = None,
        processors: int = 0,
        memory_limit_bytes: int = 0,
        reserve_bytes: int = 0,
        saved_bytes: int = 0,
        armed_ahead: float | None = None,
        min_bubble: float | None = None,
        rest_before_close: float | None = None,
        max_slowdown: float = 0,
        trainer: int = 0,
        profile: str | os.PathLike[str] | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
        checkpoint_every: float = 60,
        tasks: Sequence[str] | None = None,
        report: str | os.PathLike[str] | None = None,
    ) -> None:
        super().__init__()
        options = binding.Options(
            size=ctypes.sizeof(binding.Options),
            abi=binding.ABI,
            executor=checked.one_of("executor", executor, _EXECUTORS),
            device=device,
            mode=checked.one_of("mode", mode, _MODES),
            launch=checked.one_of("launch", launch, _LAUNCHES),
            rooms=0 if rooms is None else (rooms or -1),
            processors=processors,
            armed_ahead_us=checked.armed_ahead_us(armed_ahead),
            min_bubble_ns=checked.min_bubble_ns(min_bubble),
            rest_us=checked.rest_us(rest_before_close),
            memory_limit_bytes=checked.bytes_of("memory_limit_bytes", memory_limit_bytes),
            reserve_bytes=checked.bytes_of("reserve_bytes", reserve_bytes),
            saved_bytes=checked.bytes_of("saved_bytes", saved_bytes),
            tasks=None if tasks is None else ",".join(tasks).encode(),
            log=heard.CALLBACK,
            report=None if report is None else os.fsencode(report),
            max_slowdown=max_slowdown,
            trainer=trainer,
            profile=None if profile is None else os.fsencode(profile),
        )
        self._library = load()
        self.device = device
        self._saved = {"checkpoint_every_ns": max(in_ns(checkpoint_every), 1)}
        self._saved |= {} if checkpoint is None else {"checkpoint": os.fsencode(checkpoint)}
        self.jobs: list[Job] = []
        self._graph_streams = LentStreams()
        self._handle: ctypes.c_void_p | None = ctypes.c_void_p()
        heard.listen()
        try:
            check(self._library.lull_create(ctypes.byref(options), ctypes.byref(self._handle)))
        finally:
            heard.say()
        self._forgotten = weakref.finalize(
            self, _forget, self._library, ctypes.c_void_p(self._handle.value), self._forks
        )
        self._forgotten.atexit = False
        _open.add(self)

    def __enter__(self) -> Runtime:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Keeps what finished jobs brought, cancels the others, and frees all. A second call does nothing."""
        if self._handle is None or self._is_parents:
            return
        for job in self.jobs:
            job._cancel_unfinished()
        deadline = time.monotonic() + _LEAVING_S
        for job in self.jobs:
            job._end(deadline)
        handle, self._handle = self._handle, None
        self._forgotten.detach()
        try:
            check(self._library.lull_destroy(handle))
        finally:
            heard.say()

    def submit(self, task: str | SideStep, *, priority: int = 0, name: str | None = None) -> Job:
        """`task` is NAME or NAME:key=value,…; tasks() lists them. Or it is a lull.side_step(…). Blocks while inputs
        are read, or the step is captured."""
        self._refuse_parents()
        if isinstance(task, SideStep):
            if self.mode != "on":
                raise Error(f"the runtime is {self.mode}, and a step runs when it is submitted", Status.ERROR_STATE)
            asked = task, self.device, priority, name
            return StepJob(self._submit_graph, self._lend_graph_stream, *asked, self._kept)
        options = binding.JobOptions(
            size=ctypes.sizeof(binding.JobOptions),
            priority=priority,
            name=None if name is None else name.encode(),
            **self._saved,
        )
        handle = ctypes.c_void_p()
        with later_signals():
            check(self._library.lull_submit(self._handle, task.encode(), ctypes.byref(options), ctypes.byref(handle)))
            return self._kept(Job(handle, task))

    def _kept(self, job):
        self.jobs.append(job)
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
        with later_signals():
            return self._kept(self._submit_graph(graph, steps, segment, node_limit, is_fed, priority, name, hint, None))

    def graph_stream(self) -> int:
        """A stream on the SMs of workers, as an integer, where a graph may be warmed up and captured. It goes with the
        runtime. Every call gives another: graphs of jobs that live at the same time need one each, because PyTorch
        keeps what cuBLAS works in a stream. When a job is over, the next may have its stream."""
        self._refuse_parents()
        stream = ctypes.c_void_p()
        check(self._library.lull_graph_stream(self._handle, ctypes.byref(stream)))
        return stream.value or 0

    def _lend_graph_stream(self):
        return self._graph_streams.lend(self.graph_stream)

    def _submit_graph(self, graph, steps, segment, node_limit, is_fed, priority, name, hint, memory) -> GraphJob:
        self._refuse_parents()
        refuse_lengths(segment, node_limit)
        if steps < 1:
            raise Error(f"steps is {steps}: it must be 1 or more")
        options = binding.GraphOptions(
            size=ctypes.sizeof(binding.GraphOptions),
            priority=priority,
            steps=steps,
            segment_ns=max(round(segment * 1e9), 1),
            node_limit_ns=0 if node_limit is None else max(round(node_limit * 1e9), 1),
            is_fed=is_fed,
            no_hint=not hint,
            name=name.encode(),
            memory=memory,
        )
        handle = ctypes.c_void_p()
        check(self._library.lull_submit_graph(self._handle, graph, ctypes.byref(options), ctypes.byref(handle)))
        return GraphJob(handle, name)

    @property
    def handle(self) -> ctypes.c_void_p | None:
        """Of the C library's; None when it has ended."""
        return self._handle

    def keep_reserve(self, seconds: float = 10) -> int:
        """As `give_back`, of what the device lacks of `reserve_bytes` now."""
        if self._is_parents:
            return 0
        given = ctypes.c_uint64()
        check(self._library.lull_keep_reserve(self._handle, in_ns(seconds), ctypes.byref(given)))
        return given.value

    @property
    def mode(self) -> str:
        if self._is_parents:
            return "off"
        mode = ctypes.c_int()
        check(self._library.lull_get_mode(self._handle, ctypes.byref(mode)))
        return ("off", "observe", "on")[mode.value - 1]

    def counts(self) -> dict[str, int]:
        """What became of the bubbles, as a dictionary; host/lull.h says what each count means."""
        if self._is_parents:
            return {}
        now = binding.Counts(size=ctypes.sizeof(binding.Counts))
        check(self._library.lull_get_counts(self._handle, ctypes.byref(now)))
        return {name: getattr(now, name) for name, *_ in binding.Counts._fields_ if name not in ("size", "reserved")}

    def report(self, form: str = "text") -> str:
        """The bubble report so far, as text, json, or trace (for https://ui.perfetto.dev)."""
        if self._is_parents:
            return ""
        if form == "svg":
            raise Error("Lull draws no SVG since 0.2: take 'trace', and open it as a file at https://ui.perfetto.dev")
        return text_of(self._library.lull_report, self._handle, checked.one_of("form", form, _FORMS))

    def ready(self, stream: int) -> bool:
        """Whether a job stands ready for a bubble on this stream, an integer."""
        if self._is_parents:
            return False
        ready = ctypes.c_int()
        check(self._library.lull_ready(self._handle, stream, ctypes.byref(ready)))
        return bool(ready.value)

    def step(self, stream: int, number: int | None = None) -> None:
        """Marks where a training step ends and the next begins, on the stream that trains, an integer."""
        if self._is_parents:
            return
        if number is None:
            check(self._library.lull_step(self._handle, stream))
        elif 0 <= number < 1 << 64:
            check(self._library.lull_step_number(self._handle, stream, number))
        else:
            raise Error(f"number is {number}: it must be at least 0 and below 2**64")

    def skip_step(self) -> None:
        """The time until the next step is not counted."""
        if not self._is_parents:
            check(self._library.lull_skip_step(self._handle))

    def bound_slowdown(self, max_slowdown: float) -> None:
        """Changes the bound; 0: none."""
        if not self._is_parents:
            check(self._library.lull_bound_slowdown(self._handle, max_slowdown))

    def suppose(self, name: str, slowdown: float) -> None:
        """How much longer jobs of that name make a step, until it is known."""
        if "\0" in name:
            raise Error("a name has no zero byte")
        if not self._is_parents:
            check(self._library.lull_suppose(self._handle, name.encode(), slowdown))

    def slowdown(self, name: str) -> tuple[float, float, float] | None:
        """Of steps in which jobs of that name ran and no others: low end, estimate, high end; None: not known yet."""
        found = (ctypes.c_double * 3)()
        known = not self._is_parents and check(self._library.lull_get_slowdown(self._handle, name.encode(), found))
        return (found[0], found[1], found[2]) if known else None

    def steps(self) -> dict[str, float]:
        """The steps that were marked, as a dictionary; host/lull.h says what each value means. What is not known yet
        is not there."""
        if self._is_parents:
            return {}
        now = binding.Steps(size=ctypes.sizeof(binding.Steps))
        check(self._library.lull_get_steps(self._handle, ctypes.byref(now)))
        unknown = [] if now.is_known else ["slowdown", "slowdown_low", "slowdown_high"]
        unknown += [] if now.steps_to_know else ["noise", "steps_to_know"]
        names = [name for name, *_ in binding.Steps._fields_]
        return {name: getattr(now, name) for name in names if name not in ("size", "is_known", *unknown)}

    def open(self, site: bytes, stream: int) -> int:
        """Enqueues the opening edge on the stream, an integer; the host does not wait. Returns what close_bubble
        takes."""
        if self._is_parents:
            return 0
        bubble = ctypes.c_uint64()
        check(self._library.lull_open(self._handle, stream, site, ctypes.byref(bubble)))
        return bubble.value

    def close_bubble(self, bubble: int, stream: int) -> None:
        if not self._is_parents:
            check(self._library.lull_close(self._handle, bubble, stream))

    def give_back(self, bytes: int, seconds: float = 10) -> int:
        """Asks jobs for device memory, the lowest first. Returns how many bytes went back to the driver within so many
        seconds."""
        if self._is_parents:
            return 0
        given = ctypes.c_uint64()
        wanted = checked.bytes_of("bytes", bytes)
        check(self._library.lull_give_back(self._handle, wanted, in_ns(seconds), ctypes.byref(given)))
        return given.value

    def drain(self, seconds: float) -> bool:
        """True when every job is over, False when the time is. Somebody must go on to place bubbles meanwhile."""
        return self._is_parents or check(self._library.lull_drain(self._handle, in_ns(seconds)))

    @contextlib.contextmanager
    def quiet(self, seconds: float = 10) -> Iterator[None]:
        """A scope in which none of our blocks works. Raises where that is not reached in so many seconds."""
        if not self._is_parents and not check(self._library.lull_quiet(self._handle, in_ns(seconds))):
            raise Error(f"workers did not leave within {seconds} s", Status.TIMED_OUT)
        try:
            yield
        finally:
            if not self._is_parents:
                check(self._library.lull_release(self._handle))


class ThreadsStream(Made):
    """A trainer's stream on CPU threads, for tests and demonstrations without a GPU."""

    def __init__(self) -> None:
        super().__init__()
        self._handle = ctypes.c_void_p()
        check(load().lull_threads_stream_create(ctypes.byref(self._handle)))

    def __index__(self) -> int:
        return self._handle.value or 0

    def sleep(self, seconds: float) -> None:
        """Enqueues a kernel that takes so long, at most 10 s."""
        if not self._is_parents:
            check(load().lull_threads_stream_sleep(self._handle, in_ns(seconds)))

    def synchronize(self) -> None:
        if not self._is_parents:
            check(load().lull_threads_stream_synchronize(self._handle))

    def close(self) -> None:
        if not self._is_parents:
            check(load().lull_threads_stream_destroy(self._handle))
