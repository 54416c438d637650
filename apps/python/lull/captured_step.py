# SPDX-License-Identifier: Apache-2.0
"""A PyTorch step that is captured, with its inputs and outputs in slots on the device."""

from __future__ import annotations

import os
import pathlib
import threading
import traceback
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from .binding import Error
from .step_memory import StepMemory, capturing, refuse_unfit
from .step_numbers import Numbers
from .streams import torch_with_cuda

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
    warm_ups: int
    checkpoint: str | os.PathLike[str] | None
    every: int
    seed: int | None
    hint: bool


def _tensors(torch, part):
    """The tensors of a module, an optimizer, or a tensor itself, in a fixed order."""
    if isinstance(part, torch.Tensor):
        return [part]
    if isinstance(part, torch.nn.Module):
        return [each.detach() for each in (*part.parameters(), *part.buffers())]
    if isinstance(part, torch.optim.Optimizer):
        found = [v for s in part.state.values() for v in s.values() if isinstance(v, torch.Tensor)]
        return found + [v for g in part.param_groups for v in g.values() if isinstance(v, torch.Tensor)]
    raise Error(f"state holds {part!r}: it must be modules, optimizers and tensors")


# Optimizers that make zeros in their first step; with SGD only where it does not damp its first gradient.
_BEGIN_AT_ZERO = ("Adadelta", "Adagrad", "Adam", "AdamW", "Adamax", "RAdam", "RMSprop", "SGD")


def _begins_at_zero(optimizer):
    name = type(optimizer).__name__
    return name in _BEGIN_AT_ZERO and not any(group.get("dampening") for group in optimizer.param_groups)


class _Kept:
    """The state as it was. What an optimizer makes later is put back to zero, where it began so."""

    def __init__(self, torch, parts):
        self._torch, self._parts = torch, parts
        self._was = [(t, t.clone()) for part in parts for t in _tensors(torch, part)]

    def put_back(self):
        """Raises Error, when all else is put back, for an optimizer of which that is not known."""
        known = {(t.data_ptr(), t.shape, t.stride()) for t, _ in self._was}
        unknown = []
        with self._torch.no_grad():
            for tensor, was in self._was:
                tensor.copy_(was)
            for part in self._parts:
                for tensor in _tensors(self._torch, part):
                    if (tensor.data_ptr(), tensor.shape, tensor.stride()) in known:
                        continue
                    tensor.zero_()
                    if not _begins_at_zero(part):
                        unknown.append(type(part).__name__)
        if unknown:
            raise Error(f"{unknown[0]} has no state yet, and its first is not zero: take one ordinary step before")


def _line_of(step, why):
    """Where in the program's own file a step failed."""
    file = getattr(getattr(step, "__code__", None), "co_filename", None)
    lines = [each for each in traceback.extract_tb(why.__traceback__) if each.filename == file]
    return f"{file}:{lines[-1].lineno}: {lines[-1].line}: " if lines else ""


_LIVES = "lull.lives"


def _alive(torch, parts):
    """The parameters that a result of an earlier run was computed from that is still there: such a result keeps the
    node that adds to their gradients, and with it the stream where it ran."""
    names = []
    for part in parts:
        if not isinstance(part, torch.nn.Module):
            continue
        for name, parameter in part.named_parameters():
            if not parameter.requires_grad:
                continue
            for mark in (True, False):  # what the first look leaves on the node is there at the second if the node is
                with torch.enable_grad():
                    node = parameter.view_as(parameter).grad_fn.next_functions[0][0]
                if mark:
                    node.metadata[_LIVES] = True
                elif node.metadata.pop(_LIVES, False):
                    names.append(name)
                del node
    return names


def _advice(torch, parts, why):
    """What to do about a step that failed."""
    if isinstance(why, torch.OutOfMemoryError):
        return "; side work has no more device memory: raise memory_limit_bytes, or make the step smaller"
    if "legacy stream" in str(why) and (names := _alive(torch, parts)):
        return (
            f"; something computed from {names[0]!r} before is still there, such as the loss of an earlier run, or a "
            "clone: delete it, or detach it"
        )
    return ""


def _on_another_thread(work):
    """Where PyTorch knows no plans of cuDNN yet: it keeps them a thread, and one that it chose when the program ran the
    same convolution may not run on the SMs of workers."""
    failed = []

    def run():
        try:
            work()
        except BaseException as why:  # the program's step may raise anything
            failed.append(why)

    thread = threading.Thread(target=run, name="lull capture")
    thread.start()
    thread.join()
    if failed:
        raise failed[0]


