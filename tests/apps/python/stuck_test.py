# SPDX-License-Identifier: Apache-2.0
"""While one thread is inside a call that does not return, the calls of other threads return within 50 ms, or so long
after their own deadline: no lock of the package, and not the interpreter's, is held over a call that may wait.

The machine is one whose calls hang (stalling_library.cpp). So hang a submission, a result that is read back, a
verification, the end of a job and of a runtime, a runtime that is made, and the thread that gives back what jobs took;
besides them a wait without an end, a quiet that does not come, and a handler of the log. A side step has stand-ins for
torch (side_stand_ins.py): its feed, its copies and its checkpoint hang.

Not shown, because it is not so: `open`, `close_bubble`, `step` and `ready` keep the interpreter's lock
(binding.HOLDING). Where the driver does not return from one of these, no thread of Python goes on."""

import contextlib
import ctypes
import logging
import threading
import time
import unittest
from unittest import mock

import lull
import side_stand_ins
from lull import binding, job_keeper
from lull.job import GraphJob, Job

AT_ONCE_S = 0.05
HANGS_S = 3  # a call that has not returned until then waits for the one that is stuck
ATTEMPTS = 20  # of a call that is late, as it may be where the machine is loaded
SHORT_S = 0.02  # deadline of calls that have one
EVER_S = 60
NEVER_S = 1000  # between two looks of the thread that gives back
TASK = "pagerank:kronecker=6,top=1"


class FedJob(Job):
    """As a graph's, without its result."""

    feed = GraphJob.feed


class Machine:
    """Of all runtimes; one of its calls hangs."""

    def __init__(self, library):
        self._library = library
        text, handle = ctypes.c_char_p, ctypes.c_void_p
        for name, arguments in {
            "create": [ctypes.POINTER(binding.STRUCTS["options"]), ctypes.POINTER(handle)],
            "submit": [handle, ctypes.POINTER(handle)],
            "set": [text],
            "hangs": [ctypes.c_uint64],
            "let_go": [],
            "say": [handle, text],
        }.items():
            getattr(library, f"stalling_{name}").argtypes = arguments

    def set(self, call):
        self._library.stalling_set(call.encode())

    def hangs(self, seconds=0.0):
        return bool(self._library.stalling_hangs(int(seconds * 1e9)))

    def let_go(self):
        self._library.stalling_let_go()

    def say(self, side, line):
        self._library.stalling_say(side.handle, line)

    def starving_job(self, side):
        handle = ctypes.c_void_p()
        binding.check(self._library.stalling_submit(side.handle, ctypes.byref(handle)))
        return side._kept(FedJob(handle, "starving"))


class Others(unittest.TestCase):
    """Threads that make calls while another is stuck."""

    def expect_to_return(self, calls, is_stuck):
        """`calls`: by name, with the seconds that each may take of its own."""
        for name, (call, own_s) in calls.items():
            with self.subTest(name):
                self.assertTrue(is_stuck(), "the call has returned meanwhile, so nothing was tried")
                self.expect_one_to_return(call, own_s + AT_ONCE_S)
        self.assertTrue(is_stuck(), "the call has returned meanwhile, so nothing was tried")

    def expect_one_to_return(self, call, at_most_s):
        for _ in range(ATTEMPTS):
            took, failed = [], []

            def run(took=took, failed=failed):
                began = time.monotonic()
                try:
                    call()
                except BaseException as why:
                    failed.append(why)
                took.append(time.monotonic() - began)

            thread = threading.Thread(target=run, daemon=True)
            thread.start()
            thread.join(HANGS_S + at_most_s)
            self.assertTrue(took, "it waits")
            self.assertEqual(failed, [])
            if took[0] <= at_most_s:
                return
        self.fail(f"it took {took[0]} s, and each time before more than {at_most_s} s")

    def wait_for(self, so):
        deadline = time.monotonic() + EVER_S
        while not so():
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.002)


