# SPDX-License-Identifier: Apache-2.0
"""torch_side_step_kinds_test.py: what kinds of PyTorch steps can be side work, on a GPU. Exit code 77: it could not be
run here."""

import sys
import unittest

import lull
import torch_side_step_test
from any_bubble import ANY_BUBBLE
from torch_capture_test import why_not
from torch_side_step_test import Model
from torch_two_gpus_test import SKIPPED


class AStepOfItsKind(unittest.TestCase):
    setUp = torch_side_step_test.ASideStep.setUp
    train = torch_side_step_test.ASideStep.train

    def outputs_of(self, asked, reserved_groups=2):
        with lull.harvest(tasks=[], executor="cuda", tuning=ANY_BUBBLE, reserved_groups=reserved_groups) as side:
            job = side.submit(asked)
            self.train(side, lambda: job.wait(0))
            self.assertEqual(job.state, "finished")
            return job.outputs()

    def test_takes_its_learning_rate_from_the_feed(self):
        model, torch = Model(self.torch), self.torch
        rate = torch.zeros((), device="cuda")
        model.adam = torch.optim.Adam(model.net.parameters(), rate, fused=True, capturable=True)

        def step():
            loss = model.step()
            return loss, model.net[0].weight

        def batches(steps=40):
            for number in range(steps):
                yield (*model.batch(number), torch.tensor(0.0 if number % 2 else 1e-3))

        asked = lull.side_step(
            step, steps=40, inputs=(model.x, model.y, rate), feed=batches(), state=(model.net, model.adam)
        )
        taken = [weight for _, weight in self.outputs_of(asked)]
        for number in range(1, 40):
            self.assertEqual(torch.equal(taken[number], taken[number - 1]), number % 2 == 1, number)

    def test_infers_without_state(self):
        model, torch = Model(self.torch), self.torch
        model.net.eval()
        kept = model.tensors()

        def step():
            with torch.no_grad():
                return model.net(model.x)

        feed = ((model.batch(number)[0],) for number in range(30))
        outputs = self.outputs_of(lull.side_step(step, steps=30, inputs=(model.x,), feed=feed))
        self.assertEqual(len(outputs), 30)
        for number, (found,) in enumerate(outputs):
            with torch.no_grad():
                expected = model.net(model.batch(number)[0].cuda()).cpu()
            torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-4)
        self.assertTrue(all(torch.equal(a, b) for a, b in zip(kept, model.tensors(), strict=True)))

    def test_accumulates_gradients_within_a_step(self):
        model, torch = Model(self.torch), self.torch

        def step():
            model.adam.zero_grad(set_to_none=True)
            total = 0
            for part in range(4):
                rows = slice(16 * part, 16 * part + 16)
                loss = torch.nn.functional.cross_entropy(model.net(model.x[rows]), model.y[rows]) / 4
                loss.backward()
                total = total + loss.detach()
            model.adam.step()
            return total

        asked = lull.side_step(step, steps=120, state=(model.net, model.adam), seed=5)
        x, y = model.batch(0)
        model.x.copy_(x)
        model.y.copy_(y)
        losses = [float(loss) for (loss,) in self.outputs_of(asked)]
        self.assertLess(losses[-1], losses[0] / 2)

    def test_of_convolutions_runs_beside_reserved_sms(self):
        """Their weight gradients come in clusters that no green context holds, unless cuDNN is asked there."""
        torch = self.torch
        net = torch.nn.Sequential(
            torch.nn.Conv2d(64, 128, 3, stride=2, padding=1), torch.nn.ReLU(), torch.nn.Conv2d(128, 128, 3, padding=1)
        )
        net.cuda().to(memory_format=torch.channels_last)
        x = torch.randn(64, 64, 56, 56, device="cuda").to(memory_format=torch.channels_last)
        sgd = torch.optim.SGD(net.parameters(), 1e-3, momentum=0.9)

        def step():
            sgd.zero_grad(set_to_none=True)
            with torch.autocast("cuda", torch.bfloat16, cache_enabled=False):
                loss = net(x).square().mean()
            loss.backward()
            sgd.step()
            return loss

        losses = [float(loss) for (loss,) in self.outputs_of(lull.side_step(step, steps=60, state=(net, sgd)))]
        self.assertLess(losses[-1], losses[0])

    def test_whose_feed_enters_a_stream_and_modes_gets_its_batches_and_leaves_the_trainers(self):
        torch = self.torch
        x, own = torch.zeros(1 << 20, device="cuda"), torch.cuda.Stream()

        def batches():
            with torch.cuda.stream(own), torch.inference_mode(), torch.autocast("cuda", torch.bfloat16):
                for number in range(100):
                    value = torch.zeros(1 << 20, device="cuda")
                    for _ in range(20):  # the batch is long under way
                        value += number / 20
                    yield (value,)

        def step():
            return x.mean()

        modes = torch.is_inference_mode_enabled(), torch.is_autocast_enabled("cuda"), torch.cuda.current_stream()
        with lull.harvest(tasks=[], executor="cuda", tuning=ANY_BUBBLE) as side:
            job = side.submit(lull.side_step(step, steps=100, inputs=(x,), feed=batches()))
            now = torch.is_inference_mode_enabled(), torch.is_autocast_enabled("cuda"), torch.cuda.current_stream()
            self.assertEqual(now, modes)
            torchs = {torch.cuda.Stream().cuda_stream for _ in range(64)}
            self.assertNotIn(job._feeder._stream.cuda_stream, torchs)
            self.train(side, lambda: job.wait(0))
            found = [mean for (mean,) in job.outputs()]
        for number, mean in enumerate(found):
            self.assertAlmostEqual(mean.item(), number, delta=1e-3 * max(number, 1))
        (found[1].requires_grad_() * found[2]).backward()  # no tensor of inference mode

    def resnet(self):
        try:
            import torchvision
        except (ImportError, RuntimeError) as why:
            self.skipTest(str(why))
        torch = self.torch
        net = torchvision.models.resnet18().cuda().to(memory_format=torch.channels_last)
        x = torch.randn(64, 3, 224, 224, device="cuda").to(memory_format=torch.channels_last)
        y = torch.randint(0, 1000, (64,), device="cuda")
        sgd = torch.optim.SGD(net.parameters(), 1e-3, momentum=0.9)

        def step():
            sgd.zero_grad(set_to_none=True)
            with torch.autocast("cuda", torch.bfloat16, cache_enabled=False):
                loss = torch.nn.functional.cross_entropy(net(x), y)
            loss.backward()
            sgd.step()
            return loss

        return net, sgd, step

    def test_that_the_program_ran_before_is_captured_with_other_plans(self):
        """PyTorch keeps the plans that it chose for all SMs."""
        net, sgd, step = self.resnet()
        step()
        before = net.fc.weight.detach().clone()
        outputs = self.outputs_of(lull.side_step(step, steps=10, state=(net, sgd)))
        self.assertEqual(len(outputs), 10)
        self.assertFalse(self.torch.equal(before, net.fc.weight))

    def test_whose_earlier_loss_is_kept_is_refused_with_what_keeps_it(self):
        """A loss keeps the stream where its parameters' gradients were added to: the legacy one joins no capture."""
        net, sgd, step = self.resnet()
        loss = step()
        with lull.harvest(tasks=[], executor="cuda", tuning=ANY_BUBBLE) as side:
            with self.assertRaisesRegex(lull.Error, "computed from '.*' before is still there.*delete it, or detach"):
                side.submit(lull.side_step(step, steps=10, state=(net, sgd)))
        del loss
        self.assertEqual(len(self.outputs_of(lull.side_step(step, steps=10, state=(net, sgd)))), 10)

    def test_that_is_compiled_runs_beside_reserved_sms(self):
        """Triton's kernels are of modules, which are bound to the context of the program."""
        try:
            import triton  # noqa: F401
        except ImportError:
            self.skipTest("there is no triton")
        model, torch = Model(self.torch), self.torch
        compiled = torch.compile(model.net)

        def step():
            model.adam.zero_grad(set_to_none=True)
            loss = torch.nn.functional.cross_entropy(compiled(model.x), model.y)
            loss.backward()
            model.adam.step()
            return loss

        asked = lull.side_step(
            step, steps=100, inputs=(model.x, model.y), feed=model.batches(), state=(model.net, model.adam)
        )
        losses = [float(loss) for (loss,) in self.outputs_of(asked)]
        self.assertEqual(len(set(losses)), len(losses))
        self.assertLess(sum(losses[-20:]), sum(losses[:20]))


if __name__ == "__main__":
    if reason := why_not():
        print(f"not run: {reason}")
        sys.exit(SKIPPED)
    unittest.main()
