# SPDX-License-Identifier: Apache-2.0
"""`harvest`, `observe` and `bubble`: what a training script writes."""

from __future__ import annotations

import atexit
import contextlib
import dataclasses
import functools
import importlib
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
from .binding import ArgumentError, Error, Status, log
from .bubble_scope import BubbleScope
from .captured_step import SideStep
from .job import Job
from .options import Options, with_options_of
from .queue_agent import QueueAgent, agent_of
from .ranks import own_file
from .runtime import Runtime, no_counts, off_job, refuse_no_task
from .streams import pointer_of
from .task_lists import loaded_at_start, split


_lock = threading.Lock()
_active = None  # the session that is on; one a process
_NO_BUBBLE = contextlib.nullcontext()


class Session:
    """What `with lull.harvest(…) as side:` gives. `mode` is off, observe or on; `unseen` says which waits of this torch
    it cannot observe. All of it works in every mode."""

    def __init__(
        self, tasks: Sequence[str], options: Options, bracket_waits: bool, agent: QueueAgent | None = None
    ) -> None:
        self.unseen = ""
        self.jobs: list[Job] = []
        self._why_off = ""
        self._asked = (tasks, options, bracket_waits)
        self._agent = agent
        self._runtime: Runtime | None = None
        self._waits: waits.Waits | None = None
        self._marks_steps = False  # the program does
        self._folder: str | None = None  # of a report that is to be printed

    @property
    def mode(self) -> str:
        return "off" if self._runtime is None else self._runtime.mode

    @property
    def why_off(self) -> str:
        """Why it is off: the environment, what was found at the start, or an error since. A warning has said so, too.
        Empty: it is not."""
        return self._why_off if self._runtime is None else self._runtime.why_off

    def counts(self) -> dict[str, int]:
        """What became of the bubbles; all 0 when off. host/lull.h says what each count means."""
        return no_counts() if self._runtime is None else self._runtime.counts()

    def report(self, form: str = "text") -> str:
        """The bubble report so far, as text, json, or trace (for https://ui.perfetto.dev); empty when off."""
        return "" if self._runtime is None else self._runtime.report(form)

    def steps(self) -> dict[str, float]:
        """The training steps that were marked: how many, how long, in how many side work was withheld, and what it
        costs; empty when off. host/lull.h says what each value means."""
        return {} if self._runtime is None else self._runtime.steps()

    def step(self, stream: object = None, number: int | None = None, work: float = 0) -> None:
        """Marks where a training step ends and the next begins, on the stream that trains. From now on steps of
        optimizers mark none. Does nothing when off. `number`: of the step that begins, the same for all ranks; None:
        the last one's plus 1, from 0. A rank that starts later than others, or again, has to say where they are.

        `work`: of the step that begins, in any unit that its length grows with, such as tokens of its batch; say it of
        each step or of none (0). Steps of different work are then compared by what each is expected to
        take: where lengths vary by tenths, hardly anything is known without."""
        self._marks_steps = True
        if self._waits is not None:
            self._waits.marks_steps = False
        if self._runtime is not None:
            self._runtime.step(pointer_of(stream), number, work)

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

    def assume_slowdown(self, name: str, slowdown: float) -> None:
        """With a bound or the cap: how much longer a step is supposed to take, as a share, if jobs of that name run in
        it, as `steps` of an earlier run told. Until it is known they begin the more carefully the more it is. Does
        nothing when off."""
        if self._runtime is not None:
            self._runtime.assume_slowdown(name, slowdown)

    def slowdown(self, name: str) -> tuple[float, float, float] | None:
        """With a bound or the cap: how much longer steps take in which jobs of that name ran and no others, as a share:
        low end of the 95 % interval, estimate, high end. None: not known yet, or off. The high end is something for
        `assume_slowdown` in the next run."""
        return None if self._runtime is None else self._runtime.slowdown(name)

    def give_back(self, bytes: int, seconds: float = 10) -> int:
        """Asks jobs for device memory, the lowest first, before the trainer allocates it. They are evicted, as with
        `reserve_bytes`. Returns how many bytes went back to the driver within so many seconds: less where jobs have no
        more, more where one has more. 0 when off."""
        return 0 if self._runtime is None else self._runtime.give_back(bytes, seconds)

    def submit(self, task: str | SideStep, *, priority: int = 0, name: str | None = None) -> Job:
        """Another job, of a task or a lull.side_step(…). Blocks while inputs are read, or the step is captured. Where
        nothing runs, the job is off."""
        if self._runtime is not None:
            return self._runtime.submit(task, priority=priority, name=name)
        refuse_no_task(task)
        self.jobs.append(off_job(task, name))
        return self.jobs[-1]

    def ready(self, stream: object = None) -> bool:
        """Whether a job stands ready for a bubble on this stream."""
        return self._runtime is not None and self._runtime.ready(pointer_of(stream))

    def pause_all(self, seconds: float = 10) -> AbstractContextManager[None]:
        """`with side.pause_all():` none of our blocks works in it."""
        return contextlib.nullcontext() if self._runtime is None else self._runtime.pause_all(seconds)

    @contextlib.contextmanager
    def suspended(self) -> Iterator[None]:
        """`with side.suspended():` waits are no bubbles in it, and torch is as it was; jobs keep what they have
        done."""
        placed = self._removed_waits()
        try:
            yield
        finally:
            if placed is not None and self._runtime is not None:
                self._waits = placed
                placed.install()

    def bubble(self, site: str, stream: object = None) -> AbstractContextManager[None]:
        """A scope around a wait that the program enqueues itself; the host does not wait. Does nothing when off. What
        goes wrong inside is a warning: it must not reach the training."""
        return _NO_BUBBLE if self._runtime is None else BubbleScope(self._runtime, site, stream)

    def __enter__(self) -> Session:
        global _active
        with _lock:
            if _active is not None:
                raise Error(
                    "lull.harvest or lull.observe is on already in this process: leave it first; "
                    "one scope takes many tasks",
                    Status.ERROR_STATE,
                )
            _active = self
        try:
            self._start()
            for task in self._asked[0]:
                self.submit(task)
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
        tasks, options, bracket_waits = self._asked
        wanted = os.environ.get("LULL", "")
        harvests = options.mode == "on" and wanted not in ("off", "observe")
        torch = sys.modules.get("torch")  # for the device and the rank; where waits are not bracketed it may be absent
        if wanted == "off":
            self._off("LULL=off")
        elif bracket_waits:
            try:
                torch = importlib.import_module("torch")
            except ImportError as why:
                raise Error(
                    f"{why}: for bubbles that you place yourself, without torch, say bracket_waits=False"
                ) from why
            reason, may_force = waits.why_not(torch) if harvests else ("", True)
            if reason and not (may_force and wanted == "on"):
                self._off(reason + ("; LULL=on goes on all the same" if may_force else ""))
        if self._why_off:
            return
        if bracket_waits:
            self.unseen = waits.unseen(torch)
            for doubt in filter(None, (waits.doubt(torch), self.unseen)):
                log.warning("%s", doubt)
        atexit.register(self._stop)  # while the interpreter still runs
        options, too_late = self._completed(options, torch)
        if options.tuning.hook_allocator and not options.reserve_bytes:
            raise ArgumentError("hook_allocator needs reserve_bytes: that is what torch's allocator asks for")
        self._runtime = Runtime(options, tasks=loaded_at_start(tasks) or None)
        self.jobs = self._runtime.jobs
        mode = self._runtime.mode
        if self._agent is not None and mode == "on":
            self._agent.start(str(options.share), options.executor, options.device)
        if options.tuning.hook_allocator and mode == "on":
            torch_hook.install(self._runtime.handle)
        if bracket_waits and mode != "off":
            too_late = too_late if mode == "on" else ""
            self._waits = waits.Waits(torch, self._runtime, too_late, bool(options.max_slowdown))
            self._waits.install()

    def _completed(self, options, torch):
        """The options with what the process decides: device, reserved groups, and this rank's own files. And what
        is to be said when something arrives where no groups are reserved."""
        chosen: dict[str, Any] = {}
        if options.device is None:
            has_one = torch is not None and torch.cuda.is_available()
            chosen["device"] = torch.cuda.current_device() if has_one else 0
        if options.mode == "observe" and options.report is None and not os.environ.get("LULL_REPORT"):
            self._folder = tempfile.mkdtemp(prefix="lull-")  # not TemporaryDirectory: a forked child would remove it
            chosen["report"] = f"{self._folder}/bubbles.txt"
        elif options.report is not None:
            named = pathlib.Path(options.report)
            chosen["report"] = named if "%" in named.name else own_file(named, torch)
        if self._agent is not None and options.share is None:
            chosen["share"] = self._agent.address()
        if options.checkpoint is not None:
            if not os.fspath(options.checkpoint):
                raise ArgumentError("checkpoint is empty: leave it out, or name a folder")
            chosen["checkpoint"] = own_file(options.checkpoint, torch)
        chosen["reserved_groups"], too_late = arrivals.reserved_groups_for(options.reserved_groups)
        return dataclasses.replace(options, **chosen), too_late

    def _off(self, why):
        self._why_off = why
        log.warning("Lull is off, and nothing was changed: %s", why)

    def _stop(self):
        """Restores everything, whatever part of it there is."""
        global _active
        with _lock:
            if _active is self:
                _active = None
        self._removed_waits()
        runtime = self._runtime
        if runtime is not None:
            with contextlib.suppress(Error):
                self._why_off = runtime.why_off
        self._runtime = None
        torch_hook.remove()
        try:
            if self._agent is not None:
                self._agent.stop()
            if runtime is not None:
                atexit.unregister(self._stop)
                runtime.close()
        finally:
            self._print()

    def _removed_waits(self):
        """They are brackets no longer; None: there were none."""
        placed, self._waits = self._waits, None
        if placed is not None:
            placed.remove()
        return placed

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
        self._removed_waits()
        self._runtime = self._folder = None
        self._why_off = "this process was forked from one with Lull on"
        atexit.unregister(self._stop)


