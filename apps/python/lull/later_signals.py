# SPDX-License-Identifier: Apache-2.0
"""Ctrl-C, and what else a program's signal handlers raise, at a moment where it does no harm."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Callable, Iterator
from typing import Any


@contextlib.contextmanager
def later_signals() -> Iterator[None]:
    """Handlers in Python that would run meanwhile run at the end. So a job that the library has made is known to its
    runtime before KeyboardInterrupt is raised. Signals come to the main thread alone; on others this does nothing."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[tuple[Callable[..., Any], int, Any]] = []
    handlers: dict[int, Any] = {}

    def put_off(number, frame):
        came.append((handlers[number], number, frame))

    try:
        for each in signal.valid_signals():
            handler = signal.getsignal(each)
            if callable(handler) and not isinstance(handler, signal.Handlers):
                handlers[each] = handler
                signal.signal(each, put_off)
        yield
    finally:
        for number, handler in handlers.items():
            if signal.getsignal(number) is put_off:  # else the program has set another
                signal.signal(number, handler)
        with contextlib.ExitStack() as late:  # of several, all run
            for handler, number, frame in reversed(came):
                late.callback(handler, number, frame)
