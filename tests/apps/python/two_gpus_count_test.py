# SPDX-License-Identifier: Apache-2.0
"""The test on two GPUs counts them as CUDA does: NVML, which torch asks, also counts those that a process may not
open."""

import ctypes
import sys
import types
import unittest
from unittest import mock

import torch_two_gpus_test


def torch_with(count, cuda="13.0"):
    torch = types.ModuleType("torch")
    torch.version = types.SimpleNamespace(cuda=cuda)
    torch.cuda = types.SimpleNamespace(device_count=lambda: count)
    torch.distributed = types.ModuleType("torch.distributed")
    torch.distributed.is_nccl_available = lambda: True
    return mock.patch.dict(sys.modules, {"torch": torch, "torch.distributed": torch.distributed})


class Driver:
    def __init__(self, count, starts=0):
        self.count, self.starts = count, starts

    def cuInit(self, flags):
        return self.starts

    def cuDeviceGetCount(self, into):
        into._obj.value = self.count
        return 0


class TheTestOnTwoGpus(unittest.TestCase):
    def why_not(self, driver):
        with mock.patch.object(ctypes, "CDLL", side_effect=driver if isinstance(driver, OSError) else [driver]):
            return torch_two_gpus_test.why_not(dry=False)

    def test_is_not_run_where_cuda_counts_fewer_than_torch(self):
        with torch_with(8):
            self.assertEqual(self.why_not(Driver(1)), "two GPUs are needed, CUDA counts 1")
            self.assertEqual(self.why_not(Driver(8, starts=100)), "two GPUs are needed, CUDA counts 0")
            self.assertEqual(self.why_not(OSError("no driver")), "two GPUs are needed, CUDA counts 0")

    def test_is_not_run_without_cuda(self):
        with torch_with(0, cuda=None):
            self.assertEqual(self.why_not(Driver(2)), "this torch has no CUDA")

    def test_is_run_on_two(self):
        with torch_with(2):
            self.assertEqual(self.why_not(Driver(2)), "")


if __name__ == "__main__":
    unittest.main()
