# SPDX-License-Identifier: Apache-2.0
"""A trainer's stream on CPU threads, which stands for a GPU's."""

from __future__ import annotations

import ctypes

from .binding import check, in_ns, load
from .job import Made


class ThreadsStream(Made):
    """A trainer's stream on CPU threads, for tests and demonstrations without a GPU."""

    def __init__(self) -> None:
        super().__init__()
        self._handle = ctypes.c_void_p()
        check(load().lull_threads_stream_create(ctypes.byref(self._handle)))

    def __index__(self) -> int:
        return self._handle.value or 0

    def sleep(self, seconds: float) -> None:
        """Enqueues a kernel that takes so long, at most 10 s."""
        if not self._is_parents:
            check(load().lull_threads_stream_sleep(self._handle, in_ns(seconds)))

    def synchronize(self) -> None:
        if not self._is_parents:
            check(load().lull_threads_stream_synchronize(self._handle))

    def close(self) -> None:
        if not self._is_parents:
            check(load().lull_threads_stream_destroy(self._handle))
