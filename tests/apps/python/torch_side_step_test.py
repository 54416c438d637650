# SPDX-License-Identifier: Apache-2.0
"""torch_side_step_test.py: PyTorch steps as side work, on a GPU. Exit code 77: it could not be run here."""

import os
import random
import sys
import tempfile
import time
import unittest

import lull
from any_bubble import ANY_BUBBLE
from lull.captured_step import SLOTS, Captured
from lull.streams import LentStreams
from torch_capture_test import why_not
from torch_two_gpus_test import SKIPPED


class Model:
    """A small network with dropout, its step, and batches that differ."""

    def __init__(self, torch, seed=3):
        torch.manual_seed(seed)
        self.torch = torch
        self.net = torch.nn.Sequential(
            torch.nn.Linear(256, 512),
            torch.nn.GELU(),
            torch.nn.Dropout(0.3),
            torch.nn.BatchNorm1d(512),
            torch.nn.Linear(512, 10),
        ).cuda()
        self.adam = torch.optim.Adam(self.net.parameters(), 1e-3, fused=True, capturable=True)
        self.x = torch.zeros(64, 256, device="cuda")
        self.y = torch.zeros(64, dtype=torch.int64, device="cuda")

    def step(self):
        self.adam.zero_grad(set_to_none=True)
        loss = self.torch.nn.functional.cross_entropy(self.net(self.x), self.y)
        loss.backward()
        self.adam.step()
        return loss

    def batch(self, number):
        draw = self.torch.Generator().manual_seed(1_000 + number)
        return self.torch.randn(64, 256, generator=draw), self.torch.randint(0, 10, (64,), generator=draw)

    def batches(self, first=0):
        number = first
        while True:
            yield self.batch(number)
            number += 1

    def asked(self, steps, first=0, **more):
        return lull.side_step(
            self.step,
            steps=steps,
            inputs=(self.x, self.y),
            feed=self.batches(first),
            state=(self.net, self.adam),
            **{"seed": 5, **more},
        )

    def tensors(self):
        return [t.detach().clone() for t in self.net.state_dict().values()]

    def run_plainly(self, steps):
        """Ordinary replays of the same captured step; what they left, and the losses."""
        stream, losses = self.torch.cuda.Stream(), []
        with lull.Runtime(executor="cuda") as side:
            side.graph_stream()  # from now on it lends memory
            captured = Captured(self.asked(steps), 0, lambda: LentStreams().lend(lambda: stream.cuda_stream))
            with captured._numbers.in_use(), self.torch.cuda.stream(stream):
                self.torch.cuda.default_generators[0].set_offset(0)
                for number in range(steps):
                    for slots, value in zip(captured.slots_in, self.batch(number)):
                        slots[number % SLOTS].copy_(value)
                    captured.graph.replay()
                    losses.append(captured.slots_out[0][number % SLOTS].item())
            self.torch.cuda.synchronize()
            captured.release()
        return self.tensors(), losses


