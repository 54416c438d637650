# SPDX-License-Identifier: Apache-2.0
"""torch_side_capture_test.py: how a side step is warmed up and captured, with real torch on a CPU and stand-ins for
what only a GPU has: its tensors are on the CPU, and its graph replays nothing. Exit code 77: there is no torch here."""

import contextlib
import importlib
import random
import sys
import unittest
from unittest import mock

import lull
from lull import captured_step, optimizer_steps
from lull.captured_step import SLOTS, Captured
from lull.streams import LentStreams

try:
    import torch
    from torch.overrides import TorchFunctionMode
except ImportError as why:
    print(f"not run: {why}")
    sys.exit(77)


class OnTheCpu(TorchFunctionMode):
    """Tensors that are made on a GPU are made there, and no memory is pinned."""

    def __torch_function__(self, function, types, args=(), kwargs=None):
        kwargs = dict(kwargs or {})
        if str(kwargs.get("device", "")).startswith("cuda"):
            kwargs["device"] = "cpu"
        kwargs.pop("pin_memory", None)
        return function(*args, **kwargs)


class Stream:
    def __init__(self, pointer, device):
        self.cuda_stream = pointer

    def synchronize(self):
        pass

    def wait_stream(self, other):
        pass


class Graph:
    def __init__(self, keep_graph):
        self.is_reset = False

    def instantiate(self):
        pass

    def reset(self):
        self.is_reset = True


class Memory:
    id = handle = None

    def __init__(self, *_):
        self.is_released = False
        MADE.append(self)

    @contextlib.contextmanager
    def in_use(self):
        USED.append(self)
        try:
            yield
        finally:
            USED.pop()

    entered = in_use

    def release(self):
        self.is_released = True


class Numbers:
    seed = 5

    def __init__(self, *_):
        pass

    @contextlib.contextmanager
    def in_use(self):
        yield

    def find(self, stream):
        pass

    def advance(self):
        pass

    def increment_of(self, graph, stream):
        return 0

    def begin(self, increment, done):
        pass


MADE, USED = [], []  # memories, and those that are in use


@contextlib.contextmanager
def nothing(*_):
    yield


class Adam(torch.optim.Adam):
    """Without foreach, whose kernels need a GPU's rules of capture."""

    def __init__(self, parameters):
        super().__init__(parameters, lr=0.1, amsgrad=True, foreach=False, capturable=False)


class Counting(torch.optim.SGD):
    def step(self):
        super().step()
        for group in self.param_groups:
            group["step"] = group.get("step", 0) + 1


