# SPDX-License-Identifier: Apache-2.0
"""torch_side_state_test.py: what side steps change and must not, with real torch on a CPU: optimizers that count on the
host, gradients, memory of their first run, random numbers of the host. Exit code 77: there is no torch here."""

import contextlib
import random
import sys
import types
import unittest
from unittest import mock

import lull
from lull import captured_step
from lull.captured_step import Captured
from lull.host_random import HostRandom
from lull.step_feed import batches_of
from lull.step_host_values import HostValues
from lull.step_state import Kept, refuse_exchanges

try:
    import numpy.random
    import torch
except ImportError as why:
    print(f"not run: {why}")
    sys.exit(77)


class Counting(torch.optim.Optimizer):
    """As those of bitsandbytes and timm: an int a parameter, made in the first step."""

    def __init__(self, parameters):
        super().__init__(parameters, {"lr": 0.1, "betas": (0.9, 0.99)})

    def step(self):
        for group in self.param_groups:
            for parameter in group["params"]:
                state = self.state[parameter]
                if not state:
                    state["step"] = self.zero()
                self.count(group, state)

    def zero(self):
        return 0

    def count(self, group, state):
        state["step"] += 1


class CountingInATensor(Counting):
    def zero(self):
        return torch.zeros(())  # on the host


class CountingAGroup(Counting):
    """As those of apex and DeepSpeed."""

    def count(self, group, state):
        group["step"] = group.get("step", 0) + 1


class Adapting(Counting):
    """Its betas are a tuple."""

    def count(self, group, state):
        group["betas"] = (group["betas"][0] / 2, 0.99)


class CountingForAll(Counting):
    """Beside what it keeps of each parameter."""

    def count(self, group, state):
        self.state["updates"] = self.state.get("updates", 0) + 1


class CountingItself(Counting):
    def count(self, group, state):
        self.updates = getattr(self, "updates", 0) + 1
        self.is_prepared = True


class Constant(Counting):
    def count(self, group, state):
        state["shape"], state["ratio"] = "flat", float("nan")


def a_net():
    torch.manual_seed(3)
    return torch.nn.Linear(4, 2)


class AnOptimizer(unittest.TestCase):
    def test_that_counts_on_the_host_is_refused_by_name(self):
        for kind, words in (
            (
                Counting,
                r"Counting keeps state\[0\]\['step'\] on the host, and a step changes it from 1 to 2: a captured",
            ),
            (CountingInATensor, r"CountingInATensor keeps state\[0\]\['step'\] on the host"),
            (CountingAGroup, r"CountingAGroup keeps param_groups\[0\]\['step'\] on the host"),
            (CountingForAll, r"CountingForAll keeps state\['updates'\] on the host"),
            (CountingItself, r"CountingItself keeps .updates on the host"),
            (Adapting, r"Adapting keeps param_groups\[0\]\['betas'\]\[0\] on the host"),
            (torch.optim.Adam, r"torch.optim.adam.Adam keeps state\[0\]\['step'\].*capturable=True"),
        ):
            with self.subTest(kind.__name__):
                net = a_net()
                optimizer = kind(net.parameters())
                for each in net.parameters():
                    each.grad = torch.ones_like(each)
                optimizer.step()
                values = HostValues(torch, (net, optimizer))
                values.look()
                optimizer.step()
                with self.assertRaisesRegex(lull.Error, words):
                    values.look()

    def test_that_is_refused_has_the_values_of_before(self):
        net = a_net()
        for optimizer in (CountingAGroup(net.parameters()), CountingForAll(net.parameters())):
            for steps in (0, 1):
                for _ in range(steps):
                    optimizer.step()
                was = [dict(group) for group in optimizer.param_groups], dict(optimizer.state)
                kept = Kept(torch, (optimizer,))
                optimizer.step()
                kept.put_back()
                self.assertEqual((optimizer.param_groups, dict(optimizer.state)), was)

    def test_whose_host_values_stay_is_taken(self):
        net = a_net()
        for optimizer in (Constant(net.parameters()), torch.optim.SGD(net.parameters(), 0.1, momentum=0.9)):
            for each in net.parameters():
                each.grad = torch.ones_like(each)
            values = HostValues(torch, (optimizer,))
            for _ in range(2):
                optimizer.step()
                values.look()


