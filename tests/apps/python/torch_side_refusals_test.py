# SPDX-License-Identifier: Apache-2.0
"""torch_side_refusals_test.py: PyTorch steps whose submission fails, on a GPU, and what is left of them. Exit code 77:
it could not be run here."""

import gc
import pathlib
import sys
import tempfile
import threading
import unittest

import lull
import torch_side_step_test
from any_bubble import ANY_BUBBLE
from torch_capture_test import why_not
from torch_side_step_test import Model
from torch_two_gpus_test import SKIPPED

MIB = 1 << 20


class ARefusal(unittest.TestCase):
    setUp = torch_side_step_test.ASideStep.setUp
    train = torch_side_step_test.ASideStep.train
    assert_same = torch_side_step_test.ASideStep.assert_same

    def that_reads_back(self, model):
        """The capture becomes invalid where the step reads its loss."""

        def step():
            loss = model.step()
            return self.torch.tensor(loss.item())  # the line

        return lull.side_step(step, steps=3, state=(model.net, model.adam))

    def refuse(self, side, asked, words):
        with self.assertRaisesRegex(lull.Error, words):
            side.submit(asked)

    def test_of_a_step_that_reads_back_names_its_line(self):
        with lull.harvest(tasks=[], executor="cuda", tuning=ANY_BUBBLE) as side:
            self.refuse(side, self.that_reads_back(Model(self.torch)), "cannot be captured.*# the line")
            job = side.submit(Model(self.torch).asked(5))
            self.train(side, lambda: job.wait(0))
        self.assertEqual(job.state, "finished")

    def test_puts_the_state_back_and_the_next_submission_has_the_bits_of_plain_replays(self):
        expected, losses = Model(self.torch).run_plainly(40)
        model = Model(self.torch)
        kept = model.tensors()
        with lull.harvest(tasks=[], executor="cuda", tuning=ANY_BUBBLE) as side:
            for asked, words in (
                (self.that_reads_back(model), "cannot be captured"),
                (self.fed_by(model, iter(())), "feed gave no batch"),
                (self.fed_by(model, iter([(model.batch(0)[0],)])), "a batch of 1 for 2 inputs"),
            ):
                self.refuse(side, asked, words)
                self.assert_same(model.tensors(), kept)
                self.assertEqual(len(model.adam.state), 0)
                self.assertTrue(all(each.grad is None for each in model.net.parameters()))
            job = side.submit(model.asked(40))
            self.train(side, lambda: job.wait(0))
            found = [float(loss) for (loss,) in job.outputs()]
        self.assertEqual((job.state, found), ("finished", losses))
        self.assert_same(model.tensors(), expected)

    def fed_by(self, model, batches):
        asked = model.asked(40)
        asked.feed = batches
        return asked

    def test_of_an_optimizer_that_begins_otherwise_leaves_it_without_state(self):
        model, plain = Model(self.torch), Model(self.torch)
        for each in (model, plain):
            each.adam = self.torch.optim.NAdam(each.net.parameters(), capturable=True)
            each.net[2].p = 0.0
        with lull.harvest(tasks=[], executor="cuda", tuning=ANY_BUBBLE) as side:
            for _ in range(2):
                self.refuse(side, model.asked(5), "NAdam has no state yet.*take one ordinary step before")
            model.step()
            plain.step()
            self.assert_same(model.tensors(), plain.tensors())
            job = side.submit(model.asked(5))
            self.train(side, lambda: job.wait(0))
        self.assertEqual(job.state, "finished")

    def test_of_an_optimizer_with_state_on_the_host_says_capturable(self):
        model = Model(self.torch)
        model.adam = self.torch.optim.Adam(model.net.parameters(), 1e-3)
        model.step()
        with lull.harvest(tasks=[], executor="cuda", tuning=ANY_BUBBLE) as side:
            self.refuse(side, model.asked(5), "Adam has a tensor on cpu; make it with capturable=True")

    def test_of_an_optimizer_that_counts_on_the_host_names_it(self):
        torch = self.torch

        class Counting(torch.optim.SGD):
            def step(self):
                super().step()
                for group in self.param_groups:
                    group["step"] = group.get("step", 0) + 1

        for make, words in (
            (lambda net: torch.optim.Adam(net.parameters()), "Adam has a tensor on cpu; make it with capturable=True"),
            (lambda net: Counting(net.parameters(), 0.1), r"Counting keeps param_groups\[0\]\['step'\] on the host"),
        ):
            model = Model(torch)
            model.adam = make(model.net)
            kept = model.tensors()
            with lull.harvest(tasks=[], executor="cuda", tuning=ANY_BUBBLE) as side:
                self.refuse(side, model.asked(5), words)
            self.assert_same(model.tensors(), kept)
            self.assertNotIn("step", model.adam.param_groups[0])

    def test_leaves_torchs_allocator_as_it_was(self):
        """Memory that another stream used is used again, which torch puts off while a capture is under way."""
        torch, other = self.torch, self.torch.cuda.Stream()

        def turn():
            value = torch.empty(64 * MIB, dtype=torch.uint8, device="cuda")
            other.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(other):
                value.fill_(1)
            value.record_stream(other)
            address = value.data_ptr()
            del value
            torch.cuda.synchronize()
            return address

        with lull.harvest(tasks=[], executor="cuda", tuning=ANY_BUBBLE) as side:
            self.refuse(side, self.that_reads_back(Model(torch)), "cannot be captured")
            gc.collect()
            before = torch.cuda.memory_reserved()
            addresses = [turn() for _ in range(8)]
            self.assertLess(len(set(addresses)), 3, addresses)
            self.assertLess(torch.cuda.memory_reserved(), before + 3 * 64 * MIB)

    def test_gives_the_steps_memory_back(self):
        torch = self.torch
        total = torch.zeros(1, device="cuda")

        def step():
            values = torch.ones(256 * MIB, device="cuda")
            total.add_(values.sum())
            return torch.tensor(total.item())

        with lull.harvest(tasks=[], executor="cuda", tuning=ANY_BUBBLE) as side:
            for turn in range(2):
                self.refuse(side, lull.side_step(step, steps=5, state=(total,)), "cannot be captured")
                gc.collect()
                free = torch.cuda.mem_get_info()[0]
                if turn == 0:
                    first = free
            self.assertGreater(free, first - 100 * MIB)
            self.assertEqual(total.item(), 0)

    def test_of_a_checkpoint_comes_before_the_step_runs(self):
        model, runs = Model(self.torch), []

        def step():
            runs.append(1)
            return model.step()

        with (
            tempfile.TemporaryDirectory() as folder,
            lull.harvest(tasks=[], executor="cuda", tuning=ANY_BUBBLE) as side,
        ):
            path = pathlib.Path(folder, "step.pt")
            path.write_bytes(b"no checkpoint")
            for where, words in ((path, "step.pt cannot be read"), (path / "step.pt", "step.pt cannot be written")):
                asked = lull.side_step(step, steps=5, state=(model.net, model.adam), checkpoint=where)
                self.refuse(side, asked, words)
        self.assertEqual(runs, [])

    def test_of_one_thread_does_not_disturb_a_submission_of_another(self):
        expected, losses = Model(self.torch).run_plainly(20)
        good, jobs = Model(self.torch), []
        bad = self.that_reads_back(Model(self.torch))
        with lull.harvest(tasks=[], executor="cuda", tuning=ANY_BUBBLE) as side:
            thread = threading.Thread(target=lambda: jobs.append(side.submit(good.asked(20))))
            thread.start()
            self.refuse(side, bad, "cannot be captured")
            thread.join()
            (job,) = jobs
            self.train(side, lambda: job.wait(0))
            found = [float(loss) for (loss,) in job.outputs()]
        self.assertEqual((job.state, found), ("finished", losses))
        self.assert_same(good.tensors(), expected)


if __name__ == "__main__":
    if reason := why_not():
        print(f"not run: {reason}")
        sys.exit(SKIPPED)
    unittest.main()
