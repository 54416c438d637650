# SPDX-License-Identifier: Apache-2.0
"""torch_side_parts_test.py: parts of side steps with real torch on a CPU: state that is put back, batches, checkpoints,
and what another thread takes over. Exit code 77: there is no torch here."""

import pathlib
import sys
import tempfile
import types
import unittest
import weakref

import lull
from lull.captured_step import SLOTS, Captured, on_another_thread
from lull.step_advice import forget_frames
from lull.step_checkpoint import Checkpoint
from lull.step_feed import values_of
from lull.step_state import Kept, refuse_elsewhere, tensors_of

try:
    import torch
except ImportError as why:
    print(f"not run: {why}")
    sys.exit(77)


class Trained:
    def __init__(self, make):
        torch.manual_seed(3)
        self.net = torch.nn.Sequential(torch.nn.Linear(8, 4), torch.nn.BatchNorm1d(4), torch.nn.Linear(4, 1))
        self.optimizer = make(self.net.parameters())
        self.parts = (self.net, self.optimizer)

    def step(self):
        self.optimizer.zero_grad(set_to_none=True)
        self.net(torch.arange(80.0).reshape(10, 8)).square().mean().backward()
        self.optimizer.step()

    def tensors(self):
        return [each.detach().clone() for part in self.parts for each in tensors_of(torch, part)]


OPTIMIZERS = {
    "NAdam": lambda parameters: torch.optim.NAdam(parameters),
    "SGD with dampening": lambda parameters: torch.optim.SGD(parameters, 1e-2, momentum=0.9, dampening=0.5),
    "SGD": lambda parameters: torch.optim.SGD(parameters, 1e-2, momentum=0.9),
    "Adam": lambda parameters: torch.optim.Adam(parameters, amsgrad=True),
    "Adagrad": lambda parameters: torch.optim.Adagrad(parameters, initial_accumulator_value=0.1),
    "RMSprop": lambda parameters: torch.optim.RMSprop(parameters, momentum=0.9, centered=True),
}
BEGIN_OTHERWISE = ("NAdam", "SGD with dampening")


class KeptState(unittest.TestCase):
    def assert_same(self, mine, others):
        self.assertEqual(len(mine), len(others))
        self.assertTrue(all(torch.equal(a, b) for a, b in zip(mine, others)))

    def test_of_a_step_that_was_refused_is_as_if_it_had_never_run(self):
        for name, make in OPTIMIZERS.items():
            for steps in (0, 2):  # before
                with self.subTest(name, steps=steps):
                    refused, plain = Trained(make), Trained(make)
                    for _ in range(steps):
                        refused.step()
                        plain.step()
                    gradients = [each.grad for each in refused.net.parameters()]
                    for _ in range(2):
                        kept = Kept(torch, refused.parts)
                        refused.step()
                        if name in BEGIN_OTHERWISE and steps == 0:
                            with self.assertRaisesRegex(lull.Error, "has no state yet.*one ordinary step before"):
                                kept.begin()
                        kept.put_back()
                        self.assert_same(refused.tensors(), plain.tensors())
                        pairs = zip(refused.net.parameters(), gradients)
                        self.assertTrue(all(each.grad is was for each, was in pairs))
                    refused.step()
                    plain.step()
                    self.assert_same(refused.tensors(), plain.tensors())

    def test_of_a_step_that_begins_stays_where_a_graph_has_it(self):
        for name, make in OPTIMIZERS.items():
            steps = 1 if name in BEGIN_OTHERWISE else 0
            with self.subTest(name):
                begun, plain = Trained(make), Trained(make)
                for _ in range(steps):
                    begun.step()
                    plain.step()
                kept = Kept(torch, begun.parts)
                for _ in range(3):
                    begun.step()
                held = [each.data_ptr() for each in tensors_of(torch, begun.optimizer)]
                kept.begin()
                for _ in range(2):
                    begun.step()
                    plain.step()
                self.assertEqual([each.data_ptr() for each in tensors_of(torch, begun.optimizer)], held)
                self.assert_same(begun.tensors(), plain.tensors())

    def test_elsewhere_is_refused_with_what_to_do(self):
        device, trained = torch.device("cuda", 0), Trained(OPTIMIZERS["Adam"])
        trained.step()
        for inputs, parts, words in (
            ((), (trained.optimizer,), "Adam has a tensor on cpu; make it with capturable=True"),
            ((), (trained.net,), "on cuda:0, the runtime's device; Sequential has a tensor on cpu$"),
            ((torch.zeros(1),), (), "inputs has a tensor on cpu$"),
        ):
            with self.assertRaisesRegex(lull.Error, words):
                refuse_elsewhere(torch, device, inputs, parts)
        refuse_elsewhere(torch, torch.device("cpu"), (torch.zeros(1),), trained.parts)
        with self.assertRaisesRegex(lull.Error, "state holds 5: it must be modules, optimizers and tensors"):
            tensors_of(torch, 5)


