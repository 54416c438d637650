# SPDX-License-Identifier: Apache-2.0
"""The job of a side step and the thread that serves it, with stand-ins for torch, the captured step and the job's calls
of the C library. Their tensors are lists of numbers."""

import contextlib
import gc
import math
import sys
import threading
import time
import types
import unittest
import weakref
from unittest import mock

import lull
from lull import step_feeder
from lull.captured_step import SLOTS
from lull.job import GraphJob, Job
from lull.streams import LentStreams

SIDE_STEP = sys.modules["lull.side_step"]  # the package has a function of that name


class Tensor:
    """A number of a slot, or as many as there are slots."""

    dtype, device, shape = "float32", types.SimpleNamespace(type="cuda"), ()

    def __init__(self, values):
        self.values = values

    def __getitem__(self, slot):
        return Row(self.values, slot)

    def numel(self):
        return len(self.values)

    def element_size(self):
        return 4


class Row:
    def __init__(self, values, slot=0):
        self.values, self.slot = values, slot

    def copy_(self, other, non_blocking):
        self.values[self.slot] = float(other)

    def clone(self):
        return Row([float(self)])

    def __float__(self):
        return float(self.values[self.slot])

    def numel(self):
        return 1

    def isnan(self):
        return types.SimpleNamespace(item=lambda: math.isnan(float(self)))


class Stream:
    """Waits for nothing."""

    def __init__(self, pointer=0, device=0):
        self.pointer = pointer

    def synchronize(self):
        pass

    def wait_stream(self, other):
        pass


TORCH = types.SimpleNamespace(
    cuda=types.SimpleNamespace(
        device=lambda _: contextlib.nullcontext(),
        stream=lambda _: contextlib.nullcontext(),
        current_stream=lambda *_: Stream(),
        ExternalStream=Stream,
    ),
    inference_mode=lambda _: contextlib.nullcontext(),
    Tensor=Tensor,
    empty_like=lambda tensor, device, pin_memory: Tensor(list(tensor.values)),
)


class Captured:
    """A step that returns its number, or what `returns` says."""

    def __init__(self, asked, device, graph_stream):
        self.device, self.done, self.is_saved = device, 0, asked.checkpoint is not None
        self.slots_in, self.slots_out = [], [Tensor([0.0] * SLOTS)]
        self.graph = types.SimpleNamespace(raw_cuda_graph=lambda: 1)
        self.saves, self.is_released, self.is_undone, self.save_raises = [], False, False, None
        self.begun, self.memory, self.seed = 0, None, 7

    def copy_state(self, steps):
        self.copied = steps

    def write(self):
        if self.save_raises is not None:
            raise self.save_raises
        self.saves.append(self.copied)

    def submitted(self):
        pass

    def begin(self):
        self.begun += 1

    def undo(self):
        self.is_undone = True

    def release(self):
        self.is_released = True


def standing_in(captured=Captured):
    """Patches, for torch and the captured step."""
    return (
        mock.patch.object(step_feeder, "torch_with_cuda", lambda: TORCH),
        mock.patch.object(step_feeder, "lend_copy_stream", lambda _: LENT.lend(lambda: 1)),
        mock.patch.object(SIDE_STEP, "Captured", captured),
    )


LENT = LentStreams()
KEPT = []  # jobs that were submitted


class Library:
    """What the C library would say of the job: it runs steps when the test says so."""

    def __init__(self, steps):
        self.steps, self.rounds, self.fed, self.state = steps, 0, 1, "placed"
        self.holds, self.is_evicted = 0, False

    def hold(self, seconds):
        self.holds += 0 if self.is_evicted else 1
        return not self.is_evicted

    def let_go(self):
        self.holds -= 1

    def status(self):
        return {"state": self.state, "round": self.rounds}

    def feed(self, fed):
        self.fed = fed

    def cancel(self):
        if self.state not in ("finished", "failed"):
            self.state = "cancelled"

    def wait(self, seconds):
        return self.state in ("finished", "failed", "cancelled")


class AJob(unittest.TestCase):
    def submit(self, steps=10, returns=lambda step: step, **options):
        if "every" in options or "checkpoint" in options:
            options = {"checkpoint": "step.pt", "state": [object()], **options}
        asked = lull.side_step(lambda: None, steps=steps, **options)
        self.library = library = Library(steps)
        self.returns = returns
        for patch in (
            *standing_in(),
            mock.patch.object(Job, "status", library.status),
            mock.patch.object(Job, "cancel", library.cancel),
            mock.patch.object(Job, "wait", library.wait),
            mock.patch.object(GraphJob, "feed", library.feed),
            mock.patch.object(Job, "hold", library.hold),
            mock.patch.object(Job, "let_go", library.let_go),
        ):
            patch.start()
            self.addCleanup(patch.stop)
        made = mock.Mock(task="step")
        job = lull.StepJob(lambda *_, **__: made, lambda: 0, asked, 0, 0, None, KEPT.append)
        self.captured = job._feeder.captured
        self.addCleanup(job._feeder.stop)
        return job

    def run_steps(self, job, count):
        """As many steps, each when it is fed; what they return lies in its slot."""
        for _ in range(count):
            self.wait_for(lambda: self.library.fed > self.library.rounds)
            step = self.library.rounds
            self.captured.slots_out[0].values[step % SLOTS] = self.returns(step)
            self.library.rounds += 1
            if self.library.rounds == self.library.steps:
                self.library.state = "finished"

    def wait_for(self, so):
        deadline = time.monotonic() + 3
        while not so():
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.0005)

    def numbers(self, outputs):
        return [float(each) for (each,) in outputs]

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

    def fed_by(self, batches, **options):
        """Its batches are empty, since the stand-in has no inputs."""
        return self.submit(inputs=[object()], feed=batches, **options)

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

    def over(self, job):
        self.wait_for(lambda: job.wait(0))
        return True

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
