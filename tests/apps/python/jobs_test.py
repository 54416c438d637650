# SPDX-License-Identifier: Apache-2.0
"""What jobs say of themselves, while their runtime lives and after it has ended."""

import time
import unittest

import lull


class States(unittest.TestCase):
    def setUp(self):
        self.stream = lull.ThreadsStream()
        self.addCleanup(self.stream.close)

    def harvest(self, *tasks):
        return lull.harvest(tasks, executor="threads", bracket_waits=False)

    def place_bubbles_until(self, job, state):
        for _ in range(10_000):
            if job.state == state:
                return
            with lull.bubble("step", self.stream):
                self.stream.sleep(0.001)
            self.stream.synchronize()
        self.fail(job.status())

    def wait_until(self, job, state):
        for _ in range(10_000):
            if job.state == state:
                return
            time.sleep(0.001)
        self.fail(job.status())

    def test_one_that_was_cancelled(self):
        with self.harvest("compute:items=64,rounds=100000") as side:
            job = side.jobs[0]
            job.cancel()
            self.assertTrue(job.wait(10))
            self.assertEqual(job.state, "cancelled")
            job.resume()
            self.assertEqual(job.state, "cancelled")
        self.assertEqual(job.state, "cancelled")

    def test_those_that_the_end_of_the_scope_cancels(self):
        with self.harvest("compute:items=64,rounds=1000000", "compute:items=64,rounds=10", "streaming") as side:
            placed, paused, queued = side.jobs
            paused.pause()
            self.wait_until(paused, "paused")  # in a bubble before that it might finish
            self.place_bubbles_until(placed, "placed")
            with lull.bubble("open", self.stream):  # a block is at work then
                self.stream.sleep(0.02)
        self.assertEqual([job.state for job in (placed, paused, queued)], ["cancelled"] * 3)

    def test_one_that_finished_stays_so(self):
        with self.harvest("compute:items=64,rounds=10") as side:
            job = side.jobs[0]
            self.place_bubbles_until(job, "finished")
            job.cancel()
        self.assertEqual((job.state, job.status()["items"], job.result()), ("finished", 640, ""))


if __name__ == "__main__":
    unittest.main()
