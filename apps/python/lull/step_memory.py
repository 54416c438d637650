# SPDX-License-Identifier: Apache-2.0
"""Device memory of a captured PyTorch step."""

from __future__ import annotations

import contextlib
import ctypes
import functools
from collections.abc import Iterator
from typing import Any

from .binding import POOL_CALLS, Error, check, given, load
from .streams import torch_with_cuda

OLDEST = "2.8"  # torch: graphs that are kept after their capture, and pools of one thread


@functools.cache
def _allocator() -> Any:
    return torch_with_cuda().cuda.memory.CUDAPluggableAllocator(load().path, *POOL_CALLS).allocator()


def refuse_unfit(torch: Any) -> None:
    """Raises Error where this torch lacks what a side step needs."""
    if not hasattr(torch.cuda.CUDAGraph, "raw_cuda_graph") or not hasattr(torch.cuda, "MemPool"):
        raise Error(f"a side step needs torch {OLDEST} or newer; this is {torch.__version__}")
    backend = torch.cuda.get_allocator_backend()
    if backend != "native":
        raise Error(
            f"a side step needs torch's own allocator; this is {backend}: take backend: out of PYTORCH_CUDA_ALLOC_CONF"
        )


class StepMemory:
    """A pool of torch's that takes its memory from Lull, within the runtime's memory_limit_bytes, and gives it back
    without a call that waits for the trainer. Optimizer state and gradients that the step made for good stay in it
    until the program drops them, also after the runtime's end. What is allocated `in_use` or `entered` may give way to
    the trainer with the job that is submitted with `handle`."""

    def __init__(self, torch: Any, device: int) -> None:
        self._torch, self._device = torch, device
        with torch.cuda.device(device):
            self._pool = torch.cuda.MemPool(_allocator())
        self.handle = given(ctypes.c_void_p, load().lull_memory_create)

    @property
    def id(self) -> Any:
        """For a capture, which brings all that is allocated in it to the pool. Not while it is in use."""
        return self._pool.id

    @contextlib.contextmanager
    def in_use(self) -> Iterator[None]:
        """What the calling thread allocates comes from the pool. Backward passes run on that thread."""
        with self._torch.autograd.set_multithreading_enabled(False), self.entered():
            with self._torch.cuda.use_mem_pool(self._pool, self._device):
                yield

    @contextlib.contextmanager
    def entered(self) -> Iterator[None]:
        """What the calling thread brings to the pool may give way."""
        check(load().lull_memory_enter(self.handle))
        try:
            yield
        finally:
            check(load().lull_memory_enter(None))

    def release(self) -> None:
        """After the last graph that was captured with it."""
        self._pool = None
        if self.handle:
            check(load().lull_memory_destroy(self.handle))
            self.handle = ctypes.c_void_p()


_scratch: dict[tuple[int, int], Any] = {}  # a pool of torch's for a stream of a device; for ever


def make_scratch(torch: Any, device: int, stream: int) -> None:
    """Has torch make what cuBLAS and cuBLASLt work in on the current stream, which is `stream`, from the calling
    thread. torch keeps that a thread's handle and a stream, for ever, so it must not lie in memory that is given back.
    Where the program clears it (torch.compile does, for its own graphs), torch takes it for free; so it lies in a pool
    of its own, whose free memory nobody gets, and a captured step goes on working in it."""
    pool = _scratch.get((device, stream))
    if pool is None:
        pool = _scratch[device, stream] = torch.cuda.MemPool()
    with torch.cuda.use_mem_pool(pool, device), torch.no_grad():
        ones = torch.ones((2, 2), device=f"cuda:{device}")
        torch.mm(ones, ones)
        torch.addmm(ones[0], ones, ones)


_broken: list[Any] = []  # graphs whose capture failed: torch's allocator of pinned memory keeps pointers to them


@contextlib.contextmanager
def capturing(torch: Any, graph: Any, device: int, pool: Any) -> Iterator[None]:
    """Captures what the calling thread enqueues on its current stream, with memory of this pool.

    Where the capture became invalid, capture_end() raises before it tells torch's allocator that the capture is over.
    The allocator would then recycle no memory that record_stream was called for, and would not retry when memory runs
    out, for the life of the process."""
    try:
        graph.capture_begin(pool=pool, capture_error_mode="thread_local")
        try:
            yield
        except BaseException:
            with contextlib.suppress(Exception):  # it says the same
                graph.capture_end()
            raise
        graph.capture_end()
    except BaseException:
        with contextlib.suppress(RuntimeError):  # capture_end() did so, or capture_begin() did not begin
            torch._C._cuda_endAllocateToPool(device, pool)
            _broken.append(graph)
            torch._C._cuda_releasePool(device, pool)
        raise
