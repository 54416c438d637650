# SPDX-License-Identifier: Apache-2.0
"""The thread that serves a captured PyTorch step: batches in, outputs out, checkpoints."""

from __future__ import annotations

import collections
import contextlib
import logging
import threading
import time
from collections.abc import Sequence
from typing import Any

from .binding import Error
from .captured_step import SLOTS, Captured, SideStep
from .job import GraphJob
from .step_advice import forget_frames
from .streams import torch_with_cuda

log = logging.getLogger("lull")

MAX_KEPT_STEPS, MAX_KEPT_BYTES = 1 << 16, 1 << 30  # outputs that the program has not taken; the oldest are dropped
_LOOK_S = 0.002  # between two looks of the thread
_ENDING_S = 10
_ENDED: Any = object()  # what a feed without further batches gives; it may give anything else


def values_of(torch: Any, batch: Any, slots: Sequence[Any]) -> list[Any]:
    """The tensors of a batch. Raises Error where they do not fit `slots`, whose first dimension is that of slots."""
    if isinstance(batch, torch.Tensor) or hasattr(batch, "__array__"):
        batch = [batch]  # the only one of a batch need not be in a sequence
    if not isinstance(batch, (tuple, list)):
        raise Error(f"feed gave {type(batch).__name__}: a batch is a sequence of tensors, one for each input")
    if len(batch) != len(slots):
        raise Error(f"feed gave a batch of {len(batch)} for {len(slots)} inputs")
    values = [torch.as_tensor(each).detach() for each in batch]
    for number, (value, slot) in enumerate(zip(values, slots)):
        if value.shape != slot.shape[1:]:
            shape = tuple(slot.shape[1:])
            raise Error(f"feed gave the shape {tuple(value.shape)} for input {number}, which has {shape}")
        if not torch.can_cast(value.dtype, slot.dtype):
            raise Error(f"feed gave {value.dtype} for input {number}, which is {slot.dtype}: convert it in the feed")
    return values


