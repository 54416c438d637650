# SPDX-License-Identifier: Apache-2.0
"""A stream, however a program spells it, as the integer that the C library takes; and streams that are lent."""

import ctypes
import operator
import sys
import threading
from collections.abc import Callable

from .binding import Error


class LentStreams:
    """Streams that each belong to one user at a time. Libraries keep memory that kernels work in a stream: two steps
    that were captured on one stream would share it, and spoil each other's numbers where bubbles run them by turns.
    Thread-safe."""

    def __init__(self) -> None:
        self._free: list[int] = []
        self._lock = threading.Lock()

    def lend(self, make: Callable[[], int]) -> "LentStream":
        """One that nobody has; `make` gives another, which stays, where all are lent."""
        with self._lock:
            if self._free:
                return LentStream(self, self._free.pop())
        return LentStream(self, make())

    def take_back(self, pointer: int) -> None:
        with self._lock:
            self._free.append(pointer)


class LentStream:
    """Its `pointer` is the user's until it gives it back."""

    def __init__(self, owner: LentStreams, pointer: int) -> None:
        self.pointer = pointer
        self._owner: LentStreams | None = owner

    def give_back(self) -> None:
        """Nothing runs that was captured on it, and nothing will. A second call does nothing."""
        owner, self._owner = self._owner, None
        if owner is not None:
            owner.take_back(self.pointer)


_copies: dict[int, LentStreams] = {}  # of a device


def lend_copy_stream(device: int) -> LentStream:
    """For the thread that feeds a step, of a device that is current. It is never destroyed, since a feed that does not
    return may have it beyond the runtime's end."""
    return _copies.setdefault(device, LentStreams()).lend(_new_stream)


def _new_stream() -> int:
    """Not one of torch's: it gives 32 by turns, so the trainer might have the same."""
    torch_with_cuda().cuda.current_stream().query()  # makes the device's context current, and waits for nothing
    stream, non_blocking = ctypes.c_void_p(), 1
    status = ctypes.CDLL("libcuda.so.1").cuStreamCreate(ctypes.byref(stream), non_blocking)
    if status != 0:
        raise Error(f"there is no stream to copy on: cuStreamCreate gave {status}")
    return stream.value or 0


_with_cuda = None  # the torch that was found to have CUDA: each question asks the driver, 10 µs at every bubble


def torch_with_cuda():
    """torch, where the program has imported it and it has CUDA; else None."""
    global _with_cuda
    torch = sys.modules.get("torch")
    if torch is None or torch is _with_cuda:
        return torch
    if not torch.cuda.is_available():
        return None
    _with_cuda = torch
    return torch


def is_given(stream):
    """Whether `pointer_of` has a stream to take; a trainer of another package may run where there is no GPU."""
    return stream is not None or torch_with_cuda() is not None


_raw: tuple = (None, None, None)  # a torch that has CUDA, and what tells its device, and a device's current stream


def current_pointer():
    """That of torch's current stream. By what torch gives its compiled code, where it has that: an object of a stream
    takes some 2 µs, in every bubble."""
    torch, device, stream_on = _raw
    if torch is not None and torch is sys.modules.get("torch"):
        return stream_on(device())
    return _current_pointer()


def _current_pointer():
    global _raw
    torch = torch_with_cuda()
    if torch is None:
        raise Error("no stream was given, and there is no torch with CUDA whose current stream could be meant")
    inside = getattr(torch, "_C", None)
    if hasattr(inside, "_cuda_getCurrentRawStream"):
        _raw = torch, inside._cuda_getDevice, inside._cuda_getCurrentRawStream
    return torch.cuda.current_stream().cuda_stream


def pointer_of(stream):
    """Takes what speaks __cuda_stream__ (version 0), torch streams, integers (ThreadsStream is one), and None:
    torch's current stream."""
    if stream is None:
        return current_pointer()
    speaks = getattr(stream, "__cuda_stream__", None)
    if speaks is not None:
        version, pointer, *_ = speaks() if callable(speaks) else speaks
        if version != 0:
            raise Error(f"{stream!r} speaks version {version} of __cuda_stream__, Lull knows version 0")
        return operator.index(pointer)
    if hasattr(stream, "cuda_stream"):
        return operator.index(stream.cuda_stream)
    try:
        return operator.index(stream)
    except TypeError:
        raise Error(
            f"{stream!r} is no stream: it has neither __cuda_stream__ nor cuda_stream, and is no integer"
        ) from None
