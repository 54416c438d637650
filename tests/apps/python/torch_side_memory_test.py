# SPDX-License-Identifier: Apache-2.0
"""torch_side_memory_test.py: where the memory of PyTorch steps in bubbles comes from, on a GPU. Exit code 77: it could
not be run here."""

import gc
import sys
import time
import unittest

import lull
import torch_side_step_test
from any_bubble import ANY_BUBBLE
from torch_capture_test import why_not
from torch_side_step_test import Model
from torch_two_gpus_test import SKIPPED

MIB = 1 << 20


class ItsMemory(unittest.TestCase):
    setUp = torch_side_step_test.ASideStep.setUp
    train = torch_side_step_test.ASideStep.train

    def large(self, bytes_in_step):
        """A step that takes so much for a while; its state takes none of it."""
        torch = self.torch
        total = torch.zeros(1, device="cuda")

        def step():
            values = torch.ones(bytes_in_step // 4, device="cuda")
            total.add_(values.sum() / values.numel())
            return total

        return lull.side_step(step, steps=20, state=(total,)), total

    def free(self):
        return self.torch.cuda.mem_get_info()[0]

    def test_is_lulls_and_goes_back_when_the_job_is_over(self):
        with lull.harvest(tasks=[], executor="cuda", tuning=ANY_BUBBLE) as side:
            asked, total = self.large(MIB)
            self.train(side, lambda job=side.submit(asked): job.wait(0))  # what stays is made
            before, torchs = self.free(), self.torch.cuda.memory_reserved()
            asked, total = self.large(1024 * MIB)
            job = side.submit(asked)
            self.assertLess(self.free(), before - 1000 * MIB)
            self.train(side, lambda: job.wait(0))
            gc.collect()
            self.assertEqual((job.state, total.item()), ("finished", 20))
            self.assertGreater(self.free(), before - 100 * MIB)
            self.assertLess(self.torch.cuda.memory_reserved(), torchs + 100 * MIB)

    def test_is_limited_and_a_step_above_it_is_refused(self):
        model = Model(self.torch)
        with lull.harvest(tasks=[], executor="cuda", tuning=ANY_BUBBLE, memory_limit_bytes=256 * MIB) as side:
            asked, total = self.large(512 * MIB)
            with self.assertRaisesRegex(lull.Error, "raise memory_limit_bytes, or make the step smaller"):
                side.submit(asked)
            self.assertEqual((total.item(), side.jobs), (0, []))
            kept = model.tensors()
            job = side.submit(model.asked(30))
            self.train(side, lambda: job.wait(0))
        self.assertEqual(job.state, "finished")
        self.assertFalse(all(self.torch.equal(a, b) for a, b in zip(kept, model.tensors(), strict=True)))

    def test_gives_way_and_the_parameters_have_the_bits_of_an_undisturbed_run(self):
        def trained(evicts):
            model = Model(self.torch)
            with lull.harvest(
                tasks=[], executor="cuda", tuning=ANY_BUBBLE, saved_bytes=512 * MIB if evicts else 0
            ) as side:
                job = side.submit(model.asked(2000))
                given, asked = [], [0.0]

                def is_over():
                    if evicts and time.monotonic() - asked[0] > 0.05 and len(given) < 3:
                        bytes_back = side.give_back(1)
                        given.extend([bytes_back] if bytes_back else [])
                        asked[0] = time.monotonic()
                    return job.wait(0)

                self.train(side, is_over)
                self.assertEqual((job.state, len(given)), ("finished", 3 if evicts else 0))
                self.assertTrue(all(bytes_back >= 2 * MIB for bytes_back in given), given)
                outputs = job.outputs()
            return [t.clone() for t in model.tensors()], outputs

        (kept, outputs), (again, others) = trained(False), trained(True)
        self.assertTrue(all(self.torch.equal(a, b) for a, b in zip(kept, again, strict=True)))
        self.assertEqual(len(outputs), 2000)
        for one, other in zip(outputs, others, strict=True):
            self.assertTrue(all(self.torch.equal(a, b) for a, b in zip(one, other, strict=True)))

    def test_of_a_table_that_the_trainer_uses_too_stays(self):
        """A rotary embedding makes it in its first run; here that is the side step's."""
        torch = self.torch

        class Rotary(torch.nn.Module):
            table = None

            def forward(self, x):
                if self.table is None:
                    self.table = torch.arange(float(4 * MIB), device="cuda").cos()
                return x * self.table

        rotary, x = Rotary(), torch.ones(4 * MIB, device="cuda")

        def step():
            return rotary(x).sum()

        with lull.harvest(tasks=[], executor="cuda", tuning=ANY_BUBBLE, saved_bytes=512 * MIB) as side:
            job = side.submit(lull.side_step(step, steps=100_000))
            self.train(side, lambda: job.rounds() > 20 and side.give_back(1) > 0)
            taken = [torch.full((4 * MIB,), -1.0, device="cuda") for _ in range(16)]
            found = rotary(x)
            self.assertTrue(torch.equal(found, torch.arange(float(4 * MIB), device="cuda").cos()))
            del taken
            job.cancel()
            self.train(side, lambda: job.wait(0))

    def test_of_parameters_that_are_in_no_module_is_state_too(self):
        torch = self.torch
        torch.manual_seed(3)
        weight = torch.nn.Parameter(torch.randn(512, device="cuda"))
        sgd = torch.optim.SGD([weight], 0.1)

        def step():
            sgd.zero_grad(set_to_none=True)
            loss = weight.pow(2).mean()
            loss.backward()
            sgd.step()
            return loss

        was = weight.detach().clone()
        with lull.harvest(tasks=[], executor="cuda", tuning=ANY_BUBBLE) as side:
            with self.assertRaisesRegex(lull.Error, "node"):
                side.submit(lull.side_step(step, steps=3, state=(weight, sgd), segment=1e-9, node_limit=1e-9))
            self.assertTrue(torch.equal(weight.detach(), was))
            self.assertIsNone(weight.grad)
            job = side.submit(lull.side_step(step, steps=3, state=(weight, sgd)))
            self.train(side, lambda: job.wait(0))
            losses = [loss.item() for (loss,) in job.outputs()]
        self.assertEqual(losses, sorted(losses, reverse=True))
        self.assertEqual(losses[0], was.pow(2).mean().item())

    def test_of_an_optimizers_state_outlives_the_runtime(self):
        model = Model(self.torch)
        with lull.harvest(tasks=[], executor="cuda", tuning=ANY_BUBBLE) as side:
            job = side.submit(model.asked(30))
            self.train(side, lambda: job.wait(0))
        del side, job
        gc.collect()
        moments = [state["exp_avg"].clone() for state in model.adam.state.values()]
        with lull.harvest(tasks=[], executor="cuda", tuning=ANY_BUBBLE) as side:  # others take memory, and write there
            asked, _ = self.large(1024 * MIB)
            self.train(side, lambda job=side.submit(asked): job.wait(0))
        for state, was in zip(model.adam.state.values(), moments, strict=True):
            self.assertTrue(self.torch.equal(state["exp_avg"], was))
        del model, state
        gc.collect()
        self.torch.cuda.empty_cache()
        self.torch.cuda.synchronize()


if __name__ == "__main__":
    if reason := why_not():
        print(f"not run: {reason}")
        sys.exit(SKIPPED)
    unittest.main()
