# SPDX-License-Identifier: Apache-2.0
"""Ctrl-C while a job is submitted: it is known to its runtime, or it is not there."""

import contextlib
import signal
import threading
import time
import unittest
from unittest import mock

import lull
import side_stand_ins
from lull.later_signals import later_signals


def interrupt():
    signal.raise_signal(signal.SIGINT)


class LaterSignals(unittest.TestCase):
    def test_run_their_handlers_at_the_end(self):
        done = []
        with self.assertRaises(KeyboardInterrupt):
            with later_signals():
                interrupt()
                done.append("all of it")
            done.append("not this")
        self.assertEqual(done, ["all of it"])
        self.assertIs(signal.getsignal(signal.SIGINT), signal.default_int_handler)

    def test_of_several_all_run(self):
        came = []
        before = signal.signal(signal.SIGUSR1, lambda number, frame: came.append(number))
        self.addCleanup(signal.signal, signal.SIGUSR1, before)
        with self.assertRaises(KeyboardInterrupt):
            with later_signals():
                interrupt()
                signal.raise_signal(signal.SIGUSR1)
                self.assertEqual(came, [])
        self.assertEqual(came, [signal.SIGUSR1])

    def test_that_never_came_change_nothing(self):
        handlers = {number: signal.getsignal(number) for number in signal.valid_signals()}
        for _ in range(2):
            with contextlib.suppress(ZeroDivisionError), later_signals(), later_signals():
                raise ZeroDivisionError
            self.assertEqual({number: signal.getsignal(number) for number in signal.valid_signals()}, handlers)

    def test_a_handler_that_the_program_sets_meanwhile_stays(self):
        def other(*_):
            pass

        before = signal.getsignal(signal.SIGUSR1)
        self.addCleanup(signal.signal, signal.SIGUSR1, before)
        with later_signals():
            signal.signal(signal.SIGUSR1, other)
        self.assertIs(signal.getsignal(signal.SIGUSR1), other)

    def test_on_another_thread_there_are_none(self):
        failed = []

        def run():
            try:
                with later_signals():
                    pass
            except BaseException as why:
                failed.append(why)

        thread = threading.Thread(target=run)
        thread.start()
        thread.join(10)
        self.assertEqual(failed, [])


class ATask(unittest.TestCase):
    def test_that_is_submitted_when_ctrl_c_comes_is_a_job_of_its_scope(self):
        with lull.harvest(executor="threads", bracket_waits=False) as side:
            library = side._runtime._library
            submit = library.lull_submit

            def submit_and_interrupt(*given):
                status = submit(*given)
                interrupt()
                return status

            with mock.patch.object(library, "lull_submit", submit_and_interrupt), self.assertRaises(KeyboardInterrupt):
                side.submit("compute:items=64,rounds=100000")
            self.assertEqual([job.task for job in side.jobs], ["compute:items=64,rounds=100000"])
            side.jobs[0].cancel()
            self.assertTrue(side.jobs[0].wait(10))
            side.submit("compute:items=64")
            self.assertEqual(len(side.jobs), 2)


class AStep(unittest.TestCase):
    def submitted(self, submit):
        """The job that is kept, and the captured step."""
        kept, captured = [], side_stand_ins.Captured(lull.side_step(lambda: None, steps=5), 0, None)
        library = side_stand_ins.Library(5)
        with contextlib.ExitStack() as patched:
            for patch in (
                *side_stand_ins.standing_in(lambda *_: captured),
                mock.patch.object(lull.Job, "status", library.status),
                mock.patch.object(lull.Job, "cancel", library.cancel),
                mock.patch.object(lull.Job, "wait", library.wait),
            ):
                patched.enter_context(patch)
            with self.assertRaises(KeyboardInterrupt):
                lull.StepJob(submit, None, lull.side_step(lambda: None, steps=5), 0, 0, None, kept.append)
            for job in kept:
                job.cancel()
                deadline = time.monotonic() + 5
                while not job.wait(0):
                    self.assertLess(time.monotonic(), deadline)
        return kept, captured

    def test_whose_graph_is_submitted_when_ctrl_c_comes_is_a_job_and_goes_on(self):
        def submit(*_, **__):
            interrupt()
            return mock.Mock(task="step")

        kept, captured = self.submitted(submit)
        self.assertEqual((len(kept), captured.is_undone), (1, False))

    def test_whose_graph_is_refused_when_ctrl_c_comes_is_undone(self):
        def submit(*_, **__):
            interrupt()
            raise lull.Error("no room")

        kept, captured = self.submitted(submit)
        self.assertEqual((kept, captured.is_undone), ([], True))

    def test_that_ctrl_c_ends_before_is_undone(self):
        def batches():
            interrupt()  # comes to the main thread, which waits for the batch
            time.sleep(0.2)
            yield ()

        captured = side_stand_ins.Captured(lull.side_step(lambda: None, steps=5), 0, None)
        asked = lull.side_step(lambda: None, steps=5, inputs=[object()], feed=batches())
        with contextlib.ExitStack() as patched:
            for patch in side_stand_ins.standing_in(lambda *_: captured):
                patched.enter_context(patch)
            with self.assertRaises(KeyboardInterrupt):
                lull.StepJob(None, None, asked, 0, 0, None, None)
        self.assertTrue(captured.is_undone)


if __name__ == "__main__":
    unittest.main()