class ABatch(unittest.TestCase):
    def slots(self, *kinds):
        return [torch.zeros((SLOTS, *shape), dtype=dtype) for shape, dtype in kinds]

    def test_is_tensors_arrays_or_numbers(self):
        slots = self.slots(((2, 3), torch.float32), ((), torch.int32))
        weights = torch.ones(2, 3, requires_grad=True)
        values = values_of(torch, [weights, 7], slots)
        self.assertEqual(
            [(each.dtype, each.requires_grad) for each in values], [(torch.float32, False), (torch.int64, False)]
        )
        self.assertEqual(len(values_of(torch, torch.ones(2, 3), slots[:1])), 1)
        try:
            import numpy
        except ImportError:
            self.skipTest("there is no numpy")
        for batch in (numpy.ones((2, 3)), (numpy.ones((2, 3), dtype="float32"),)):
            (value,) = values_of(torch, batch, slots[:1])
            self.assertEqual(tuple(value.shape), (2, 3))

    def test_that_does_not_fit_is_refused(self):
        slots = self.slots(((2,), torch.int64), ((), torch.float32))
        whole, rate = torch.ones(2, dtype=torch.int64), torch.tensor(0.5)
        for batch, words in (
            (None, "feed gave NoneType: a batch is a sequence of tensors"),
            ({"x": whole}, "feed gave dict"),
            ((whole,), "a batch of 1 for 2 inputs"),
            (whole, "a batch of 1 for 2 inputs"),
            ((whole[:1], rate), r"the shape \(1,\) for input 0, which has \(2,\)"),
            ((whole.double(), rate), "torch.float64 for input 0, which is torch.int64: convert it in the feed"),
            ((whole, rate.to(torch.complex64)), "torch.complex64 for input 1, which is torch.float32"),
        ):
            with self.assertRaisesRegex(lull.Error, words):
                values_of(torch, batch, slots)


class ACheckpoint(unittest.TestCase):
    def test_goes_on_with_the_same_bits(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "step.pt")
            whole, other = Trained(OPTIMIZERS["Adam"]), Trained(OPTIMIZERS["Adam"])
            whole.step()
            state = [each for part in whole.parts for each in tensors_of(torch, part)]
            checkpoint = Checkpoint(torch, path)
            checkpoint.prepare(state)
            checkpoint.copy(state, 1, 7)
            checkpoint.write()
            saved = torch.load(path)
            self.assertEqual((saved["steps"], saved["seed"]), (1, 7))
            for _ in range(3):
                other.step()
            again = Checkpoint(torch, path)
            again.prepare([each for part in other.parts for each in tensors_of(torch, part)])
            again.forget()
            self.assertTrue(all(torch.equal(a, b) for a, b in zip(whole.tensors(), other.tensors())))

    def test_that_cannot_be_read_is_refused_in_one_line(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "step.pt")
            torch.save({"lull": "side_step/1", "steps": 1, "seed": 2, "state": [torch.zeros(1000)]}, path)
            whole = path.read_bytes()
            for content in (b"", whole[: len(whole) // 2], b"hello", b"\x80\x04cos\nsystem\n."):
                path.write_bytes(content)
                with self.assertRaisesRegex(
                    lull.Error, r"^\S+step.pt cannot be read: .+: delete it, or name another file$"
                ):
                    Checkpoint(torch, path)
            torch.save(torch.nn.Linear(2, 2).state_dict(), path)
            with self.assertRaisesRegex(lull.Error, "step.pt is no checkpoint of a side step"):
                Checkpoint(torch, path)


class ARun(unittest.TestCase):
    def test_takes_inputs_from_a_slot_and_leaves_outputs_there(self):
        x = torch.zeros(3)
        one = Captured.__new__(Captured)
        one._torch, one._asked = torch, types.SimpleNamespace(inputs=(x,), step=lambda: (x * 2, x.sum()))
        one._numbers = types.SimpleNamespace(advance=lambda: None)
        one.slots_in = [torch.arange(3.0 * SLOTS).reshape(SLOTS, 3)]
        one.slots_out = [torch.zeros(SLOTS, 3), torch.zeros(SLOTS)]
        one._slot = torch.zeros(1, dtype=torch.int64)
        for _ in range(SLOTS + 1):
            one._run()
        self.assertTrue(torch.equal(one.slots_out[0], 2 * one.slots_in[0]))
        self.assertTrue(torch.equal(one.slots_out[1], one.slots_in[0].sum(1)))
        self.assertEqual(one._slot.item(), 1)

    def test_of_a_step_that_returns_something_else_is_refused(self):
        one = Captured.__new__(Captured)
        one._torch = torch
        self.assertEqual(one._outputs(None), [])
        with self.assertRaisesRegex(lull.Error, "the step returned 7: it must be a tensor"):
            one._outputs([7])

    def test_that_fails_leaves_no_memory_in_its_frames(self):
        class Large:
            pass

        gone = []

        def step():
            large = Large()
            weakref.finalize(large, gone.append, True)
            raise ValueError("no")

        try:
            try:
                step()
            except ValueError as why:
                raise lull.Error("said") from why
        except lull.Error as why:
            forget_frames(why)
            self.assertEqual(gone, [True])


class AnotherThread(unittest.TestCase):
    def test_has_the_callers_gradients_and_autocast(self):
        seen = []

        def look():
            seen.append(
                (
                    torch.is_grad_enabled(),
                    torch.is_autocast_enabled("cuda"),
                    torch.get_autocast_dtype("cuda"),
                    torch.is_autocast_cache_enabled(),
                )
            )

        on_another_thread(torch, None, look)
        was = torch.get_autocast_dtype("cuda")
        torch.set_autocast_enabled("cuda", True)
        torch.set_autocast_dtype("cuda", torch.bfloat16)
        torch.set_autocast_cache_enabled(False)
        try:
            with torch.no_grad():
                on_another_thread(torch, None, look)
        finally:
            torch.set_autocast_enabled("cuda", False)
            torch.set_autocast_dtype("cuda", was)
            torch.set_autocast_cache_enabled(True)
        self.assertEqual(seen, [(True, False, was, True), (False, True, torch.bfloat16, False)])

    def test_raises_what_the_work_raises(self):
        with self.assertRaises(ZeroDivisionError):
            on_another_thread(torch, None, lambda: 1 // 0)


if __name__ == "__main__":
    unittest.main()
