# SPDX-License-Identifier: Apache-2.0
"""lull.Queue with the real program, a real spool and real agents."""

import concurrent.futures
import datetime
import os
import pathlib
import pickle
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from unittest import mock

import lull
from lull import program, queue_looks

LIMIT_S = 240  # of a wait that should end sooner


class Queues(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="lull-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.spool = self.folder / "spool"
        self.url = f"spool:{self.spool}"
        self.lull("queue", "init", "--lease", "2s")
        self.queue = lull.Queue(self.url)

    def lull(self, *asked):
        return subprocess.run(
            [program.path(), *asked, "--queue", self.url], check=True, capture_output=True, timeout=LIMIT_S
        )

    def agent(self, *more):
        """One that works until the test is over."""
        asked = [program.path(), "agent", "--queue", self.url, "--executor", "threads", "--allow-commands", *more]
        made = subprocess.Popen(asked, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

        def end():
            made.kill()
            made.wait()

        self.addCleanup(end)
        return made

    def work_off(self):
        self.lull("agent", "--executor", "threads", "--allow-commands", "--until-empty")

    def submit(self, script, **more):
        return self.queue.submit(command=["sh", "-c", script], folder=self.folder, **more)

    def wait_for(self, so):
        end = time.monotonic() + LIMIT_S
        while not so():
            self.assertLess(time.monotonic(), end)
            time.sleep(0.01)


class Jobs(Queues):
    def test_a_task_is_done_and_its_result_is_brought_home(self):
        job = self.queue.submit(
            task="mlp",
            options={"epochs": 1, "hidden": 16, "model": pathlib.Path("m.safetensors")},
            folder=self.folder,
            name="train",
            user="alice",
            labels={"team": "vision"},
            priority=5,
            at_most=datetime.timedelta(hours=2),
            deadline=datetime.datetime(2030, 1, 2, tzinfo=datetime.timezone(datetime.timedelta(hours=2))),
            attempts=2,
            memory="1GiB",
        )
        self.assertEqual((job.state(), job.reason()), ("queued", "waits for an agent"))
        self.assertEqual((job.done(), job.running(), job.cancelled()), (False, False, False))
        self.assertFalse(job.wait(0))
        with self.assertRaises(lull.TimedOut):
            job.result(0)
        with self.assertRaisesRegex(lull.ArgumentError, "no results in place: it is queued"):
            job.result_files()
        about = job.about()
        self.assertEqual((about["name"], about["user"], about["priority"]), ("train", "alice", 5))
        shown = self.lull("show", job.id).stdout
        for part in (b'"wall": "7200000000000ns"', b'"2030-01-01T22:00:00Z"', b'"vision"', b'"attempts": 2'):
            self.assertIn(part, shown)
        self.agent()
        self.assertEqual(job.result(LIMIT_S), [self.folder / "m.safetensors"])
        self.assertEqual((job.state(), job.done(), job.exception()), ("done", True, None))
        home = self.folder / "home"
        home.mkdir()
        self.assertEqual(job.result_files(to=home), [home / "m.safetensors"])
        self.assertEqual((home / "m.safetensors").read_bytes(), (self.folder / "m.safetensors").read_bytes())
        with self.assertRaisesRegex(lull.ArgumentError, "is there already: --force"):
            job.result_files(to=home)
        job.result_files(to=home, force=True)
        (self.folder / "m.safetensors").unlink()
        with self.assertRaisesRegex(lull.Error, "m.safetensors is not there"):
            self.queue.job(job.id).result_files()

    def test_an_array_is_a_list_and_many_come_in_order(self):
        seeds = self.submit('echo "$0" > "seed-$0"; exit "$0"', array={"seed": [0, 1]}, attempts=1)
        self.assertEqual(len(seeds), 2)
        self.assertIsInstance(self.submit("true", array={"seed": [0]}), list)
        one, two, three = self.queue.submit_many(
            [
                {"command": ["true", "${x}"], "array": {"x": ["a", "b"]}, "name": "array ${x}"},
                {"command": ["true"], "name": "last", "after": [seeds[0]], "after_any": True},
            ]
        )
        names = [each.about()["name"] for each in (one, two, three)]
        self.assertEqual(names, ["array a", "array b", "last"])
        self.assertEqual(three.reason(), f"waits for job {seeds[0].id}, which is queued")
        self.assertEqual(self.queue.submit_many([]), [])
        count = len(self.queue.jobs())
        with self.assertRaisesRegex(lull.ArgumentError, r'^job-1.json:\d+: "priority"'):
            self.queue.submit_many([{"command": ["true"]}, {"command": ["true"], "priority": 9999}])
        self.assertEqual(len(self.queue.jobs()), count)

    def test_what_fails_raises_with_the_reason(self):
        fails = self.submit("echo out of luck >&2; exit 7", attempts=1)
        awaits = self.submit("true", after=fails)
        self.work_off()
        with self.assertRaisesRegex(lull.JobFailed, f"job {fails.id} is failed: .*code 7: out of luck"):
            fails.result(LIMIT_S)
        self.assertIsInstance(awaits.exception(LIMIT_S), lull.JobFailed)
        self.assertEqual(awaits.state(), "refused")
        self.assertIn("out of luck", str(pickle.loads(pickle.dumps(fails.exception()))))
        with self.assertRaisesRegex(lull.ArgumentError, "it is failed"):
            fails.result_files()

    def test_jobs_are_cancelled_also_while_they_run(self):
        done = self.submit("true")
        self.work_off()
        self.agent()
        runs, waits = self.submit("exec sleep 600"), self.submit("exec sleep 600")
        self.wait_for(runs.running)
        self.assertEqual(self.queue.cancel([done, runs, waits]), [False, True, True])
        self.assertTrue(runs.cancelled())
        self.assertTrue(waits.cancel(), "again")
        with self.assertRaisesRegex(concurrent.futures.CancelledError, "cancelled by its user"):
            waits.result()
        self.wait_for(lambda: self.submit("true").wait(LIMIT_S))  # the agent is free again

    def test_the_first_that_is_over_comes_first(self):
        with self.assertLogs("lull", "WARNING") as logged:
            first, held, last = (self.submit("true") for _ in range(3))
            self.lull("hold", held.id)
            found = self.queue.as_completed([held, first, last], timeout=LIMIT_S)
            self.agent()
            self.assertEqual({next(found), next(found)}, {first, last})
            with self.assertRaisesRegex(lull.TimedOut, "1 of 3 jobs are not over"):
                list(self.queue.as_completed([held, first, last], timeout=0.2))
        self.assertIn(f"job {held.id} is held until it is released: held by its user", "\n".join(logged.output))
        self.lull("release", held.id)
        self.assertEqual(list(found), [held])
        self.assertEqual(list(self.queue.as_completed([])), [])

    def test_the_queue_tells_its_jobs_and_agents(self):
        job = self.submit("exec sleep 600", name="sleeps")
        self.assertEqual([each.about()["name"] for each in self.queue.jobs()], ["sleeps"])
        self.assertEqual(self.queue.agents(), [])
        agent = self.agent()
        self.wait_for(self.queue.agents)
        self.assertEqual([each["process"] for each in self.queue.agents()], [agent.pid])
        self.assertTrue(job.cancel())
        self.assertEqual(self.queue.jobs(), [])
        self.assertEqual([each.id for each in self.queue.jobs(over=True)], [job.id])


class Errors(Queues):
    def test_what_the_program_says_is_raised(self):
        for job, text in (
            ({"task": "nothing"}, "unknown task"),
            ({"task": "mlp", "options": {"epohs": 3}}, "epohs"),
            ({"task": "mlp", "options": {"epochs": True}}, "takes a string or a number"),
            ({}, 'one of "task", "python" and "command"'),
            ({"task": "mlp", "command": ["true"]}, 'one of "task", "python" and "command"'),
            ({"task": "compute", "options": {"items": float("nan")}}, "strings and numbers"),
            ({"task": "compute", "deadline": datetime.datetime(2030, 1, 1)}, "has no time zone"),
            ({"task": "compute", "after": ["nonsense"]}, "is no job's id"),
        ):
            with self.subTest(job=job), self.assertRaisesRegex(lull.ArgumentError, text):
                self.queue.submit(**job)
        with self.assertRaises(TypeError):
            self.queue.submit(task="compute", prioritty=3)
        self.assertEqual(self.queue.jobs(), [])
        for job_id in ("00000000000000000000", "nonsense", "--all"):
            with self.subTest(job=job_id), self.assertRaisesRegex(lull.ArgumentError, f"there is no job {job_id}"):
                self.queue.job(job_id).state()
        with self.assertRaisesRegex(lull.ArgumentError, "is of another queue"):
            lull.Queue(self.url).wait([self.queue.submit(task="compute")])
        with self.assertRaisesRegex(lull.ArgumentError, "cannot be opened"):
            lull.Queue(f"spool:{self.folder}/missing").jobs()
        with mock.patch.dict(os.environ, {"LULL_QUEUE": self.url}):
            self.assertEqual(len(lull.Queue().jobs()), 1)
        with mock.patch.dict(os.environ, {"LULL_QUEUE": ""}), self.assertRaisesRegex(lull.ArgumentError, "which queue"):
            lull.Queue()

    def test_a_job_that_is_removed_while_it_is_awaited(self):
        job, other = self.submit("true"), self.submit("exit 1", attempts=1)
        self.work_off()
        self.lull("queue", "clean", "--older", "0s")
        self.assertTrue(self.queue.wait([job, other], LIMIT_S))
        with self.assertRaisesRegex(lull.ArgumentError, f"there is no job {job.id}"):
            job.result()

    def test_a_password_is_neither_an_argument_nor_shown(self):
        queue = lull.Queue(f"postgresql://ann:hidden@/lull?host={self.folder}")
        self.assertNotIn("hidden", repr(queue))
        with mock.patch.object(subprocess, "run", wraps=subprocess.run) as ran:
            with self.assertRaises(lull.Error) as raised:
                queue.jobs()
        self.assertNotIn("hidden", str(raised.exception))
        self.assertEqual(ran.call_count, 1)
        self.assertNotIn("hidden", str(ran.call_args.args))

    def test_a_queue_that_is_away_for_a_moment_is_waited_for(self):
        job = self.submit("true")
        self.work_off()
        away = self.folder / "away"
        (self.spool / "jobs").rename(away)
        (self.spool / "jobs").write_text("no folder")
        with self.assertRaisesRegex(lull.Error, "Not a directory"):
            job.state()
        asked = mock.Mock(side_effect=self.queue._looks._ask)
        self.queue._looks._ask = asked
        with concurrent.futures.ThreadPoolExecutor(1) as pool, self.assertLogs("lull", "WARNING") as logged:
            waits = pool.submit(job.wait, LIMIT_S)
            self.wait_for(lambda: asked.call_count >= 3)
            (self.spool / "jobs").unlink()
            away.rename(self.spool / "jobs")
            self.assertTrue(waits.result(LIMIT_S))
        self.assertIn("cannot be looked at now", logged.output[0])
        (self.spool / "jobs").rename(away)
        (self.spool / "jobs").write_text("no folder")
        with mock.patch("lull.queue.PATIENCE_S", 0.2), self.assertRaisesRegex(lull.Error, "Not a directory"):
            self.queue.job(job.id).wait()

    def test_torch_is_not_imported(self):
        script = f"import sys, lull; lull.Queue({self.url!r}).jobs(); sys.exit('torch' in sys.modules)"
        self.assertEqual(subprocess.run([sys.executable, "-c", script], timeout=LIMIT_S).returncode, 0)


class Looks(Queues):
    """How often the program is asked, and for which jobs."""

    def setUp(self):
        super().setUp()
        self.looks = []  # begin, end, ids
        real = program.answer

        def answer(asked, **more):
            begin = time.monotonic()
            try:
                return real(asked, **more)
            finally:
                if asked[0] == "jobs" and "--" in asked:
                    self.looks.append((begin, time.monotonic(), set(asked[asked.index("--") + 1 :])))

        patched = mock.patch.object(program, "answer", answer)
        patched.start()
        self.addCleanup(patched.stop)

    def assert_paced(self):
        for before, after in zip(self.looks, self.looks[1:]):
            self.assertGreaterEqual(after[0] - before[1], queue_looks.MIN_PACE_S * 0.99)

    def test_one_process_looks_for_all_jobs_of_two_threads(self):
        jobs = self.submit("true", array={"seed": list(range(100))})
        halves = jobs[:50], jobs[50:]
        # However long a look takes here, the pace is by what changes.
        with mock.patch.object(queue_looks, "SHARE", 0), concurrent.futures.ThreadPoolExecutor(2) as pool:
            self.assertEqual(list(pool.map(lambda half: self.queue.wait(half, 1.5), halves)), [False, False])
        self.assertEqual({len(ids) for _, _, ids in self.looks}, {100})
        self.assert_paced()
        for number, (before, after) in enumerate(zip(self.looks, self.looks[1:])):
            pace = min(queue_looks.MIN_PACE_S * queue_looks.PACE_GROWS**number, queue_looks.MAX_PACE_S)
            self.assertGreaterEqual(after[0] - before[1], pace * 0.99, number)

    def test_each_job_that_is_asked_again_and_again_costs_no_process(self):
        jobs = self.submit("true", array={"seed": list(range(20))})
        begin = time.monotonic()
        asked = 0
        while time.monotonic() - begin < 0.5:
            asked += len([job for job in jobs if job.state() == "queued"])
        self.assertLessEqual(len(self.looks), 1 + (time.monotonic() - begin) / queue_looks.MIN_PACE_S)
        self.assertGreater(asked, 20 * len(self.looks))

    def test_jobs_that_are_over_or_dropped_are_not_looked_at(self):
        done, waits, dropped = self.submit("true"), self.submit("true"), self.submit("true")
        for held in (waits, dropped):
            self.lull("hold", held.id)
        self.work_off()
        with self.assertLogs("lull", "WARNING"):
            self.assertTrue(done.wait(LIMIT_S))
            del dropped, held
            self.looks.clear()
            done.state()
            self.wait_for(lambda: waits.state() and self.looks)  # when another look is due
        self.assertEqual({tuple(ids) for _, _, ids in self.looks}, {(waits.id,)})

    def test_two_threads_submit_wait_and_bring_home(self):
        agent = self.agent("--jobs", "2")

        def work(thread):
            found = []
            for number in range(3):
                job = self.submit(f"echo {thread} > t{thread}-{number}")
                self.assertEqual(job.result(LIMIT_S), [])
                found.append(job.id)
            return found

        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            one, two = pool.map(work, range(2))
        self.assertEqual(len({*one, *two}), 6)
        self.assertIsNone(agent.poll())
        self.assertTrue(all((self.folder / f"t{thread}-{number}").exists() for thread in (0, 1) for number in range(3)))

    def test_a_forked_child_looks_by_itself_while_a_thread_of_its_parent_looks(self):
        job = self.submit("true")
        looks, may_end = threading.Event(), threading.Event()
        described = self.queue._looks._ask

        def slowly(ids):
            if threading.current_thread() is not threading.main_thread():
                looks.set()
                self.assertTrue(may_end.wait(LIMIT_S))
            return described(ids)

        self.queue._looks._ask = slowly
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            state = pool.submit(job.state)
            self.assertTrue(looks.wait(LIMIT_S))
            child = os.fork()
            if child == 0:
                signal.alarm(LIMIT_S)
                try:
                    os._exit(0 if job.state() == "queued" else 1)
                except BaseException:
                    os._exit(2)
            self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 0)
            may_end.set()
            self.assertEqual(state.result(LIMIT_S), "queued")


if __name__ == "__main__":
    unittest.main()
