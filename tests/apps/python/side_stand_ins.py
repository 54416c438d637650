# SPDX-License-Identifier: Apache-2.0
"""Stand-ins for torch, a captured step and the calls of the C library that a side step's job makes, for tests of the
thread that serves it. Their tensors are lists of numbers."""

import contextlib
import math
import sys
import time
import types
import unittest
from unittest import mock

import lull
from lull import step_feeder
from lull.captured_step import SLOTS
from lull.job import GraphJob, Job
from lull.streams import LentStreams

SIDE_STEP = sys.modules["lull.side_step"]  # the package has a function of that name


class Tensor:
    """A number of a slot, or as many as there are slots."""

    dtype, device, shape = "float32", types.SimpleNamespace(type="cuda"), ()

    def __init__(self, values):
        self.values = values

    def __getitem__(self, slot):
        return Row(self.values, slot)

    def numel(self):
        return len(self.values)

    def element_size(self):
        return 4


class Row:
    def __init__(self, values, slot=0):
        self.values, self.slot = values, slot

    def copy_(self, other, non_blocking):
        self.values[self.slot] = float(other)

    def clone(self):
        return Row([float(self)])

    def __float__(self):
        return float(self.values[self.slot])

    def numel(self):
        return 1

    def isnan(self):
        return types.SimpleNamespace(item=lambda: math.isnan(float(self)))


class Stream:
    """Waits for nothing."""

    def __init__(self, pointer=0, device=0):
        self.pointer = pointer

    def synchronize(self):
        pass

    def wait_stream(self, other):
        pass


TORCH = types.SimpleNamespace(
    cuda=types.SimpleNamespace(
        device=lambda _: contextlib.nullcontext(),
        stream=lambda _: contextlib.nullcontext(),
        current_stream=lambda *_: Stream(),
        ExternalStream=Stream,
    ),
    inference_mode=lambda _: contextlib.nullcontext(),
    Tensor=Tensor,
    empty_like=lambda tensor, device, pin_memory: Tensor(list(tensor.values)),
)


class Captured:
    """A step that returns its number, or what `returns` says."""

    def __init__(self, asked, device, graph_stream):
        self.device, self.done, self.is_saved = device, 0, asked.checkpoint is not None
        self.slots_in, self.slots_out = [], [Tensor([0.0] * SLOTS)]
        self.graph = types.SimpleNamespace(raw_cuda_graph=lambda: 1)
        self.saves, self.is_released, self.is_undone, self.save_raises = [], False, False, None
        self.begun, self.memory, self.seed = 0, None, 7

    def copy_state(self, steps):
        self.copied = steps

    def write(self):
        if self.save_raises is not None:
            raise self.save_raises
        self.saves.append(self.copied)

    def submitted(self):
        pass

    def begin(self):
        self.begun += 1

    def undo(self):
        self.is_undone = True

    def release(self):
        self.is_released = True


def standing_in(captured=Captured):
    """Patches, for torch and the captured step."""
    return (
        mock.patch.object(step_feeder, "torch_with_cuda", lambda: TORCH),
        mock.patch.object(step_feeder, "lend_copy_stream", lambda _: LENT.lend(lambda: 1)),
        mock.patch.object(SIDE_STEP, "Captured", captured),
    )


LENT = LentStreams()
KEPT = []  # jobs that were submitted


class Library:
    """What the C library would say of the job: it runs steps when the test says so."""

    def __init__(self, steps):
        self.steps, self.rounds, self.fed, self.state = steps, 0, 1, "placed"
        self.holds, self.is_evicted = 0, False

    def hold(self, seconds):
        self.holds += 0 if self.is_evicted else 1
        return not self.is_evicted

    def let_go(self):
        self.holds -= 1

    def status(self):
        return {"state": self.state, "round": self.rounds}

    def feed(self, fed):
        self.fed = fed

    def cancel(self):
        if self.state not in ("finished", "failed"):
            self.state = "cancelled"

    def wait(self, seconds):
        return self.state in ("finished", "failed", "cancelled")


class JobCase(unittest.TestCase):
    """A job of a side step that runs steps when the test says so."""

    def submit(self, steps=10, returns=lambda step: step, **options):
        if "every" in options or "checkpoint" in options:
            options = {"checkpoint": "step.pt", "state": [object()], **options}
        asked = lull.side_step(lambda: None, steps=steps, **options)
        self.library = library = Library(steps)
        self.returns = returns
        for patch in (
            *standing_in(),
            mock.patch.object(Job, "status", library.status),
            mock.patch.object(Job, "cancel", library.cancel),
            mock.patch.object(Job, "wait", library.wait),
            mock.patch.object(GraphJob, "feed", library.feed),
            mock.patch.object(Job, "hold", library.hold),
            mock.patch.object(Job, "let_go", library.let_go),
        ):
            patch.start()
            self.addCleanup(patch.stop)
        made = mock.Mock(task="step")
        job = lull.StepJob(lambda *_, **__: made, lambda: 0, asked, 0, 0, None, KEPT.append)
        self.captured = job._feeder.captured
        self.addCleanup(job._feeder.stop)
        return job

    def run_steps(self, job, count):
        """As many steps, each when it is fed; what they return lies in its slot."""
        for _ in range(count):
            self.wait_for(lambda: self.library.fed > self.library.rounds)
            step = self.library.rounds
            self.captured.slots_out[0].values[step % SLOTS] = self.returns(step)
            self.library.rounds += 1
            if self.library.rounds == self.library.steps:
                self.library.state = "finished"

    def wait_for(self, so):
        deadline = time.monotonic() + 10  # against hangs only
        while not so():
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.0005)

    def numbers(self, outputs):
        return [float(each) for (each,) in outputs]

    def fed_by(self, batches, **options):
        """Its batches are empty, since the stand-in has no inputs."""
        return self.submit(inputs=[object()], feed=batches, **options)

    def over(self, job):
        self.wait_for(lambda: job.wait(0))
        return True
