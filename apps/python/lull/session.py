# SPDX-License-Identifier: Apache-2.0
"""`harvest`, `observe` and `bubble`: what a training script writes."""

from __future__ import annotations

import atexit
import contextlib
import importlib
import logging
import os
import pathlib
import shutil
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any

from . import arrivals, torch_hook, waits
from .binding import Error
from .captured_step import SideStep
from .job import Job
from .ranks import own_file
from .runtime import Runtime
from .streams import pointer_of
from .task_lists import loaded_at_start

log = logging.getLogger("lull")

_lock = threading.Lock()
_active = None  # the session that is on; one a process


class Session:
    """What `with lull.harvest(…) as side:` gives. `mode` is off, observe or on; `why_off` says why it is off, if it is;
    `unseen`, which waits of this torch it cannot observe."""

    def __init__(
        self, mode: str, tasks: Sequence[str], options: dict[str, Any], force: bool, bracket_waits: bool
    ) -> None:
        self.why_off = self.unseen = ""
        self.jobs: list[Job] = []
        self._asked = (mode, tasks, options, force, bracket_waits)
        self._runtime: Runtime | None = None
        self._waits: waits.Waits | None = None
        self._marks_steps = False  # the program does
        self._folder: str | None = None  # of a report that is to be printed

    @property
    def mode(self) -> str:
        return "off" if self._runtime is None else self._runtime.mode

    def counts(self) -> dict[str, int]:
        """What became of the bubbles; empty when off. host/lull.h says what each count means."""
        return {} if self._runtime is None else self._runtime.counts()

    def report(self, form: str = "text") -> str:
        """The bubble report so far, as text, json, or trace (for https://ui.perfetto.dev); empty when off."""
        return "" if self._runtime is None else self._runtime.report(form)

    def steps(self) -> dict[str, float]:
        """The training steps that were marked: how many, how long, and with `max_slowdown` in how many side work was
        withheld, and what it costs; empty when off. host/lull.h says what each value means."""
        return {} if self._runtime is None else self._runtime.steps()

    def step(self, stream: object = None, number: int | None = None) -> None:
        """Marks where a training step ends and the next begins, on the stream that trains. From now on steps of
        optimizers mark none. Does nothing when off. `number`: of the step that begins, the same for all ranks; None:
        the last one's plus 1, from 0. A rank that starts later than others, or again, has to say where they are."""
        self._marks_steps = True
        if self._waits is not None:
            self._waits.marks_steps = False
        if self._runtime is not None:
            self._runtime.step(pointer_of(stream), number)

    def skip_step(self) -> None:
        """The step under way is not like others: the time until the next one is not counted, and with a bound there is
        no side work in bubbles that are opened until then. Before a validation or a checkpoint. Does nothing when
        off."""
        if self._runtime is not None:
            self._runtime.skip_step()

    def bound_slowdown(self, max_slowdown: float) -> None:
        """Changes `max_slowdown`: no side work then runs before the next step, and what was learnt is forgotten. 0: no
        bound, from now on. Does nothing when off."""
        if self._runtime is not None:
            self._runtime.bound_slowdown(max_slowdown)
        if self._waits is not None:
            self._waits.marks_steps = max_slowdown != 0 and not self._marks_steps

    def suppose(self, name: str, slowdown: float) -> None:
        """With a bound: how much longer a step is supposed to take, as a share, if jobs of that name run in it, as
        `steps` of an earlier run told. Until it is known they begin the more carefully the more it is. Does nothing
        when off."""
        if self._runtime is not None:
            self._runtime.suppose(name, slowdown)

    def slowdown(self, name: str) -> tuple[float, float, float] | None:
        """With a bound: how much longer steps take in which jobs of that name ran and no others, as a share: low end of
        the 95 % interval, estimate, high end. None: not known yet, or off. The high end is something for `suppose` in
        the next run."""
        return None if self._runtime is None else self._runtime.slowdown(name)

    def give_back(self, bytes: int, seconds: float = 10) -> int:
        """Asks jobs for device memory, the lowest first, before the trainer allocates it. They are evicted, as with
        `reserve_bytes`. Returns how many bytes went back to the driver within so many seconds: less where jobs have no
        more, more where one has more. 0 when off."""
        return 0 if self._runtime is None else self._runtime.give_back(bytes, seconds)

    def submit(self, task: str | SideStep, *, priority: int = 0, name: str | None = None) -> Job | None:
        """Another job, of a task or a lull.side_step(…). None when off, and for a step also when only observed. Blocks
        while inputs are read, or the step is captured."""
        if self._runtime is None or (isinstance(task, SideStep) and self._runtime.mode != "on"):
            return None
        try:
            return self._runtime.submit(task, priority=priority, name=name)
        finally:  # also where Ctrl-C came: the job is there
            self.jobs += [job for job in self._runtime.jobs if job not in self.jobs]

    def ready(self, stream: object = None) -> bool:
        """Whether a job stands ready for a bubble on this stream."""
        return self._runtime is not None and self._runtime.ready(pointer_of(stream))

    def quiet(self, seconds: float = 10) -> AbstractContextManager[None]:
        """`with side.quiet():` none of our blocks works in it."""
        return contextlib.nullcontext() if self._runtime is None else self._runtime.quiet(seconds)

    @contextlib.contextmanager
    def suspended(self) -> Iterator[None]:
        """`with side.suspended():` waits are no bubbles in it, and torch is as it was; jobs keep what they have
        done."""
        placed, self._waits = self._waits, None
        if placed is not None:
            placed.remove()
        try:
            yield
        finally:
            if placed is not None and self._runtime is not None:
                self._waits = placed
                placed.install()

    @contextlib.contextmanager
    def bubble(self, site: str, stream: object = None) -> Iterator[None]:
        """A scope around a wait that the program enqueues itself; the host does not wait. Does nothing when off."""
        runtime = self._runtime
        if runtime is None:
            yield
            return
        pointer = pointer_of(stream)
        bubble = runtime.open(site.encode(), pointer)
        try:
            yield
        finally:
            runtime.close_bubble(bubble, pointer)

    def __enter__(self) -> Session:
        global _active
        with _lock:
            if _active is not None:
                raise Error(
                    "lull.harvest or lull.observe is on already in this process: leave it first; "
                    "one scope takes many tasks"
                )
            _active = self
        try:
            self._start()
        except BaseException:
            self._stop()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            self._stop()
        except Error as why:
            if kind is None:
                raise
            log.warning("%s", why)  # what the training raised is told, not this

    def _start(self):
        mode, tasks, options, force, bracket_waits = self._asked
        wanted = os.environ.get("LULL", "")
        if wanted == "off":
            self._off("LULL=off", quietly=True)
            return
        torch = sys.modules.get("torch")  # for the device and the rank; where waits are not bracketed it may be absent
        if bracket_waits:
            try:
                torch = importlib.import_module("torch")
            except ImportError as why:
                raise Error(
                    f"{why}: for bubbles that you place yourself, without torch, say bracket_waits=False"
                ) from why
            runs = wanted == "on" or (mode == "on" and wanted != "observe")
            reason, may_force = waits.why_not(torch) if runs else ("", True)
            if reason and not (may_force and (force or wanted == "on")):
                self._off(reason + ("; force=True or LULL=on goes on all the same" if may_force else ""))
                return
            self.unseen = waits.unseen(torch)
            for doubt in filter(None, (waits.doubt(torch), self.unseen)):
                log.warning("%s", doubt)
        if options.get("device") is None:
            options = {
                **options,
                "device": torch.cuda.current_device() if torch is not None and torch.cuda.is_available() else 0,
            }
        atexit.register(self._stop)  # while the interpreter still runs
        if mode == "observe" and options.get("report") is None and not os.environ.get("LULL_REPORT"):
            self._folder = tempfile.mkdtemp(prefix="lull-")  # not TemporaryDirectory: a forked child would remove it
            options = {**options, "report": f"{self._folder}/bubbles.txt"}
        elif options.get("report") is not None:
            named = pathlib.Path(options["report"])
            options = {**options, "report": named if "%" in named.name else own_file(named, torch)}
        if options.get("checkpoint") is not None:
            if not os.fspath(options["checkpoint"]):
                raise Error("checkpoint is empty: leave it out, or name a folder")
            options = {**options, "checkpoint": own_file(options["checkpoint"], torch)}
        options, too_late = arrivals.with_rooms(options)
        hooks = options.pop("hook_allocator", False)
        if hooks and not options.get("reserve_bytes"):
            raise Error("hook_allocator needs reserve_bytes: that is what torch's allocator asks for")
        self._runtime = Runtime(mode=mode, tasks=loaded_at_start(tasks) or None, **options)
        if hooks:
            torch_hook.install(self._runtime.handle)
        for task in tasks:
            self.submit(task)
        if bracket_waits:
            too_late = too_late if self._runtime.mode == "on" else ""
            self._waits = waits.Waits(torch, self._runtime, too_late, bool(options.get("max_slowdown")))
            self._waits.install()

    def _off(self, why, quietly=False):
        self.why_off = why
        log.log(logging.INFO if quietly else logging.WARNING, "Lull is off, and nothing was changed: %s", why)

    def _stop(self):
        """Restores everything, whatever part of it there is."""
        global _active
        with _lock:
            if _active is self:
                _active = None
        placed, self._waits = self._waits, None
        if placed is not None:
            placed.remove()
        runtime, self._runtime = self._runtime, None
        torch_hook.remove()
        try:
            if runtime is not None:
                atexit.unregister(self._stop)
                runtime.close()
        finally:
            self._print()

    def _print(self):
        """The report that no file was named for."""
        if self._folder is None:
            return
        path = pathlib.Path(self._folder, "bubbles.txt")
        if path.exists():
            print(path.read_text(encoding="utf-8"), end="", file=sys.stderr, flush=True)
        shutil.rmtree(self._folder, ignore_errors=True)
        self._folder = None

    def _forked(self):
        """In a child process: the runtime's threads are not there, and its device is not the child's."""
        placed, self._waits = self._waits, None
        if placed is not None:
            placed.remove()
        self._runtime = self._folder = None
        self.why_off = "this process was forked from one with Lull on"
        atexit.unregister(self._stop)


