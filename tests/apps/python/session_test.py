# SPDX-License-Identifier: Apache-2.0
"""What a session gives besides bracketed waits: reports, and bubbles by hand on streams of every spelling."""

import contextlib
import io
import json
import logging
import math
import os
import pathlib
import sys
import tempfile
import types
import unittest
from unittest import mock

import fake_torch
import lull
from lull import binding, ranks, streams


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
            with self.assertRaisesRegex(lull.Error, "take 'trace'.*ui.perfetto.dev"):
                side.report("svg")
            with self.assertRaisesRegex(lull.Error, "text, json, trace$"):
                side.report("pdf")
        self.assertEqual(side.report(), "")

    def test_a_file(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "bubbles.json")
            with contextlib.redirect_stderr(io.StringIO()) as printed, self.observe(report=path):
                self.wait_once()
            self.assertEqual(json.loads(path.read_text(encoding="utf-8"))["schema"], "lull.bubbles/2")
            self.assertEqual(printed.getvalue(), "")
            with lull.harvest(executor="threads", report=f"{folder}/of-%d.txt"):
                pass
            self.assertTrue(pathlib.Path(folder, "of-0.txt").exists())
        for wrong in (f"{folder}/bubbles.txt", "bubbles.pdf", "bubbles.svg"):
            with self.subTest(wrong), self.assertRaises(lull.Error), self.observe(report=wrong):
                self.fail("it was entered")
        self.assert_restored()

    def test_a_file_for_each_rank(self):
        distributed = self.torch.distributed
        distributed.is_initialized, distributed.get_world_size, distributed.get_rank = (
            lambda: True,
            lambda: 2,
            lambda: 1,
        )
        with tempfile.TemporaryDirectory() as folder:
            for asked, written in (("a.trace.json", "a.rank1.trace.json"), ("b.%p.txt", f"b.{os.getpid()}.txt")):
                with self.observe(report=f"{folder}/{asked}"):
                    self.wait_once()
                self.assertTrue(pathlib.Path(folder, written).exists(), os.listdir(folder))


class WithoutBrackets(fake_torch.WithFakeTorch):
    """Ranks are told apart as with brackets; torch is not imported for it."""

    def test_each_rank_has_torchs_device_and_its_own_report(self):
        distributed = self.torch.distributed
        distributed.is_initialized, distributed.get_rank = lambda: True, lambda: 3
        self.torch.current_device = 3
        self.assertEqual(self.made(report="bubbles.txt"), (3, "bubbles.rank3.txt"))
        self.assertEqual(self.made(report="bubbles.%p.txt", device=1), (1, "bubbles.%p.txt"))
        self.torch.cuda.is_available = lambda: False
        self.assertEqual(self.made(report="bubbles.txt"), (0, "bubbles.rank3.txt"))

    def test_each_rank_has_a_folder_for_its_checkpoints(self):
        distributed = self.torch.distributed
        distributed.is_initialized, distributed.get_rank = lambda: True, lambda: 3
        here = pathlib.Path.cwd()
        for asked, own in (("saved", "saved.rank3"), (".", f"{here}.rank3"), ("..", f"{here.parent}.rank3")):
            self.assertEqual(str(ranks.own_file(asked, self.torch)), own)

    def test_without_torch_the_device_is_the_first(self):
        with mock.patch.dict(sys.modules):
            del sys.modules["torch"]
            self.assertEqual(self.made(report="bubbles.txt"), (0, "bubbles.txt"))
            self.assertNotIn("torch", sys.modules)

    def made(self, **options):
        """The device and the report that the C library is asked for; nothing is made."""

        def refuse(given, _):
            asked.append((given._obj.device, given._obj.report.decode()))
            return lull.Status.ERROR_ARGUMENT

        asked = []
        with mock.patch.object(binding.load(), "lull_create", refuse), self.assertRaises(lull.Error):
            with lull.harvest(executor="threads", bracket_waits=False, **options):
                self.fail("it was entered")
        return asked[0]


