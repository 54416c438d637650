# SPDX-License-Identifier: Apache-2.0
"""Profiles of tasks, the choice among them, and what a session makes of them: by the real program and library."""

import json
import os
import pathlib
import tempfile
import unittest
from unittest import mock

import lull
from lull import program


class Profiles(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="lull-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.stream = lull.ThreadsStream()
        self.addCleanup(self.stream.close)

    def observed(self):
        """A bubble report of a trainer that waits."""
        path = self.folder / "bubbles.json"
        with lull.observe(executor="threads", bracket_waits=False, report=path):
            for _ in range(40):
                with lull.bubble("recv", self.stream):
                    self.stream.sleep(0.001)
                self.stream.synchronize()
        return path

    def test_tasks_are_profiled_and_one_is_chosen(self):
        found = lull.profile(
            ["mlp:epochs=100000,hidden=16", "mlp:epochs=100000,hidden=32"],
            bubbles=["1ms"],
            pairs=2,
            executor="threads",
            out=self.folder / "p.json",
        )
        self.assertEqual(json.loads((self.folder / "p.json").read_text()), found)
        self.assertEqual([each["task"]["options"]["hidden"] for each in found["profiles"]], ["16", "32"])
        for each in found["profiles"]:
            self.assertGreater(each["alone_jobs_per_s"], 0)
        best, other = lull.choose(self.folder / "p.json", self.observed())
        self.assertEqual({best["task"], other["task"]}, {"mlp:hidden=16", "mlp:hidden=32"})
        self.assertGreaterEqual(best["jobs_per_s"], other["jobs_per_s"])
        self.assertTrue(best["fits"])
        with lull.harvest(
            executor="threads", max_slowdown=0.01, profile=self.folder / "p.json", bracket_waits=False
        ) as side:
            side.suppose("my own", 0.001)
            with self.assertRaisesRegex(lull.Error, "my own"):
                side.suppose("my own", -1)
        side.suppose("my own", 0.001)  # when it is over

    def test_one_that_is_supposed_tame_begins_sooner(self):
        for supposed, chance in ((None, 0.2), (0.001, 0.5)):
            with lull.harvest("compute", executor="threads", max_slowdown=0.01, bracket_waits=False) as side:
                if supposed is not None:
                    side.suppose("compute", supposed)
                for _ in range(1000):
                    with lull.bubble("recv", self.stream):
                        self.stream.sleep(0.0001)
                    self.stream.synchronize()
                    if side.steps()["chance"] == chance:
                        break
                self.assertEqual(side.steps()["chance"], chance)

    def test_what_cannot_be_is_refused(self):
        with self.assertRaisesRegex(lull.Error, "unknown task"):
            lull.profile("comput", executor="threads")
        with self.assertRaisesRegex(lull.Error, "cannot be read"):
            lull.choose(self.folder / "none.json", self.folder / "none.json")
        with self.assertRaisesRegex(lull.Error, "cannot be read"):
            with lull.harvest(executor="threads", profile=self.folder / "none.json", bracket_waits=False):
                pass
        with mock.patch.object(program, "PACKAGE", self.folder), mock.patch.dict(os.environ):
            del os.environ["LULL_LIBRARY"]
            with self.assertRaisesRegex(lull.Error, "has no program"):
                lull.choose("p.json", "b.json")


if __name__ == "__main__":
    unittest.main()
