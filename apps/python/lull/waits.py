# SPDX-License-Identifier: Apache-2.0
"""Brackets every wait for torch.distributed's point-to-point work.

`Work.wait()` makes the current stream wait for NCCL's and does not block the host: the stream is idle until the peer
has sent. That is the bubble, so the one place where edges are placed is `Work.wait`. Which works are point-to-point,
and with whom, only their makers know: all of them (isend, irecv, send, recv, batch_isend_irecv, and so
torch.distributed.pipelining and Megatron) go through five methods of `ProcessGroup`, which note it and do nothing else.
Both are classes, so neither `from torch.distributed import irecv` nor `P2POp`, which compares functions, sees a
difference, and works stay what they are.

Each wait is a bubble of its own. NCCL makes one work of a batch; where a backend makes several, what the trainer
enqueues between two waits is its own, and no bubble may cover it.

A program that knows more than peers may name its works, as lull.megatron and lull.deepspeed do: `Waits.named`."""

import contextlib
import functools
import importlib
import itertools
import threading
import weakref

from .binding import Error, log
from .optimizer_steps import StepEnds
from .sites import site_of


OLDEST, NEWEST = (2, 5), (2, 15)  # versions of torch that this was written for
MOST_INDICES = 64  # of waits of one kind in a step that are told apart

_METHODS = ("send", "recv", "recv_anysource", "_start_coalescing", "_end_coalescing")
_HOOK = "register_optimizer_step_post_hook"


def why_not(torch):
    """Why the waits of this torch are not harvested, empty if they are, and whether LULL=on helps."""
    lacking = missing(torch)
    if lacking:
        return f"this torch {_name_of(torch)} has no {', '.join(lacking)}, which Lull brackets waits with", False
    version = _version_of(torch)
    if version is not None and version < OLDEST:
        return f"torch {_name_of(torch)} is too old for this Lull, which was written for {_known()}", True
    return "", True


def doubt(torch):
    """What is to be said of a version that nobody has tried; empty of a known one."""
    version = _version_of(torch)
    if version is not None and OLDEST <= version <= NEWEST:
        return ""
    return (
        f"torch {_name_of(torch)} is not known to this Lull, which was written for {_known()}: "
        "compare losses with and without"
    )


def unseen(torch):
    """Which waits Lull cannot see with this torch; empty: it sees all."""
    lacking = missing(torch)
    if not lacking:
        return ""
    if set(lacking) & {"torch.distributed", "Work.wait"}:
        what = "no wait is seen"
    else:
        what = "waits that need them are not seen, or not told apart"
    return (
        f"this torch {_name_of(torch)} has no {', '.join(lacking)}: {what}; lull.bubble() places bubbles all the same"
    )


def missing(torch):
    """The names of what is wrapped that this torch does not have."""
    distributed = getattr(torch, "distributed", None)
    if distributed is None or not distributed.is_available():
        return ["torch.distributed"]
    lacking = [f"ProcessGroup.{name}" for name in _METHODS if not _has(distributed, "ProcessGroup", name)]
    lacking += [] if _has(distributed, "Work", "wait") else ["Work.wait"]
    return lacking + ([] if hasattr(_step_hooks(), _HOOK) else [_HOOK])


def _has(distributed, owner, name):
    return name in vars(getattr(distributed, owner, object))


def _name_of(torch):
    return torch.__version__.split("+")[0]


def _version_of(torch):
    """None where nobody could tell."""
    try:
        major, minor = (int(part) for part in _name_of(torch).split(".")[:2])
    except ValueError:
        return None
    return major, minor


def _known():
    return " to ".join(".".join(map(str, each)) for each in (OLDEST, NEWEST))


def _step_hooks():
    return importlib.import_module("torch.optim.optimizer")  # torch.optim hides it


class _Given(str):
    """A name that the program gave. In a step, its first wait has no number."""


def _name_of_batch(operations):
    """A batch whose receives the program has named is one of them: who waits for it waits for what it receives."""
    received = [label for receives, label in operations if receives and isinstance(label, _Given)]
    labels = {label for _, label in operations}
    return received[0] if received else labels.pop() if len(labels) == 1 else ", ".join(sorted(labels))


