# SPDX-License-Identifier: Apache-2.0
"""What a job that is over took goes back while its scope lives, also where the program never looks; closing jobs."""

import ctypes
import gc
import pathlib
import signal
import tempfile
import threading
import time
import types
import unittest
from unittest import mock

import lull
from lull import binding, job_keeper

LIMIT_BYTES = 64 << 20
LARGE = "streaming:items=1024,rounds=1"  # 32 MiB: two at a time are more than the limit leaves
SMALL = "pagerank:kronecker=6,top=1"
ENDLESS = "compute:items=64,rounds=1000000000"
JOBS, SETTLED = 10_000, 100


class Over(unittest.TestCase):
    def setUp(self):
        self.stream = lull.ThreadsStream()
        self.addCleanup(self.stream.close)
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def harvest(self, *tasks):
        return lull.harvest(tasks, executor="threads", bracket_waits=False, memory_limit_bytes=LIMIT_BYTES)

    def a_bubble(self, seconds):
        with lull.bubble("step", self.stream):
            self.stream.sleep(seconds)
        self.stream.synchronize()

    def train_until(self, so):
        deadline = time.monotonic() + 240  # 10,000 jobs, on a busy computer
        while not so():
            self.assertLess(time.monotonic(), deadline)
            self.a_bubble(0.0002)

    def wait_for(self, so):
        deadline = time.monotonic() + 20
        while not so():
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.005)

    def test_memory_goes_when_a_job_is_over(self):
        with self.harvest() as side:
            for last in ("finished", "cancelled", "finished"):
                job = side.submit(LARGE)
                if last == "cancelled":
                    job.cancel()
                self.train_until(lambda: job.over)
                self.assertEqual(job.state, last)

    def test_memory_goes_where_nobody_looks(self):
        with self.harvest(LARGE) as side:
            self.train_until(lambda: side._runtime.wait_all(0))
            self.wait_for(lambda: self.is_room(side))

    def test_memory_goes_before_other_jobs_are_asked_for_theirs(self):
        for ask in (lambda side: side.give_back(1), lambda side: side._runtime.keep_reserve()):
            with mock.patch.object(job_keeper, "LOOK_S", 1000), self.harvest(LARGE) as side:
                self.train_until(lambda: side._runtime.wait_all(0))
                self.assertFalse(self.is_room(side))
                ask(side)
                self.assertTrue(self.is_room(side))

    def is_room(self, side):
        """Without the package, which would look."""
        handle = ctypes.c_void_p()
        return binding.load().lull_submit(side._runtime.handle, LARGE.encode(), None, ctypes.byref(handle)) == 0

    def test_a_result_is_written_when_the_job_has_finished(self):
        ranks = self.folder / "ranks.txt"
        with self.harvest(f"{SMALL},out={ranks}") as side:
            self.train_until(lambda: side.jobs[0].over)
            self.wait_for(ranks.exists)
            self.assertIn("converged", side.jobs[0].result())

    def test_a_result_that_cannot_be_written_is_kept(self):
        place = self.folder / "place"
        place.mkdir()
        with self.assertLogs("lull", "WARNING") as told, self.harvest(f"{SMALL},out={place}/ranks.txt") as side:
            job = side.jobs[0]
            place.rmdir()
            self.train_until(lambda: job.over)
            side.submit("compute:items=16").close()
            self.assertEqual(sum(str(place) in line for line in told.output), 1, told.output)
            with self.assertRaises(lull.Error):
                job.result()
            place.mkdir()
            self.assertIn("converged", job.result())
        self.assertTrue((place / "ranks.txt").exists())

    def test_the_latest_can_be_verified(self):
        with self.harvest() as side:
            jobs = [side.submit(SMALL) for _ in range(job_keeper.MAX_VERIFIABLE + 2)]
            self.train_until(lambda: all(job.over for job in jobs))
            side.submit("compute:items=16").close()
            self.assertTrue(all(job.state == "finished" and "converged" in job.result() for job in jobs))
            verified = 0
            for job in jobs:
                try:
                    self.assertTrue(job.verify()[0])
                    self.assertTrue(job.verify()[0])
                    verified += 1
                except lull.Error as why:
                    self.assertRegex(str(why), "the job is finished, and is closed")
            self.assertEqual(verified, job_keeper.MAX_VERIFIABLE)

    def test_closing(self):
        with self.harvest() as side:
            with side.submit(ENDLESS) as endless:
                self.train_until(lambda: endless.rounds() > 0)
                self.assertFalse(endless.over)
            self.assertEqual((endless.state, endless.over), ("cancelled", True))
            self.assertGreater(endless.rounds(), 0)
            with side.submit(SMALL) as finished:
                self.train_until(lambda: finished.over)
            self.assertEqual(finished.state, "finished")
            for job in (endless, finished):
                for call in (job.close, job.cancel, job.pause, job.resume, job.let_go):
                    call()
                self.assertEqual((job.wait(), job.wait(0), job.hold(0)), (True, True, True))
                with self.assertRaisesRegex(lull.Error, f"the job is {job.state}, and is closed"):
                    job.verify()
            self.assertIn("converged", finished.result())
            with self.assertRaisesRegex(lull.Error, "the job is cancelled, and is closed"):
                endless.result()
            with self.assertRaises(ZeroDivisionError), side.submit(ENDLESS) as broken:
                raise ZeroDivisionError
            self.assertEqual(broken.state, "cancelled")
        endless.close()  # after its scope, too
        self.assertEqual(endless.state, "cancelled")

    def test_closing_from_several_threads_while_others_look(self):
        with self.harvest() as side:
            for _ in range(5):
                jobs = [side.submit(ENDLESS) for _ in range(4)]
                failed = []

                def use(job):
                    try:
                        job.wait(20)
                        job.status(), job.cancel(), job.close(), job.rounds()
                    except Exception as why:
                        failed.append(why)

                threads = [threading.Thread(target=use, args=(job,)) for job in jobs for _ in range(3)]
                threads += [threading.Thread(target=job.close) for job in jobs]
                for thread in threads:
                    thread.start()
                for thread in threads:
                    thread.join(30)
                self.assertEqual((failed, {job.state for job in jobs}), ([], {"cancelled"}))

    def test_a_wait_without_an_end_and_ctrl_c(self):
        with self.harvest(ENDLESS) as side:
            job = side.jobs[0]
            threading.Timer(0.2, job.cancel).start()
            self.assertTrue(job.wait())
            job = side.submit(ENDLESS)
            threading.Timer(0.2, signal.raise_signal, (signal.SIGINT,)).start()
            with self.assertRaises(KeyboardInterrupt):
                job.wait()
            self.assertFalse(job.over)
            self.assertFalse(job.wait(0.01))

    def test_the_keepers_thread_is_on_the_jobs_device_and_spoils_no_capture(self):
        told = []
        cuda = types.SimpleNamespace(is_initialized=lambda: True, set_device=lambda device: told.append(device))
        driver = types.SimpleNamespace(cuThreadExchangeStreamCaptureMode=lambda mode: told.append(mode._obj.value))
        with (
            mock.patch.object(job_keeper, "torch_with_cuda", lambda: types.SimpleNamespace(cuda=cuda)),
            mock.patch.object(ctypes, "CDLL", lambda name: driver if name == "libcuda.so.1" else self.fail(name)),
        ):
            job_keeper.JobKeeper(3)._be_at_home()
            cuda.is_initialized = lambda: False
            job_keeper.JobKeeper(3)._be_at_home()
        self.assertEqual(told, [3, 2])

    def test_a_runtime_that_nobody_holds_takes_its_jobs_along(self):
        with self.assertNoLogs("lull", "WARNING"):
            side = lull.Runtime(executor="threads")
            job = side.submit(ENDLESS)
            side.jobs.clear()
            del side
            gc.collect()
            self.wait_for(lambda: not any(each.name == "lull jobs" for each in threading.enumerate()))
            self.assertEqual(job.state, "cancelled")

    def test_ten_thousand_one_after_another(self):
        with self.harvest() as side:
            for number in range(JOBS):
                job = side.submit(LARGE if number % 500 == 0 else SMALL)
                if number % 3 == 0:
                    job.cancel()
                    self.assertTrue(job.wait(20))
                else:
                    self.train_until(lambda: job.over)
                self.assertIn(job.state, ("finished", "cancelled"))
                if number == SETTLED:
                    settled = resident_kib()
            self.assertLess(resident_kib() - settled, JOBS - SETTLED)  # a KiB a job
            self.assertEqual(len(side.jobs), JOBS)


def resident_kib():
    return 4 * int(pathlib.Path("/proc/self/statm").read_text(encoding="ascii").split()[1])


if __name__ == "__main__":
    unittest.main()