def _after_fork():
    global _active, _lock
    _lock = threading.Lock()
    forked, _active = _active, None
    if forked is not None:
        forked._forked()


os.register_at_fork(after_in_child=_after_fork)


def harvest(
    tasks: str | Sequence[str] = (),
    *,
    device: int | None = None,
    executor: str | None = None,
    rooms: int | None = None,
    processors: int = 0,
    memory_limit_bytes: int = 0,
    reserve_bytes: int = 0,
    saved_bytes: int = 0,
    hook_allocator: bool = False,
    armed_ahead: float | None = None,
    min_bubble: float | None = None,
    rest_before_close: float | None = None,
    max_slowdown: float = 0,
    trainer: int = 0,
    profile: str | os.PathLike[str] | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    checkpoint_every: float = 60,
    launch: str = "at_close",
    report: str | os.PathLike[str] | None = None,
    force: bool = False,
    bracket_waits: bool = True,
) -> Session:
    """`with lull.harvest(tasks=["pagerank:graph=web.el"]) as side:` around a training loop does the tasks in its
    bubbles.

    Every wait for point-to-point work of torch.distributed is a bubble (`bracket_waits`), and `lull.bubble` places
    others. A task of a shared library is "./libmine.so:mine,size=8". All is as it was when the scope ends, however it
    does; jobs that have not finished by then are cancelled, the results of those that have are written. `report`: file
    for the bubble report, .txt, .json or .trace.json. `device`: None, torch's current one. `rooms`: groups of SMs that
    workers keep off; None: two, which hold one NCCL kernel, or none where nothing can arrive: so open the scope after
    init_process_group. `armed_ahead`: seconds that a worker may wait on the device for its bubble; None: Lull chooses;
    0: workers are enqueued when the bubble is open, not before. `min_bubble`: no side work runs at a site whose last
    eight bubbles were shorter, in seconds; None: 30 µs. `rest_before_close`: side work rests so long before a bubble
    usually closes; None: 10 µs; 0: never. `max_slowdown`: by how much training steps may take
    longer in the mean, as a share: 0.005 is half a per cent; 0: no bound. Where waits are bracketed, each step of an
    optimizer marks one; otherwise, and where a training step has several optimizers, call `side.step()` once a step.
    In captured graphs a mark counts for what the stream replays behind it. `trainer`: a number that all ranks of a
    trainer share, so that they withhold side work in the same steps. `profile`: file of `lull.profile`: with a bound,
    a task begins the more carefully the more it costs there. `checkpoint`: folder where tasks are saved, each rank's
    in its own, every so many seconds and when the scope ends; those that the program gives again go on from there.
    `reserve_bytes` of device memory stay free for
    the trainer: below that jobs are evicted, within some 10 ms, and come back when there is room, with the same
    bits. Their memory is saved in `saved_bytes` of pinned host memory, taken at start; without it none is evicted.
    `hook_allocator`: torch asks for what the reserve lacks before it asks the driver for memory; that needs a C++
    compiler, and half a minute the first time.

    A torch older than waits.OLDEST leaves everything off with a warning, unless `force`; so does, always, one that
    lacks what waits are bracketed with. One newer than waits.NEWEST is harvested with a warning. LULL=off|observe|on
    in the environment goes before all of this."""
    if isinstance(tasks, str):
        tasks = [tasks]
    options = {
        "device": device,
        "executor": executor,
        "rooms": rooms,
        "processors": processors,
        "memory_limit_bytes": memory_limit_bytes,
        "reserve_bytes": reserve_bytes,
        "saved_bytes": saved_bytes,
        "hook_allocator": hook_allocator,
        "armed_ahead": armed_ahead,
        "min_bubble": min_bubble,
        "rest_before_close": rest_before_close,
        "max_slowdown": max_slowdown,
        "trainer": trainer,
        "profile": profile,
        "checkpoint": checkpoint,
        "checkpoint_every": checkpoint_every,
        "launch": launch,
        "report": report,
    }
    return Session("on", list(tasks), options, force, bracket_waits)