class WithAScope(Others):
    look_s = NEVER_S

    def setUp(self):
        library = binding.load()
        self.machine = Machine(library)
        for patch in (
            mock.patch.object(library, "lull_create", library.stalling_create),
            mock.patch.object(job_keeper, "LOOK_S", self.look_s),
        ):
            patch.start()
            self.addCleanup(patch.stop)
        self.stream = lull.ThreadsStream()
        self.addCleanup(self.stream.close)
        scope = contextlib.ExitStack()
        self.addCleanup(scope.close)
        self.side = scope.enter_context(lull.harvest(bracket_waits=False, **self.options()))
        self.runtime = self.side._runtime
        self.finished, self.last = self.harvested(TASK), self.harvested(TASK)
        self.finished.verify()
        self.finished.result()
        self.starving = self.machine.starving_job(self.runtime)
        self.doomed = self.machine.starving_job(self.runtime)
        self.said = threading.Event()
        self.handler = logging.Handler()
        self.handler.emit = lambda record: self.said.set()
        logger = logging.getLogger("lull")
        before = logger.level
        logger.setLevel(logging.INFO)
        logger.addHandler(self.handler)
        self.addCleanup(logger.setLevel, before)
        self.addCleanup(logger.removeHandler, self.handler)
        self.threads = []
        self.addCleanup(lambda: [thread.join(EVER_S) for thread in self.threads])
        self.addCleanup(self.machine.let_go)

    def options(self):
        return {
            "executor": "threads",
            "memory_limit_bytes": 256 << 20,
            "reserve_bytes": 1 << 20,
            "saved_bytes": 16 << 20,
            "tuning": lull.Tuning(processors=1),
        }

    def harvested(self, task):
        return self.finish(self.side.submit(task))

    def finish(self, job):
        deadline = time.monotonic() + EVER_S
        while not job.over:
            self.assertLess(time.monotonic(), deadline, job.status())
            with lull.bubble("step", self.stream):
                self.stream.sleep(0.001)
            self.stream.synchronize()
        self.assertEqual(job.state, "finished")
        return job

    def calls(self, subject=None):
        """All that other threads may call. `subject`: the job that the stuck call is of."""
        side, runtime = self.side, self.runtime
        calls = {
            "lull.bubble": (self.a_bubble, 0),
            "step": (lambda: side.step(self.stream), 0),
            "step, by number": (lambda: side.step(self.stream, number=1 << 20), 0),
            "skip_step": (side.skip_step, 0),
            "bound_slowdown": (lambda: side.bound_slowdown(0.25), 0),
            "assume_slowdown": (lambda: side.assume_slowdown("starving", 0.01), 0),
            "slowdown": (lambda: side.slowdown("starving"), 0),
            "steps": (side.steps, 0),
            "counts": (side.counts, 0),
            "report": (lambda: [side.report(form) for form in ("text", "json", "trace")], 0),
            "ready": (lambda: side.ready(self.stream), 0),
            "mode": (lambda: side.mode, 0),
            "why_off": (lambda: side.why_off, 0),
            "pause_all": (self.a_quiet, SHORT_S),
            "give_back": (lambda: side.give_back(1 << 20, SHORT_S), SHORT_S),
            "keep_reserve": (lambda: runtime.keep_reserve(SHORT_S), SHORT_S),
            "wait_all": (lambda: runtime.wait_all(SHORT_S), SHORT_S),
            "lull.tasks": (lull.tasks, 0),
            "lull.named_waits": (self.named_waits, 0),
            "a stream": (self.a_stream, 0),
            "feed": (lambda: self.starving.feed(1), 0),
            "cancel": (self.doomed.cancel, 0),
            "a result that is known": (self.finished.result, 0),
            "a verification that is known": (self.finished.verify, 0),
            "a line of the log": (self.a_line, 0),
        }
        jobs = {"that starves": self.starving, "that has finished": self.finished}
        if subject is not None:
            jobs["that is stuck"] = subject
        for name, job in jobs.items():
            calls |= {
                f"status, state, over, rounds of a job {name}": (
                    lambda job=job: (job.status(), job.state, job.over, job.rounds()),
                    0,
                ),
                f"pause, resume of a job {name}": (lambda job=job: (job.pause(), job.resume()), 0),
                f"wait of a job {name}": (lambda job=job: job.wait(SHORT_S), SHORT_S),
                f"hold of a job {name}": (lambda job=job: job.hold(SHORT_S) and job.let_go(), SHORT_S),
            }
        return calls

    def a_bubble(self):
        with lull.bubble("other", self.stream):
            pass

    def a_quiet(self):
        with contextlib.suppress(lull.TimedOut), self.side.pause_all(SHORT_S):
            pass

    def named_waits(self):
        with lull.named_waits(recv="recv"):
            pass

    def a_stream(self):
        stream = lull.ThreadsStream()
        stream.sleep(0)
        stream.synchronize()
        stream.close()

    def a_line(self):
        self.said.clear()
        self.machine.say(self.runtime, b"a line")
        self.assertTrue(self.said.wait(HANGS_S))

    def inside(self, call, at=None):
        """A thread in `call`, where this call to the machine hangs."""
        if at is not None:
            self.machine.set(at)
        thread = threading.Thread(target=call, daemon=True)
        self.threads.append(thread)
        thread.start()
        if at is not None:
            self.assertTrue(self.machine.hangs(EVER_S), "it does not make this call")
        return thread


