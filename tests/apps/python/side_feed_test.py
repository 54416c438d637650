# SPDX-License-Identifier: Apache-2.0
"""Where and how a side step's batches are drawn, with stand-ins for torch, the captured step and the job's calls of the
C library."""

import contextlib
import threading
import unittest
from unittest import mock

import lull
import side_stand_ins
from lull import step_feeder, streams
from lull.captured_step import SLOTS

SIDE_STEP = side_stand_ins.SIDE_STEP


class AFeed(side_stand_ins.JobCase):
    def setUp(self):
        self.threads = set()
        self.entered = threading.local()

    @contextlib.contextmanager
    def noting(self):
        """As no_grad, autocast or a stream: it belongs to the thread."""
        self.entered.depth = getattr(self.entered, "depth", 0) + 1
        try:
            yield
        finally:
            self.threads.add(threading.current_thread().name)
            self.entered.depth -= 1

    def batches(self, count):
        for _ in range(count):
            with self.noting():
                self.threads.add(threading.current_thread().name)
                yield ()

    def test_is_drawn_on_one_thread_and_closed_there(self):
        batches = self.batches(100)
        job = self.fed_by(batches)
        self.assertEqual(getattr(self.entered, "depth", 0), 0)
        self.run_steps(job, 5)
        job.cancel()
        self.wait_for(lambda: job.wait(0))
        self.assertEqual(self.threads, {"lull side step"})
        self.assertIsNone(batches.gi_frame)  # closed

    def test_of_a_step_that_is_refused_is_closed_there_too(self):
        batches = self.batches(5)
        with contextlib.ExitStack() as patched:
            for patch in side_stand_ins.standing_in():
                patched.enter_context(patch)

            def refuse(*_, **__):
                raise lull.Error("no room")

            with self.assertRaisesRegex(lull.Error, "no room"):
                lull.StepJob(
                    refuse,
                    None,
                    lull.side_step(lambda: None, steps=5, inputs=[object()], feed=batches),
                    0,
                    0,
                    None,
                    None,
                )
        self.assertIsNone(batches.gi_frame)
        self.assertEqual(self.threads, {"lull side step"})

    def test_that_gives_no_batch_fails_the_job(self):
        for wrong, words in (
            (None, "feed gave NoneType: a batch is a sequence"),
            ((1, 2), "a batch of 2 for 0 inputs"),
        ):
            with self.assertLogs("lull", "ERROR"):
                job = self.fed_by(iter([(), wrong, ()]))
                with self.assertRaisesRegex(lull.Error, words):
                    self.over(job)
        for batches, words in (([], "feed gave no batch"), ([None], "feed gave NoneType")):
            with self.assertRaisesRegex(lull.Error, words):
                self.fed_by(batches)

    def test_that_raises_at_once_raises_from_the_submission(self):
        def batches():
            raise ZeroDivisionError("at once")
            yield

        with self.assertNoLogs("lull"), self.assertRaisesRegex(ZeroDivisionError, "at once"):
            self.fed_by(batches())

    def test_that_cannot_be_iterated_raises_from_the_submission(self):
        with self.assertRaises(TypeError):
            self.fed_by(5)

    def test_that_raises_when_it_is_closed_is_told_of(self):
        def batches():
            try:
                while True:
                    yield ()
            finally:
                raise ZeroDivisionError("at the end")

        job = self.fed_by(batches())
        self.run_steps(job, 5)
        with self.assertLogs("lull", "WARNING") as told:
            job.cancel()
            self.wait_for(lambda: job.wait(0))
        self.assertIn("a feed raised when it was closed: at the end", told.output[0])
        self.assertEqual(job.state, "cancelled")

    def test_that_returns_after_an_interrupt_copies_nothing(self):
        """Ctrl-C while the first batch is drawn: the step's memory goes, and the feed returns later."""
        may_return, copied = threading.Event(), []

        def batches():
            may_return.wait(10)
            yield ()

        def wait(event, timeout=None):
            raise KeyboardInterrupt

        asked = lull.side_step(lambda: None, steps=5, inputs=[object()], feed=batches())
        feeders, values_of = [], step_feeder.values_of

        class Feeder(step_feeder.Feeder):
            def __init__(self, *given):
                super().__init__(*given)
                feeders.append(self)
                self._has_first.wait = lambda: wait(None)

        with contextlib.ExitStack() as patched:
            for patch in side_stand_ins.standing_in():
                patched.enter_context(patch)
            patched.enter_context(mock.patch.object(SIDE_STEP, "Feeder", Feeder))
            patched.enter_context(
                mock.patch.object(step_feeder, "values_of", lambda *given: copied.append(given) or values_of(*given))
            )
            with self.assertRaises(KeyboardInterrupt):
                lull.StepJob(None, None, asked, 0, 0, None, None)
            may_return.set()
            feeders[0].join(10)
        self.assertFalse(feeders[0].is_alive())
        self.assertEqual(copied, [])

    def test_that_changes_the_stream_is_waited_for_there(self):
        """A batch that is on the device was computed on the stream that was current at its yield."""
        waited = []
        with mock.patch.object(side_stand_ins.Stream, "wait_stream", lambda mine, other: waited.append(other)):
            with mock.patch.object(side_stand_ins.TORCH.cuda, "current_stream", lambda *_: "the feed's"):
                job = self.fed_by(self.batches(100))
                self.wait_for(lambda: self.library.fed == SLOTS)
                job.cancel()
                self.wait_for(lambda: job.wait(0))
        self.assertEqual(waited, ["the feed's"] * SLOTS)


class ItsStream(unittest.TestCase):
    def test_is_no_other_live_steps_and_lent_again(self):
        made = []

        def new_stream():
            made.append(0x1000 + len(made))
            return made[-1]

        with mock.patch.object(streams, "_new_stream", new_stream), mock.patch.dict(streams._copies, clear=True):
            first, second, elsewhere = (streams.lend_copy_stream(device) for device in (0, 0, 1))
            self.assertEqual(len({each.pointer for each in (first, second, elsewhere)}), 3)
            first.give_back()
            self.assertEqual(streams.lend_copy_stream(1).pointer, made[-1])
            self.assertEqual(streams.lend_copy_stream(0).pointer, first.pointer)


if __name__ == "__main__":
    unittest.main()