class Waits:
    """While installed: waits for point-to-point works of CUDA tensors of this device are bubbles of the runtime.

    A site is named by what is waited for and by how many such waits came before it since the last optimizer step, so
    that each place of a schedule has a history of its own, whatever the schedule. Peers have their global rank: in a
    group of two ranks, as schedules make for each edge, every peer would be 0 or 1. Works that are made in `named`
    have the name given there, and the number of such scopes since the last optimizer step.

    Of a torch that lacks something, what it has is bracketed. `at_first`: a warning that the first bracketed wait
    gives. `marks_steps`: a step of an optimizer ends a training step, for the runtime's bound on slowdown."""

    def __init__(self, torch, runtime, at_first="", marks_steps=False):
        self._torch = torch
        self._runtime = None  # while installed
        self._installs_for = runtime
        self._device = runtime.device
        self._labels = weakref.WeakKeyDictionary()  # work → what it waits for
        # .operations: of the batch that this thread is making, if it is; .names: by `named`, and what became of them
        self._thread = threading.local()
        self._ranks = weakref.WeakKeyDictionary()  # group → the global rank of each of its peers
        self._unregistered = weakref.WeakKeyDictionary()  # group → a number, for groups that torch does not know
        self._numbers = itertools.count()
        self._at_first = at_first
        self._indices = {}  # label → waits in this step so far
        self._step_ends = StepEnds()
        self._sites = {}  # (label, index) → the site's name, encoded
        self._originals = []
        self._hook = None
        self.marks_steps = marks_steps

    def install(self):
        self._runtime = self._installs_for
        lacking = missing(self._torch)
        if set(lacking) & {"torch.distributed", "Work.wait"}:
            return
        group, work = self._torch.distributed.ProcessGroup, self._torch.distributed.Work
        wrappers = {
            "send": lambda original: self._noting(original, "send to ", self._peer),
            "recv": lambda original: self._noting(original, "recv from ", self._peer),
            "recv_anysource": lambda original: self._noting(original, "recv from any", self._any_peer),
        }
        if not any(name.endswith("_coalescing") for name in lacking):  # one without the other would lose works
            wrappers |= {"_start_coalescing": self._starting, "_end_coalescing": self._ending}
        for name, wrap in wrappers.items():
            if f"ProcessGroup.{name}" not in lacking:
                self._replace(group, name, wrap)
        self._replace(work, "wait", self._bracketing)
        if _HOOK not in lacking:
            self._hook = _step_hooks().register_optimizer_step_post_hook(self._next_step)

    def remove(self):
        """Everything is as it was; works that are waited for later do not concern us."""
        if self._hook is not None:
            self._hook.remove()
            self._hook = None
        while self._originals:
            owner, name, original, ours = self._originals.pop()
            if vars(owner).get(name) is ours:
                setattr(owner, name, original)
            else:  # somebody else has wrapped it meanwhile: ours stays inside theirs, without effect
                log.warning("%s.%s was replaced while Lull was on; it is left as it is", owner.__name__, name)
        self._runtime = None
        self._labels.clear()
        self._indices.clear()

    def _replace(self, owner, name, make):
        original = vars(owner)[name]
        ours = make(original)
        setattr(owner, name, ours)
        self._originals.append((owner, name, original, ours))

    def _noting(self, original, words, whom):
        @functools.wraps(original)
        def noting(group, tensors, *rest, **named):
            work = original(group, tensors, *rest, **named)
            if self._runtime is not None and self._ours(tensors):
                receives = words.startswith("recv")
                label = self._given("recv" if receives else "send") or words + self._whom(whom, group, rest, named)
                operations = getattr(self._thread, "operations", None)
                if operations is not None:
                    operations.append((receives, label))
                elif work is not None:
                    self._labels[work] = label
            return work

        return noting

    @contextlib.contextmanager
    def named(self, **names):
        """While it lasts, works that this thread makes are named: `send` and `recv` say how. One scope for each
        micro-batch: the works of a scope share its number."""
        before = getattr(self._thread, "names", ({}, {}))
        self._thread.names = names, {}
        try:
            yield
        finally:
            self._thread.names = before

    def _given(self, direction):
        """The name that the program gave to what it makes now, with its number; None: it gave none."""
        names, numbered = getattr(self._thread, "names", ({}, {}))
        name = names.get(direction)
        if name and direction not in numbered:
            numbered[direction] = _Given(f"{name} {self._count(name)}")
        return numbered.get(direction)

    def _whom(self, whom, group, rest, named):
        """Never raises: the work is made already, and the training has to get it."""
        try:
            return whom(group, *rest, **named)
        except Exception:
            return "?"

    def _peer(self, group, peer=None, *_, dstRank=None, srcRank=None, **__):
        """A peer's global rank, as text; in a group that torch does not know, its rank there and which group."""
        peer = next((each for each in (peer, dstRank, srcRank) if each is not None), -1)
        ranks = self._ranks_of(group)
        return str(ranks[peer]) if 0 <= peer < len(ranks) else f"{peer}{self._which(group, ranks)}"

    def _any_peer(self, group, *_, **__):
        """Empty in a group of all ranks."""
        ranks = self._ranks_of(group)
        return "" if ranks and len(ranks) == self._torch.distributed.get_world_size() else self._which(group, ranks)

    def _which(self, group, ranks):
        if ranks:
            return f" of {','.join(map(str, ranks))}"
        number = self._unregistered.get(group)
        if number is None:
            number = self._unregistered[group] = next(self._numbers)
        return f" of group {number}"

    def _ranks_of(self, group):
        """The global ranks of a group's peers, in the group's order; none where torch does not know the group."""
        ranks = self._ranks.get(group)
        if ranks is None:
            try:
                ranks = self._ranks[group] = tuple(self._torch.distributed.get_process_group_ranks(group))
            except Exception:  # versions differ in what they raise
                return ()
        return ranks

    def _starting(self, original):
        @functools.wraps(original)
        def starting(group, *rest, **named):
            self._thread.operations = []
            return original(group, *rest, **named)

        return starting

    def _ending(self, original):
        @functools.wraps(original)
        def ending(group, *rest, **named):
            operations = getattr(self._thread, "operations", None)
            self._thread.operations = None
            work = original(group, *rest, **named)
            if operations and work is not None and self._runtime is not None:
                self._labels[work] = _name_of_batch(operations)
            return work

        return ending

    def _bracketing(self, original):
        @functools.wraps(original)
        def wait(work, *rest, **named):
            runtime = self._runtime
            label = self._labels.pop(work, None) if runtime is not None else None
            if label is None:
                return original(work, *rest, **named)
            stream = self._torch.cuda.current_stream()
            if stream.device_index != self._device:
                return original(work, *rest, **named)
            pointer = stream.cuda_stream
            if self._at_first:
                said, self._at_first = self._at_first, ""
                log.warning("%s", said)
            bubble = self._guarded(runtime.open, self._site(label), pointer)
            try:
                return original(work, *rest, **named)
            finally:
                if bubble:
                    self._guarded(runtime.close_bubble, bubble, pointer)

        return wait

    def _ours(self, tensors):
        return all(tensor.is_cuda and tensor.device.index == self._device for tensor in tensors)

    def _guarded(self, call, *arguments):
        """Never raises: what goes wrong here must not reach the training. None: it did, and waits are left alone."""
        try:
            return call(*arguments)
        except Error as why:
            if self._runtime is not None:
                log.warning("waits are no longer bracketed: %s", why)
            self._runtime = None
            return None

    def _site(self, label):
        count = self._count(label)
        site = self._sites.get((label, count))
        if site is None:
            text = label if isinstance(label, _Given) and count == "0" else f"{label} #{count}"
            site = self._sites[label, count] = site_of(text)
        return site

    def _count(self, label):
        """How many of a kind came before it in this step, as text."""
        index = self._indices.get(label, 0)
        self._indices[label] = index + 1
        return str(index) if index < MOST_INDICES else f"{MOST_INDICES}+"

    def _next_step(self, optimizer, *_):
        if not self._step_ends.is_end(optimizer):
            return
        self._indices.clear()
        runtime = self._runtime
        if not self.marks_steps or runtime is None:
            return
        stream = self._torch.cuda.current_stream()
        if stream.device_index == self._device:
            self._guarded(runtime.step, stream.cuda_stream)