class AScope(WithAScope):
    def test_a_submission_that_allocates(self):
        thread = self.inside(lambda: self.side.submit("compute:items=64"), "allocate")
        self.expect_to_return(self.calls(), thread.is_alive)

    def test_a_submission_that_loads_code(self):
        thread = self.inside(lambda: self.side.submit("compute:items=64"), "load")
        self.expect_to_return(self.calls(), thread.is_alive)

    def test_a_result_that_is_read_back(self):
        thread = self.inside(self.last.result, "read")
        self.expect_to_return(self.calls(self.last), thread.is_alive)

    def test_a_verification(self):
        thread = self.inside(self.last.verify, "read")
        self.expect_to_return(self.calls(self.last), thread.is_alive)

    def test_a_job_that_is_closed(self):
        thread = self.inside(self.last.close, "release")
        self.expect_to_return(self.calls(self.last), thread.is_alive)

    def test_a_runtime_that_is_made(self):
        def make():
            lull.Runtime(**self.options()).close()

        thread = self.inside(make, "allocate")
        self.expect_to_return(self.calls(), thread.is_alive)

    def test_a_runtime_that_ends(self):
        another = lull.Runtime(**self.options())
        job = self.machine.starving_job(another)
        thread = self.inside(another.close, "release")
        self.expect_to_return(self.calls(job), thread.is_alive)

    def test_a_wait_without_an_end(self):
        thread = self.inside(self.starving.wait)
        self.expect_to_return(self.calls(self.starving), thread.is_alive)
        self.starving.cancel()

    def test_a_quiet_and_memory_that_do_not_come(self):
        """The machine's thread puts a job into its place."""
        self.machine.set("exchange")
        self.side.submit("compute:items=64")
        self.assertTrue(self.machine.hangs(EVER_S))

        def quiet():
            with self.side.pause_all(EVER_S):
                pass

        threads = [self.inside(quiet), self.inside(lambda: self.side.give_back(1 << 20, EVER_S))]
        self.expect_to_return(self.calls(), lambda: all(thread.is_alive() for thread in threads))

    def test_a_handler_of_the_log(self):
        goes = threading.Event()
        self.addCleanup(goes.set)
        self.handler.emit = lambda record: (self.said.set(), goes.wait(EVER_S))
        self.a_line()
        calls = self.calls()
        calls["a line of the log"] = (lambda: self.machine.say(self.runtime, b"another"), 0)
        self.expect_to_return(calls, lambda: not goes.is_set())


class AThreadThatGivesBack(WithAScope):
    """… what jobs took: it reads the result of one that has finished."""

    look_s = 0.01

    def test_hangs(self):
        job = self.side.submit(TASK)
        self.machine.set("read")
        self.finish(job)
        self.assertTrue(self.machine.hangs(EVER_S))
        self.expect_to_return(self.calls(job), self.machine.hangs)


class AStep(Others):
    """A side step; the thread that serves it hangs."""

    submit = side_stand_ins.JobCase.submit
    fed_by = side_stand_ins.JobCase.fed_by
    run_steps = side_stand_ins.JobCase.run_steps

    def setUp(self):
        self.hangs, self.goes = threading.Event(), threading.Event()
        self.addCleanup(self.goes.set)

    def stay(self, *_):
        self.hangs.set()
        self.goes.wait(EVER_S)

    def expect_its_calls_to_return(self, job):
        self.assertTrue(self.hangs.wait(EVER_S), "it does not make this call")
        calls = {
            "status, state, over, rounds": (lambda: (job.status(), job.state, job.over, job.rounds()), 0),
            "wait": (lambda: job.wait(SHORT_S), SHORT_S),
            "outputs": (lambda: (len(job.outputs()), [*job.outputs()]), 0),
            "hold": (lambda: job.hold(SHORT_S) and job.let_go(), SHORT_S),
            "the look of the thread that gives back": (job._settle, 0),
            "cancel": (job.cancel, 0),
            "wait of one that is cancelled": (lambda: job.wait(SHORT_S), SHORT_S),
            "the look of the thread that gives back when it is cancelled": (job._settle, 0),
        }
        self.expect_to_return(calls, lambda: not self.goes.is_set())

    def test_whose_feed_does_not_return(self):
        def batches():
            yield ()
            self.stay()
            yield ()

        self.expect_its_calls_to_return(self.fed_by(batches()))

    def test_whose_batch_is_copied(self):
        def batches():
            yield ()
            while True:
                synchronize.side_effect = self.stay
                yield ()

        with mock.patch.object(side_stand_ins.Stream, "synchronize") as synchronize:
            self.expect_its_calls_to_return(self.fed_by(batches()))
            self.goes.set()

    def test_whose_outputs_are_copied(self):
        job = self.submit()
        with mock.patch.object(side_stand_ins.Stream, "synchronize", self.stay):
            self.run_steps(job, 1)
            self.expect_its_calls_to_return(job)
            self.goes.set()

    def test_whose_state_is_copied(self):
        job = self.submit(every=1)
        self.captured.copy_state = self.stay
        self.run_steps(job, 1)
        self.expect_its_calls_to_return(job)

    def test_whose_checkpoint_is_written(self):
        job = self.submit(every=1)
        self.captured.write = self.stay
        self.run_steps(job, 1)
        self.expect_its_calls_to_return(job)


if __name__ == "__main__":
    unittest.main()
