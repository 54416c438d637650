# SPDX-License-Identifier: Apache-2.0
"""The scope around a wait that a program places itself."""

from __future__ import annotations

from collections.abc import Callable

from .binding import Error, Status
from .runtime import Runtime
from .sites import site_of
from .streams import pointer_of


class BubbleScope:
    """One scope of `bubble`. No generator: each call of Python's delays the trainer, and here every one counts.
    `runtime`: gives the runtime of now, or None; `warn` takes an Error."""

    __slots__ = ("_opened", "_runtime", "_site", "_stream", "_warn")

    def __init__(
        self,
        runtime: Callable[[], Runtime | None],
        site: str,
        stream: object,
        warn: Callable[[Error], None],
    ) -> None:
        self._runtime, self._site, self._stream, self._warn = runtime, site, stream, warn
        self._opened: tuple[Runtime, int, int] | None = None  # the bubble, for its close

    def __enter__(self) -> None:
        if self._opened is not None:
            raise Error("a bubble's scope was entered inside itself: ask for one each time", Status.ERROR_STATE)
        runtime = self._runtime()
        if runtime is None:
            return
        pointer = pointer_of(self._stream)
        try:
            bubble = runtime.open(site_of(self._site), pointer)
        except Error as why:
            self._warn(why)
            return
        if bubble:
            self._opened = runtime, bubble, pointer

    def __exit__(self, *_: object) -> None:
        if self._opened is None:
            return
        runtime, bubble, pointer = self._opened
        self._opened = None
        try:
            runtime.close_bubble(bubble, pointer)
        except Error as why:
            self._warn(why)
