# SPDX-License-Identifier: Apache-2.0
"""Gives back what jobs took when they are over, whether or not anybody looks."""

from __future__ import annotations

import collections
import ctypes
import threading

from . import binding
from .binding import Error, Status, log
from .job import Job
from .streams import torch_with_cuda


LOOK_S = 0.2  # between two looks at jobs that are not over
MAX_VERIFIABLE = 16  # tasks that have finished and can still be verified
_RELAXED = 2  # CU_STREAM_CAPTURE_MODE_RELAXED
_MAX_LOOKED_AT = 64  # jobs in one look, the oldest first: it takes the interpreter's lock from the trainer


class JobKeeper:
    """The jobs of a runtime that are not over, and a thread that looks at them while there are any. Thread-safe."""

    def __init__(self, device: int) -> None:
        self._device = device
        self._changing = threading.Condition()  # all that follows, up to the other lock; no job is looked at under it
        self._live: collections.deque[Job] = collections.deque()
        self._thread: threading.Thread | None = None
        self._asked = self._looked = 0  # looks at all jobs that were asked for, and how many of these are over
        self._ends = False
        self._settling = threading.RLock()  # held while jobs give back, and the next
        self._verifiable: collections.deque[Job] = collections.deque()

    def add(self, job: Job) -> None:
        with self._changing:
            self._live.append(job)
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._keep, name="lull jobs", daemon=True)
                self._thread.start()

    def settle(self, most: int | None = None) -> None:
        """What is over gives back what it took; blocks for that. Raises nothing: what goes wrong is logged."""
        with self._settling:
            for _ in range(len(self._live) if most is None else min(most, len(self._live))):
                with self._changing:
                    if not self._live or self._ends:
                        return
                    job = self._live.popleft()
                is_settled = False
                try:
                    is_settled = self._is_settled(job)
                finally:  # Ctrl-C may come in between
                    if not is_settled:
                        self.add(job)  # the thread may have ended meanwhile

    def settle_within(self, seconds: float) -> None:
        """As `settle`, but the keeper's thread does it, which may take longer: a result may be written to a slow
        disk."""
        with self._changing:
            thread = self._thread
            if thread is None or not thread.is_alive() or thread is threading.current_thread():
                return
            self._asked += 1
            asked = self._asked
            self._changing.notify_all()
            self._changing.wait_for(lambda: self._looked >= asked or self._thread is None, seconds)

    def end(self) -> None:
        """From here on it touches no job. Waits for a result that is being written."""
        with self._changing:
            self._ends = True
            self._changing.notify_all()
        with self._settling, self._changing:
            self._live.clear()
            self._verifiable.clear()

    def _is_settled(self, job):
        try:
            if not job._settle():
                return False
        except Exception as why:  # a side step may raise anything
            if isinstance(why, Error) and why.status == Status.ERROR_HANDLE:  # it has gone with its runtime
                job._let_handle_go()
            else:  # a result that could not be written: the job keeps what it has
                log.warning("%s: %s", job.task, why)
            return True
        if job._handle is not None:
            self._verifiable.append(job)
        while len(self._verifiable) > MAX_VERIFIABLE:
            self._verifiable.popleft()._give_back_all()
        return True

    def _be_at_home(self):
        """What torch frees on this thread must make no context on another device than the jobs', and must not spoil a
        capture of the trainer's, which by default forbids such calls to other threads."""
        torch = torch_with_cuda()
        if torch is not None and torch.cuda.is_initialized():
            torch.cuda.set_device(self._device)
            ctypes.CDLL("libcuda.so.1").cuThreadExchangeStreamCaptureMode(ctypes.byref(ctypes.c_int(_RELAXED)))

    def _keep(self):
        forks = binding.forks
        try:
            self._be_at_home()
        except Exception as why:  # a torch of another age
            log.warning("the thread that gives back what jobs took is on the first device: %s", why)
        while binding.forks == forks:
            with self._changing:
                self._changing.wait_for(lambda: self._ends or self._asked > self._looked, LOOK_S)
                if self._ends or not self._live:
                    self._thread = None
                    self._changing.notify_all()
                    return
                asked = self._asked
            self.settle(None if asked > self._looked else _MAX_LOOKED_AT)
            with self._changing:
                self._looked = asked
                self._changing.notify_all()
