# SPDX-License-Identifier: Apache-2.0
"""As much of torch as brackets and restoring need: classes with C-like methods, functions bound early, a hook,
streams that are threads; and the base of the tests with it. What real works do on real streams is shown by
torch_two_gpus_test.py."""

import contextlib
import os
import sys
import types
import unittest
from unittest import mock

import lull
from lull import arrivals, binding


class Device:
    def __init__(self, index):
        self.index = index


class Tensor:
    def __init__(self, device=0, is_cuda=True):
        self.device = Device(device)
        self.is_cuda = is_cuda


def make(version="2.11.0+cu130", stream=None):
    """A fresh torch: tests may spoil it. Its current stream is a ThreadsStream, `log` what its works did."""
    torch = types.ModuleType("torch")
    torch.__version__ = version
    torch.log = []
    torch.wait_raises = None

    class Work:
        def wait(self, timeout=None):
            """as torch's"""
            torch.log.append(("wait", self, timeout))
            if torch.wait_raises is not None:
                raise torch.wait_raises
            stream.sleep(0.002)
            return True

    class ProcessGroup:
        coalescing = False

        def __init__(self, ranks=range(4)):
            self.ranks = ranks  # global ones; None: torch does not know this group

        def send(self, tensors, dstRank, tag):
            return None if self.coalescing else Work()

        def recv(self, tensors, srcRank, tag):
            return None if self.coalescing else Work()

        def recv_anysource(self, tensors, tag):
            return Work()

        def allreduce(self, tensors):
            return Work()

        def _start_coalescing(self, device):
            self.coalescing = True

        def _end_coalescing(self, device):
            self.coalescing = False
            return Work()

    hooks = {}

    class Handle:
        def remove(self):
            hooks.pop(self, None)

    def register_optimizer_step_post_hook(hook):
        handle = Handle()
        hooks[handle] = hook
        return handle

    def optimizer_step(optimizer=None):
        for hook in list(hooks.values()):
            hook(optimizer, (), {})

    torch.hooks, torch.optimizer_step = hooks, optimizer_step

    def get_process_group_ranks(group):
        if group.ranks is None:
            raise KeyError(group)
        return list(group.ranks)

    torch.distributed = types.SimpleNamespace(
        ProcessGroup=ProcessGroup,
        Work=Work,
        is_available=lambda: True,
        is_initialized=lambda: False,
        get_world_size=lambda: 4,
        get_process_group_ranks=get_process_group_ranks,
    )
    torch.optim = types.ModuleType("torch.optim")
    torch.optimizer_module = types.ModuleType("torch.optim.optimizer")
    torch.optimizer_module.register_optimizer_step_post_hook = register_optimizer_step_post_hook

    class ExternalStream:
        def __init__(self, stream_ptr, device=None):
            self.cuda_stream, self.device_index = stream_ptr, device

    entered = []

    @contextlib.contextmanager
    def with_stream(one):
        entered.append(one)
        try:
            yield
        finally:
            entered.pop()

    def current_stream():
        return entered[-1] if entered else ExternalStream(stream.__index__(), torch.current_device)

    torch.cuda = types.SimpleNamespace(
        is_initialized=lambda: False,
        is_available=lambda: True,
        current_device=lambda: torch.current_device,
        current_stream=current_stream,
        ExternalStream=ExternalStream,
        stream=with_stream,
    )
    torch.current_device = 0
    return torch


def snapshot(torch):
    """Every attribute that could be replaced, by identity."""
    owners = (torch.distributed.ProcessGroup, torch.distributed.Work)
    return [(owner, name, id(value)) for owner in owners for name, value in vars(owner).items()]


class WithFakeTorch(unittest.TestCase):
    def setUp(self):
        self.stream = lull.ThreadsStream()
        self.torch = make(stream=self.stream)
        self.before = snapshot(self.torch)
        self.sites = []
        self.created = []  # options of the C library, of each runtime
        library = binding.load()
        create = library.lull_create

        def noting_create(options, handle):
            self.created.append(options._obj)
            return create(options, handle)

        opened, closed = lull.Runtime.open, lull.Runtime.close_bubble

        def noting_open(runtime, site, pointer):
            bubble = opened(runtime, site, pointer)
            self.sites.append(site.decode())
            self.torch.log.append("open")
            return bubble

        def noting_close(runtime, bubble, pointer):
            self.torch.log.append("close")
            return closed(runtime, bubble, pointer)

        patches = [
            mock.patch.dict(
                sys.modules,
                {
                    "torch": self.torch,
                    "torch.optim": self.torch.optim,
                    "torch.optim.optimizer": self.torch.optimizer_module,
                },
            ),
            mock.patch.dict(os.environ, LULL="", **dict.fromkeys(arrivals._COUNTS, "")),
            mock.patch.object(library, "lull_create", noting_create),
            mock.patch.object(lull.Runtime, "open", noting_open),
            mock.patch.object(lull.Runtime, "close_bubble", noting_close),
        ]
        for patch in patches:
            patch.start()
            self.addCleanup(patch.stop)
        self.addCleanup(self.stream.close)

    def assert_restored(self):
        self.assertEqual(snapshot(self.torch), self.before)
        self.assertEqual(self.torch.hooks, {})

    def observe(self, **options):
        return lull.observe(executor="threads", **options)

    def group(self, *ranks, known=True):
        """Of these global ranks, or of all. `known`: torch can tell them."""
        return self.torch.distributed.ProcessGroup((ranks or range(4)) if known else None)
