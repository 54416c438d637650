# SPDX-License-Identifier: Apache-2.0
"""Bubbles of Lightning's Trainer in which the host itself waits: for a batch, and until a checkpoint is written. Needs
Lightning 2.0 or later, as `lightning` or as `pytorch_lightning`.

Only the trainer's own objects are changed, and only during `fit`: its profiler is told when a batch is fetched, and
`Trainer.save_checkpoint` writes all checkpoints, with every strategy."""

from __future__ import annotations

import contextlib
import functools
import importlib
import sys
from typing import Any

from .binding import Error, log
from .replaced import replaced
from .session import bubble
from .stalls import in_bubble
from .streams import is_given

_PACKAGES = ("lightning.pytorch", "pytorch_lightning")
_FETCH = ".train_dataloader_next"  # how Lightning's training loops end their name of a fetch, for profilers


def stalls(stream: object = None) -> Any:
    """`Trainer(callbacks=[lull.lightning.stalls()])`: during `fit` each fetch of a batch is the bubble "data", each
    checkpoint "checkpoint", and each validation whose module is on the CPU "evaluation". `stream`: the one that
    trains; None: torch's current one. Without a GPU and a stream, or without a session, the callback does nothing."""
    imported = [sys.modules[name] for name in _PACKAGES if name in sys.modules] or [_first_installed()]
    return _callback_class(tuple(each.Callback for each in imported))(stream)


def _first_installed():
    for name in _PACKAGES:
        with contextlib.suppress(ImportError):
            return importlib.import_module(name)
    raise Error(f"neither {' nor '.join(_PACKAGES)} can be imported: pip install lightning")


@functools.cache
def _callback_class(bases):
    """Lightning asks what a callback overrides, so it must be of the base class of the package that the trainer is of.
    A program may import both packages."""
    return type("Stalls", (_Hooks, *bases), {})


class _Hooks:
    """What Lightning calls."""

    def __init__(self, stream: object) -> None:
        self._stream = stream
        self._changes = contextlib.ExitStack()
        self._open: dict[str, contextlib.ExitStack] = {}  # action → its bubble
        self._has_fetched = False

    def __reduce__(self) -> Any:  # the class has no name that pickle could find
        return stalls, (self._stream,)

    def setup(self, trainer: Any, pl_module: Any, stage: str) -> None:
        self._restore()  # an earlier fit may have ended without a word
        if stage != "fit" or not is_given(self._stream):
            return
        if lacking := [name for name in ("profiler", "save_checkpoint") if not hasattr(trainer, name)]:
            raise Error(f"{type(trainer).__name__} has no {', '.join(lacking)}: Lightning must be 2.0 or later")
        profiler = trainer.profiler
        self._has_fetched = False
        for owner, name, value in (
            (trainer, "save_checkpoint", in_bubble("checkpoint", self._stream, trainer.save_checkpoint)),
            (profiler, "start", self._opening(profiler.start)),
            (profiler, "stop", self._closing(profiler.stop)),
        ):
            self._changes.enter_context(replaced(owner, name, value))

    def teardown(self, trainer: Any, pl_module: Any, stage: str) -> None:
        self._restore()

    def on_exception(self, trainer: Any, pl_module: Any, exception: BaseException) -> None:
        self._restore()

    def on_validation_start(self, trainer: Any, pl_module: Any) -> None:
        if is_given(self._stream) and pl_module.device.type == "cpu":
            self._begin("evaluation", "evaluation")

    def on_validation_end(self, trainer: Any, pl_module: Any) -> None:
        self._end("evaluation")

    def on_train_end(self, trainer: Any, pl_module: Any) -> None:
        if trainer.global_step and is_given(self._stream) and not self._has_fetched:
            log.warning("no fetch of a batch was seen: this Lightning does not tell its profiler of *%s", _FETCH)

    def _opening(self, start):
        @functools.wraps(start)
        def begin(action_name, *given, **more):
            start(action_name, *given, **more)
            if action_name.endswith(_FETCH):
                self._has_fetched = True
                self._begin(action_name, "data")

        return begin

    def _closing(self, stop):
        @functools.wraps(stop)
        def end(action_name, *given, **more):
            self._end(action_name)
            stop(action_name, *given, **more)

        return end

    def _begin(self, action, site):
        if action not in self._open:
            scope = self._open[action] = contextlib.ExitStack()
            scope.enter_context(bubble(site, self._stream))

    def _end(self, action):
        scope = self._open.pop(action, None)
        if scope is not None:
            scope.close()

    def _restore(self):
        for action in list(self._open):
            self._end(action)
        self._changes.close()
