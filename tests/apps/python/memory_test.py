# SPDX-License-Identifier: Apache-2.0
"""Memory of jobs that gives way to the trainer: the calls of this package, and results that it changes in no bit."""

import pathlib
import tempfile
import threading
import time
import unittest

import lull
from lull import binding

MIB = 1 << 20


class GivesWay(unittest.TestCase):
    def setUp(self):
        self.stream = lull.ThreadsStream()
        self.addCleanup(self.stream.close)

    def harvest(self, *tasks, **options):
        return lull.harvest(tasks, executor="threads", bracket_waits=False, **options)

    def bubbles_until(self, side, so, seconds=120):
        deadline = time.monotonic() + seconds
        while not so():
            self.assertLess(time.monotonic(), deadline, [job.status() for job in side.jobs])
            with lull.bubble("step", self.stream):
                self.stream.sleep(0.001)
            self.stream.synchronize()

    def await_state(self, job, state):
        deadline = time.monotonic() + 60
        while job.state != state:
            self.assertLess(time.monotonic(), deadline, job.status())
            time.sleep(0.001)

    def test_a_task_comes_back_and_its_result_has_the_same_bits(self):
        with tempfile.TemporaryDirectory(prefix="lull-") as folder:
            ranks = [pathlib.Path(folder, name) for name in ("undisturbed", "evicted")]
            task = "pagerank:kronecker=14,tolerance=1e-30,sweeps=600,out={}"
            with self.harvest(task.format(ranks[0])) as side:
                self.bubbles_until(side, lambda: side.jobs[0].state == "finished")
            with self.harvest(task.format(ranks[1]), saved_bytes=64 * MIB) as side:
                job = side.jobs[0]
                for rounds in (0, 10, 20):
                    self.bubbles_until(side, lambda: job.rounds() >= rounds)
                    self.assertGreater(side.give_back(1), 0, job.status())
                self.bubbles_until(side, lambda: job.state == "finished")
                self.assertTrue(job.verify()[0], job.verify()[1])
            self.assertEqual(*(path.read_bytes() for path in ranks))

    def test_a_job_that_is_held_stays(self):
        with self.harvest("pagerank:kronecker=12", saved_bytes=64 * MIB) as side:
            job = side.jobs[0]
            self.assertTrue(job.hold(10))
            self.assertEqual(side.give_back(1, 0.1), 0)
            job.let_go()
            self.assertGreater(side.give_back(1), 64 << 10)
            self.await_state(job, "evicted")
            self.assertFalse(job.hold(0))
            self.assertTrue(job.hold(30), "it comes back")
            job.let_go()
        self.assertTrue(job.hold(0), "its runtime has ended")
        self.assertEqual(side.give_back(1), 0)

    def test_without_room_on_the_host_nothing_gives_way(self):
        with self.harvest("pagerank:kronecker=12") as side:
            self.assertEqual(side.give_back(1), 0)
        with self.harvest("pagerank:kronecker=12", saved_bytes=64 * MIB) as side:
            side.jobs[0].cancel()
            self.assertTrue(side.jobs[0].wait(10))
            self.assertEqual(side.give_back(1), 0, "of a job that is over")

    def test_a_task_that_is_fed_stays(self):
        with tempfile.TemporaryDirectory(prefix="lull-") as folder:
            pathlib.Path(folder, "broken.png").write_bytes(b"\x89PNG")
            with self.harvest(f"images:in={folder},out={folder}/out,width=8", saved_bytes=64 * MIB) as side:
                self.assertEqual(side.give_back(1), 0)

    def test_the_reserve_is_the_trainers(self):
        with self.assertRaisesRegex(lull.Error, "not enough memory"):
            with self.harvest("pagerank:kronecker=12", memory_limit_bytes=4 * MIB, reserve_bytes=4 * MIB):
                pass
        for name in ("reserve_bytes", "saved_bytes"):
            with self.assertRaisesRegex(lull.Error, name):
                self.harvest(**{name: -1}).__enter__()

    def test_scopes_are_a_threads(self):
        library = binding.load()
        handle = binding.ctypes.c_void_p()
        self.assertEqual(library.lull_memory_create(handle), 0)
        self.assertEqual(library.lull_memory_enter(None), binding.Status.ERROR_STATE)
        self.assertEqual(library.lull_memory_enter(handle), 0)
        other = []
        thread = threading.Thread(target=lambda: other.append(library.lull_memory_enter(None)))
        thread.start()
        thread.join()
        self.assertEqual(other, [binding.Status.ERROR_STATE])
        self.assertEqual(library.lull_memory_destroy(handle), 0)
        self.assertEqual(library.lull_memory_enter(None), 0)
        self.assertEqual(library.lull_memory_enter(handle), binding.Status.ERROR_HANDLE)


if __name__ == "__main__":
    unittest.main()
