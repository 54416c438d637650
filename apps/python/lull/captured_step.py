# SPDX-License-Identifier: Apache-2.0
"""A PyTorch step that is captured, with its inputs and outputs in slots on the device."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from .binding import Error, log
from .host_random import HostRandom
from .library_scratch import OwnScratch, refuse_shared
from .optimizer_steps import not_the_trainers
from .step_advice import advice_on, forget_frames, line_of
from .step_checkpoint import Checkpoint, is_ours, no_step
from .step_host_values import HostValues
from .step_memory import StepMemory, capturing, make_scratch, refuse_unfit
from .step_numbers import Numbers
from .step_state import Kept, refuse_elsewhere, refuse_exchanges, tensors_of
from .streams import LentStream, torch_with_cuda


SLOTS = 4  # steps whose inputs wait on the device, and whose outputs do


@dataclass
class SideStep:
    """What `lull.side_step` returns, for `submit`."""

    step: Callable[[], Any]
    steps: int
    inputs: tuple[Any, ...]
    feed: Iterable[Any] | None
    state: tuple[Any, ...]
    segment: float
    node_limit: float | None
    warm_ups: int
    checkpoint: str | os.PathLike[str] | None
    every: int
    seed: int | None
    hint: bool
    taken: dict[str, Any] | None = None  # what state_dict() gave, to go on from
    kept: Any = None  # the Checkpoint of its job

    @property
    def is_kept(self) -> bool:
        """Whether the state of whole steps is kept, in a file or on the host."""
        return self.checkpoint is not None or self.every > 0 or self.taken is not None or self.kept is not None

    def state_dict(self) -> dict[str, Any]:
        """What the trainer's checkpoint holds of it: the state and the number of steps done, "steps", on the host, as
        they were after the last multiple of `every` steps, or at the job's end. Blocks for copies on the host alone.
        Thread-safe. Where it was not submitted, which may be since Lull is off, that is what was loaded, or no step.
        Raises Error where nothing is kept: without `every` and a checkpoint."""
        if self.kept is not None:
            return self.kept.state_dict()
        if self.taken is not None:
            return dict(self.taken)
        if not self.is_kept:
            raise Error("no state of this step is kept between its runs: give `every`, in steps")
        return no_step(self.seed)

    def load_state_dict(self, taken: dict[str, Any]) -> None:
        """The next job of it goes on from what `state_dict` gave; give `feed` from step "steps" on."""
        if not is_ours(taken):
            raise Error("this is not what state_dict() of a side step gave")
        if self.checkpoint is not None:
            raise Error(f"this step goes on from its checkpoint, {self.checkpoint}: leave one of them out")
        if not self.state:
            raise Error("this step has no state to load into: the modules, optimizers and tensors that it changes")
        self.taken, self.kept = taken, None


# The state of the device's generator is one a process.
_one_at_a_time = threading.Lock()


def on_another_thread(torch: Any, stream: Any, work: Callable[[], None]) -> None:
    """Where PyTorch knows no plans of cuDNN yet: it keeps them a thread, and one that it chose when the program ran the
    same convolution may not run on the SMs of workers. `stream` is current there, and gradients and autocast are as
    here."""
    is_grad, is_cached = torch.is_grad_enabled(), torch.is_autocast_cache_enabled()
    is_cast, cast_to = torch.is_autocast_enabled("cuda"), torch.get_autocast_dtype("cuda")
    failed = []

    def run():
        try:
            torch.set_autocast_enabled("cuda", is_cast)
            torch.set_autocast_dtype("cuda", cast_to)
            torch.set_autocast_cache_enabled(is_cached)
            with torch.set_grad_enabled(is_grad), torch.cuda.stream(stream):
                work()
        except BaseException as why:  # the program's step may raise anything
            failed.append(why)

    thread = threading.Thread(target=run, name="lull capture")
    thread.start()
    thread.join()
    if failed:
        raise failed.pop()  # a list that kept it would be in its own traceback


class Captured:
    """A step that is captured, with its inputs and outputs in slots on the device. One is captured at a time."""

    def __init__(self, asked: SideStep, device: int, lend_stream: Callable[[], LentStream]) -> None:
        """`lend_stream`: lends a stream on the SMs of workers, where it is warmed up and captured: so libraries that
        choose kernels by trying them choose such as can run there. It is the step's own until its memory is given back,
        because cuBLAS works in memory that torch keeps a stream."""
        torch = torch_with_cuda()
        if torch is None:
            raise Error("a side step needs torch with CUDA")
        refuse_unfit(torch)
        self._torch, self._asked, self.device = torch, asked, device
        self.graph: Any = None
        self.slots_in: list[Any] = []
        self.slots_out: list[Any] = []
        self._slot: Any = None
        self._kept: Kept | None = None
        # Of torch, on the SMs of workers: the graph was captured on it, and its kernels were chosen for these SMs. What
        # replays the graph outside of bubbles does so on this stream.
        self.stream: Any = None
        self._lent: Any = None  # the stream that it gives
        self._memory: Any = None
        self._slots: Any = None
        self._lasting: Any = None  # of its first run
        self._scratch: Any = OwnScratch()
        self._increment = 0  # of the random numbers, a step
        refuse_elsewhere(torch, torch.device("cuda", device), asked.inputs, asked.state)
        refuse_exchanges(torch, asked.state)
        self._checkpoint = Checkpoint(torch, asked.checkpoint, asked.taken) if asked.is_kept else None
        self.done = 0 if self._checkpoint is None else self._checkpoint.steps  # steps before the first one
        if self.done >= asked.steps:
            where = asked.checkpoint or "what was loaded"
            raise Error(f"{where} holds {self.done} steps: all that were asked for are done")
        with _one_at_a_time:
            caller = torch.cuda.current_stream(device)
            try:
                self._capture(lend_stream, caller)
                return
            except RuntimeError as why:
                if isinstance(why, Error) or "cuDNN" not in str(why):
                    raise
            # After the handler: the exception holds what the failed step made.
            on_another_thread(torch, caller, lambda: self._capture(lend_stream, caller))

    def _capture(self, lend_stream, caller):
        torch = self._torch
        try:
            with torch.cuda.device(self.device):
                self._lent = lend_stream()
                self._capture_on(torch.cuda.ExternalStream(self._lent.pointer, self.device), caller)
        except torch.OutOfMemoryError as why:
            advice = advice_on(torch, self._asked.state, why)
            raise Error(f"{line_of(self._asked.step, why)}{why}{advice}") from why

    def _capture_on(self, on_workers, caller):
        torch, asked, checkpoint = self._torch, self._asked, self._checkpoint
        on_device = {"device": f"cuda:{self.device}"}
        saved_seed = None if checkpoint is None else checkpoint.seed
        self.stream = on_workers
        try:
            self._memory = StepMemory(torch, self.device)
            self._slots = StepMemory(torch, self.device)  # of no job: the feeder copies at any time
            self._numbers = Numbers(torch, self.device, asked.seed if saved_seed is None else saved_seed)
            with self._slots.in_use():
                self._slot = torch.zeros(1, dtype=torch.int64, **on_device)
                self.slots_in = [torch.zeros((SLOTS, *t.shape), dtype=t.dtype, **on_device) for t in asked.inputs]
            self._kept = Kept(torch, asked.state)
            on_workers.wait_stream(caller)
            on_host = HostRandom(torch)
            try:
                with self._numbers.in_use(), torch.cuda.stream(on_workers), not_the_trainers(), self._scratch.in_use():
                    self._increment = self._try_out(on_workers, on_device)
            finally:
                on_host.put_back()
            self.begin()
        except BaseException as why:
            forget_frames(why)
            self.undo()
            raise

    def begin(self) -> None:
        """All is as before the first step, or after those of the checkpoint. Blocks."""
        assert self._kept is not None, "the step is captured and not submitted"
        with self._torch.cuda.device(self.device), self._torch.cuda.stream(self.stream):
            self._kept.begin()
            if self._checkpoint is not None:
                self._checkpoint.prepare(self.state())
            self._slot.fill_(self.done % SLOTS)
            self._numbers.begin(self._increment, self.done)
            if self._checkpoint is not None:
                self._checkpoint.copy(self.state(), self.done, self.seed)
        self.stream.synchronize()

    def _try_out(self, stream, on_device):
        """Warms up, captures, and replays once; how far that moved the random numbers."""
        torch, step = self._torch, self._asked.step
        make_scratch(torch, self.device, self._lent.pointer)
        values = HostValues(torch, self._asked.state)
        self._run_first(values, stream)
        with self._memory.in_use():
            for _ in range(max(self._asked.warm_ups - 1, 1)):
                returned = self._outputs(step())
                values.look()
            shapes = [(t.shape, t.dtype) for t in returned]
            del returned
        with self._slots.in_use():
            self.slots_out = [torch.zeros((SLOTS, *shape), dtype=kind, **on_device) for shape, kind in shapes]
        stream.synchronize()
        self._numbers.find(stream)
        self.graph = torch.cuda.CUDAGraph(keep_graph=True)
        on_host = HostRandom(torch)
        try:
            with self._memory.entered(), capturing(torch, self.graph, self.device, self._memory.id):
                with torch.autograd.set_multithreading_enabled(False):
                    self._run()
        except Exception as why:
            advice = advice_on(torch, self._asked.state, why)
            raise Error(f"the step cannot be captured: {line_of(step, why)}{why}{advice}") from why
        values.look()
        if moved := on_host.moved():
            log.warning("the step draws random numbers on the host (%s): each step gets the same", ", ".join(moved))
        if values.counting:
            log.warning("the step changes %s on the host: captured, it has one value", ", ".join(values.counting))
        self.graph.instantiate()
        return self._numbers.increment_of(self.graph, stream)

    def _run_first(self, values, stream):
        """Once, in memory that never gives way: what a module makes for good in its first run, such as the tables of a
        rotary embedding, the trainer may use, too. What optimizers make, and gradients, are dropped, and made again in
        memory that may."""
        torch, asked, self._lasting = self._torch, self._asked, StepMemory(self._torch, self.device)
        with self._lasting.in_use():
            self._outputs(asked.step())
        values.look()
        refuse_elsewhere(torch, torch.device("cuda", self.device), (), asked.state)
        refuse_shared(torch, asked.state)
        self._kept.put_back()
        stream.synchronize()
        self._lasting.release()

    def _run(self):
        for to, slots in zip(self._asked.inputs, self.slots_in):
            to.copy_(slots.index_select(0, self._slot)[0])
        for to, value in zip(self.slots_out, self._outputs(self._asked.step())):
            to.index_copy_(0, self._slot, value.detach()[None])
        self._slot.add_(1).remainder_(SLOTS)
        self._numbers.advance()

    def _outputs(self, returned):
        if returned is None:
            return []
        returned = [returned] if isinstance(returned, self._torch.Tensor) else list(returned)
        for value in returned:
            if not isinstance(value, self._torch.Tensor):
                raise Error(f"the step returned {value!r}: it must be a tensor, a sequence of tensors, or None")
        return returned

    def undo(self) -> None:
        """After a failed submission: the state is as before; its memory is given back. Raises nothing, because the
        failure is what the program must see."""
        stream = self.stream
        try:
            stream.synchronize()  # warm-ups may still write the state
            if self._kept is not None:
                with self._torch.cuda.device(self.device), self._torch.cuda.stream(stream):
                    self._kept.put_back()
                stream.synchronize()
            self.release()
        except Exception as why:
            log.warning("after a failed submission the state of the step could not be put back: %s", why)

    def release(self) -> None:
        """Gives its memory back. Nothing runs on it, and nothing will."""
        if self.graph is not None:
            self.graph.reset()
        self.graph = self._kept = self._slot = None
        self.slots_in, self.slots_out, self._scratch = [], [], OwnScratch()
        for memory in (self._memory, self._slots, self._lasting):
            if memory is not None:
                memory.release()
        self._lent.give_back()

    @property
    def seed(self) -> int:
        """Of its random numbers."""
        return self._numbers.seed

    @property
    def memory(self) -> Any:
        """What may give way to the trainer."""
        return self._memory.handle

    def submitted(self) -> None:
        """What a failed submission needs is no longer kept."""
        self._kept = None
        if self._checkpoint is not None:
            self._checkpoint.forget()
            self._asked.kept, self._asked.taken = self._checkpoint, None

    def state(self) -> list[Any]:
        return [t for part in self._asked.state for t in tensors_of(self._torch, part)]

    @property
    def is_saved(self) -> bool:
        return self._checkpoint is not None

    def copy_state(self, steps: int) -> None:
        """To the host, on the current stream, between two steps; blocks."""
        if self._checkpoint is not None:
            self._checkpoint.copy(self.state(), steps, self.seed)

    def write(self) -> None:
        """What was copied, to the checkpoint's file; blocks."""
        if self._checkpoint is not None:
            self._checkpoint.write()
