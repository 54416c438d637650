# SPDX-License-Identifier: Apache-2.0
"""torch_side_turns_test.py: PyTorch steps that bubbles run by turns, a kernel a piece, on a GPU: their products are
split, so a step may be left between a product and the sum of its parts. What each returns has the bits of plain
replays. Exit code 77: it could not be run here."""

import itertools
import random
import sys
import threading
import time
import unittest

import lull
from any_bubble import ANY_BUBBLE
from lull.captured_step import SLOTS, Captured
from torch_capture_test import why_not
from torch_two_gpus_test import SKIPPED

DEPTH = 65536  # of the products, which have 64 rows and columns
MIB = 1 << 20  # elements of 4 bytes: as large as what is cleared, or less


class Products:
    """A step of so many split products, each of what the one before gave."""

    def __init__(self, torch, seed, count, dropout=0.0):
        draw = torch.Generator("cuda").manual_seed(seed)
        self.torch, self.seed, self.count, self.dropout = torch, seed, count, dropout
        self.left = torch.randn(64, DEPTH, device="cuda", generator=draw)
        self.right = torch.randn(DEPTH, 64, device="cuda", generator=draw)
        self.bias = torch.randn(64, device="cuda", generator=draw)
        self.x = torch.zeros(1, device="cuda")

    def __call__(self):
        torch = self.torch
        with torch.no_grad():
            y = torch.mm(self.left + self.x, self.right)
            for number in range(self.count):
                left = torch.nn.functional.dropout(self.left + self.x * 0.5, self.dropout)
                product = torch.addmm(self.bias, left, self.right) if number % 2 else torch.mm(left, self.right)
                y = product + y * 0.25
            return y

    def batch(self, number):
        return (self.torch.full((1,), float((number + self.seed) % 17)),)

    def asked(self, feed, steps=10**6):
        return lull.side_step(
            self, steps=steps, inputs=(self.x,), feed=feed, segment=5e-6, node_limit=2e-3, hint=False, seed=self.seed
        )

    def plainly(self, steps):
        """What ordinary replays of the same captured step return, on the host."""
        torch, found = self.torch, []
        with lull.Runtime(executor="cuda") as side:
            captured = Captured(self.asked(iter([self.batch(0)])), 0, side._lend_graph_stream)
            with captured._numbers.in_use(), torch.cuda.stream(torch.cuda.Stream()):
                torch.cuda.default_generators[0].set_offset(0)
                for number in range(steps):
                    captured.slots_in[0][number % SLOTS].copy_(self.batch(number)[0])
                    captured.graph.replay()
                    found.append(captured.slots_out[0][number % SLOTS].cpu())
            torch.cuda.synchronize()
            captured.release()
        return found