class Feeder(threading.Thread):
    """Serves a step's job: gives it batches ahead, takes its outputs, saves it. Its stream waits for nobody's, and is
    the current one where the feed is asked for a batch."""

    def __init__(self, captured: Captured, asked: SideStep, job: GraphJob) -> None:
        super().__init__(name="lull side step", daemon=True)
        torch = torch_with_cuda()
        self.captured: Any = captured  # None: the job is over, and its memory is torch's again
        self.error: BaseException | None = None
        self._asked, self._job, self._torch = asked, job, torch
        self._ended = threading.Event()
        self._lock = threading.Lock()
        self._landing = [torch.empty_like(each, device="cpu", pin_memory=True) for each in captured.slots_out]
        bytes_a_step = sum(each.numel() * each.element_size() for each in self._landing) // SLOTS
        kept = min(MAX_KEPT_STEPS, max(MAX_KEPT_BYTES // max(bytes_a_step, 1), SLOTS))
        self._outputs: collections.deque[list[Any]] = collections.deque(maxlen=kept)
        self._has_dropped = False
        self._taken = self._fed = self._saved = captured.done
        self._batches = iter(asked.feed) if asked.feed is not None else None
        self._last = asked.steps

    def give_first(self) -> None:
        """The batch of the first step, which runs with the submission."""
        with self._torch.cuda.device(self.captured.device), self._torch.cuda.stream(self.captured.stream):
            if self._batches is not None:
                batch = next(self._batches, _ENDED)
                if batch is _ENDED:
                    raise Error("feed gave no batch")
                self._copy_in(batch)
        self._fed += 1

    def run(self) -> None:
        torch = self._torch
        try:
            with torch.cuda.device(self.captured.device), torch.cuda.stream(self.captured.stream):
                self._serve()
        except BaseException as why:  # the program's iterator may raise anything
            forget_frames(why)
            self.error = why
            log.error("%s: %s", self._job.task, _said(why))
            with contextlib.suppress(Error):
                self._job.cancel()

    def stop(self) -> None:
        """It gives no further batches, takes what is over, and ends."""
        self._ended.set()

    def has_ended(self, deadline: float) -> bool:
        if self is threading.current_thread():  # a feed that asks
            return False
        self.join(max(deadline - time.monotonic(), 0))
        return not self.is_alive()

    def end(self) -> bool:
        """Waits for the thread, but not for a feed that does not return."""
        self.stop()
        if self.has_ended(time.monotonic() + _ENDING_S):
            return True
        log.warning(
            "%s: its feed has not returned, or its checkpoint is not written, for %d s; its thread is left alone",
            self._job.task,
            _ENDING_S,
        )
        return False

    def release(self) -> None:
        if self.captured is not None:
            self.captured.release()
        self.captured, self._landing = None, []

    def take_outputs(self) -> list[list[Any]]:
        with self._lock:
            taken = list(self._outputs)
            self._outputs.clear()
        return taken

    def raise_error(self) -> None:
        """Raises what ended it, if anything did."""
        if self.error is not None:
            raise Error(f"{self._job.task}: {_said(self.error)}") from self.error

    def _serve(self):
        while True:
            is_last_look = self._ended.is_set()
            done = self._collect()
            if is_last_look or done >= self._last:
                break
            self._give_batches()
            self._ended.wait(_LOOK_S)
        if self._last <= done < self._asked.steps:  # its feed has ended
            with contextlib.suppress(Error):  # and so may its runtime
                self._job.cancel()

    def _collect(self):
        """Takes the outputs of the steps that are over, and saves the state if it is time. Returns how many are."""
        done = self.captured.done + self._job.rounds()
        self._take(done)
        if self.captured.is_saved and done != self._saved and done in (self._last, self._next_save()):
            if not self._job.hold(0):  # its memory is away: later
                return self._saved
            try:
                self.captured.save(done)
            finally:
                self._job.let_go()
            self._saved = done
        return done

    def _give_batches(self):
        uses_slots = self.captured.slots_in or self.captured.slots_out
        until = min(self._last, self._next_save(), self._taken + SLOTS if uses_slots else self._last)
        if self._batches is None and self._fed < until:
            self._fed = until
            self._tell_fed()
        while self._batches is not None and self._fed < until and not self._ended.is_set():
            batch = next(self._batches, _ENDED)
            if batch is _ENDED:
                self._last = self._fed
            elif not self._ended.is_set():
                self._copy_in(batch)
                self._fed += 1
                self._tell_fed()
            until = min(until, self._last)

    def _tell_fed(self):
        try:
            self._job.feed(self._fed - self.captured.done)
        except Error:
            if not self._ended.is_set():  # else the runtime may have ended meanwhile
                raise

    def _next_save(self):
        """The job waits there until it is saved."""
        return self._saved + self._asked.every if self._asked.every else self._last

    def _copy_in(self, batch):
        slots = self.captured.slots_in
        for slot, value in zip(slots, values_of(self._torch, batch, slots)):
            if value.device.type == "cpu":
                value = value.pin_memory()
            slot[self._fed % SLOTS].copy_(value, non_blocking=True)
        self.captured.stream.synchronize()

    def _take(self, done):
        slots = self.captured.slots_out
        steps = range(self._taken, done) if slots else ()
        for step in steps:
            for to, out in zip(self._landing, slots):
                to[step % SLOTS].copy_(out[step % SLOTS], non_blocking=True)
        if steps:
            self.captured.stream.synchronize()
        copies = [[to[step % SLOTS].clone() for to in self._landing] for step in steps]
        with self._lock:
            is_dropped = len(self._outputs) + len(copies) > (self._outputs.maxlen or 0)
            self._outputs += copies
        if is_dropped and not self._has_dropped:
            self._has_dropped = True
            log.warning(
                "%s: outputs() was not called for %d steps: the oldest are dropped",
                self._job.task,
                self._outputs.maxlen,
            )
        self._taken = done
        for step, outputs in zip(steps, copies):
            for number, value in enumerate(outputs):
                if value.numel() == 1 and value.isnan().item():
                    raise Error(f"step {step} returned NaN as its output {number}")


def _said(why):
    return str(why) or type(why).__name__
