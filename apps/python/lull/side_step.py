# SPDX-License-Identifier: Apache-2.0
"""A PyTorch step as side work: captured once, then run in bubbles without the host."""

from __future__ import annotations

import contextlib
import logging
import os
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from .binding import Error
from .captured_step import SLOTS, Captured, SideStep
from .job import GraphJob
from .streams import torch_with_cuda

log = logging.getLogger("lull")

_LOOK_S = 0.002  # between two looks of the thread that feeds
_ENDING_S = 10
_left_alone: list[Any] = []  # whose jobs were not seen to be over: a segment may still run on their memory


def side_step(
    step: Callable[[], Any],
    *,
    steps: int,
    inputs: Sequence[Any] = (),
    feed: Iterable[Sequence[Any]] | None = None,
    state: Sequence[Any] = (),
    segment: float = 1e-4,
    warm_ups: int = 3,
    checkpoint: str | os.PathLike[str] | None = None,
    every: int = 0,
    seed: int | None = None,
    hint: bool = True,
) -> SideStep:
    """A PyTorch step as side work::

        job = side.submit(lull.side_step(step, steps=1000, inputs=(x, y), feed=batches, state=(model, optimizer)))

    `step()` computes on tensors of the device that stay where they are, reads nothing back, and returns a tensor, a
    sequence of tensors, or None; `job.outputs()` gives what it returned. It is run `warm_ups` times and once more while
    it is captured and tried; what it changed of `state` (modules, optimizers, tensors) is then put back, so none of
    these runs counts. `inputs` are tensors that `feed` fills: each batch has as many, of the same shapes. A thread
    takes batches ahead; it takes the interpreter's lock for that. Where `feed` ends the job is cancelled, when the last
    batch's step is over. A job that ends early leaves `state` in the middle of a step; a checkpoint never does.

    The step runs once more with the submission, as its first; a submission that fails puts `state` back.

    Random numbers advance from step to step as in ordinary replays, from a generator of the step's own; the program's
    own stay as they are. `seed`: of these; None: drawn from the program's seed and the number of side steps before.

    `checkpoint`: a file that holds `state` and the number of steps done, written every `every` steps and at the end;
    where it is there, the job goes on from it, and `feed` is given from that step on.

    The step's memory is the runtime's, within its `memory_limit_bytes`, and is given back when the job is over, but for
    what the step made for good, such as the optimizer's state: that stays until the program drops it.

    `segment`: about the seconds that a bubble which closes waits for, but for longer kernels. `hint`: whether the job
    goes by how long bubbles were lately, or looks at the gate alone.

    The learning rate of an optimizer must be a tensor if it changes; use `capturable=True`."""
    if steps < 1:
        raise Error(f"steps is {steps}: it must be 1 or more")
    if warm_ups < 1:
        raise Error(f"warm_ups is {warm_ups}: it must be 1 or more, since libraries prepare themselves in the first")
    if (feed is None) != (not inputs):
        raise Error("inputs and feed belong together: inputs are the tensors, feed is what fills them")
    if checkpoint is not None and not state:
        raise Error("a checkpoint needs state: the modules, optimizers and tensors that the step changes")
    if every and checkpoint is None:
        raise Error("every is given without a checkpoint")
    if every < 0:
        raise Error(f"every is {every}: it must be 0 or more")
    return SideStep(step, steps, tuple(inputs), feed, tuple(state), segment, warm_ups, checkpoint, every, seed, hint)


