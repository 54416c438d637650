# SPDX-License-Identifier: Apache-2.0
"""liblull.so as ctypes sees it: its structs, its calls, and the exceptions for what goes wrong."""

from __future__ import annotations

import ctypes
import enum
import os
import pathlib
import time

ABI = 1  # LULL_ABI of the header that the structs below were written from


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

LogFunction = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_char_p)
ExchangeFunction = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p)


class Options(ctypes.Structure):
    _fields_ = [
        ("size", ctypes.c_uint32),
        ("abi", ctypes.c_uint32),
        ("executor", ctypes.c_int32),
        ("device", ctypes.c_int32),
        ("mode", ctypes.c_int32),
        ("launch", ctypes.c_int32),
        ("reserved_groups", ctypes.c_int32),
        ("processors", ctypes.c_int32),
        ("team_width", ctypes.c_int32),
        ("armed_ahead_us", ctypes.c_int32),
        ("memory_limit_bytes", ctypes.c_uint64),
        ("tasks", ctypes.c_char_p),
        ("log", LogFunction),
        ("log_context", ctypes.c_void_p),
        ("report", ctypes.c_char_p),
        ("max_slowdown", ctypes.c_double),
        ("draw_seed", ctypes.c_uint64),
        ("reserve_bytes", ctypes.c_uint64),
        ("saved_bytes", ctypes.c_uint64),
        ("profile", ctypes.c_char_p),
        ("min_bubble_ns", ctypes.c_uint64),
        ("rest_us", ctypes.c_int32),
        ("reserved", ctypes.c_int32),
    ]


class JobOptions(ctypes.Structure):
    _fields_ = [
        ("size", ctypes.c_uint32),
        ("priority", ctypes.c_int32),
        ("blocks_per_processor", ctypes.c_int32),
        ("reserved", ctypes.c_int32),
        ("name", ctypes.c_char_p),
        ("checkpoint", ctypes.c_char_p),
        ("checkpoint_every_ns", ctypes.c_uint64),
    ]


class GraphOptions(ctypes.Structure):
    _fields_ = [
        ("size", ctypes.c_uint32),
        ("priority", ctypes.c_int32),
        ("steps", ctypes.c_uint64),
        ("segment_ns", ctypes.c_uint64),
        ("node_limit_ns", ctypes.c_uint64),
        ("is_fed", ctypes.c_int32),
        ("no_hint", ctypes.c_int32),
        ("name", ctypes.c_char_p),
        ("memory", ctypes.c_void_p),
        ("may_go_back", ctypes.c_int32),
        ("reserved", ctypes.c_int32),
    ]


class JobStatus(ctypes.Structure):
    _fields_ = [
        ("size", ctypes.c_uint32),
        ("state", ctypes.c_int32),
        ("phases", ctypes.c_uint64),
        ("round", ctypes.c_uint64),
        ("step", ctypes.c_uint32),
        ("failure", ctypes.c_int32),
        ("items", ctypes.c_uint64),
    ]


class Counts(ctypes.Structure):
    _fields_ = [
        ("size", ctypes.c_uint32),
        ("reserved", ctypes.c_uint32),
        ("opened", ctypes.c_uint64),
        ("launches", ctypes.c_uint64),
        ("no_job", ctypes.c_uint64),
        ("too_short", ctypes.c_uint64),
        ("all_handed_back", ctypes.c_uint64),
        ("nested", ctypes.c_uint64),
        ("unmatched", ctypes.c_uint64),
        ("abandoned", ctypes.c_uint64),
        ("foreign_stream", ctypes.c_uint64),
        ("captured", ctypes.c_uint64),
        ("replayed", ctypes.c_uint64),
        ("not_captured", ctypes.c_uint64),
        ("dropped", ctypes.c_uint64),
        ("records_unread", ctypes.c_uint64),
        ("held_up", ctypes.c_uint64),
        ("groups_added", ctypes.c_uint64),
        ("armed", ctypes.c_uint64),
        ("released", ctypes.c_uint64),
        ("no_gate", ctypes.c_uint64),
        ("off", ctypes.c_uint64),
        ("withheld", ctypes.c_uint64),
    ]


class Steps(ctypes.Structure):
    _fields_ = [
        ("size", ctypes.c_uint32),
        ("is_known", ctypes.c_int32),
        ("begun", ctypes.c_uint64),
        ("timed", ctypes.c_uint64),
        ("total_ns", ctypes.c_uint64),
        ("withheld", ctypes.c_uint64),
        ("chance", ctypes.c_double),
        ("slowdown", ctypes.c_double),
        ("slowdown_low", ctypes.c_double),
        ("slowdown_high", ctypes.c_double),
        ("noise", ctypes.c_double),
        ("max_slowdown", ctypes.c_double),
        ("steps_to_know", ctypes.c_uint64),
        ("halved", ctypes.c_uint64),
    ]


class ExchangeNeed(ctypes.Structure):
    _fields_ = [
        ("size", ctypes.c_uint32),
        ("reserved_groups", ctypes.c_int32),
        ("resident", ctypes.c_int32),
        ("kernels", ctypes.c_uint32),
        ("blocks", ctypes.c_uint32),
        ("threads", ctypes.c_uint32),
        ("cluster", ctypes.c_uint32),
        ("registers", ctypes.c_uint32),
        ("shared_bytes", ctypes.c_uint32),
    ]


