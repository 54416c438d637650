# SPDX-License-Identifier: Apache-2.0
"""The job of a side step and the thread that serves it, with the stand-ins of side_stand_ins.py."""

import contextlib
import gc
import math
import threading
import time
import unittest
import weakref
from unittest import mock

import lull
import side_stand_ins
from lull import step_feeder
from lull.captured_step import SLOTS
from lull.job import GraphJob
from side_stand_ins import KEPT, Captured, standing_in


class AJob(side_stand_ins.JobCase):
    def test_gives_all_outputs_in_order(self):
        job = self.submit()
        self.run_steps(job, 10)
        self.assertTrue(job.wait(5))
        self.assertEqual((job.state, self.numbers(job.outputs())), ("finished", [*range(10)]))
        self.assertEqual((len(job.outputs()), [*job.outputs()]), (0, []))
        self.assertTrue(self.captured.is_released)

    def test_that_is_cancelled_gives_those_of_its_last_steps(self):
        with mock.patch.object(step_feeder, "_LOOK_S", 10):  # it looks once, and again when it must end
            job = self.submit()
            self.wait_for(lambda: self.library.fed == SLOTS)
            self.run_steps(job, 3)
            job.cancel()
            self.assertTrue(job.wait(5))
        self.assertEqual((job.state, self.numbers(job.outputs())), ("cancelled", [0, 1, 2]))

    def test_that_returns_nan_fails_with_what_it_gave_before(self):
        job = self.submit(returns=lambda step: math.nan if step == 2 else step)
        with self.assertLogs("lull", "ERROR") as told:
            self.run_steps(job, 3)
            with self.assertRaisesRegex(lull.Error, "step: step 2 returned NaN as its output 0"):
                self.wait_for(lambda: job.wait(5))
        self.assertEqual(told.output, ["ERROR:lull:step: step 2 returned NaN as its output 0"])
        self.assertEqual(job.state, "failed")
        self.assertEqual(self.numbers(job.outputs())[:2], [0, 1])
        with self.assertRaisesRegex(lull.Error, "returned NaN"):
            job.outputs()

    def test_whose_feed_ends_is_cancelled_after_its_last_batch(self):
        job = self.fed_by(() for _ in range(6))
        self.run_steps(job, 6)
        self.assertTrue(self.over(job))
        self.assertEqual((job.state, self.numbers(job.outputs())), ("cancelled", [*range(6)]))

    def test_whose_feed_raises_has_failed(self):
        def batches():
            yield ()
            yield ()
            raise ZeroDivisionError("no more")

        with self.assertLogs("lull", "ERROR") as told:
            job = self.fed_by(batches())
            with self.assertRaisesRegex(lull.Error, "step: no more"):
                self.over(job)
        self.assertEqual((told.output, job.state), (["ERROR:lull:step: no more"], "failed"))
        with self.assertRaisesRegex(lull.Error, "step: no more"):
            job.outputs()

    def test_whose_runtime_ends_while_a_batch_is_copied_has_not_failed(self):
        for is_ending in (True, False):
            job, feed = self.fed_by(() for _ in range(6)), self.library.feed
            feeder = job._feeder
            self.wait_for(lambda: self.library.fed == SLOTS)

            def ended(_, fed):
                feed(fed)
                if is_ending:
                    feeder.stop()
                raise lull.Error("step: its runtime has ended")

            with self.subTest(is_ending=is_ending), mock.patch.object(GraphJob, "feed", ended):
                with self.assertNoLogs("lull") if is_ending else self.assertLogs("lull", "ERROR"):
                    self.run_steps(job, 3)
                    feeder.join(5)
            self.assertEqual(feeder.error is None, is_ending)

    def test_saves_before_it_goes_on(self):
        job = self.submit(every=4)
        self.run_steps(job, 4)
        self.wait_for(lambda: self.library.fed > 4)
        self.assertEqual(self.captured.saves, [4])
        self.run_steps(job, 6)
        self.assertTrue(job.wait(5))
        self.assertEqual(self.captured.saves, [4, 8, 10])

    def test_whose_last_checkpoint_fails_has_failed(self):
        job = self.submit(checkpoint="step.pt")
        self.captured.save_raises = lull.Error("step.pt cannot be written")
        with self.assertLogs("lull", "ERROR"):
            self.run_steps(job, 10)
            with self.assertRaisesRegex(lull.Error, "step.pt cannot be written"):
                job.wait(5)
        self.assertEqual((self.library.state, job.state), ("finished", "failed"))
        self.assertEqual(len(job.outputs()), 10)

    def test_has_not_finished_before_its_last_checkpoint_is_written(self):
        job, may_write = self.submit(checkpoint="step.pt"), threading.Event()
        self.captured.write = lambda: may_write.wait(10)
        self.run_steps(job, 10)
        self.assertEqual((job.wait(0.02), job.state), (False, "placed"))
        self.assertFalse(self.captured.is_released)
        may_write.set()
        self.assertTrue(job.wait(5))
        self.assertEqual(job.state, "finished")

    def test_is_saved_only_while_its_memory_is_there(self):
        job = self.submit(checkpoint="step.pt", every=5)
        self.library.is_evicted = True
        self.run_steps(job, 5)
        time.sleep(0.05)
        self.assertEqual(self.captured.saves, [])
        self.library.is_evicted = False
        self.run_steps(job, 5)
        self.assertTrue(job.wait(5))
        self.assertEqual((self.captured.saves, self.library.holds), ([5, 10], 0))

    def test_may_be_evicted_while_its_file_is_written(self):
        job, holds = self.submit(checkpoint="step.pt"), []
        copy_state = self.captured.copy_state
        self.captured.copy_state = lambda steps: (holds.append(self.library.holds), copy_state(steps))
        self.captured.write = lambda: holds.append(self.library.holds)
        self.run_steps(job, 10)
        self.assertTrue(job.wait(5))
        self.assertEqual(holds, [1, 0])

    def test_whose_checkpoint_is_slow_at_the_end_gives_its_memory_back(self):
        job, may_write = self.submit(checkpoint="step.pt"), threading.Event()
        self.captured.write = lambda: may_write.wait(10)
        self.run_steps(job, 10)
        threading.Timer(0.05, may_write.set).start()
        job._cancel_unfinished()
        job._end(time.monotonic())
        self.assertTrue(self.captured.is_released)
        self.assertEqual(job.state, "finished")

    def test_keeps_the_latest_outputs_that_nobody_takes(self):
        with mock.patch.object(step_feeder, "MAX_KEPT_STEPS", 6), self.assertLogs("lull", "WARNING") as told:
            job = self.submit()
            self.run_steps(job, 10)
            job.wait(5)
        self.assertEqual(self.numbers(job.outputs()), [*range(4, 10)])
        self.assertEqual(
            told.output, ["WARNING:lull:step: outputs() was not called for 6 steps: the oldest are dropped"]
        )

    def test_with_a_slow_kernel_is_submitted_once_more_from_its_beginning(self):
        limit, other = lull.Status.ERROR_SLOW_NODE, lull.Status.ERROR_LIMIT
        for found, tries, begun in (([limit], 2, 1), ([limit, limit], 2, 1), ([other], 1, 0)):
            captured = Captured(lull.side_step(lambda: None, steps=5), 0, None)
            refusals = [lull.Error("refused", status) for status in found]
            submit = mock.Mock(side_effect=[*refusals, GraphJob(1, "step")])
            with contextlib.ExitStack() as patched:
                for patch in standing_in(lambda *_, captured=captured: captured):
                    patched.enter_context(patch)
                patched.enter_context(mock.patch.object(step_feeder.Feeder, "_serve"))
                try:
                    lull.StepJob(submit, lambda: 0, lull.side_step(lambda: None, steps=5), 0, 0, None, KEPT.append)
                    self.assertEqual(found, [limit])
                except lull.Error as why:
                    self.assertIs(why, refusals[-1])
            self.assertEqual((submit.call_count, captured.begun), (tries, begun))
            self.assertEqual(captured.is_undone, found != [limit])

    def test_whose_submission_fails_is_undone_and_kept_by_nothing(self):
        seen = []

        class Seen(Captured):
            def __init__(self, *given):
                super().__init__(*given)
                seen.append(weakref.ref(self))

            def undo(self):
                seen.append("undone")

        def refuse(*_, **__):
            raise lull.Error("no room")

        gc.disable()
        self.addCleanup(gc.enable)
        with contextlib.ExitStack() as patched:
            for patch in standing_in(Seen):
                patched.enter_context(patch)
            try:
                lull.StepJob(refuse, lambda: 0, lull.side_step(lambda: None, steps=5), 0, 0, None, KEPT.append)
            except lull.Error as why:
                self.assertEqual(str(why), "no room")
        self.assertEqual((seen[0](), seen[1:]), (None, ["undone"]))


if __name__ == "__main__":
    unittest.main()
