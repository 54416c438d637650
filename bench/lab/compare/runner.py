# SPDX-License-Identifier: Apache-2.0
"""bench/side_runner/ for Python: graphs that a host thread launches beside training, without Lull."""

import contextlib
import ctypes
import os

from lab import torch

_P, _U32, _U64 = ctypes.c_void_p, ctypes.c_uint32, ctypes.c_uint64
_CALLS = {  # what each takes, and what it returns; int: 0, or 1 where it failed
    "error": ([], ctypes.c_char_p),
    "cut": ([_P, _U64, ctypes.POINTER(_P)], ctypes.c_int),
    "piece_count": ([_P], _U32),
    "piece_times": ([_P, ctypes.POINTER(_U64)], None),
    "destroy_pieces": ([_P], None),
    "start": ([_P, ctypes.c_int, _U32, _P, ctypes.POINTER(_P)], ctypes.c_int),
    "open": ([_P, _P, _U32], ctypes.c_int),
    "close": ([_P, _P], ctypes.c_int),
    "resume": ([_P], ctypes.c_int),
    "suspend": ([_P], ctypes.c_int),
    "stop": ([_P], ctypes.c_int),
    "steps": ([_P], _U64),
    "drains": ([_P, ctypes.POINTER(_U64), ctypes.c_size_t], ctypes.c_size_t),
    "destroy": ([_P], None),
    "green_stream": ([_U32, ctypes.POINTER(_P)], ctypes.c_int),
    "stream_of_green": ([_P], _P),
    "sms_of_green": ([_P], _U32),
    "destroy_green": ([_P], None),
}
MAX_BUBBLES = 1 << 15


class Failed(Exception):
    """What the library says."""


class Library:
    def __init__(self, build):
        library = ctypes.CDLL(os.path.abspath(f"{build}/bin/bench/libside_runner.so"))
        for name, (arguments, result) in _CALLS.items():
            call = getattr(library, f"lull_side_{name}")
            call.argtypes, call.restype = arguments, result
            setattr(self, f"_{name}", call)

    def call(self, name, *arguments):
        result = getattr(self, f"_{name}")(*arguments)
        if _CALLS[name][1] is ctypes.c_int and result != 0:
            raise Failed(self._error().decode(errors="replace"))
        return result

    def make(self, name, *arguments):
        made = _P()
        self.call(name, *arguments, ctypes.byref(made))
        return made

    @contextlib.contextmanager
    def pieces(self, graph, segment_s=0.0):
        """`graph`: of torch, kept. Without segments it is one piece."""
        made = Pieces(self, self.make("cut", graph.raw_cuda_graph(), round(segment_s * 1e9)))
        try:
            yield made
        finally:
            self.call("destroy_pieces", made.handle)

    @contextlib.contextmanager
    def green_stream(self, sms):
        """A stream as an integer, and how many SMs it has."""
        made = self.make("green_stream", sms)
        try:
            yield self.call("stream_of_green", made), self.call("sms_of_green", made)
        finally:
            self.call("destroy_green", made)

    @contextlib.contextmanager
    def runner(self, pieces, is_planned=False, max_queued=1, stream=None):
        made = Runner(self, self.make("start", pieces.handle, is_planned, max_queued, stream))
        try:
            yield made
        finally:
            self.call("destroy", made.handle)


class Pieces:
    def __init__(self, library, handle):
        self.handle = handle
        self.count = library.call("piece_count", handle)
        times = (_U64 * self.count)()
        library.call("piece_times", handle, times)
        self.times_ms = [time / 1e6 for time in times]


class Runner:
    """`bubble` is a kind of the trainer's steps; `resume` and `suspend` are for work that is always on."""

    def __init__(self, library, handle):
        self._library, self.handle, self._sites = library, handle, {}

    @contextlib.contextmanager
    def bubble(self, site):
        stream = torch.cuda.current_stream().cuda_stream
        self._library.call("open", self.handle, stream, self._sites.setdefault(site, len(self._sites)))
        try:
            yield
        finally:
            self._library.call("close", self.handle, stream)

    def resume(self):
        self._library.call("resume", self.handle)

    def suspend(self):
        self._library.call("suspend", self.handle)

    def steps(self):
        return self._library.call("steps", self.handle)

    def stop(self):
        """Raises Failed with what the thread has met."""
        self._library.call("stop", self.handle)

    def drains_us(self):
        """After stop: of each bubble with side work."""
        into = (_U64 * MAX_BUBBLES)()
        count = self._library.call("drains", self.handle, into, MAX_BUBBLES)
        return [time / 1e3 for time in into[: min(count, MAX_BUBBLES)]]