def _after_fork():
    global _active, _lock
    _lock = threading.Lock()
    forked, _active = _active, None
    if forked is not None:
        forked._forked()


os.register_at_fork(after_in_child=_after_fork)


@with_options_of(Options, "mode", "tasks", "attach")
def harvest(
    tasks: str | Sequence[str] = (),
    *,
    bracket_waits: bool = True,
    queue: str | Sequence[str] | None = None,
    **options: Any,
) -> Session:
    """`with lull.harvest(tasks=["pagerank:graph=web.el"]) as side:` around a training loop does the tasks in its
    bubbles. "pagerank,compute" is a list of tasks, too.

    Every wait for point-to-point work of torch.distributed is a bubble (`bracket_waits`), and `lull.bubble` places
    others. A task of a shared library is "./libmine.so:mine,size=8". All is as it was when the scope ends, however it
    does; jobs that have not finished by then are cancelled, the results of those that have are written. What can be
    asked for: lull.Options. Open the scope after init_process_group, so that reserved groups are kept for what arrives.

    `queue`: such as "spool:/home/me/queue": an agent takes jobs from there, and runs each in a process of its own in
    the bubbles of this one; or a list: the queue, and arguments of `lull agent`. Needs MPS on a GPU, as `share` does.

    A torch older than waits.OLDEST leaves everything off with a warning, unless LULL=on; so does, always, one that
    lacks what waits are bracketed with. One newer than waits.NEWEST is harvested with a warning. LULL=off|observe in
    the environment lowers the mode; LULL=on lifts these checks, and never makes a harvest of `observe`."""
    return Session(_listed(tasks), Options(mode="on", **options), bracket_waits, agent_of(queue))