class Rooms(fake_torch.WithFakeTorch):
    """As the C library takes them: 0: two, -1: none."""

    def harvested(self, **options):
        """The reserved groups, and what was logged, of a harvest with one wait in it and one after that."""
        with (
            self.assertLogs("lull", logging.INFO) as told,
            lull.harvest("compute:items=16", executor="threads", **options),
        ):
            for _ in range(2):
                self.group().recv([fake_torch.Tensor()], 1, 0).wait()
        return self.created[-1].reserved_groups, [line for line in told.output if "SMs are kept off" in line]

    def test_none_where_nothing_can_arrive(self):
        reserved_groups, (said, warned) = self.harvested()
        self.assertEqual(reserved_groups, -1)
        self.assertEqual(
            said,
            "INFO:lull:no SMs are kept off workers: no process group is initialised, "
            "and nothing else is there that receives",
        )
        self.assertIn("WARNING:lull:no SMs are kept off for this wait", warned)  # once, since a group came later

    def test_two_where_something_can(self):
        self.torch.distributed.is_initialized = lambda: True
        self.torch.distributed.get_rank = lambda: 0
        reserved_groups, said = self.harvested()
        self.assertEqual(
            (reserved_groups, said),
            (0, ["INFO:lull:two groups of SMs are kept off workers: a process group is initialised"]),
        )

    def test_two_with_another_transport_or_other_ranks(self):
        with mock.patch.dict(sys.modules, nvshmem=types.ModuleType("nvshmem")):
            reserved_groups, said = self.harvested()
        self.assertEqual(
            (reserved_groups, said), (0, ["INFO:lull:two groups of SMs are kept off workers: nvshmem is imported"])
        )
        with mock.patch.dict(os.environ, WORLD_SIZE="8"):
            reserved_groups, said = self.harvested()
        self.assertEqual(
            (reserved_groups, said), (0, ["INFO:lull:two groups of SMs are kept off workers: WORLD_SIZE is 8"])
        )
        with mock.patch.dict(os.environ, WORLD_SIZE="1"):
            self.assertEqual(self.harvested()[0], -1)

    def test_as_many_as_asked_for(self):
        for asked, passed, words in ((0, -1, "no SMs"), (4, 4, "4 group(s) of SMs")):
            with self.subTest(asked):
                reserved_groups, said = self.harvested(reserved_groups=asked)
                self.assertEqual(
                    (reserved_groups, said), (passed, [f"INFO:lull:{words} are kept off workers: as asked for"])
                )

    def test_without_torch(self):
        with mock.patch.dict(sys.modules):
            del sys.modules["torch"]
            with lull.harvest(executor="threads", bracket_waits=False), lull.bubble("mine", self.stream):
                pass
        self.assertEqual(self.created[-1].reserved_groups, -1)

    def test_what_is_observed_is_what_a_harvest_would_have(self):
        with self.assertNoLogs("lull", logging.WARNING), self.observe():
            self.group().recv([fake_torch.Tensor()], 1, 0).wait()
        self.assertEqual(self.created[-1].reserved_groups, -1)


class LoadedAtStart(fake_torch.WithFakeTorch):
    def listed(self, *tasks):
        """What the C library is told to load; nothing is made."""

        def refuse(options, _):
            told.append(options._obj.tasks)
            return lull.Status.ERROR_ARGUMENT

        told = []
        with (
            mock.patch.object(binding.load(), "lull_create", refuse),
            self.assertRaises(lull.Error),
            lull.harvest(tasks, executor="threads"),
        ):
            self.fail("it was entered")
        (names,) = told
        return names and names.decode()

    def test_options_are_told_since_they_decide_what_is_loaded(self):
        for tasks, told in (
            ([], None),
            (["compute"], "compute"),
            (["product:leave=saved"], "product:leave=saved"),
            (["product:leave=saved,rows=64", "compute"], "compute,product:leave=saved;rows=64"),
            (["product:leave=saved", "product: leave=saved", "product"], "product,product:leave=saved"),
            (["pagerank:graph='a,b.el',out=c.txt"], "pagerank:graph='a,b.el';out=c.txt"),
            ([r'pagerank:graph="a\"b,c.el",top=3'], r'pagerank:graph="a\"b,c.el";top=3'),
            ([r"pagerank:graph=a;b\c.el,top=3"], r'pagerank:graph="a;b\\c.el";top=3'),
            (["compute:"], "compute"),
        ):
            with self.subTest(tasks):
                self.assertEqual(self.listed(*tasks), told)

    def test_more_than_the_list_holds(self):
        self.assertEqual(
            self.listed(*(f"compute:seed={seed}" for seed in range(1001)), "product:leave=saved"), "compute,product"
        )
        self.assertEqual(self.listed(*(f"pagerank:graph={'x' * 40_000}{number}" for number in range(2))), "pagerank")


