# SPDX-License-Identifier: Apache-2.0
"""What a session gives besides bracketed waits: reports, and bubbles by hand on streams of every spelling."""

import contextlib
import io
import json
import os
import pathlib
import sys
import tempfile
import types
import unittest
from unittest import mock

import fake_torch
import lull
from lull import streams


class Reports(fake_torch.WithFakeTorch):
    def wait_once(self):
        self.group().recv([fake_torch.Tensor()], 1, 0).wait()

    def test_observe_prints_its_report(self):
        with contextlib.redirect_stderr(io.StringIO()) as printed, self.observe():
            self.wait_once()
        self.assertIn("recv from 1 #0", printed.getvalue())

    def test_every_form_at_any_time(self):
        with self.observe() as side:
            self.wait_once()
            for _ in range(5000):
                if json.loads(side.report("json"))["gates"]:
                    break
                self.stream.sleep(0.001)
                self.stream.synchronize()
            (gate,) = json.loads(side.report("json"))["gates"]
            self.assertEqual(gate["sites"][0]["site"], "recv from 1 #0")
            self.assertIn("recv from 1 #0", side.report())
            self.assertIn("traceEvents", side.report("trace"))
            self.assertIn("<svg", side.report("svg"))
            with self.assertRaisesRegex(lull.Error, "text, json, trace, svg"):
                side.report("pdf")
        self.assertEqual(side.report(), "")

    def test_a_file(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "bubbles.json")
            with contextlib.redirect_stderr(io.StringIO()) as printed, self.observe(report=path):
                self.wait_once()
            self.assertEqual(json.loads(path.read_text(encoding="utf-8"))["schema"], "lull.bubbles/1")
            self.assertEqual(printed.getvalue(), "")
            with lull.harvest(executor="threads", report=f"{folder}/of-%d.txt"):
                pass
            self.assertTrue(pathlib.Path(folder, "of-0.txt").exists())
        for wrong in (f"{folder}/bubbles.txt", "bubbles.pdf"):
            with self.subTest(wrong), self.assertRaises(lull.Error), self.observe(report=wrong):
                self.fail("it was entered")
        self.assert_restored()

    def test_a_file_for_each_rank(self):
        distributed = self.torch.distributed
        distributed.is_initialized, distributed.get_world_size, distributed.get_rank = lambda: True, lambda: 2, lambda: 1
        with tempfile.TemporaryDirectory() as folder:
            for asked, written in (("a.trace.json", "a.rank1.trace.json"), ("b.%p.txt", f"b.{os.getpid()}.txt")):
                with self.observe(report=f"{folder}/{asked}"):
                    self.wait_once()
                self.assertTrue(pathlib.Path(folder, written).exists(), os.listdir(folder))


class Streams(fake_torch.WithFakeTorch):
    def test_every_spelling(self):
        speaks = types.SimpleNamespace(__cuda_stream__=lambda: (0, 4711))
        self.assertEqual(streams.pointer_of(speaks), 4711)
        self.assertEqual(streams.pointer_of(types.SimpleNamespace(cuda_stream=4712)), 4712)
        self.assertEqual(streams.pointer_of(4713), 4713)
        self.assertEqual(streams.pointer_of(0), 0)
        self.assertEqual(streams.pointer_of(self.stream), self.stream.__index__())
        self.assertEqual(streams.pointer_of(None), self.stream.__index__())  # torch's current one
        with self.assertRaisesRegex(lull.Error, "version 1"):
            streams.pointer_of(types.SimpleNamespace(__cuda_stream__=lambda: (1, 4711)))
        with self.assertRaisesRegex(lull.Error, "is no stream"):
            streams.pointer_of("main")
        with mock.patch.dict(sys.modules, torch=None), self.assertRaisesRegex(lull.Error, "no stream was given"):
            streams.pointer_of(None)

    def test_bubbles_by_hand(self):
        with self.observe() as side:
            with lull.bubble("mine"):  # torch's current stream
                self.stream.sleep(0.001)
            with lull.bubble("mine", self.stream):
                self.stream.sleep(0.001)
            with self.assertRaises(ZeroDivisionError), side.bubble("mine", self.stream):
                raise ZeroDivisionError
            counts = side.counts()
            self.assertEqual((counts["opened"], counts["nested"], counts["unmatched"]), (3, 0, 0))
            with self.assertRaisesRegex(lull.Error, "1 to 255 bytes"), lull.bubble("", self.stream):
                self.fail("it was entered")
        with lull.bubble("mine", "no stream at all"):  # nothing is on, so nothing is looked at
            pass


if __name__ == "__main__":
    unittest.main()