class _Feeder(threading.Thread):
    """Serves a step's job: gives it batches ahead, takes its outputs, saves it. Its stream waits for nobody's."""

    def __init__(self, captured: Captured, asked: SideStep, job: StepJob) -> None:
        super().__init__(name="lull side step", daemon=True)
        self.captured: Any = captured  # None: the job is over, and its memory is torch's again
        self._asked, self._job = asked, job
        self._torch = torch_with_cuda()
        self._ended = threading.Event()
        self._lock = threading.Lock()
        self._outputs: list[list[Any]] = []
        self._taken = self._fed = self._saved = captured.done
        self._batches = iter(asked.feed) if asked.feed is not None else None
        self._last = asked.steps
        self.error: BaseException | None = None

    def give_first(self) -> None:
        """The batch of the first step, which runs with the submission."""
        with self._torch.cuda.device(self.captured.device), self._torch.cuda.stream(self.captured.stream):
            batch = None if self._batches is None else next(self._batches, ())
            if batch == ():
                raise Error("feed gave no batch")
            if batch is not None:
                self._copy_in(batch)
        self._fed += 1

    def run(self) -> None:
        torch = self._torch
        try:
            with torch.cuda.device(self.captured.device), torch.cuda.stream(self.captured.stream):
                while not self._ended.is_set() and not self._serve():
                    self._ended.wait(_LOOK_S)
        except BaseException as why:  # the program's iterator may raise anything
            self.error = why
            with contextlib.suppress(Error):
                self._job.cancel()

    def stop(self) -> None:
        self._ended.set()

    def has_ended(self, deadline: float) -> bool:
        if self is threading.current_thread():  # a feed that asks
            return False
        self.join(max(deadline - time.monotonic(), 0))
        return not self.is_alive()

    def end(self) -> None:
        """Waits for the thread, but not for a feed that does not return."""
        self.stop()
        if not self.has_ended(time.monotonic() + _ENDING_S):
            log.warning("%s: its feed has not returned for %d s; its thread is left alone", self._job.task, _ENDING_S)

    def release(self) -> None:
        if self.captured is not None:
            self.captured.release()
        self.captured = None

    def holds_memory(self) -> bool:
        return self.captured is not None

    def take_outputs(self) -> list[list[Any]]:
        with self._lock:
            taken, self._outputs = self._outputs, []
        return taken

    def _serve(self):
        """One look; True when there is nothing left to do."""
        done = self.captured.done + self._job.rounds()
        self._take(done)
        if self.captured.is_saved and done != self._saved and done in (self._last, self._next_save()):
            self.captured.save(done)
            self._saved = done
        if done >= self._last:
            if done < self._asked.steps:
                self._job.cancel()  # its feed has ended
            return True
        uses_slots = self.captured.slots_in or self.captured.slots_out
        until = min(self._last, self._next_save(), self._taken + SLOTS if uses_slots else self._last)
        if self._batches is None and self._fed < until:
            self._fed = until
            self._job.feed(self._fed - self.captured.done)
        while self._fed < until and not self._ended.is_set() and self._give():
            pass
        return False

    def _next_save(self):
        """The job waits there until it is saved."""
        return self._saved + self._asked.every if self._asked.every else self._last

    def _give(self):
        """The next batch, to its slot; False: there is none."""
        batch = next(self._batches, None)
        if batch is None:  # it has ended
            self._last = self._fed
            return False
        self._copy_in(batch)
        self._fed += 1
        self._job.feed(self._fed - self.captured.done)
        return True

    def _copy_in(self, batch):
        for slots, given in zip(self.captured.slots_in, batch, strict=True):
            value = self._torch.as_tensor(given)
            if value.shape != slots.shape[1:]:
                raise Error(f"feed gave the shape {tuple(value.shape)} for an input of {tuple(slots.shape[1:])}")
            if value.device.type == "cpu":
                value = value.pin_memory()
            slots[self._fed % SLOTS].copy_(value, non_blocking=True)
        self.captured.stream.synchronize()

    def _take(self, done):
        slots = self.captured.slots_out
        steps = range(self._taken, done) if slots else ()
        copies = [[out[step % SLOTS].to("cpu", non_blocking=True) for out in slots] for step in steps]
        if copies:
            self.captured.stream.synchronize()
        with self._lock:
            self._outputs += copies
        self._taken = done
        for step, outputs in zip(steps, copies):
            for number, value in enumerate(outputs):
                if value.numel() == 1 and value.isnan().item():
                    raise Error(f"step {step} returned NaN as its output {number}")


class StepJob(GraphJob):
    """The job of a side step. Its rounds are steps."""

    def __init__(
        self,
        submit_graph: Callable[..., GraphJob],
        graph_stream: Callable[[], int],
        asked: SideStep,
        device: int,
        priority: int,
        name: str | None,
    ) -> None:
        captured = Captured(asked, device, graph_stream)
        self._feeder = _Feeder(captured, asked, self)
        try:
            self._feeder.give_first()
            made = submit_graph(
                captured.graph.raw_cuda_graph(),
                steps=asked.steps - captured.done,
                segment=asked.segment,
                is_fed=True,
                priority=priority,
                name=name or getattr(asked.step, "__name__", "step"),
                hint=asked.hint,
            )
        except BaseException:
            captured.undo()
            raise
        captured.submitted()
        super().__init__(made._live(), made.task)
        self._feeder.start()

    def status(self) -> dict[str, Any]:
        """As of any job. One that its feed or its outputs ended has failed."""
        now = super().status()
        if now["state"] == "cancelled" and self._feeder.error is not None:
            now["state"] = "failed"
        return now

    def outputs(self) -> list[list[Any]]:
        """What the steps returned that are over and were not asked for before, in order, on the host: a list of
        tensors a step. Raises Error where `feed` raised, a step returned NaN as a single number, or a checkpoint could
        not be written."""
        if self._feeder.error is not None:
            raise Error(f"{self.task}: {self._feeder.error}") from self._feeder.error
        return self._feeder.take_outputs()

    def wait(self, seconds: float) -> bool:
        """True when the job is over, and its last outputs are taken and its checkpoint is written."""
        deadline = time.monotonic() + seconds
        if not super().wait(seconds):
            return False
        if self.state != "finished":
            self._feeder.stop()
        if not self._feeder.has_ended(deadline):
            return False
        self._feeder.release()
        return True

    def _end(self, deadline):
        super()._end(deadline)
        self._feeder.end()
        if self._feeder.holds_memory():
            _left_alone.append(self._feeder)
