# SPDX-License-Identifier: Apache-2.0
"""Brackets every wait for torch.distributed's point-to-point work.

`Work.wait()` makes the current stream wait for NCCL's and does not block the host: the stream is idle until the peer has sent. That
is the bubble, so the one place where edges are placed is `Work.wait`. Which works are point-to-point, and with whom, only their
makers know: all of them (isend, irecv, send, recv, batch_isend_irecv, and so torch.distributed.pipelining and Megatron) go through
five methods of `ProcessGroup`, which note it and do nothing else. Both are classes, so neither `from torch.distributed import
irecv` nor `P2POp`, which compares functions, sees a difference, and works stay what they are.

Each wait is a bubble of its own. NCCL makes one work of a batch; where a backend makes several, what the trainer enqueues between
two waits is its own, and no bubble may cover it.
"""

import functools
import importlib
import logging
import threading
import weakref

from .binding import Error

log = logging.getLogger("lull")

OLDEST, NEWEST = (2, 5), (2, 11)  # versions of torch that this was written for
MOST_INDICES = 64  # of waits of one kind in a step that are told apart


def why_not(torch):
    """Empty where this torch is known and has all that is needed, else what is wrong with it, and whether force helps."""
    version = torch.__version__.split("+")[0]
    try:
        known = OLDEST <= tuple(int(part) for part in version.split(".")[:2]) <= NEWEST
    except ValueError:
        known = False
    missing = _missing(torch)
    if missing:
        return f"this torch {version} has no {missing}, which Lull brackets waits with", False
    if not known:
        oldest, newest = (".".join(map(str, each)) for each in (OLDEST, NEWEST))
        return f"torch {version} is not known to this Lull, which was written for {oldest} to {newest}", True
    return "", True


def _missing(torch):
    distributed = getattr(torch, "distributed", None)
    if distributed is None or not distributed.is_available():
        return "torch.distributed"
    for owner, name in _places(torch):
        if name not in vars(owner):
            return f"{owner.__name__}.{name}"
    return "" if hasattr(_step_hooks(), "register_optimizer_step_post_hook") else "register_optimizer_step_post_hook"


def _step_hooks():
    return importlib.import_module("torch.optim.optimizer")  # torch.optim hides it


def _places(torch):
    group, work = torch.distributed.ProcessGroup, torch.distributed.Work
    names = ("send", "recv", "recv_anysource", "_start_coalescing", "_end_coalescing")
    return [*((group, name) for name in names), (work, "wait")]


class Waits:
    """While installed: waits for point-to-point works of CUDA tensors of this device are bubbles of the runtime.

    A site is named by what is waited for and by how many such waits came before it since the last optimizer step, so that each
    place of a schedule has a history of its own, whatever the schedule."""

    def __init__(self, torch, runtime):
        self._torch = torch
        self._runtime = None  # while installed
        self._installs_for = runtime
        self._device = runtime.device
        self._labels = weakref.WeakKeyDictionary()  # work → what it waits for
        self._batch = threading.local()  # .operations: of the batch that this thread is making, if it is
        self._indices = {}  # label → waits in this step so far
        self._sites = {}  # (label, index) → the site's name, encoded
        self._originals = []
        self._hook = None

    def install(self):
        self._runtime = self._installs_for
        group, work = self._torch.distributed.ProcessGroup, self._torch.distributed.Work
        self._replace(group, "send", lambda original: self._noting(original, "send to {}"))
        self._replace(group, "recv", lambda original: self._noting(original, "recv from {}"))
        self._replace(group, "recv_anysource", lambda original: self._noting(original, "recv from any"))
        self._replace(group, "_start_coalescing", self._starting)
        self._replace(group, "_end_coalescing", self._ending)
        self._replace(work, "wait", self._bracketing)
        self._hook = _step_hooks().register_optimizer_step_post_hook(self._next_step)

    def remove(self):
        """Everything is as it was; works that are waited for later are none of ours."""
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

    def _noting(self, original, words):
        @functools.wraps(original)
        def noting(group, tensors, *rest, **named):
            work = original(group, tensors, *rest, **named)
            if self._runtime is not None and self._ours(tensors):
                peer = rest[0] if rest else next((named[name] for name in ("dstRank", "srcRank") if name in named), "?")
                operations = getattr(self._batch, "operations", None)
                if operations is not None:
                    operations.append(words.format(peer))
                elif work is not None:
                    self._labels[work] = words.format(peer)
            return work

        return noting

    def _starting(self, original):
        @functools.wraps(original)
        def starting(group, *rest, **named):
            self._batch.operations = []
            return original(group, *rest, **named)

        return starting

    def _ending(self, original):
        @functools.wraps(original)
        def ending(group, *rest, **named):
            operations = getattr(self._batch, "operations", None)
            self._batch.operations = None
            work = original(group, *rest, **named)
            if operations and work is not None and self._runtime is not None:
                self._labels[work] = ", ".join(sorted(set(operations)))
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
            bubble = self._open(runtime, label, pointer)
            try:
                return original(work, *rest, **named)
            finally:
                self._close(runtime, bubble, pointer)

        return wait

    def _ours(self, tensors):
        return all(tensor.is_cuda and tensor.device.index == self._device for tensor in tensors)

    def _open(self, runtime, label, pointer):
        """Never raises: what goes wrong here must not reach the training. 0: nothing was opened."""
        try:
            return runtime.open(self._site(label), pointer)
        except Error as why:
            self._give_up(why)
            return 0

    def _close(self, runtime, bubble, pointer):
        try:
            if bubble:
                runtime.close_bubble(bubble, pointer)
        except Error as why:
            self._give_up(why)

    def _give_up(self, why):
        if self._runtime is not None:
            log.warning("waits are no longer bracketed: %s", why)
        self._runtime = None

    def _site(self, label):
        index = self._indices.get(label, 0)
        self._indices[label] = index + 1
        key = (label, min(index, MOST_INDICES))
        site = self._sites.get(key)
        if site is None:
            more = "+" if index >= MOST_INDICES else ""
            site = self._sites[key] = f"{label} #{key[1]}{more}".encode()[:255]
        return site

    def _next_step(self, *_):
        self._indices.clear()