class Turns(unittest.TestCase):
    def setUp(self):
        import torch

        self.torch = torch
        matmul = torch.backends.cuda.matmul  # other files share the process
        self.addCleanup(setattr, matmul, "allow_tf32", matmul.allow_tf32)
        matmul.allow_tf32 = False
        self.a = torch.randn(1024, 1024, device="cuda")
        self.chosen = random.Random(3)

    def train(self, side, until, seconds, also=lambda: None):
        end = time.monotonic() + seconds
        while not until():
            self.assertLess(time.monotonic(), end, [job.status() for job in side.jobs])
            for _ in range(10):
                self.torch.mm(self.a, self.a)
                also()
                with side.bubble("gap"):
                    self.torch.cuda._sleep(self.chosen.randrange(60_000, 900_000))
            self.torch.cuda.synchronize()

    def outputs_by_turns(self, works, steps, also=lambda: None, once=lambda: None):
        """All but the last come first, and starve now and then: they run so many steps. Of three one is
        always paused. `once`: in their midst. What each returned."""
        ended = threading.Event()

        def feed(work, longest_s):
            chosen = random.Random(work.seed)
            for number in itertools.count():
                time.sleep(chosen.random() * longest_s)
                if ended.is_set():
                    return
                yield work.batch(number)

        with lull.harvest(tasks=[], executor="cuda", tuning=ANY_BUBBLE, bracket_waits=False) as side:
            jobs = []
            for number, work in enumerate(works):
                is_last = number == len(works) - 1
                asked = work.asked(feed(work, 0 if is_last else 0.004))
                jobs.append(side.submit(asked, priority=0 if is_last else 5 + number, name=f"step{number}"))
            turns = itertools.count()

            def take_turns():
                also()
                turn = next(turns)
                if len(works) > 2 and turn % 100 == 0:  # there are two places
                    jobs[turn // 100 % 2].pause()
                    jobs[1 - turn // 100 % 2].resume()

            self.train(side, lambda: min(job.rounds() for job in jobs[:-1] or jobs) >= steps // 2, 25, take_turns)
            once()
            self.train(side, lambda: min(job.rounds() for job in jobs[:-1] or jobs) >= steps, 25, take_turns)
            for job in jobs:
                job.resume()
            ended.set()
            self.train(side, lambda: all(job.wait(0) for job in jobs), 10, also)
            return [[value for (value,) in job.outputs()] for job in jobs]

    def assert_plain(self, works, outputs):
        for number, (work, found) in enumerate(zip(works, outputs, strict=True)):
            plain = work.plainly(len(found))
            wrong = [at for at, (one, other) in enumerate(zip(found, plain)) if not self.torch.equal(one, other)]
            self.assertEqual(wrong, [], f"of the {len(found)} outputs of step {number}")
            self.assertGreater(len(found), 50)

    def test_of_one_are_those_of_plain_replays(self):
        works = [Products(self.torch, 2, 8)]
        self.assert_plain(works, self.outputs_by_turns(works, 300))

    def test_of_two(self):
        works = [Products(self.torch, 1, 3), Products(self.torch, 2, 8)]
        self.assert_plain(works, self.outputs_by_turns(works, 600))

    def test_of_three(self):
        works = [Products(self.torch, seed, count) for seed, count in ((1, 3), (3, 2), (2, 8))]
        self.assert_plain(works, self.outputs_by_turns(works, 300))

    def test_of_two_with_dropout(self):
        works = [Products(self.torch, 1, 3, dropout=0.2), Products(self.torch, 2, 6, dropout=0.3)]
        self.assert_plain(works, self.outputs_by_turns(works, 300))

    def programs_graph(self):
        """Replays it, and counts how often it gave something else than at first."""
        torch, work, wrong = self.torch, Products(self.torch, 9, 2), self.torch.zeros(1, device="cuda")
        side_stream = torch.cuda.Stream()
        side_stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side_stream):
            work()
        torch.cuda.current_stream().wait_stream(side_stream)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            y = work()
        graph.replay()
        first = y.clone()

        def replay():  # `work` stays: the graph reads its tensors
            graph.replay()
            assert work is not None
            wrong.add_((y != first).any())

        return replay, wrong

    def test_beside_a_graph_of_the_programs_own(self):
        replay, wrong = self.programs_graph()
        works = [Products(self.torch, 1, 3), Products(self.torch, 2, 8)]
        outputs = self.outputs_by_turns(works, 200, also=replay)
        self.assertEqual(wrong.item(), 0)
        self.assert_plain(works, outputs)

    def test_where_the_program_clears_what_cublas_works_in(self):
        """torch.compile does so, for graphs of its own. What was cleared is then taken by others, and written."""
        torch, taken = self.torch, []

        def clear():
            torch._C._cuda_clearCublasWorkspaces()
            taken.extend(torch.full((MIB,), float("nan"), device="cuda") for _ in range(64))

        def write():
            for values in taken:
                values.fill_(float("nan"))

        works = [Products(torch, 1, 3), Products(torch, 2, 8)]
        self.assert_plain(works, self.outputs_by_turns(works, 200, also=write, once=clear))


if __name__ == "__main__":
    if reason := why_not():
        print(f"not run: {reason}")
        sys.exit(SKIPPED)
    unittest.main()
