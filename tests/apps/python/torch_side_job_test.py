# SPDX-License-Identifier: Apache-2.0
"""torch_side_job_test.py: the job of a side step from its submission to its end, with real torch on a CPU: a stand-in
for the C library runs a step when it is fed, by calling it. Exit code 77: there is no torch here."""

import pathlib
import tempfile
import unittest
from unittest import mock

import lull
import side_stand_ins
import torch_side_capture_test
from lull import step_feeder
from lull.captured_step import Captured
from lull.job import GraphJob, Job
from torch_side_capture_test import torch

SIDE_STEP = side_stand_ins.SIDE_STEP


class AJob(unittest.TestCase):
    captured = step = None
    assert_same, tensors = torch_side_capture_test.ACapture.assert_same, torch_side_capture_test.ACapture.tensors
    wait_for = side_stand_ins.JobCase.wait_for

    def setUp(self):
        torch_side_capture_test.ACapture.setUp(self)
        self.step = lambda: torch_side_capture_test.ACapture.step(self)
        for patch in (
            mock.patch.multiple(
                step_feeder,
                torch_with_cuda=lambda: torch,
                lend_copy_stream=lambda _: side_stand_ins.LENT.lend(lambda: 1),
            ),
            mock.patch.object(torch.Tensor, "pin_memory", lambda tensor: tensor),
            mock.patch.object(torch_side_capture_test.Graph, "raw_cuda_graph", lambda _: 1, create=True),
        ):
            self.stack.enter_context(patch)
        self.before = {key: value.clone() for key, value in self.net.state_dict().items()}

    def begin_again(self):
        """Another program's net and optimizer, in the state of the first's beginning."""
        self.net.load_state_dict(self.before)
        self.net.zero_grad(set_to_none=True)
        self.optimizer = torch.optim.SGD(self.net.parameters(), 0.1, momentum=0.9)

    def batch(self, number):
        return (torch.full((8, 4), float(number % 5)) + torch.arange(4.0),)

    def asked(self, steps=20, first=0, **options):
        feed = (self.batch(number) for number in range(first, steps))
        return lull.side_step(
            self.step, steps=steps, inputs=(self.x,), feed=feed, state=(self.net, self.optimizer), **options
        )

    def submit(self, asked):
        """The job, and a function that runs so many of its steps."""
        made = []

        def capture(*given):
            made.append(Captured(*given))
            return made[-1]

        library = side_stand_ins.Library(0)
        for patch in (
            mock.patch.object(SIDE_STEP, "Captured", capture),
            mock.patch.object(Job, "status", library.status),
            mock.patch.object(Job, "cancel", library.cancel),
            mock.patch.object(Job, "wait", library.wait),
            mock.patch.object(Job, "hold", library.hold),
            mock.patch.object(Job, "let_go", library.let_go),
            mock.patch.object(GraphJob, "feed", library.feed),
        ):
            self.stack.enter_context(patch)

        def submit(graph, steps, **_):
            library.steps, library.rounds = steps, 1
            made[-1]._run()  # the first step runs with the submission
            return mock.Mock(task="step")

        job = lull.StepJob(submit, lambda: self.lent.lend(object), asked, 0, 0, None, lambda _: None)
        self.addCleanup(job._feeder.stop)

        def run(count):
            for _ in range(count):
                self.wait_for(lambda: library.fed > library.rounds)
                made[-1]._run()
                library.rounds += 1
                if library.rounds == library.steps:
                    library.state = "finished"

        return job, run

    def run_plainly(self, steps):
        losses = []
        for number in range(steps):
            self.x.copy_(self.batch(number)[0])
            losses.append(self.step().item())
        return losses, self.tensors()

    def losses(self, job):
        return [loss.item() for (loss,) in job.outputs()]

    def test_gives_what_ordinary_steps_give(self):
        losses, tensors = self.run_plainly(20)
        self.begin_again()
        job, run = self.submit(self.asked())
        run(19)
        self.assertTrue(job.wait(10))
        self.assertEqual((job.state, self.losses(job)), ("finished", losses))
        self.assert_same(self.tensors(), tensors)

    def test_that_is_stopped_goes_on_with_the_same_bits(self):
        """From a file, and from what the trainer's checkpoint holds."""
        losses, tensors = self.run_plainly(20)
        with tempfile.TemporaryDirectory() as folder:
            for options in ({"checkpoint": pathlib.Path(folder, "step.pt")}, {}):
                self.begin_again()
                asked = self.asked(every=5, **options)
                job, run = self.submit(asked)
                run(12)
                self.wait_for(lambda asked=asked: asked.state_dict()["steps"] == 10)
                saved = asked.state_dict()
                job.cancel()
                self.wait_for(lambda job=job: job.wait(0))
                self.assertEqual(self.losses(job), losses[:13])
                self.begin_again()
                asked = self.asked(first=10, every=5, **options)
                if not options:
                    asked.load_state_dict(saved)
                job, run = self.submit(asked)
                run(9)
                self.assertTrue(job.wait(10))
                self.assertEqual(self.losses(job), losses[10:])
                self.assert_same(self.tensors(), tensors)
                self.assertEqual(asked.state_dict()["steps"], 20)

    def test_whose_feed_is_a_loader(self):
        loader = torch.utils.data.DataLoader([self.batch(number)[0][0] for number in range(40)], 8, shuffle=True)
        asked = lull.side_step(lambda: self.x.clone(), steps=5, inputs=(self.x,), feed=loader, seed=3)
        job, run = self.submit(asked)
        run(4)
        self.assertTrue(job.wait(10))
        seen = torch.cat([batch for (batch,) in job.outputs()])
        self.assertEqual(sorted(map(tuple, seen.tolist())), sorted(tuple(row.tolist()) for row in loader.dataset))

    def test_whose_feed_leaves_modes_on_gives_ordinary_tensors(self):
        def batches():
            with torch.inference_mode(), torch.autocast("cpu", torch.bfloat16):
                for number in range(5):
                    yield self.batch(number)

        asked = lull.side_step(lambda: self.x.sum(), steps=5, inputs=(self.x,), feed=batches())
        job, run = self.submit(asked)
        self.assertEqual((torch.is_inference_mode_enabled(), torch.is_autocast_enabled("cpu")), (False, False))
        run(4)
        self.assertTrue(job.wait(10))
        outputs = [total for (total,) in job.outputs()]
        self.assertFalse(any(each.is_inference() for each in outputs))
        self.assertEqual([each.item() for each in outputs], [self.batch(n)[0].sum().item() for n in range(5)])


if __name__ == "__main__":
    unittest.main()