class AModule(unittest.TestCase):
    def test_that_counts_its_runs_is_told(self):
        class Annealed(torch.nn.Linear):
            runs, longest, is_warm = 0, 0, False

            def forward(self, x):
                self.runs, self.longest, self.is_warm = self.runs + 1, 8, True
                return super().forward(x) * 0.9**self.runs

        net = torch.nn.Sequential(torch.nn.Linear(4, 4), Annealed(4, 2))
        values, told = HostValues(torch, (net, net[1])), []
        for _ in range(3):
            net(torch.zeros(1, 4))
            values.look()
            told.append(values.counting)
        self.assertEqual(told[1:], [["Sequential.1.runs", "Annealed.runs"]] * 2)


class AModuleThatExchanges(unittest.TestCase):
    def test_is_refused_where_there_are_other_ranks(self):
        class FSDPModule:
            pass

        class FSDPLinear(FSDPModule, torch.nn.Linear):
            pass

        net = torch.nn.Sequential(torch.nn.Linear(2, 2), FSDPLinear(2, 2))
        wrapped = torch.nn.Module()
        wrapped.inner = torch.nn.parallel.DistributedDataParallel.__new__(torch.nn.parallel.DistributedDataParallel)
        torch.nn.Module.__init__(wrapped.inner)
        for ranks, is_refused in ((1, False), (2, True)):
            with (
                mock.patch.object(torch.distributed, "is_initialized", lambda: True),
                mock.patch.object(torch.distributed, "get_world_size", lambda ranks=ranks: ranks),
            ):
                refuse_exchanges(torch, (a_net(), torch.optim.SGD(a_net().parameters(), 0.1), torch.zeros(1)))
                for part, name in ((net, "FSDPLinear"), (wrapped, "DistributedDataParallel")):
                    with self.assertRaisesRegex(lull.Error, name) if is_refused else contextlib.nullcontext():
                        refuse_exchanges(torch, (part,))
        refuse_exchanges(torch, (net, wrapped))  # without a process group


class Gradients(unittest.TestCase):
    def step(self, net):
        net(torch.ones(3, 4)).sum().backward()

    def test_that_are_added_to_are_as_before(self):
        """Also where the parameters are an optimizer's alone."""
        for parts_of in (lambda net: (net,), lambda net: tuple(net.parameters()), self.optimizer_of):
            net = a_net()
            self.step(net)
            gradients = [each.grad for each in net.parameters()]
            was = [each.clone() for each in gradients]
            kept = Kept(torch, parts_of(net))
            self.step(net)
            self.assertFalse(torch.equal(gradients[0], was[0]))
            kept.begin()
            self.assertTrue(all(torch.equal(a, b) for a, b in zip(gradients, was)))
            self.step(net)
            net.zero_grad(set_to_none=True)
            self.step(net)
            kept.put_back()
            for each, gradient, value in zip(net.parameters(), gradients, was):
                self.assertIs(each.grad, gradient)
                self.assertTrue(torch.equal(gradient, value))

    def optimizer_of(self, net):
        return (torch.optim.SGD(net.parameters(), 0.1),)

    def test_that_are_made_begin_at_zero(self):
        """A step that only adds to them would begin with those of its warm-ups."""
        net = a_net()
        kept = Kept(torch, (net,))
        for _ in range(3):
            self.step(net)
        kept.begin()
        self.assertTrue(all(each.grad.eq(0).all() for each in net.parameters()))
        kept.put_back()
        self.assertTrue(all(each.grad is None for each in net.parameters()))


class Rotary(torch.nn.Module):
    """As those of transformers: tables that are made when they are first needed, and stay."""

    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(4))
        self.table = None

    def forward(self, x):
        if self.table is None:
            self.table = torch.arange(4.0).cos()
        return (x * self.table * self.weight).sum()


