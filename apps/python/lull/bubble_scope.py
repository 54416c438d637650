# SPDX-License-Identifier: Apache-2.0
"""The scope around a wait that a program places itself."""

from __future__ import annotations

from .binding import Error, Status
from .runtime import Runtime
from .sites import site_of
from .streams import current_pointer, pointer_of


class BubbleScope:
    """One scope of `bubble`. Where the host has slept since the last one, each call of Python's takes microseconds that
    delay the trainer: so it is no generator, and asks nobody but the runtime."""

    __slots__ = ("_bubble", "_pointer", "_runtime", "_site", "_stream")

    def __init__(self, runtime: Runtime, site: str, stream: object) -> None:
        self._runtime, self._site, self._stream = runtime, site, stream
        self._bubble = self._pointer = 0

    def __enter__(self) -> None:
        if self._bubble:
            raise Error("a bubble's scope was entered inside itself: ask for one each time", Status.ERROR_STATE)
        stream = self._stream
        self._pointer = current_pointer() if stream is None else pointer_of(stream)
        try:
            self._bubble = self._runtime.open(site_of(self._site), self._pointer)
        except Error as why:
            self._runtime._warn_of_bubble(why)

    def __exit__(self, *_: object) -> None:
        bubble, self._bubble = self._bubble, 0
        if not bubble:
            return
        try:
            self._runtime.close_bubble(bubble, self._pointer)
        except Error as why:
            self._runtime._warn_of_bubble(why)