class Captured:
    """A step that is captured, with its inputs and outputs in slots on the device."""

    def __init__(self, asked: SideStep, device: int, graph_stream: Callable[[], int]) -> None:
        """`graph_stream`: opens a stream on the SMs of workers, where it is warmed up and captured: so libraries that
        choose kernels by trying them choose such as can run there."""
        torch = torch_with_cuda()
        if torch is None:
            raise Error("a side step needs torch with CUDA")
        refuse_unfit(torch)
        self._torch, self._asked, self.device = torch, asked, device
        self.done = 0  # steps before the first one
        self.graph: Any = None
        self.slots_in: list[Any] = []
        self.slots_out: list[Any] = []
        self._slot: Any = None
        for tensor in (*asked.inputs, *(t for part in asked.state for t in _tensors(torch, part))):
            if tensor.device != torch.device("cuda", device):
                raise Error(
                    f"inputs and state must be on cuda:{device}, the runtime's device; one is on {tensor.device}"
                )
        self._saved = self._load()
        if self.done >= asked.steps:
            raise Error(f"{asked.checkpoint} holds {self.done} steps: all that were asked for are done")
        on_workers, caller = graph_stream(), torch.cuda.current_stream(device)
        try:
            self._capture(on_workers, caller)
            return
        except RuntimeError as why:
            if isinstance(why, Error) or "cuDNN" not in str(why):
                raise
        # Behind the handler: the exception holds what the failed step made.
        _on_another_thread(lambda: self._capture(on_workers, caller))

    def _load(self):
        if self._asked.checkpoint is None or not os.path.exists(self._asked.checkpoint):
            return None
        saved = self._torch.load(self._asked.checkpoint, map_location="cpu", weights_only=True)
        if not isinstance(saved, dict) or saved.get("lull") != "side_step/1":
            raise Error(f"{self._asked.checkpoint} is no checkpoint of a side step: delete it, or name another file")
        self.done = saved["steps"]
        return saved

    def _capture(self, on_workers, caller):
        torch = self._torch
        try:
            with torch.cuda.device(self.device):
                self._capture_on(torch.cuda.ExternalStream(on_workers, self.device), caller)
        except torch.OutOfMemoryError as why:
            advice = _advice(torch, self._asked.state, why)
            raise Error(f"{_line_of(self._asked.step, why)}{why}{advice}") from why

    def _capture_on(self, on_workers, caller):
        torch, asked = self._torch, self._asked
        on_device = {"device": f"cuda:{self.device}"}
        self.stream = torch.cuda.Stream(self.device)  # of the copies that feed it, and take from it
        self._memory = StepMemory(torch, self.device)
        self._numbers = Numbers(torch, self.device, asked.seed if self._saved is None else self._saved["seed"])
        try:
            with self._memory.in_use():
                self._slot = torch.zeros(1, dtype=torch.int64, **on_device)
                self.slots_in = [torch.zeros((SLOTS, *t.shape), dtype=t.dtype, **on_device) for t in asked.inputs]
            self._kept = kept = _Kept(torch, asked.state)
            on_workers.wait_stream(caller)
            with self._numbers.in_use(), torch.cuda.stream(on_workers):
                try:
                    increment = self._try_out(on_workers, on_device)
                finally:
                    kept.put_back()
                self._put_saved()
                self._slot.fill_(self.done % SLOTS)
                self._numbers.begin(increment, self.done)
        except BaseException:
            on_workers.synchronize()
            self.release()
            raise
        on_workers.synchronize()

    def _try_out(self, stream, on_device):
        """Warms up, captures, and replays once; how far that moved the random numbers."""
        torch, step = self._torch, self._asked.step
        one = torch.ones((1, 1), **on_device)
        torch.mm(one, one)  # what cuBLAS works in is made here, since it stays
        with self._memory.in_use():
            for _ in range(self._asked.warm_ups):
                returned = self._outputs(step())
            self.slots_out = [torch.zeros((SLOTS, *t.shape), dtype=t.dtype, **on_device) for t in returned]
            del returned
        stream.synchronize()
        self._numbers.find(stream)
        self.graph = torch.cuda.CUDAGraph(keep_graph=True)
        try:
            with capturing(torch, self.graph, self.device, self._memory.id):
                with torch.autograd.set_multithreading_enabled(False):
                    self._run()
        except Exception as why:
            advice = _advice(torch, self._asked.state, why)
            raise Error(f"the step cannot be captured: {_line_of(step, why)}{why}{advice}") from why
        self.graph.instantiate()
        return self._numbers.increment_of(self.graph, stream)

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

    def put_back(self) -> None:
        """As before it was captured."""
        with self._torch.cuda.device(self.device), self._torch.cuda.stream(self.stream):
            self._kept.put_back()
            self.stream.synchronize()

    def release(self) -> None:
        """Gives its memory back. Nothing runs on it any more."""
        if self.graph is not None:
            self.graph.reset()
        self.graph = None
        self.slots_in, self.slots_out, self._slot = [], [], None
        self._memory.release()

    def submitted(self) -> None:
        """What was kept is not needed any more."""
        self._kept = None

    def state(self) -> list[Any]:
        return [t for part in self._asked.state for t in _tensors(self._torch, part)]

    def _put_saved(self):
        if self._saved is None:
            return
        mine = self.state()
        if [t.shape for t in mine] != [t.shape for t in self._saved["state"]]:
            raise Error(f"{self._asked.checkpoint} holds the state of another step: delete it, or name another file")
        with self._torch.no_grad():
            for to, value in zip(mine, self._saved["state"]):
                to.copy_(value)

    def save(self, path: pathlib.Path, steps: int) -> None:
        """Between two steps. The file is whole at any time."""
        torch = self._torch
        with torch.cuda.device(self.device), torch.cuda.stream(self.stream):
            state = [t.to("cpu", non_blocking=True) for t in self.state()]
            self.stream.synchronize()
        part = path.with_name(path.name + ".part")
        torch.save({"lull": "side_step/1", "steps": steps, "seed": self._numbers.seed, "state": state}, part)
        os.replace(part, path)
