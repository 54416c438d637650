# SPDX-License-Identifier: Apache-2.0
"""torch_reserved_groups_test.py: measure_reserved_groups over real torch on a GPU: kernels that torch launches are
captured and not run, on torch's current stream, and nothing is left over where the exchange raises. Exit code 77: it
could not be run here."""

import sys
import unittest

import lull
from torch_capture_test import why_not
from torch_two_gpus_test import SKIPPED


class AnExchangeOfTorch(unittest.TestCase):
    def setUp(self):
        import torch

        self.torch = torch
        self.before = torch.cuda.current_stream()
        self.source, self.target = torch.ones(1 << 12, device="cuda"), torch.zeros(1 << 12, device="cuda")
        torch.add(self.source, 1, out=self.target)  # its code is loaded
        self.target.zero_()
        torch.cuda.synchronize()

    def assert_as_before(self):
        self.torch.cuda.synchronize()
        self.assertEqual(self.torch.cuda.current_stream(), self.before)
        self.assertEqual(float(self.target.sum()), 0.0)

    def test_is_captured_and_not_run(self):
        streams = []

        def exchange(stream):
            streams.append((stream, self.torch.cuda.current_stream().cuda_stream))
            self.assertTrue(self.torch.cuda.is_current_stream_capturing())
            for _ in range(3):
                self.torch.add(self.source, 1, out=self.target)

        one, two = lull.measure_reserved_groups(exchange), lull.measure_reserved_groups(exchange, resident=2)
        self.assert_as_before()
        self.assertTrue(all(given == current for given, current in streams), streams)
        self.assertEqual((one.kernels, one.resident, two.resident), (3, 1, 2), one.text)
        self.assertGreater(min(one.reserved_groups, one.blocks, one.threads, one.cluster, one.registers), 0, one.text)
        self.assertEqual(two.reserved_groups, 2 * one.reserved_groups, two.text)
        self.assertIn(f"{one.blocks} blocks", one.text)
        self.assertTrue(two.text.endswith(f"; 2 resident at once need {two.reserved_groups}"), two.text)

    def test_that_launches_nothing_needs_no_rooms(self):
        need = lull.measure_reserved_groups(lambda stream: None)
        self.assertEqual(
            (need.reserved_groups, need.kernels, need.text),
            (0, 0, "the exchange launches no kernel: no room is needed"),
        )

    def test_that_raises(self):
        mine = ZeroDivisionError("mine")

        def exchange(stream):
            self.torch.add(self.source, 1, out=self.target)
            raise mine

        for _ in range(2):
            with self.assertRaises(ZeroDivisionError) as raised:
                lull.measure_reserved_groups(exchange)
            self.assertIs(raised.exception, mine)
            self.assert_as_before()
        self.assertEqual(lull.measure_reserved_groups(lambda stream: self.target.fill_(1)).kernels, 1)
        self.assert_as_before()

    def test_before_a_harvest(self):
        need = lull.measure_reserved_groups(lambda stream: self.torch.add(self.source, 1, out=self.target), resident=2)
        with lull.harvest(executor="cuda", reserved_groups=need.reserved_groups, bracket_waits=False) as side:
            self.assertEqual(side.mode, "on")

    def test_of_a_device_that_is_not_there(self):
        with self.assertRaisesRegex(lull.Error, "there is no CUDA device 1000") as refused:
            lull.measure_reserved_groups(lambda stream: None, device=1000)
        self.assertEqual(refused.exception.status, lull.Status.ERROR_ARGUMENT)


if __name__ == "__main__":
    if reason := why_not():
        print(f"not run: {reason}")
        sys.exit(SKIPPED)
    unittest.main()
