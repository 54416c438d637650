# SPDX-License-Identifier: Apache-2.0
"""What is around the capture of a step, with stand-ins for torch: which torch is refused, what a failed capture leaves,
and steps without random numbers."""

import contextlib
import inspect
import itertools
import re
import threading
import types
import unittest
from unittest import mock

import lull
from lull import captured_step
from lull.captured_step import Captured
from lull.side_step import StepJob
from lull.step_checkpoint import Checkpoint
from lull.step_feeder import Feeder
from lull.step_memory import StepMemory, capturing, refuse_unfit
from lull.step_numbers import Numbers
from lull.step_state import Kept
from lull.streams import LentStreams


class ATorch(unittest.TestCase):
    def torch(self, version="2.8.0", backend="native", *, graph=("raw_cuda_graph",), cuda=("MemPool",)):
        return types.SimpleNamespace(
            __version__=version,
            cuda=types.SimpleNamespace(
                CUDAGraph=type("CUDAGraph", (), dict.fromkeys(graph)),
                get_allocator_backend=lambda: backend,
                **dict.fromkeys(cuda),
            ),
        )

    def test_that_keeps_graphs_is_taken(self):
        refuse_unfit(self.torch())

    def test_that_is_too_old_is_refused(self):
        for lacks in ({"graph": ()}, {"cuda": ()}):
            with self.assertRaisesRegex(lull.Error, "a side step needs torch 2.8 or newer; this is 2.7.1"):
                refuse_unfit(self.torch("2.7.1", **lacks))

    def test_with_another_allocator_is_refused(self):
        with self.assertRaisesRegex(lull.Error, "this is cudaMallocAsync: take backend: out of PYTORCH_CUDA_ALLOC"):
            refuse_unfit(self.torch(backend="cudaMallocAsync"))


class Graph:
    """Does as torch's: what its allocator was told is in `allocator`."""

    def __init__(self, allocator, fails=()):
        self.allocator, self.fails = allocator, fails

    def capture_begin(self, pool, capture_error_mode):
        self.allocator.begun.append(pool)
        if "begin" in self.fails:
            raise RuntimeError("no capture")

    def capture_end(self):
        if "end" in self.fails:
            raise RuntimeError("operation failed due to a previous error during capture")
        self.allocator.end(0, self.allocator.begun[-1])


class Allocator:
    def __init__(self):
        self.begun, self.released = [], []
        self.torch = types.SimpleNamespace(
            _C=types.SimpleNamespace(_cuda_endAllocateToPool=self.end, _cuda_releasePool=self.release)
        )

    def end(self, device, pool):
        if pool not in self.begun:
            raise RuntimeError("not currently recording to mempool_id")
        self.begun.remove(pool)

    def release(self, device, pool):
        self.released.append(pool)


