# SPDX-License-Identifier: Apache-2.0
"""measure_reserved_groups without a GPU: what it refuses, and what the program's exchange sees of a call from C.
torch and what the C library does with a device are stand-ins; torch_reserved_groups_test.py has the real ones."""

import ctypes
import gc
import os
import sys
import unittest
from unittest import mock

import fake_torch
import lull
from lull import binding

STREAM = 4711
NO_SUCH_DEVICE = 1000


def not_called(stream):
    raise AssertionError("nothing is captured")


class WithoutADevice(fake_torch.WithFakeTorch):
    def assert_refused(self, words, status=lull.Status.ERROR_ARGUMENT, **options):
        with self.assertRaisesRegex(lull.Error, words) as refused:
            lull.measure_reserved_groups(not_called, **options)
        self.assertEqual(refused.exception.status, status)

    def test_the_reason_is_given(self):
        self.assert_refused("lull_measure_reserved_groups: .*CUDA", device=NO_SUCH_DEVICE)
        self.assert_refused("device is -1", device=-1)
        self.assert_refused("resident is 0: it must be at least 1", device=NO_SUCH_DEVICE, resident=0)

    def test_no_session_may_be_on(self):
        with self.observe():
            self.assert_refused("before lull.harvest or lull.observe is on", lull.Status.ERROR_STATE)
        with mock.patch.dict(os.environ, LULL="off"), self.observe():
            self.assertEqual(lull.measure_reserved_groups(not_called).reserved_groups, 0)

    def test_off_means_off(self):
        with mock.patch.dict(os.environ, LULL="off"):
            need = lull.measure_reserved_groups(not_called, resident=2)
        self.assertEqual(
            (need.reserved_groups, need.text, need.resident, need.kernels),
            (0, "no reserved groups were measured: LULL=off", 2, 0),
        )


class AnExchange(fake_torch.WithFakeTorch):
    """As the C library calls it, through C."""

    def setUp(self):
        super().setUp()
        self.asked = []  # device and resident
        self.found = {
            "reserved_groups": 4,
            "kernels": 2,
            "blocks": 16,
            "threads": 640,
            "cluster": 4,
            "registers": 96,
            "shared_bytes": 1 << 17,
        }
        prototype = ctypes.CFUNCTYPE(ctypes.c_int, *binding._CALLS["lull_measure_reserved_groups"])
        self.measure = prototype(self.stand_in)
        patch = mock.patch.object(binding.load(), "lull_measure_reserved_groups", self.measure)
        patch.start()
        self.addCleanup(patch.stop)

    def stand_in(self, device, exchange, context, resident, need, text, size, needed):
        self.asked.append((device, resident))
        gc.collect()  # the callback must be held by somebody
        if exchange(context, STREAM) != 0:
            return lull.Status.ERROR_EXCHANGE
        for name, value in self.found.items():
            setattr(need.contents, name, value)
        need.contents.resident = resident
        return lull.Status.OK

    def test_gets_the_stream_which_is_torch_s_current_one(self):
        self.torch.current_device = 3
        before = self.torch.cuda.current_stream().cuda_stream
        seen = []

        def exchange(stream):
            current = self.torch.cuda.current_stream()
            seen.append((stream, current.cuda_stream, current.device_index))

        need = lull.measure_reserved_groups(exchange, resident=2)
        self.assertEqual(seen, [(STREAM, STREAM, 3)])
        self.assertEqual(self.asked, [(3, 2)])
        self.assertEqual(self.torch.cuda.current_stream().cuda_stream, before)
        self.assertEqual(need, lull.ExchangeNeed(text="", resident=2, **self.found))
        with self.assertRaises(AttributeError):
            need.reserved_groups = 5
        lull.measure_reserved_groups(exchange, device=1)
        self.assertEqual((seen[1], self.asked[1]), ((STREAM, STREAM, 1), (1, 1)))

    def test_needs_no_torch(self):
        for missing in ({"torch": None}, {}):
            seen = []
            with (
                mock.patch.dict(sys.modules, missing),
                mock.patch.object(self.torch.cuda, "is_available", lambda: False),
            ):
                lull.measure_reserved_groups(seen.append)
            self.assertEqual((seen, self.asked[-1]), ([STREAM], (0, 1)))

    def test_no_rooms_are_none_for_a_harvest(self):
        self.found = {"reserved_groups": -1}
        need = lull.measure_reserved_groups(lambda stream: None)
        self.assertEqual(need.reserved_groups, 0)
        with lull.harvest(executor="threads", reserved_groups=need.reserved_groups):
            self.assertEqual(self.created[-1].reserved_groups, -1)

    def test_what_it_raises_comes_out_as_it_was(self):
        before = self.torch.cuda.current_stream().cuda_stream
        for mine in (ZeroDivisionError("mine"), KeyboardInterrupt(), lull.Error("another's", lull.Status.ERROR_LIMIT)):

            def exchange(stream, mine=mine):
                raise mine

            with self.subTest(mine), self.assertRaises(type(mine)) as raised:
                lull.measure_reserved_groups(exchange)
            self.assertIs(raised.exception, mine)
            self.assertEqual(self.torch.cuda.current_stream().cuda_stream, before)

    def test_a_failure_of_the_library_is_told(self):
        with (
            mock.patch.object(binding.load(), "lull_measure_reserved_groups", lambda *_: lull.Status.ERROR_DEVICE),
            self.assertRaises(lull.Error) as told,
        ):
            lull.measure_reserved_groups(not_called)
        self.assertEqual(told.exception.status, lull.Status.ERROR_DEVICE)


if __name__ == "__main__":
    unittest.main()
