# SPDX-License-Identifier: Apache-2.0
"""PyTorch's allocator asks Lull before it asks the driver for memory."""

from __future__ import annotations

import ctypes
import functools
import importlib
import pathlib
from typing import Any

from .binding import Error, load
from .streams import torch_with_cuda


@functools.cache
def _built() -> Any:
    """Takes half a minute the first time on a machine; torch keeps what was built."""
    if torch_with_cuda() is None:
        raise Error("hook_allocator needs torch with CUDA")
    source = pathlib.Path(__file__).with_suffix(".cpp")
    try:
        cpp_extension = importlib.import_module("torch.utils.cpp_extension")
        return ctypes.CDLL(
            cpp_extension.load(
                "lull_torch_hook", [str(source)], extra_cflags=["-O2"], with_cuda=True, is_python_module=False
            )
        )
    except Exception as why:  # a compiler that is missing, or whatever it says
        raise Error(
            f"hook_allocator: its extension could not be built, which needs a C++ compiler and ninja: {why}"
        ) from why


def install(runtime: ctypes.c_void_p) -> None:
    """For this runtime, instead of one before. Raises Error where it cannot be built."""
    library = _built()
    library.lull_torch_hook.argtypes = [ctypes.c_void_p, ctypes.c_void_p]
    library.lull_torch_hook.restype = None
    library.lull_torch_hook(ctypes.cast(load().lull_give_back, ctypes.c_void_p), runtime)


def remove() -> None:
    """If it was built."""
    if _built.cache_info().currsize:
        _built().lull_torch_hook(None, None)
