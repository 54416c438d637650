# SPDX-License-Identifier: Apache-2.0
"""A trainer's stream on CPU threads, which stands for a GPU's."""

from __future__ import annotations

import ctypes

from .binding import given, in_ns, load
from .job import Made


class ThreadsStream(Made):
    """A trainer's stream on CPU threads, for tests and demonstrations without a GPU."""

    def __init__(self) -> None:
        super().__init__()
        self._handle: ctypes.c_void_p = given(ctypes.c_void_p, load().lull_threads_stream_create)

    def __index__(self) -> int:
        return self._handle.value or 0

    def sleep(self, seconds: float) -> None:
        """Enqueues a kernel that takes so long, at most 10 s."""
        self._do(load().lull_threads_stream_sleep, in_ns(seconds))

    def synchronize(self) -> None:
        self._do(load().lull_threads_stream_synchronize)

    def close(self) -> None:
        self._do(load().lull_threads_stream_destroy)
