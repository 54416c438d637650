# SPDX-License-Identifier: Apache-2.0
"""What torch the package works with, and what it refuses and how, over the C library; torch is a stand-in."""

import logging
import os
import sys
import unittest
from unittest import mock

import fake_torch
import lull
from lull import binding


class Refusals(fake_torch.WithFakeTorch):
    def assert_off(self, words):
        with self.assertLogs("lull", logging.INFO) as told:
            with lull.harvest(executor="threads") as side:
                self.assertEqual(side.mode, "off")
                self.assertIn(words, side.why_off)
                self.assert_restored()  # inside, too
                self.group().recv([fake_torch.Tensor()], 1, 0).wait()
                self.assertEqual((len(side.counts()), set(side.counts().values())), (21, {0}))
                self.assertEqual(side.submit("compute").state, "off")
                with lull.bubble("mine", self.stream), side.pause_all():
                    pass
        self.assertIn(words, told.output[0])
        self.assertTrue(told.output[0].startswith("WARNING"), told.output)
        self.assertEqual(self.sites, [])

    def test_a_torch_that_is_too_old(self):
        self.torch.__version__ = "2.4.1+cu121"
        self.assert_off("torch 2.4.1 is too old for this Lull, which was written for 2.5 to 2.15; LULL=on")

    def test_unless_the_environment_says_on(self):
        self.torch.__version__ = "2.4.1"
        with mock.patch.dict(os.environ, LULL="on"), lull.harvest(executor="threads") as side:
            self.assertEqual(side.mode, "on")

    def test_a_torch_that_is_not_known_is_harvested(self):
        for version in ("2.16.0", "3.0.0a0+git1234", "nightly"):
            self.torch.__version__ = version
            with self.subTest(version), self.assertLogs("lull", logging.WARNING) as told:
                with lull.harvest("compute:items=16", executor="threads") as side:
                    self.assertEqual(side.mode, "on")
                    self.group().recv([fake_torch.Tensor()], 1, 0).wait()
            self.assertIn(
                f"torch {version.split('+')[0]} is not known to this Lull, which was written for 2.5 to 2.15",
                told.output[0],
            )
            self.assertEqual(sum("not known" in line for line in told.output), 1)
        self.assertEqual(len(self.sites), 3)
        self.assert_restored()

    def test_a_torch_that_is_known_gives_no_warning(self):
        for version in ("2.5.0", "2.11.0+cu130", "2.12.1", "2.15.0+cpu"):
            self.torch.__version__ = version
            with (
                self.subTest(version),
                self.assertNoLogs("lull", logging.WARNING),
                lull.harvest(executor="threads") as side,
            ):
                self.assertEqual(side.mode, "on")

    def test_a_torch_without_the_methods(self):
        del self.torch.distributed.ProcessGroup._end_coalescing
        self.before = fake_torch.snapshot(self.torch)
        asked = mock.patch.dict(os.environ, LULL="on")
        asked.start()
        self.addCleanup(asked.stop)
        self.assert_off("has no ProcessGroup._end_coalescing, which")
        del self.torch.optimizer_module.register_optimizer_step_post_hook
        self.assert_off("has no ProcessGroup._end_coalescing, register_optimizer_step_post_hook")
        self.torch.distributed.is_available = lambda: False
        self.assert_off("has no torch.distributed")

    def seen_with(self, words):
        """What is observed all the same of two receives, a send and a bubble by hand."""
        self.before, self.sites[:] = fake_torch.snapshot(self.torch), []
        with self.assertLogs("lull", logging.WARNING) as told, self.observe() as side:
            self.assertEqual((side.mode, side.why_off), ("observe", ""))
            self.assertIn(words, side.unseen)
            self.assertIn(words, told.output[0])
            group = self.group()
            group.recv([fake_torch.Tensor()], 1, 0).wait()
            self.torch.optimizer_step()
            group.recv([fake_torch.Tensor()], 1, 0).wait()
            if hasattr(group, "send"):
                group.send([fake_torch.Tensor()], 2, 0).wait()
            with lull.bubble("mine", self.stream):
                pass
        self.assert_restored()
        return self.sites

    def test_an_old_torch_is_observed(self):
        self.torch.__version__ = "2.4.1"
        with self.assertLogs("lull", logging.WARNING) as told, self.observe() as side:
            self.assertEqual((side.mode, side.unseen), ("observe", ""))
            self.group().recv([fake_torch.Tensor()], 1, 0).wait()
        self.assertIn("torch 2.4.1 is not known", told.output[0])
        self.assertEqual(self.sites, ["recv from 1 #0"])
        with (
            mock.patch.dict(os.environ, LULL="observe"),
            self.assertLogs("lull", logging.WARNING),
            lull.harvest(executor="threads") as side,
        ):
            self.assertEqual(side.mode, "observe")

    def test_a_torch_without_the_methods_is_observed_as_far_as_it_goes(self):
        distributed = self.torch.distributed
        del distributed.ProcessGroup._end_coalescing
        self.assertEqual(
            self.seen_with("no ProcessGroup._end_coalescing: waits"),
            ["recv from 1 #0", "recv from 1 #0", "send to 2 #0", "mine"],
        )
        del distributed.ProcessGroup.send
        self.assertEqual(self.seen_with("ProcessGroup.send"), ["recv from 1 #0", "recv from 1 #0", "mine"])
        register = self.torch.optimizer_module.register_optimizer_step_post_hook
        del self.torch.optimizer_module.register_optimizer_step_post_hook
        self.assertEqual(
            self.seen_with("register_optimizer_step_post_hook"), ["recv from 1 #0", "recv from 1 #1", "mine"]
        )
        self.torch.optimizer_module.register_optimizer_step_post_hook = register
        distributed.is_available = lambda: False
        self.assertEqual(self.seen_with("no torch.distributed: no wait is seen; lull.bubble()"), ["mine"])

    def test_lull_off(self):
        with mock.patch.dict(os.environ, LULL="off"):
            self.assert_off("LULL=off")

    def test_what_the_library_finds_at_its_start(self):
        real = binding.load().lull_get_mode

        def off(side, found, *text):
            status = real(side, found, *text)
            found._obj.value = 1
            return status

        with mock.patch.object(binding.load(), "lull_get_mode", off):
            with self.assertLogs("lull", logging.WARNING) as told, lull.harvest("compute", executor="threads") as side:
                self.assertEqual(side.mode, "off")
                self.assert_restored()  # inside, too
                self.group().recv([fake_torch.Tensor()], 1, 0).wait()
                with side.suspended():
                    pass
                self.assert_restored()
        self.assertEqual((len(told.output), self.sites), (1, []))

    def test_lull_observe_runs_nothing(self):
        with mock.patch.dict(os.environ, LULL="observe"):
            with lull.harvest("compute:items=16", executor="threads") as side:
                self.assertEqual(side.mode, "observe")
                for _ in range(5):
                    self.group().recv([fake_torch.Tensor()], 1, 0).wait()
                counts = side.counts()
                self.assertEqual((counts["opened"], counts["launches"]), (5, 0))

    def test_no_torch(self):
        with mock.patch.dict(sys.modules, torch=None):
            with self.assertRaisesRegex(lull.Error, "bracket_waits=False"):
                with self.observe():
                    self.fail("it was entered")
            with self.observe(bracket_waits=False) as side, lull.bubble("mine", self.stream):
                self.assertEqual(side.counts()["opened"], 1)

    def test_arguments(self):
        at_once = lull.Tuning(launch="now")
        for wrong in (
            {"executor": "gpu"},
            {"tuning": at_once},
            {"reserved_groups": -3},
            {"device": 99, "executor": "cuda"},
        ):
            with self.subTest(wrong), self.assertRaises(lull.Error):
                with lull.harvest(**{"executor": "threads", **wrong}):
                    self.fail("it was entered")
            self.assert_restored()


if __name__ == "__main__":
    unittest.main()
