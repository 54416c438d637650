# SPDX-License-Identifier: Apache-2.0
"""As much of torch as brackets and restoring need: classes with C-like methods, functions bound early, a hook, streams that are
threads. What real works do on real streams is shown by torch_two_gpus_test.py."""

import types

import lull


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

        def send(self, tensors, peer, tag):
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

    def optimizer_step():
        for hook in list(hooks.values()):
            hook(None, (), {})

    torch.hooks, torch.optimizer_step = hooks, optimizer_step
    torch.distributed = types.SimpleNamespace(ProcessGroup=ProcessGroup, Work=Work, is_available=lambda: True)
    torch.optim = types.ModuleType("torch.optim")
    torch.optimizer_module = types.ModuleType("torch.optim.optimizer")
    torch.optimizer_module.register_optimizer_step_post_hook = register_optimizer_step_post_hook
    torch.cuda = types.SimpleNamespace(
        is_available=lambda: True,
        current_device=lambda: 0,
        current_stream=lambda: types.SimpleNamespace(device_index=torch.current_device, cuda_stream=stream.__index__()),
    )
    torch.current_device = 0
    return torch


def stream():
    return lull.ThreadsStream()
