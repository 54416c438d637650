# SPDX-License-Identifier: Apache-2.0
"""A trainer that gives its bubbles to a queue: lull.harvest(queue=…)."""

import contextlib
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import lull
from any_bubble import ANY_BUBBLE
from lull import program

LIMIT_S = 120
TRAINER = """
import sys, lull
from any_bubble import ANY_BUBBLE
stream = lull.ThreadsStream()
with lull.harvest(queue=sys.argv[1], executor="threads", bracket_waits=False, tuning=ANY_BUBBLE):
    while True:
        with lull.bubble("step", stream):
            stream.sleep(0.001)
        stream.synchronize()
"""


def agents():
    """Processes of this test's agents, which say their queue."""
    found = []
    for each in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = each.read_bytes().split(b"\0")
        except OSError:
            continue
        if b"agent" in words and b"--queue" in words:
            found.append(words[words.index(b"--queue") + 1].decode())
    return found


class HarvestForAQueue(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.queue = f"spool:{self.folder}/queue"
        self.lull("queue", "init", "--lease", "2s")
        self.stream = lull.ThreadsStream()
        self.addCleanup(self.stream.close)

    def lull(self, *arguments):
        command = [program.path(), *arguments, "--queue", self.queue]
        done = subprocess.run(command, cwd=self.folder, capture_output=True, text=True, timeout=LIMIT_S)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def submitted(self, task):
        return self.lull("submit", "--task", task).strip()

    def job(self, job):
        return next(each for each in json.loads(self.lull("jobs", "--all", "--json")) if each["id"] == job)

    def until(self, so, what=""):
        deadline = time.monotonic() + LIMIT_S
        while not so() and time.monotonic() < deadline:
            time.sleep(0.02)
        self.assertTrue(so(), what)

    def train_until(self, so):
        looks = 0
        deadline = time.monotonic() + LIMIT_S
        while time.monotonic() < deadline:
            with lull.bubble("step", self.stream):
                self.stream.sleep(0.001)
            self.stream.synchronize()
            looks += 1
            if looks % 100 == 0 and so():
                return
        self.fail("it took too long")

    def harvest(self, *arguments, **more):
        common = {"executor": "threads", "bracket_waits": False, "tuning": ANY_BUBBLE}
        return lull.harvest(queue=[self.queue, *arguments] if arguments else self.queue, **common, **more)

    def test_a_job_is_done_in_the_bubbles_and_the_agent_ends_with_the_scope(self):
        job = self.submitted("compute:items=64,rounds=20")
        with self.harvest() as side:
            self.train_until(lambda: self.job(job)["state"] == "done")
            self.assertGreater(side.counts()["opened"], 0)
            self.assertEqual(side.counts()["launches"], 0)
            self.assertRegex(side.report(), r"Process \d+ \(lull, has gone\) worked")
        self.assertNotIn(self.queue, agents())
        self.assertEqual(json.loads(self.lull("agents", "--json")), [])

    def test_what_runs_at_the_scopes_end_is_saved(self):
        job = self.submitted("compute:items=100000,rounds=1000000000")
        address = f"unix:{self.folder}/socket"
        with self.harvest("--jobs", "2", share=address):
            self.train_until(lambda: self.job(job)["state"] == "running")
            self.assertTrue((self.folder / "socket").exists())
        self.assertEqual(self.job(job)["state"], "saved")
        self.assertNotIn(self.queue, agents())

    def test_the_agent_ends_where_the_trainer_is_killed(self):
        job = self.submitted("compute:items=100000,rounds=1000000000")
        here = pathlib.Path(__file__).parent
        trainer = subprocess.Popen([sys.executable, "-B", "-c", TRAINER, self.queue], cwd=here)
        self.addCleanup(trainer.wait)
        self.addCleanup(trainer.kill)
        self.until(lambda: self.job(job)["state"] == "running")
        self.assertIn(self.queue, agents())
        trainer.send_signal(signal.SIGKILL)
        self.until(lambda: self.queue not in agents())
        self.assertEqual(self.job(job)["state"], "saved")

    def test_a_terminals_interrupt_is_the_trainings(self):
        job = self.submitted("compute:items=100000,rounds=1000000000")
        here = pathlib.Path(__file__).parent
        trainer = subprocess.Popen([sys.executable, "-B", "-c", TRAINER, self.queue], cwd=here, process_group=0)
        self.addCleanup(trainer.wait)
        self.addCleanup(trainer.kill)
        self.until(lambda: self.job(job)["state"] == "running")
        os.killpg(trainer.pid, signal.SIGINT)
        time.sleep(0.2)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(trainer.pid, signal.SIGINT)
        self.until(lambda: self.queue not in agents())
        self.assertEqual(self.job(job)["state"], "saved")

    def test_there_is_none_where_lull_is_off(self):
        os.environ["LULL"] = "off"
        self.addCleanup(os.environ.pop, "LULL")
        with self.harvest() as side:
            self.assertEqual(side.mode, "off")
            self.assertNotIn(self.queue, agents())

    def test_one_that_ends_early_is_told_and_harms_nothing(self):
        with self.assertLogs("lull", "WARNING") as told:
            with self.harvest("--policy", "none-such"):
                self.until(lambda: self.queue not in agents())
                time.sleep(0.5)
                with lull.bubble("step", self.stream):
                    self.stream.sleep(0.001)
                self.stream.synchronize()
        self.assertRegex(told.output[-1], "the queue's agent had ended with code 2")

    def test_a_forked_child_leaves_it_as_it_is(self):
        with self.harvest() as side:
            child = os.fork()
            if child == 0:
                try:
                    side.__exit__(None, None, None)
                finally:
                    os._exit(0)
            os.waitpid(child, 0)
            self.until(lambda: len(json.loads(self.lull("agents", "--json"))) == 1)
            self.assertIn(self.queue, agents())


if __name__ == "__main__":
    unittest.main()
