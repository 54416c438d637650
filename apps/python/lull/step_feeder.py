# SPDX-License-Identifier: Apache-2.0
"""The thread that serves a captured PyTorch step: batches in, outputs out, checkpoints."""

from __future__ import annotations

import collections
import contextlib
import threading
import time
from typing import Any

from .binding import Error, log
from .captured_step import SLOTS, Captured, SideStep
from .job import GraphJob
from .step_advice import forget_frames
from .step_feed import batches_of, close, values_of
from .streams import lend_copy_stream, torch_with_cuda


MAX_KEPT_STEPS, MAX_KEPT_BYTES = 1 << 16, 1 << 30  # outputs that the program has not taken; the oldest are dropped
_LOOK_S = 0.002  # between two looks of the thread
_ENDING_S = 10
_ENDED: Any = object()  # what a feed without further batches gives; it may give anything else


class Feeder(threading.Thread):
    """Serves a step's job: gives it batches ahead, takes its outputs, saves it. All batches are drawn on this thread;
    its stream waits for nobody's, and is the current one where the feed is asked for a batch."""

    def __init__(self, captured: Captured, asked: SideStep, job: GraphJob) -> None:
        super().__init__(name="lull side step", daemon=True)
        torch = torch_with_cuda()
        self.captured: Any = captured  # None: the job is over, and its memory is torch's again
        self.error: BaseException | None = None
        self._asked, self._job, self._torch = asked, job, torch
        self._device = captured.device
        self._ended = threading.Event()
        self._has_first, self._is_submitted = threading.Event(), threading.Event()
        self._lock = threading.Lock()  # of the outputs
        self._copying = threading.Lock()  # a batch, into memory that goes when it has ended
        self._landing = [torch.empty_like(each, device="cpu", pin_memory=True) for each in captured.slots_out]
        bytes_a_step = sum(each.numel() * each.element_size() for each in self._landing) // SLOTS
        kept = min(MAX_KEPT_STEPS, max(MAX_KEPT_BYTES // max(bytes_a_step, 1), SLOTS))
        self._outputs: collections.deque[list[Any]] = collections.deque(maxlen=kept)
        self._has_dropped = False
        self._taken = self._fed = self._saved = captured.done
        self._batches: Any = None
        self._last = asked.steps
        self._lent = lend_copy_stream(self._device)
        self._stream = torch.cuda.ExternalStream(self._lent.pointer, self._device)

    def give_first(self) -> None:
        """Starts the thread, and waits for the batch of the first step, which runs with the submission. Raises what the
        feed raises."""
        self.start()
        self._has_first.wait()
        if self.error is not None:
            raise self.error

    def serve(self) -> None:
        """The job is submitted."""
        self._is_submitted.set()

    def abandon(self) -> None:
        """There will be no job. From now on nothing is copied into its memory, whenever the feed returns."""
        with self._copying:
            self._ended.set()
            self.captured, self._landing = None, []
        self._is_submitted.set()
        if self._has_first.is_set():  # else the program's feed is under way
            self.join(_ENDING_S)

    def run(self) -> None:
        torch = self._torch
        try:
            with torch.cuda.device(self._device), torch.cuda.stream(self._stream):
                try:
                    self._draw_first()
                    self._has_first.set()
                    self._is_submitted.wait()
                    if self.captured is not None:  # it is not abandoned
                        self._serve()
                finally:
                    batches, self._batches = self._batches, None
                    close(batches)
        except BaseException as why:  # the program's iterator may raise anything
            forget_frames(why)
            self.error = why
            if self._has_first.is_set():
                log.error("%s: %s", self._job.task, _said(why))
                with contextlib.suppress(Error):
                    self._job.cancel()
        finally:
            self._lent.give_back()
            self._has_first.set()

    def _draw_first(self):
        feed, torch = self._asked.feed, self._torch
        if feed is not None:
            self._batches = batches_of(torch, feed, self.captured.seed)
            batch = next(self._batches, _ENDED)
            if batch is _ENDED:
                raise Error("feed gave no batch")
            self._copy_in(batch)
        self._fed += 1

    @contextlib.contextmanager
    def _on_its_stream(self):
        """Whatever the feed has entered around its yield."""
        torch = self._torch
        with torch.cuda.device(self._device), torch.cuda.stream(self._stream), torch.inference_mode(False):
            yield

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
        with self._lock:  # several threads may find that the job is over
            captured, self.captured = self.captured, None
            self._landing = []
        if captured is not None:
            captured.release()

    def take_output(self) -> list[Any] | None:
        """Of the oldest step that is over and was not asked for; None: there is none."""
        with self._lock:
            return self._outputs.popleft() if self._outputs else None

    def outputs_left(self) -> int:
        with self._lock:
            return len(self._outputs)

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
                with self._on_its_stream():
                    self.captured.copy_state(done)
            finally:
                self._job.let_go()  # before the file is written, which may take long
            self.captured.write()
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
            elif self._copy_in(batch):
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
        """False: it has ended meanwhile."""
        drawn_on = self._torch.cuda.current_stream(self._device)
        with self._copying, self._on_its_stream():
            if self._ended.is_set():
                return False
            self._stream.wait_stream(drawn_on)
            slots = self.captured.slots_in
            for slot, value in zip(slots, values_of(self._torch, batch, slots)):
                if value.device.type == "cpu":
                    value = value.pin_memory()
                slot[self._fed % SLOTS].copy_(value, non_blocking=True)
            self._stream.synchronize()
            return True

    def _take(self, done):
        slots = self.captured.slots_out
        steps = range(self._taken, done) if slots else ()
        with self._on_its_stream():
            for step in steps:
                for to, out in zip(self._landing, slots):
                    to[step % SLOTS].copy_(out[step % SLOTS], non_blocking=True)
            if steps:
                self._stream.synchronize()
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