class ACapture(unittest.TestCase):
    def capture(self, fails=(), step=lambda: None):
        self.allocator = Allocator()
        with capturing(self.allocator.torch, Graph(self.allocator, fails), 0, (0, 7)):
            step()

    def test_that_succeeds_is_torchs_to_release(self):
        self.capture()
        self.assertEqual((self.allocator.begun, self.allocator.released), ([], []))

    def test_whose_step_fails_raises_that_and_ends(self):
        with self.assertRaises(ZeroDivisionError):
            self.capture(step=lambda: 1 // 0)
        self.assertEqual((self.allocator.begun, self.allocator.released), ([], []))  # reset() of the graph releases it

    def test_that_became_invalid_ends_in_the_allocator_too(self):
        with self.assertRaises(ZeroDivisionError):
            self.capture(("end",), lambda: 1 // 0)
        self.assertEqual((self.allocator.begun, self.allocator.released), ([], [(0, 7)]))
        for where in ("end", "begin"):
            with self.assertRaises(RuntimeError):
                self.capture((where, "end"))
            self.assertEqual((self.allocator.begun, self.allocator.released), ([], [(0, 7)]))


class Generator:
    """Of the device, and a state of its own at once."""

    def __init__(self):
        self.current, self.seed, self.offset = self, 17, 4

    def graphsafe_get_state(self):
        return self.current

    def graphsafe_set_state(self, state):
        self.current = state

    def clone_state(self):
        return Generator()

    def manual_seed(self, seed):
        self.current.seed, self.current.offset = seed, 0

    def initial_seed(self):
        return self.current.seed

    def set_offset(self, offset):
        self.current.offset = offset

    def get_offset(self):
        return self.current.offset


class RandomNumbers(unittest.TestCase):
    """Where the words that hold them in graphs were not found."""

    def increment_of(self, drawn):
        generator = Generator()
        torch = types.SimpleNamespace(cuda=types.SimpleNamespace(default_generators=[generator]))
        numbers = Numbers(torch, 0, 5)

        def replay():
            generator.set_offset(generator.get_offset() + drawn)

        with numbers.in_use():
            numbers.advance()
            increment = numbers.increment_of(
                types.SimpleNamespace(replay=replay), types.SimpleNamespace(synchronize=lambda: None)
            )
            numbers.begin(increment, 3)
            self.assertEqual(numbers.seed, 5)
        self.assertEqual((generator.initial_seed(), generator.get_offset()), (17, 4))
        return increment

    def test_a_step_without_any_runs(self):
        self.assertEqual(self.increment_of(0), 0)

    def test_a_step_with_some_is_refused(self):
        with self.assertRaisesRegex(lull.Error, "take dropout and the like out of the step"):
            self.increment_of(8)


class Stream:
    def __init__(self, pointer, device):
        self.cuda_stream = pointer

    def synchronize(self):
        pass


class ItsStream(unittest.TestCase):
    """Where steps are captured: cuBLAS works in memory that torch keeps a stream."""

    def setUp(self):
        made = itertools.count(0x1000)
        self.runtime = lull.Runtime(executor="threads")
        self.addCleanup(self.runtime.close)
        self.runtime.graph_stream = lambda: next(made)
        cuda = types.SimpleNamespace(
            CUDAGraph=types.SimpleNamespace(raw_cuda_graph=None),
            MemPool=None,
            get_allocator_backend=lambda: "native",
            current_stream=lambda device: None,
            device=lambda device: contextlib.nullcontext(),
            ExternalStream=Stream,
        )
        distributed = types.SimpleNamespace(is_available=lambda: False)
        torch = types.SimpleNamespace(
            cuda=cuda, device=lambda *_: None, OutOfMemoryError=MemoryError, distributed=distributed
        )
        patch = mock.patch.object(captured_step, "torch_with_cuda", lambda: torch)
        patch.start()
        self.addCleanup(patch.stop)

    def captured(self, capture=lambda *_: None):
        with mock.patch.object(Captured, "_capture_on", capture):
            one = Captured(lull.side_step(lambda: None, steps=5), 0, self.runtime._lend_graph_stream)
        one.stream = Stream(1, 0)
        return one

    def stream_of(self, one):
        return one._lent.pointer

    def test_is_no_other_live_steps(self):
        many = [self.captured() for _ in range(100)]
        self.assertEqual(len({self.stream_of(each) for each in many}), 100)

    def test_is_the_next_steps_when_it_is_over(self):
        first, second = self.captured(), self.captured()
        streams = {self.stream_of(first), self.stream_of(second)}
        first.release()
        first.release()  # twice: it must not be lent to two
        third, fourth = self.captured(), self.captured()
        self.assertEqual(self.stream_of(third), self.stream_of(first))
        self.assertNotIn(self.stream_of(fourth), streams)
        second.undo()
        self.assertEqual(self.stream_of(self.captured()), self.stream_of(second))

    def test_is_the_next_steps_where_its_capture_failed(self):
        lent = []

        def fail(one, stream, caller):
            lent.append(stream.cuda_stream)
            one.stream = stream
            one.undo()
            raise RuntimeError(["no", "cuDNN"][len(lent) % 2])

        again = mock.patch.object(captured_step, "on_another_thread", lambda torch, stream, work: work())
        for _ in range(2):  # of cuDNN: captured once more, on another thread
            with again, self.assertRaises(RuntimeError):
                self.captured(fail)
        self.assertEqual(len(lent), 4)
        self.assertEqual({*lent, self.stream_of(self.captured())}, {0x1000})

    def test_stays_lent_where_a_segment_may_still_run(self):
        left = self.captured()
        with mock.patch.object(Stream, "synchronize", side_effect=RuntimeError("lost")):
            with self.assertLogs("lull", "WARNING"):
                left.undo()
        self.assertNotEqual(self.stream_of(self.captured()), self.stream_of(left))

    def test_is_asked_for_by_several_threads(self):
        lent, streams = LentStreams(), []

        def use():
            for _ in range(200):
                one = lent.lend(object)
                streams.append(one.pointer)
                one.give_back()

        threads = [threading.Thread(target=use) for _ in range(4)]
        for each in threads:
            each.start()
        for each in threads:
            each.join(20)
        self.assertLessEqual(len(set(streams)), 4)


class EachClass(unittest.TestCase):
    def test_has_the_methods_that_it_calls(self):
        """Most of them run on a GPU alone."""
        for each in (Captured, Checkpoint, Feeder, Kept, Numbers, StepJob, StepMemory):
            for name in set(re.findall(r"self\.(\w+)\(", inspect.getsource(each))):
                self.assertTrue(hasattr(each, name), f"{each.__name__}.{name}")


if __name__ == "__main__":
    unittest.main()
