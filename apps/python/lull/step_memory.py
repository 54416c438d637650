# SPDX-License-Identifier: Apache-2.0
"""Device memory of a captured PyTorch step."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterator
from typing import Any

from .binding import POOL_CALLS, load
from .streams import torch_with_cuda


@functools.cache
def _allocator() -> Any:
    return torch_with_cuda().cuda.memory.CUDAPluggableAllocator(load().path, *POOL_CALLS).allocator()


class StepMemory:
    """A pool of torch's that takes its memory from Lull, within the runtime's memory_limit_bytes, and gives it back
    without a call that waits for the trainer. Optimizer state and gradients that the step made for good stay in it
    until the program drops them, also behind the runtime's end."""

    def __init__(self, torch: Any, device: int) -> None:
        self._torch, self._device = torch, device
        with torch.cuda.device(device):
            self._pool = torch.cuda.MemPool(_allocator())

    @property
    def id(self) -> Any:
        """For a capture, which brings all that is allocated in it to the pool. Not while it is in use."""
        return self._pool.id

    @contextlib.contextmanager
    def in_use(self) -> Iterator[None]:
        """What the calling thread allocates comes from the pool. Backward passes run on that thread."""
        with self._torch.autograd.set_multithreading_enabled(False):
            with self._torch.cuda.use_mem_pool(self._pool, self._device):
                yield

    def release(self) -> None:
        """Behind the last graph that was captured with it."""
        self._pool = None