class AFirstRun(unittest.TestCase):
    """What it makes for good is not in memory that gives way."""

    def first_run(self, step, state):
        said, memories = [], []

        class Memory:
            def __init__(self, *_):
                memories.append(self)

            @contextlib.contextmanager
            def in_use(self):
                said.append("in use")
                yield
                said.append("left")

            def release(self):
                said.append("released")

        one = Captured.__new__(Captured)
        one._torch, one.device, one._kept = torch, 0, Kept(torch, state)
        one._asked = types.SimpleNamespace(step=lambda: (said.append("run"), step())[1], state=state)
        stream = types.SimpleNamespace(synchronize=lambda: said.append("synchronized"))
        with (
            mock.patch.object(captured_step, "StepMemory", Memory),
            mock.patch.object(captured_step, "refuse_elsewhere", lambda *_: said.append("looked where")),
        ):
            one._run_first(HostValues(torch, state), stream)
        self.assertEqual(len(memories), 1)
        return said

    def test_keeps_what_modules_make_and_drops_the_rest(self):
        rotary = Rotary()
        optimizer = torch.optim.Adam(rotary.parameters())
        was = rotary.weight.detach().clone()

        def step():
            loss = rotary(torch.ones(4))
            loss.backward()
            optimizer.step()
            return loss

        said = self.first_run(step, (rotary, optimizer))
        self.assertEqual(said, ["in use", "run", "left", "looked where", "synchronized", "released"])
        self.assertIsNotNone(rotary.table)
        self.assertTrue(torch.equal(rotary.weight, was))
        self.assertEqual((len(optimizer.state), rotary.weight.grad), (0, None))


class RandomNumbersOfTheHost(unittest.TestCase):
    def draws(self):
        return torch.rand(3).tolist(), random.random(), numpy.random.rand(), torch.randint(100, (2,)).tolist()

    def test_are_put_back_and_told(self):
        for seed in (1, 2):
            torch.manual_seed(seed)
            random.seed(seed)
            numpy.random.seed(seed)
            numpy.random.standard_normal()  # it keeps another
            kept = HostRandom(torch)
            self.assertEqual(kept.moved(), [])
            first = self.draws(), numpy.random.standard_normal()
            self.assertEqual(kept.moved(), ["torch", "random", "numpy.random"])
            kept.put_back()
            self.assertEqual(kept.moved(), [])
            self.assertEqual((self.draws(), numpy.random.standard_normal()), first)

    def test_of_numpy_are_not_looked_at_where_nobody_has_it(self):
        with mock.patch.dict(sys.modules):
            del sys.modules["numpy.random"]
            kept = HostRandom(torch)
            random.random()
            self.assertEqual(kept.moved(), ["random"])
            kept.put_back()


class ALoader(unittest.TestCase):
    def loader(self, **options):
        return torch.utils.data.DataLoader(range(20), **{"batch_size": 4, "shuffle": True, **options})

    def of(self, loader, seed=5):
        return [batch.tolist() for batch in batches_of(torch, loader, seed)]

    def test_without_a_generator_draws_nothing_of_the_programs(self):
        data = torch.utils.data
        for options in (
            {},
            {"num_workers": 1},
            {"sampler": data.WeightedRandomSampler([1.0] * 20, 20), "shuffle": False},
            {"sampler": data.SubsetRandomSampler(range(12)), "shuffle": False},
            {
                "batch_sampler": data.BatchSampler(data.RandomSampler(range(20)), 3, True),
                "batch_size": 1,
                "shuffle": None,
            },
            {"shuffle": False},
        ):
            with self.subTest(options):
                loader, before = self.loader(**options), HostRandom(torch)
                attributes = dict(vars(loader))
                first, again, other = self.of(loader), self.of(loader), self.of(loader, seed=6)
                self.assertEqual((before.moved(), first), ([], again))
                self.assertEqual(first == other, options == {"shuffle": False})
                self.assertEqual(vars(loader), attributes)

    def test_with_a_generator_draws_from_it(self):
        generator = torch.Generator()
        generator.manual_seed(3)
        expected = [batch.tolist() for batch in self.loader(generator=generator)]
        generator.manual_seed(3)
        self.assertEqual(self.of(self.loader(generator=generator)), expected)

    def test_whose_workers_persist_stays_the_programs(self):
        loader = self.loader(num_workers=1, persistent_workers=True)
        iter(loader)
        workers = loader._iterator
        self.assertEqual(len(self.of(loader)), 5)
        self.assertIs(loader._iterator, workers)
        self.assertEqual(len(list(loader)), 5)

    def test_is_any_other_feed(self):
        self.assertEqual(list(batches_of(torch, (1, 2), 5)), [1, 2])


if __name__ == "__main__":
    unittest.main()
