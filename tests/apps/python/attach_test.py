# SPDX-License-Identifier: Apache-2.0
"""Side work of one process in the bubbles of another one's trainer."""

import os
import subprocess
import sys
import tempfile
import time
import unittest

import lull
from any_bubble import ANY_BUBBLE

WORKER = """
import sys, lull
with lull.attach(sys.argv[1], ["compute:items=64,rounds=20"], executor="threads") as side:
    job = side.jobs[0]
    done = job.wait(60)
    print(job.state, job.status()["items"], side.counts()["opened"] > 0)
"""


class Attach(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.address = "unix:" + os.path.join(folder.name, "socket")
        self.stream = lull.ThreadsStream()
        self.addCleanup(self.stream.close)

    def worker(self):
        started = subprocess.Popen(
            [sys.executable, "-c", WORKER, self.address], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        self.addCleanup(started.wait)
        self.addCleanup(started.kill)
        return started

    def test_a_job_of_another_process_runs_in_the_bubbles(self):
        worker = self.worker()
        with lull.harvest(share=self.address, executor="threads", bracket_waits=False, tuning=ANY_BUBBLE) as side:
            deadline = time.monotonic() + 60
            while worker.poll() is None and time.monotonic() < deadline:
                with lull.bubble("step", self.stream):
                    self.stream.sleep(0.001)
                self.stream.synchronize()
            self.assertGreater(side.counts()["opened"], 0)
            self.assertEqual(side.counts()["launches"], 0)
        out, problem = worker.communicate()
        self.assertEqual((worker.returncode, out.strip()), (0, "finished 1280 True"), problem)

    def test_what_contradicts_is_refused(self):
        with self.assertRaisesRegex(lull.ArgumentError, "exclude each other"):
            with lull.harvest(share=self.address, executor="threads", bracket_waits=False):
                lull.Runtime(share=self.address, attach=self.address, executor="threads")
        with self.assertRaisesRegex(lull.ArgumentError, "unix:PATH"):
            with lull.attach("/run/somewhere", executor="threads"):
                pass
        with self.assertRaisesRegex(lull.ArgumentError, "the trainer's"):
            with lull.attach(self.address, executor="threads", max_slowdown=0.01):
                pass

    def test_a_folder_that_others_may_write_to_is_refused(self):
        with self.assertRaisesRegex(lull.ArgumentError, "mkdir -m 700"):
            with lull.harvest(share="unix:/tmp/lull-socket", executor="threads", bracket_waits=False):
                pass


if __name__ == "__main__":
    unittest.main()