_P, _U64, _TEXT = ctypes.c_void_p, ctypes.c_uint64, [ctypes.c_char_p, ctypes.c_size_t, ctypes.POINTER(ctypes.c_size_t)]
_INT = ctypes.POINTER(ctypes.c_int)
_CALLS = {
    "lull_tasks": _TEXT,
    "lull_measure_reserved_groups": [
        ctypes.c_int32,
        ExchangeFunction,
        _P,
        ctypes.c_int32,
        ctypes.POINTER(ExchangeNeed),
        *_TEXT,
    ],
    "lull_create": [ctypes.POINTER(Options), ctypes.POINTER(_P)],
    "lull_destroy": [_P],
    "lull_get_mode": [_P, _INT],
    "lull_why_off": [_P, *_TEXT],
    "lull_pause_all": [_P, _U64],
    "lull_resume_all": [_P],
    "lull_give_back": [_P, _U64, _U64, ctypes.POINTER(_U64)],
    "lull_keep_reserve": [_P, _U64, ctypes.POINTER(_U64)],
    "lull_wait_all": [_P, _U64],
    "lull_get_counts": [_P, ctypes.POINTER(Counts)],
    "lull_report": [_P, ctypes.c_int, *_TEXT],
    "lull_open": [_P, _P, ctypes.c_char_p, ctypes.POINTER(_U64)],
    "lull_close": [_P, _U64, _P],
    "lull_ready": [_P, _P, _INT],
    "lull_step": [_P, _P],
    "lull_step_number": [_P, _P, _U64],
    "lull_skip_step": [_P],
    "lull_bound_slowdown": [_P, ctypes.c_double],
    "lull_assume_slowdown": [_P, ctypes.c_char_p, ctypes.c_double],
    "lull_get_slowdown": [_P, ctypes.c_char_p, ctypes.POINTER(ctypes.c_double)],
    "lull_get_steps": [_P, ctypes.POINTER(Steps)],
    "lull_submit": [_P, ctypes.c_char_p, ctypes.POINTER(JobOptions), ctypes.POINTER(_P)],
    "lull_submit_graph": [_P, _P, ctypes.POINTER(GraphOptions), ctypes.POINTER(_P)],
    "lull_graph_stream": [_P, ctypes.POINTER(_P)],
    "lull_memory_create": [ctypes.POINTER(_P)],
    "lull_memory_enter": [_P],
    "lull_memory_leave": [],
    "lull_memory_destroy": [_P],
    "lull_job_hold": [_P, _U64],
    "lull_job_let_go": [_P],
    "lull_job_feed": [_P, _U64],
    "lull_job_get_status": [_P, ctypes.POINTER(JobStatus)],
    "lull_job_pause": [_P],
    "lull_job_resume": [_P],
    "lull_job_cancel": [_P],
    "lull_job_wait": [_P, _U64],
    "lull_job_result": [_P, *_TEXT],
    "lull_job_verify": [_P, _INT, *_TEXT],
    "lull_job_destroy": [_P, _U64],
    "lull_threads_stream_create": [ctypes.POINTER(_P)],
    "lull_threads_stream_sleep": [_P, _U64],
    "lull_threads_stream_synchronize": [_P],
    "lull_threads_stream_destroy": [_P],
}

# These only enqueue, on the trainer's path. A call that gives up the interpreter's lock gets it back only when a busy
# thread lets go of it, by default after 5 ms: these keep it. So nothing that they wait for may need it: heard.py says
# how log lines are kept out of that, and no Python function may be what a full stream has to run next
# (cudaLaunchHostFunc).
HOLDING = ("lull_open", "lull_close", "lull_ready", "lull_step", "lull_step_number")

# These PyTorch calls, holding a lock of its own: no Python function may stand in their place.
POOL_CALLS = ("lull_pool_allocate", "lull_pool_free")

_loaded = None
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


def load():
    """The library, opened once."""
    global _loaded
    if _loaded is not None:
        return _loaded
    path = _path()
    try:
        library = Library(path)
    except OSError as why:
        raise Error(
            f"{path} cannot be opened: {why}; install Lull's wheel, or name the library in LULL_LIBRARY"
        ) from why
    try:
        library.lull_error_text.restype = ctypes.c_char_p
        library.lull_version.restype = ctypes.c_char_p
        library.lull_abi.restype = ctypes.c_uint32
        if library.lull_abi() != ABI:
            raise Error(
                f"{path} has ABI {library.lull_abi()}, this package needs {ABI}: install both from one version of Lull"
            )
        for name, arguments in _CALLS.items():
            getattr(library, name).argtypes = arguments
        for name in POOL_CALLS:
            getattr(library, name)
    except AttributeError as why:
        raise Error(f"{path} is not the Lull that this package needs: {why}") from why
    data = pathlib.Path(__file__).parent / "data"
    if data.is_dir():
        os.environ.setdefault("LULL_DATA", str(data))  # inputs that the wheel carries
    _loaded = library
    return library


def check(status):
    """Raises Error for all but OK and TIMED_OUT; True for OK."""
    if status in (Status.OK, Status.TIMED_OUT):
        return status == Status.OK
    if status in iter(Status):  # a later library may have more
        status = Status(status)
    raise _KINDS.get(status, Error)(load().lull_error_text().decode(errors="replace"), status)


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