class Durations(fake_torch.WithFakeTorch):
    """Options in seconds, each with the C library's member."""

    def passed_on(self, member, **tuned):
        def refuse(options, _):
            """A library of any age: an older one does not know the values."""
            self.seen = getattr(options._obj.tuning, member)
            return lull.Status.ERROR_ARGUMENT

        with mock.patch.object(binding.load(), "lull_create", refuse):
            asked = lull.harvest(executor="threads", tuning=lull.Tuning(**tuned))
            with self.assertRaises(lull.Error), asked:
                self.fail("it was entered")
        return self.seen

    def assert_refused(self, name, values, limits):
        for wrong in values:
            with self.subTest(wrong), self.assertRaisesRegex(ValueError, f"{name}.*: it must be {limits}"):
                with lull.harvest(executor="threads", tuning=lull.Tuning(**{name: wrong})):
                    self.fail("it was entered")
            self.assert_restored()
        self.assertEqual(self.created, [])

    def test_armed_ahead_in_nanoseconds_or_what_stands_for_the_rest(self):
        for asked, passed in (
            (None, 0),
            (0, -1),
            (0.0, -1),
            (1e-10, 1),
            (0.0015, 1_500_000),
            (2, 2_000_000_000),
            (1000, 1_000_000_000_000),
        ):
            with self.subTest(asked):
                self.assertEqual(self.passed_on("armed_ahead_ns", armed_ahead=asked), passed)
        with self.observe():
            pass
        self.assertEqual(self.created[-1].tuning.armed_ahead_ns, 0)

    def test_armed_ahead_that_cannot_be(self):
        self.assert_refused("armed_ahead", (-1, -1e-9, math.nan, math.inf, 1000.5), "0 to 1000, or None")

    def test_min_bubble_in_nanoseconds_or_what_stands_for_the_default(self):
        for asked, passed in ((None, 0), (0, -1), (1e-4, 100_000), (1, 1_000_000_000)):
            with self.subTest(asked):
                self.assertEqual(self.passed_on("min_bubble_ns", min_bubble=asked), passed)

    def test_rest_before_close_in_nanoseconds_or_never(self):
        for asked, passed in ((None, 0), (0, -1), (1e-9, 1), (1e-5, 10_000), (1e-3, 1_000_000)):
            with self.subTest(asked):
                self.assertEqual(self.passed_on("rest_ns", rest_before_close=asked), passed)
        self.assert_refused("rest_before_close", (-1, math.nan, math.inf, 0.0011), "0 to 0.001, or None")

    def test_training_worth_or_what_stands_for_the_default(self):
        for asked, passed in ((None, 0), (0, -1), (0.5, 0.5), (30, 30), (1e6, 1e6)):
            with self.subTest(asked):
                self.assertEqual(self.passed_on("training_worth", training_worth=asked), passed)
        self.assert_refused("training_worth", (-1, math.nan, math.inf, 1_000_001), "0 to 1000000, or None")

    def test_min_bubble_that_cannot_be(self):
        self.assert_refused("min_bubble", (-1, math.nan, math.inf, 1.5), "0 to 1, or None")


class Streams(fake_torch.WithFakeTorch):
    def test_torch_is_asked_for_cuda_once(self):
        asked = []
        self.torch.cuda.is_available = lambda: asked.append(1) or True
        for _ in range(3):
            self.assertIs(streams.torch_with_cuda(), self.torch)
        self.assertEqual(asked, [1])

    def test_every_spelling(self):
        speaks = types.SimpleNamespace(__cuda_stream__=lambda: (0, 4711))
        self.assertEqual(streams.pointer_of(speaks), 4711)
        self.assertEqual(streams.pointer_of(types.SimpleNamespace(cuda_stream=4712)), 4712)
        self.assertEqual(streams.pointer_of(4713), 4713)
        self.assertEqual(streams.pointer_of(0), 0)
        self.assertEqual(streams.pointer_of(self.stream), self.stream.__index__())
        self.assertEqual(streams.pointer_of(None), self.stream.__index__())  # torch's current one
        inside = types.SimpleNamespace(
            _cuda_getDevice=lambda: 2, _cuda_getCurrentRawStream=lambda device: 4720 + device
        )
        with mock.patch.object(streams, "_raw", (None,) * 3), mock.patch.object(self.torch, "_C", inside, create=True):
            found = [streams.pointer_of(None) for _ in range(2)]  # the first makes torch begin with CUDA
        self.assertEqual(found, [self.stream.__index__(), 4722])
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
        with self.observe() as side:
            scope = side.bubble("mine", self.stream)
            for _ in range(2):  # one after another
                with scope:
                    self.stream.sleep(0.001)
            with scope, self.assertRaisesRegex(lull.Error, "entered inside itself"), scope:
                pass
            counts = side.counts()
            self.assertEqual((counts["opened"], counts["nested"], counts["unmatched"]), (3, 0, 0))
        with lull.bubble("mine", "no stream at all"):  # nothing is on, so nothing is looked at
            pass


if __name__ == "__main__":
    unittest.main()