class ASideStep(unittest.TestCase):
    def setUp(self):
        import torch

        self.torch = torch
        torch.backends.cudnn.deterministic = True
        self.a = torch.randn(1024, 1024, device="cuda")

    def train(self, side, until, gap_us=300, seconds=60):
        """A trainer with bubbles that change, until that is so."""
        end, number = time.monotonic() + seconds, 0
        while not until():
            self.assertLess(time.monotonic(), end, [job.status() for job in side.jobs])
            self.torch.mm(self.a, self.a)
            with side.bubble("gap"):
                self.torch.cuda._sleep(1_800 * (gap_us // 2 + number * 37 % gap_us))
            number += 1
            if number % 8 == 0:
                self.torch.cuda.synchronize()
        self.torch.cuda.synchronize()

    def assert_same(self, mine, others):
        self.assertTrue(all(self.torch.equal(a, b) for a, b in zip(mine, others, strict=True)))

    def test_in_bubbles_ends_with_the_bits_of_plain_replays(self):
        expected, losses = Model(self.torch).run_plainly(200)
        model = Model(self.torch)
        with lull.harvest(tasks=[], executor="cuda", tuning=ANY_BUBBLE) as side:
            job = side.submit(model.asked(200))
            self.train(side, lambda: job.wait(0))
            found = [float(loss) for (loss,) in job.outputs()]
        self.assertEqual(job.state, "finished")
        self.assertEqual(found, losses)
        self.assert_same(model.tensors(), expected)
        self.assertLess(sum(losses[-20:]), sum(losses[:20]))

    def test_whose_feed_ends_early_is_cancelled_after_its_last_batch(self):
        model = Model(self.torch)
        with lull.harvest(tasks=[], executor="cuda", tuning=ANY_BUBBLE) as side:
            asked = model.asked(100)
            asked.feed = (model.batch(number) for number in range(SLOTS - 1))
            job = side.submit(asked)
            self.train(side, lambda: job.wait(0))
            self.assertEqual((job.state, len(job.outputs())), ("cancelled", SLOTS - 1))

    def test_begins_with_the_state_that_it_was_given(self):
        for make in (
            lambda parameters: self.torch.optim.SGD(parameters, 1e-2, momentum=0.9),
            lambda parameters: self.torch.optim.Adam(parameters, 1e-3, capturable=True),
        ):
            nets = []
            for turn in range(2):
                self.torch.manual_seed(7)
                net, x = self.torch.nn.Linear(32, 1).cuda(), self.torch.ones(8, 32, device="cuda")
                optimizer = make(net.parameters())

                def step(net=net, x=x, optimizer=optimizer):
                    optimizer.zero_grad(set_to_none=True)
                    net(x).square().sum().backward()
                    optimizer.step()

                if turn == 0:
                    for _ in range(5):
                        step()
                else:
                    with lull.harvest(tasks=[], executor="cuda", tuning=ANY_BUBBLE) as side:
                        job = side.submit(lull.side_step(step, steps=5, state=(net, optimizer)))
                        self.train(side, lambda job=job: job.wait(0))
                nets.append(net)
            self.torch.testing.assert_close(nets[1].state_dict(), nets[0].state_dict())

    def test_leaves_the_programs_random_numbers_alone(self):
        self.torch.manual_seed(11)
        self.torch.randn(5, device="cuda")
        before = self.torch.cuda.get_rng_state()
        model = Model(self.torch)
        self.torch.cuda.set_rng_state(before)
        with lull.harvest(tasks=[], executor="cuda", tuning=ANY_BUBBLE) as side:
            job = side.submit(model.asked(20))
            self.train(side, lambda: job.wait(0))
        self.assertTrue(self.torch.equal(before, self.torch.cuda.get_rng_state()))

    def test_marks_no_training_steps(self):
        model, trained = Model(self.torch), Model(self.torch)
        with lull.harvest(tasks=[], executor="cuda", tuning=ANY_BUBBLE, max_slowdown=0.01) as side:
            side.submit(model.asked(5))
            self.assertEqual(side.steps()["begun"], 0)
            trained.step()
            self.assertEqual(side.steps()["begun"], 1)

    def test_leaves_the_random_numbers_of_the_host_alone(self):
        model = Model(self.torch)

        def step():
            random.random()
            self.torch.rand(1)
            return model.step()

        random.seed(11)
        self.torch.manual_seed(11)
        expected = random.random(), self.torch.rand(1).item()
        random.seed(11)
        self.torch.manual_seed(11)
        with lull.harvest(tasks=[], executor="cuda", tuning=ANY_BUBBLE) as side:
            with self.assertLogs("lull", "WARNING") as told:
                side.submit(lull.side_step(step, steps=5, state=(model.net, model.adam)))
        self.assertEqual((random.random(), self.torch.rand(1).item()), expected)
        self.assertIn("draws random numbers on the host (torch, random): each step gets the same", told.output[0])

    def test_killed_and_resumed_ends_as_if_never_stopped(self):
        expected, losses = Model(self.torch).run_plainly(60)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "step.pt")
            first = Model(self.torch)
            with lull.harvest(tasks=[], executor="cuda", tuning=ANY_BUBBLE) as side:
                job = side.submit(first.asked(60, checkpoint=path, every=20))
                self.train(side, lambda: job.rounds() >= 25)
            self.assertEqual(job.state, "cancelled")
            done = self.torch.load(path)["steps"]
            self.assertIn(done, (20, 40))
            again = Model(self.torch, seed=4)
            with lull.harvest(tasks=[], executor="cuda", tuning=ANY_BUBBLE) as side:
                job = side.submit(again.asked(60, first=done, checkpoint=path, every=20))
                self.train(side, lambda: job.wait(0))
                found = [float(loss) for (loss,) in job.outputs()]
            self.assertEqual(self.torch.load(path)["steps"], 60)
        self.assertEqual(found, losses[done:])
        self.assert_same(again.tensors(), expected)

    def test_saved_with_the_trainer_ends_as_if_never_stopped(self):
        expected, losses = Model(self.torch).run_plainly(60)
        first = Model(self.torch)
        with lull.harvest(tasks=[], executor="cuda", tuning=ANY_BUBBLE) as side:
            asked = first.asked(60, every=20)
            self.assertEqual(asked.state_dict()["steps"], 0)
            job = side.submit(asked)
            self.assertEqual(asked.state_dict()["steps"], 0)
            self.train(side, lambda: job.rounds() >= 25)
            saved = asked.state_dict()
        done = saved["steps"]
        self.assertIn(done, (20, 40))
        again = Model(self.torch, seed=4)
        asked = again.asked(60, first=done, every=20)
        asked.load_state_dict(saved)
        with lull.harvest(tasks=[], executor="cuda", tuning=ANY_BUBBLE) as side:
            job = side.submit(asked)
            self.train(side, lambda: job.wait(0))
            found = [float(loss) for (loss,) in job.outputs()]
        self.assertEqual((asked.state_dict()["steps"], found), (60, losses[done:]))
        self.assert_same(again.tensors(), expected)

    def test_whose_feed_raises_fails_and_training_goes_on(self):
        model = Model(self.torch)

        def batches():
            yield from (model.batch(number) for number in range(5))
            raise ZeroDivisionError("no more")

        with lull.harvest(tasks=[], executor="cuda", tuning=ANY_BUBBLE) as side:
            asked = model.asked(100)
            asked.feed = batches()
            job = side.submit(asked)
            with self.assertLogs("lull", "ERROR"), self.assertRaisesRegex(lull.Error, "no more"):
                self.train(side, lambda: job.wait(0))
            self.assertEqual(job.state, "failed")
            self.assertIn(len(list(job.outputs())), range(1, 6))
            with self.assertRaisesRegex(lull.Error, "no more"):
                job.outputs()
            self.train(side, lambda number=iter(range(50)): next(number, None) is None)

    def test_that_returns_nan_fails_before_its_checkpoint(self):
        model = Model(self.torch)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "step.pt")

            def batches():
                for number in range(100):
                    x, y = model.batch(number)
                    yield (x * float("nan") if number == 11 else x), y

            with lull.harvest(tasks=[], executor="cuda", tuning=ANY_BUBBLE) as side:
                asked = model.asked(100, checkpoint=path, every=4)
                asked.feed = batches()
                job = side.submit(asked)
                words = "step 11 returned NaN as its output 0"
                with self.assertLogs("lull", "ERROR"), self.assertRaisesRegex(lull.Error, words):
                    self.train(side, lambda: job.wait(0))
                self.assertEqual(job.state, "failed")
                self.assertGreater(len(list(job.outputs())), 11)
                with self.assertRaisesRegex(lull.Error, words):
                    job.outputs()
            saved = self.torch.load(path)
        self.assertEqual(saved["steps"], 8)
        self.assertFalse(any(part.isnan().any() for part in saved["state"] if part.is_floating_point()))

    def test_that_is_cancelled_gives_the_outputs_of_all_its_steps(self):
        _, losses = Model(self.torch).run_plainly(60)
        model = Model(self.torch)
        with lull.harvest(tasks=[], executor="cuda", tuning=ANY_BUBBLE) as side:
            job = side.submit(model.asked(1_000))
            self.train(side, lambda: job.rounds() >= 20)
            job.cancel()
            self.train(side, lambda: job.wait(0))
            found = [float(loss) for (loss,) in job.outputs()]
        self.assertEqual((job.state, len(found)), ("cancelled", job.rounds()))
        self.assertEqual(found[:60], losses[: len(found)])

    def test_without_the_hint_ends_with_the_same_bits(self):
        expected, losses = Model(self.torch).run_plainly(60)
        model = Model(self.torch)
        with lull.harvest(tasks=[], executor="cuda", tuning=ANY_BUBBLE) as side:
            job = side.submit(model.asked(60, hint=False))
            self.train(side, lambda: job.wait(0))
            found = [float(loss) for (loss,) in job.outputs()]
        self.assertEqual((job.state, found), ("finished", losses))
        self.assert_same(model.tensors(), expected)


if __name__ == "__main__":
    if reason := why_not():
        print(f"not run: {reason}")
        sys.exit(SKIPPED)
    unittest.main()
