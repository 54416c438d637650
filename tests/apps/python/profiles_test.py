# SPDX-License-Identifier: Apache-2.0
"""Profiles of tasks, the choice among them, and what a session makes of them: by the real program and library."""

import json
import os
import pathlib
import tempfile
import time
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
            bubbles="1ms",
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
            side.assume_slowdown("my own", 0.001)
            with self.assertRaisesRegex(lull.Error, "my own"):
                side.assume_slowdown("my own", -1)
        side.assume_slowdown("my own", 0.001)  # when it is over

    def test_one_that_is_supposed_tame_begins_sooner(self):
        with lull.harvest(
            "compute:rounds=1000000000", executor="threads", max_slowdown=0.01, bracket_waits=False
        ) as side:
            self.assertEqual(side.steps()["chance"], 0.2)
            self.assertIsNone(side.slowdown("compute"))
            side.assume_slowdown("compute", 0.001)
            deadline = time.monotonic() + 60
            while side.steps()["chance"] != 0.5:
                self.assertLess(time.monotonic(), deadline, side.steps())
                time.sleep(0.001)

    def test_what_cannot_be_is_refused(self):
        with self.assertRaisesRegex(lull.Error, "unknown task"):
            lull.profile("comput", executor="threads")
        with self.assertRaisesRegex(lull.Error, "can be read"):
            lull.choose(self.folder / "none.json", self.folder / "none.json")
        (self.folder / "-odd.json").write_bytes(b'{"schema": "\xff"}')
        with self.assertRaisesRegex(lull.Error, "odd.json: it is not JSON"):
            lull.choose(self.folder / "-odd.json", self.folder / "none.json", reserve_bytes=4e9, max_slowdown=1e-3)
        with self.assertRaisesRegex(lull.Error, "zero byte"), lull.Runtime(executor="threads") as side:
            side.assume_slowdown("a\0b", 0)
        with self.assertRaisesRegex(lull.Error, "can be read"):
            with lull.harvest(executor="threads", profile=self.folder / "none.json", bracket_waits=False):
                pass
        with mock.patch.object(program, "PACKAGE", self.folder), mock.patch.dict(os.environ):
            del os.environ["LULL_LIBRARY"]
            with self.assertRaisesRegex(lull.Error, "has no program"):
                lull.choose("p.json", "b.json")


if __name__ == "__main__":
    unittest.main()