@with_options_of(Options, "mode", "tasks", "attach", "share", "max_slowdown")
def attach(address: str, tasks: str | Sequence[str] = (), **options: Any) -> Session:
    """`with lull.attach("unix:/run/lull/rank3", tasks=["compute"]) as side:` does the tasks, and what is submitted to
    `side`, in the bubbles of another process's trainer, which shares them there (`lull.harvest(share=…)`), and on its
    device. No code of these tasks runs in the trainer's process. The trainer's bound on slowdown holds. When the
    trainer has ended, jobs go on with the next one there. Waits up to five seconds for the first.

    On a GPU both processes must work under MPS. Call it before CUDA starts in this process: it sets
    CUDA_MPS_CLIENT_PRIORITY=1, unless that is set, so that the trainer's kernels go before this process's."""
    os.environ.setdefault("CUDA_MPS_CLIENT_PRIORITY", "1")
    return Session(_listed(tasks), Options(mode="on", attach=address, **options), bracket_waits=False)


def _listed(tasks: str | Sequence[str]) -> list[str]:
    listed = split(tasks) if isinstance(tasks, str) else list(tasks)
    for each in listed:
        if not isinstance(each, str):
            raise ArgumentError(f"{each!r} is no task: tasks are texts; submit a lull.side_step(…) in the open scope")
    return listed


def observe(
    *,
    report: str | os.PathLike[str] | None = None,
    device: int | None = None,
    executor: str | None = None,
    bracket_waits: bool = True,
) -> Session:
    """As `harvest`, but nothing runs in the bubbles: how many there are, and how long. Without a `report` its text
    is printed to stderr at the end. No torch is refused: what it cannot see of one that lacks something is in
    `unseen` and in the log."""
    asked = Options(mode="observe", device=device, executor=executor, report=report)
    return Session([], asked, bracket_waits)


def is_on() -> bool:
    """Whether this process is in a session's scope, also where Lull is off in it."""
    return _active is not None


def bubble(site: str, stream: object = None) -> AbstractContextManager[None]:
    """A bubble of the session that is on; without one, nothing. `site` says where in the step it is, in 1 to 255 bytes:
    another is changed, with a warning. `stream` as in streams.pointer_of."""
    session = _active
    return _NO_BUBBLE if session is None else session.bubble(site, stream)


def in_named_waits(method: Any, **names: str) -> Any:
    """The method, whose works have these names."""

    @functools.wraps(method)
    def named(*given: Any, **more: Any) -> Any:
        with named_waits(**names):
            return method(*given, **more)

    return named


def named_waits(recv: str = "", send: str = "") -> AbstractContextManager[None]:
    """`with lull.named_waits(recv="recv_forward"):` around the exchange of one micro-batch: the receive that is begun
    inside, wherever it is waited for, is the bubble "recv_forward 3" in the fourth such scope since the last optimizer
    step, and a second one for that micro-batch "recv_forward 3 #1". Without a session, nothing."""
    placed = None if _active is None else _active._waits
    return contextlib.nullcontext() if placed is None else placed.named(recv=recv, send=send)
