# SPDX-License-Identifier: Apache-2.0
"""Memory that libraries have kernels work in, and keep once a process: a step and the trainer would share it."""

from __future__ import annotations

import contextlib
import functools
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from .binding import Error


def _with_another_cache(function: Any) -> Any:
    """Of a function that makes the memory once, and keeps it in its cache."""
    return functools.lru_cache(maxsize=None)(function.__wrapped__) if hasattr(function, "__wrapped__") else function


# Module, attribute, and what is there instead for a step, from what is there for the program.
_KEPT_IN: tuple[tuple[str, str, Callable[[Any], Any]], ...] = (
    ("transformer_engine.pytorch.module.base", "_cublas_workspace", lambda _: None),  # before 2.9
    ("transformer_engine.pytorch.module.base", "_multi_stream_cublas_workspace", lambda _: []),
    ("transformer_engine.pytorch.module.base", "_dummy_wgrads", lambda _: {}),
    ("transformer_engine.pytorch.cpp_extensions.gemm", "get_cublas_workspace", _with_another_cache),
    ("megatron.core.parallel_state", "_GLOBAL_MEMORY_BUFFER", lambda program: program and type(program)()),
)


class OwnScratch:
    """A step's own. It must live as long as the step."""

    def __init__(self) -> None:
        self._own: list[Any] = []

    @contextlib.contextmanager
    def in_use(self) -> Iterator[None]:
        """What is called meanwhile has the step's. Once: for all runs of a step, and its capture."""
        programs: dict[tuple[str, str], Any] = {}
        try:
            for module, name, fresh in _KEPT_IN:
                if hasattr(sys.modules.get(module), name):
                    programs[module, name] = getattr(sys.modules[module], name)
                    setattr(sys.modules[module], name, fresh(programs[module, name]))
            yield
        finally:
            for module, name, fresh in _KEPT_IN:
                if hasattr(sys.modules.get(module), name):  # also where the step has imported it
                    own = getattr(sys.modules[module], name)
                    self._own.append(own)
                    setattr(sys.modules[module], name, programs.get((module, name), fresh(own)))


def refuse_shared(torch: Any, parts: Sequence[Any]) -> None:
    """After a first run: raises Error for a module that shares with all others of the process what it changes."""
    for part in parts:
        for name, module in part.named_modules() if isinstance(part, torch.nn.Module) else ():
            if isinstance(module, torch.nn.RNNBase) and module.training and module.dropout and module.num_layers > 1:
                raise Error(
                    f"{type(module).__name__} {name!r} has dropout, and cuDNN draws that for all modules of the "
                    "process from one state: set its dropout to 0, or stack modules of one layer with torch.nn.Dropout"
                )
            recipe = getattr(module, "fp8_meta", {}).get("recipe")
            if getattr(module, "fp8_initialized", False) and getattr(recipe, "delayed", lambda: False)():
                raise Error(
                    f"{type(module).__name__} {name!r} scales FP8 by history (DelayedScaling), which Transformer "
                    "Engine updates for all modules of the process at once: take a recipe of current or block scaling"
                )
