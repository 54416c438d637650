# SPDX-License-Identifier: Apache-2.0
"""torch_side_scratch_test.py: memory that libraries keep once a process, and what a side step does about it, with real
torch on a CPU and stand-ins for the libraries. Exit code 77: there is no torch here."""

import contextlib
import functools
import sys
import types
import unittest
import weakref
from unittest import mock

import lull
from lull.library_scratch import OwnScratch, refuse_shared

try:
    import torch
except ImportError as why:
    print(f"not run: {why}")
    sys.exit(77)


class WhatLibrariesKeep(unittest.TestCase):
    """Of a process; with stand-ins for Transformer Engine and Megatron."""

    def setUp(self):
        base, gemm, state = (types.ModuleType(name) for name in ("base", "gemm", "state"))
        base._cublas_workspace, base._multi_stream_cublas_workspace, base._dummy_wgrads = None, [], {}

        def get_workspace():
            if base._cublas_workspace is None:
                base._cublas_workspace = object()
            return base._cublas_workspace

        base.get_workspace = get_workspace
        gemm.get_cublas_workspace = functools.lru_cache(maxsize=None)(lambda *_: object())
        gemm.general_gemm = lambda: gemm.get_cublas_workspace(0, False, False)

        class Buffer:
            def __init__(self):
                self.buffer = {}

        state._GLOBAL_MEMORY_BUFFER = Buffer()
        self.base, self.gemm, self.state = base, gemm, state
        self.modules = {
            "transformer_engine.pytorch.module.base": base,
            "transformer_engine.pytorch.cpp_extensions.gemm": gemm,
            "megatron.core.parallel_state": state,
        }

    def used(self):
        self.state._GLOBAL_MEMORY_BUFFER.buffer.setdefault("one", object())
        return self.base.get_workspace(), self.gemm.general_gemm(), self.state._GLOBAL_MEMORY_BUFFER.buffer["one"]

    def assert_apart(self, one, other):
        self.assertFalse({id(each) for each in one} & {id(each) for each in other})

    def test_is_the_steps_own_while_it_is_captured_and_the_programs_again(self):
        with mock.patch.dict(sys.modules, self.modules):
            programs, steps, scratches = self.used(), [], []
            for _ in range(2):
                scratches.append(OwnScratch())
                with contextlib.suppress(ZeroDivisionError), scratches[-1].in_use():
                    steps.append(self.used())
                    self.assertEqual(self.used(), steps[-1])  # in the warm-ups and in the capture
                    if len(steps) == 2:
                        raise ZeroDivisionError
                self.assertEqual(self.used(), programs)
            self.assert_apart(programs, steps[0])
            self.assert_apart(programs, steps[1])
            self.assert_apart(*steps)

    def test_lives_as_long_as_the_step(self):
        class Memory:
            pass

        with mock.patch.dict(sys.modules, self.modules):
            self.gemm.get_cublas_workspace = functools.lru_cache(maxsize=None)(lambda *_: Memory())
            scratch = OwnScratch()
            with scratch.in_use():
                seen = weakref.ref(self.gemm.general_gemm())
            self.assertIsNotNone(seen())
            del scratch
            self.assertIsNone(seen())

    def test_is_the_steps_own_where_the_step_imports_the_library(self):
        with mock.patch.dict(sys.modules):
            with OwnScratch().in_use():
                sys.modules.update(self.modules)
                steps = self.used()
            self.assert_apart(self.used(), steps)

    def test_is_nothing_without_them_and_where_megatron_has_none(self):
        with OwnScratch().in_use():
            pass
        self.state._GLOBAL_MEMORY_BUFFER = None
        with mock.patch.dict(sys.modules, self.modules), OwnScratch().in_use():
            self.assertIsNone(self.state._GLOBAL_MEMORY_BUFFER)

    def test_that_cannot_be_had_twice_is_refused(self):
        lstm = torch.nn.Sequential(torch.nn.LSTM(2, 2, num_layers=2, dropout=0.5))
        with self.assertRaisesRegex(lull.Error, "LSTM '0' has dropout, and cuDNN draws that for all modules"):
            refuse_shared(torch, (lstm,))
        fp8 = torch.nn.Linear(2, 2)
        fp8.fp8_initialized, fp8.fp8_meta = True, {"recipe": types.SimpleNamespace(delayed=lambda: True)}
        with self.assertRaisesRegex(lull.Error, "scales FP8 by history"):
            refuse_shared(torch, (torch.zeros(1), fp8))
        fp8.fp8_meta["recipe"].delayed = lambda: False
        one_layer = torch.nn.GRU(2, 2)
        for each in (fp8, lstm.eval(), one_layer, torch.optim.SGD(one_layer.parameters(), 0.1)):
            refuse_shared(torch, (each,))


if __name__ == "__main__":
    unittest.main()