def observe(
    *,
    report: str | os.PathLike[str] | None = None,
    device: int | None = None,
    executor: str | None = None,
    force: bool = False,
    bracket_waits: bool = True,
) -> Session:
    """As `harvest`, but nothing runs in the bubbles: how many there are, and how long. Without a `report` its text
    is printed to stderr at the end. No torch is refused: what it cannot see of one that lacks something is in
    `unseen` and in the log."""
    return Session("observe", [], {"device": device, "executor": executor, "report": report}, force, bracket_waits)


def is_on() -> bool:
    """Whether this process is in a session's scope, also where Lull is off in it."""
    return _active is not None


def bubble(site: str, stream: object = None) -> AbstractContextManager[None]:
    """A bubble of the session that is on; without one, nothing. `site` says where in the step it is, in at most 255
    bytes; `stream` as in streams.pointer_of."""
    session = _active
    return contextlib.nullcontext() if session is None else session.bubble(site, stream)


def named_waits(recv: str = "", send: str = "") -> AbstractContextManager[None]:
    """`with lull.named_waits(recv="recv_forward"):` around the exchange of one micro-batch: the receive that is begun
    inside, wherever it is waited for, is the bubble "recv_forward 3" in the fourth such scope since the last optimizer
    step, and a second one for that micro-batch "recv_forward 3 #1". Without a session, nothing."""
    placed = None if _active is None else _active._waits
    return contextlib.nullcontext() if placed is None else placed.named(recv=recv, send=send)