class ACapture(unittest.TestCase):
    def setUp(self):
        MADE.clear()
        self.stack = contextlib.ExitStack()
        self.addCleanup(self.stack.close)
        for patch in (
            mock.patch.multiple(
                torch.cuda,
                device=nothing,
                stream=nothing,
                current_stream=lambda *_: Stream(0, 0),
                ExternalStream=Stream,
            ),
            mock.patch.multiple(torch.cuda, CUDAGraph=Graph),
            mock.patch.multiple(
                captured_step,
                torch_with_cuda=lambda: torch,
                refuse_unfit=lambda _: None,
                refuse_elsewhere=lambda *_: None,
                make_scratch=lambda *_: None,
                StepMemory=Memory,
                Numbers=Numbers,
                capturing=nothing,
            ),
            OnTheCpu(),
        ):
            self.stack.enter_context(patch)
        torch.manual_seed(3)
        self.net = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.BatchNorm1d(4), torch.nn.Linear(4, 2))
        self.x = torch.zeros(8, 4)
        self.optimizer = torch.optim.SGD(self.net.parameters(), 0.1, momentum=0.9)
        self.lent = LentStreams()

    def step(self):
        self.optimizer.zero_grad(set_to_none=True)
        loss = self.net(self.x).square().mean()
        loss.backward()
        self.optimizer.step()
        return loss

    def captured(self, step=None, **options):
        options = {"steps": 5, "inputs": (self.x,), "feed": [], "state": (self.net, self.optimizer), **options}
        return Captured(lull.side_step(step or self.step, **options), 0, lambda: self.lent.lend(object))

    def tensors(self):
        return [each.detach().clone() for each in self.net.state_dict().values()]

    def assert_same(self, one, other):
        self.assertTrue(all(torch.equal(a, b) for a, b in zip(one, other, strict=True)))

    def test_leaves_the_state_as_it_was_and_the_optimizer_at_its_beginning(self):
        was = self.tensors()
        one = self.captured()
        self.assert_same(self.tensors(), was)
        self.assertEqual(len(self.optimizer.state), 4 + 2)
        self.assertTrue(all(each["momentum_buffer"].eq(0).all() for each in self.optimizer.state.values()))
        self.assertEqual([tuple(each.shape) for each in one.slots_out], [(SLOTS,)])
        one.submitted()
        one.release()
        self.assertEqual([each.is_released for each in MADE], [True] * 3)

    def test_runs_first_in_memory_of_its_own(self):
        seen = []
        for warm_ups, runs in ((1, 2), (2, 2), (3, 3)):
            MADE.clear()
            seen.clear()

            def step():
                seen.append(MADE.index(USED[-1]))
                return self.step()

            one = self.captured(step, warm_ups=warm_ups)
            memory, slots, lasting = 0, 1, 2  # as they are made
            self.assertEqual(seen, [lasting] + [memory] * runs)
            self.assertEqual([each.is_released for each in MADE], [False, False, True])
            self.assertIs(one._slots, MADE[slots])

    def test_leaves_random_numbers_of_the_host_alone_and_tells_of_a_step_that_draws(self):
        def step():
            random.random()
            return self.step() + torch.rand(())

        torch.manual_seed(7)
        random.seed(7)
        expected = torch.rand(()).item(), random.random()
        for wrong in (None, ValueError("no")):
            torch.manual_seed(7)
            random.seed(7)
            if wrong is None:
                with self.assertLogs("lull", "WARNING") as told:
                    self.captured(step)
                self.assertIn("draws random numbers on the host (torch, random)", told.output[0])
            else:
                with self.assertRaises(ValueError):
                    self.captured(mock.Mock(side_effect=[step(), wrong]))
                torch.manual_seed(7)
                random.seed(7)
            self.assertEqual((torch.rand(()).item(), random.random()), expected)

    def test_tells_of_a_module_that_counts_its_runs(self):
        def step():
            self.net.runs = getattr(self.net, "runs", 0) + 1
            return self.step()

        with self.assertLogs("lull", "WARNING") as told:
            self.captured(step)
        self.assertIn("the step changes Sequential.runs on the host: captured, it has one value", told.output[0])

    def test_steps_optimizers_that_end_no_training_step(self):
        ends, seen = optimizer_steps.StepEnds(), []
        hook = importlib.import_module("torch.optim.optimizer").register_optimizer_step_post_hook(
            lambda optimizer, *_: seen.append(ends.is_end(optimizer))
        )
        self.addCleanup(hook.remove)
        self.captured()
        self.assertEqual(seen, [False] * 4)
        self.step()
        self.assertEqual(seen[4:], [True])

    def test_of_an_optimizer_that_counts_on_the_host_is_refused_and_undone(self):
        for warm_ups, make, words in (
            (1, lambda: Counting(self.net.parameters(), 0.1), r"param_groups\[0\]\['step'\] on the host"),
            (3, lambda: Counting(self.net.parameters(), 0.1), r"param_groups\[0\]\['step'\] on the host"),
            (3, lambda: Adam(self.net.parameters()), r"Adam keeps state\[0\]\['step'\] on the host"),
        ):
            self.optimizer = make()
            was, groups = self.tensors(), [dict(group) for group in self.optimizer.param_groups]
            MADE.clear()
            with self.assertRaisesRegex(lull.Error, words):
                self.captured(warm_ups=warm_ups)
            self.assert_same(self.tensors(), was)
            self.assertEqual((len(self.optimizer.state), self.optimizer.param_groups), (0, groups))
            self.assertTrue(all(each.grad is None for each in self.net.parameters()))
            self.assertTrue(all(each.is_released for each in MADE))
            self.assertEqual(len(self.lent._free), 1)

    def test_whose_step_fails_says_where_and_is_undone(self):
        for runs in range(4):
            left = [runs]

            def step(left=left):
                if left[0] == 0:
                    raise ValueError("no")  # the line
                left[0] -= 1
                return self.step()

            was = self.tensors()
            with self.assertRaisesRegex((ValueError, lull.Error), "no"):
                self.captured(step)
            self.assert_same(self.tensors(), was)
            self.assertEqual((len(self.optimizer.state), len(self.lent._free)), (0, 1))

    def test_goes_on_from_a_state_that_was_kept(self):
        first = self.captured(every=2)
        first._asked.kept = None
        self.assertEqual(first._asked.state_dict()["steps"], 0)
        first.submitted()
        began = self.tensors()
        with torch.no_grad():
            for each in self.net.parameters():
                each.add_(1)
        first.copy_state(2)
        saved, kept = first._asked.state_dict(), self.tensors()
        self.assertEqual((saved["steps"], saved["seed"]), (2, 5))
        with torch.no_grad():
            for each, was in zip(self.net.state_dict().values(), began):
                each.copy_(was)
        asked = lull.side_step(self.step, steps=5, inputs=(self.x,), feed=[], state=(self.net, self.optimizer), every=2)
        asked.load_state_dict(saved)
        again = Captured(asked, 0, lambda: self.lent.lend(object))
        self.assertEqual(again.done, 2)
        self.assert_same(self.tensors(), kept)
        self.assertEqual(asked.state_dict()["steps"], 2)
        again.submitted()
        self.assertEqual((asked.state_dict()["steps"], asked.taken), (2, None))
        asked.load_state_dict({**saved, "steps": 5})
        with self.assertRaisesRegex(lull.Error, "what was loaded holds 5 steps: all that were asked for are done"):
            Captured(asked, 0, lambda: self.lent.lend(object))
        asked.load_state_dict({**saved, "state": saved["state"][1:]})
        with self.assertRaisesRegex(lull.Error, "what was loaded holds the state of another step$"):
            Captured(asked, 0, lambda: self.lent.lend(object))


if __name__ == "__main__":
    unittest.main()
