# SPDX-License-Identifier: Apache-2.0
"""liblull.so as ctypes sees it: its structs, its calls, and the exceptions for what goes wrong."""

from __future__ import annotations

import ctypes
import enum
import functools
import logging
import os
import pathlib
import time
from typing import Any

from . import fast_calls
from .header import Header

log = logging.getLogger("lull")

_HEADER = Header("lull.h", "lull_threads.h")
CONSTANTS = _HEADER.constants
ABI = CONSTANTS["LULL_ABI"]


class Error(RuntimeError):
    """What Lull refuses or cannot do; `status` is the C library's, None where Python found it first. Where an argument
    or an input is wrong it is a ValueError, too, and where the time was over a TimeoutError."""

    def __init__(self, message: str, status: int | None = None) -> None:
        super().__init__(message)
        self.status = status

    def __reduce__(self):
        return type(self), (*self.args, self.status)


class ArgumentError(Error, ValueError):
    """An argument cannot be what it is."""


class InputError(Error, ValueError):
    """A file, or a line of it, cannot be used."""


class TimedOut(Error, TimeoutError):
    """The time was over first; nothing else is wrong."""


class Status(enum.IntEnum):
    OK = 0
    TIMED_OUT = 1
    ERROR_ARGUMENT = 2
    ERROR_HANDLE = 3
    ERROR_ABI = 4
    ERROR_STATE = 5
    ERROR_SIZE = 6
    ERROR_INPUT = 7
    ERROR_LIMIT = 8
    ERROR_DEVICE = 9
    ERROR_INTERNAL = 10
    ERROR_EXCHANGE = 11
    ERROR_SLOW_NODE = 12


_KINDS: dict[int, type[Error]] = {
    Status.TIMED_OUT: TimedOut,
    Status.ERROR_ARGUMENT: ArgumentError,
    Status.ERROR_INPUT: InputError,
}

LogFunction: Any = _HEADER.functions["log"]
ExchangeFunction: Any = _HEADER.functions["exchange"]
STRUCTS = _HEADER.structs
CALLS = _HEADER.calls
NEXT_STEP, SKIP_STEP = 2**64 - 1, 2**64 - 2  # LULL_NEXT_STEP, LULL_SKIP_STEP

# These only enqueue, on the trainer's path. A call that gives up the interpreter's lock gets it back only when a busy
# thread lets go of it, by default after 5 ms: these keep it. So nothing that they wait for may need it: heard.py says
# how log lines are kept out of that, and no Python function may be what a full stream has to run next
# (cudaLaunchHostFunc).
HOLDING = ("lull_ready", "lull_step")  # and what fast_calls makes of lull_open and lull_close

# These PyTorch calls, holding a lock of its own: no Python function may stand in their place.
POOL_CALLS = ("lull_pool_allocate", "lull_pool_free")

forks = 0  # between the process that imported this and this one: what was made at another count is a parent's


def _after_fork():
    """A child has the parent's handles, but none of the threads that work on them: no call of the library may be
    made with them."""
    global forks
    forks += 1


os.register_at_fork(after_in_child=_after_fork)


class Library:
    """The C library's calls by name: those of HOLDING keep the interpreter's lock, all others release it, since they
    may block."""

    def __init__(self, path):
        self.path = path
        self._releasing = ctypes.CDLL(path)
        self._holding = ctypes.PyDLL(path, handle=self._releasing._handle)

    def __getattr__(self, name):  # once for each name
        call = getattr(self._holding if name in HOLDING else self._releasing, name)
        setattr(self, name, call)
        return call


def _path():
    """LULL_LIBRARY, else the one that the wheel carries, else what the loader finds."""
    asked = os.environ.get("LULL_LIBRARY")
    if asked:
        return asked
    carried = pathlib.Path(__file__).parent / "native" / f"liblull.so.{ABI}"
    return str(carried) if carried.exists() else f"liblull.so.{ABI}"


@functools.cache
def load():
    """The library, opened once."""
    path = _path()
    try:
        library = Library(path)
    except OSError as why:
        raise Error(
            f"{path} cannot be opened: {why}; install Lull's wheel, or name the library in LULL_LIBRARY"
        ) from why
    try:
        library.lull_abi.restype = ctypes.c_uint32
        if library.lull_abi() != ABI:
            raise Error(
                f"{path} has ABI {library.lull_abi()}, this package needs {ABI}: install both from one version of Lull"
            )
        for name, (result, arguments) in CALLS.items():
            call = getattr(library, name)
            call.restype, call.argtypes = result, arguments
        fast_calls.begin(library)
        library.open_bubble = fast_calls.function(library.lull_python_open)
        library.close_bubble = fast_calls.function(library.lull_python_close)
    except AttributeError as why:
        raise Error(f"{path} is not the Lull that this package needs: {why}") from why
    data = pathlib.Path(__file__).parent / "data"
    if data.is_dir():
        os.environ.setdefault("LULL_DATA", str(data))  # inputs that the wheel carries
    return library


def check(status):
    """Raises Error for all but OK and TIMED_OUT; True for OK."""
    if not status:  # OK; without a look at the enumeration, which takes longer than the rest of a bubble's call
        return True
    if status == Status.TIMED_OUT:
        return False
    if status in iter(Status):  # a later library may have more
        status = Status(status)
    raise _KINDS.get(status, Error)(load().lull_error_text().decode(errors="replace"), status)


def struct(which: str, /, **fields: Any) -> Any:
    """One of STRUCTS that says its size, with these fields; the others have their defaults."""
    return STRUCTS[which](size=ctypes.sizeof(STRUCTS[which]), **fields)


def zero(kind: Any) -> Any:
    """Of a ctypes type, or of one of STRUCTS, by name."""
    return struct(kind) if isinstance(kind, str) else kind()


def given(kind: Any, call: Any, *arguments: Any) -> Any:
    """What the call puts where its last argument points; `kind` as of `zero`."""
    made = zero(kind)
    check(call(*arguments, ctypes.byref(made)))
    return made


_PIECE_S = 0.1  # of a wait: Ctrl-C, and whatever else has to run on this thread, does between two


def in_ns(seconds):
    if not seconds >= 0:
        raise ArgumentError(f"a time of {seconds} seconds: it must not be below 0")
    return int(min(seconds, 86_400) * 1e9)


def wait_in_pieces(call, handle, seconds):
    """Whether the C call says OK before the time is over; None: it has no end."""
    deadline = None if seconds is None else time.monotonic() + in_ns(seconds) / 1e9
    while True:
        left = _PIECE_S if deadline is None else max(deadline - time.monotonic(), 0)
        if check(call(handle, in_ns(min(left, _PIECE_S)))):
            return True
        if deadline is not None and time.monotonic() >= deadline:
            return False


def text_of(call, *arguments):
    """A text by the header's rules: first its size, then the text."""
    needed = ctypes.c_size_t()
    check(call(*arguments, None, 0, ctypes.byref(needed)))
    while True:
        text = ctypes.create_string_buffer(needed.value)
        status = call(*arguments, text, needed.value, ctypes.byref(needed))
        if status != Status.ERROR_SIZE:  # else it has grown meanwhile
            check(status)
            return text.value.decode(errors="replace")
