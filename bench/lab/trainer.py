# SPDX-License-Identifier: Apache-2.0
"""The trainers that are measured: what they share, and a GPT stage in PyTorch that stands for a pipeline's."""

import contextlib
import ctypes
import dataclasses
import math
import os

from lab import NotRun, torch
from lab.treatment import ALONE, Treatment

STAGES, MICROBATCHES = 4, 8
GROUP = 2  # steps of a stage
HEAD_START_MS = 10  # lets the host run ahead of the device, as a trainer's does


class Trainer:
    """A trainer says how it runs some steps with a treatment (`steps`), and what comes before the first group
    (`begin`)."""

    group = GROUP

    def mark(self):
        event = torch.cuda.Event(enable_timing=True)
        event.record()
        return event

    def synchronize(self):
        torch.cuda.synchronize()

    def groups(self, treatments):
        """Milliseconds a step of each group. No pause stands between two."""
        self.begin()
        marks = [self.mark()]
        for treatment in treatments:
            with treatment.around():
                self.steps(treatment, self.group)
            marks.append(self.mark())
        self.synchronize()
        return [begin.elapsed_time(end) / self.group for begin, end in zip(marks, marks[1:])]


@dataclasses.dataclass
class Size:
    """Of a stage: `batch` sequences of a micro-batch, `tokens` of a sequence; the width is a multiple of 128."""

    layers: int = 6
    batch: int = 3
    tokens: int = 1024
    width: int = 2048


class ForeignWait:
    """A stream of the program that always has a wait pending, as NCCL's own streams do."""

    def __init__(self):
        self._stream, self._event = torch.cuda.Stream(), torch.cuda.Event()
        self._word = torch.zeros(1, device="cuda")
        self.on = False

    def renew(self):
        if not self.on:
            return
        self._event.record()
        self._stream.wait_event(self._event)
        with torch.cuda.stream(self._stream):
            self._word.add_(1)

    @contextlib.contextmanager
    def pending(self):
        always, self.on = self.on, True
        yield
        self.on = always


def make_stage(torch, layers, width):
    """Transformer blocks, as one module."""
    functional = torch.nn.functional
    heads = width // 128

    class Block(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.before, self.between = torch.nn.LayerNorm(width), torch.nn.LayerNorm(width)
            self.qkv, self.out = torch.nn.Linear(width, 3 * width), torch.nn.Linear(width, width)
            self.up, self.down = torch.nn.Linear(width, 4 * width), torch.nn.Linear(4 * width, width)

        def forward(self, x):
            rows, tokens, _ = x.shape
            shape = (rows, tokens, heads, width // heads)
            parts = (part.view(shape).transpose(1, 2) for part in self.qkv(self.before(x)).chunk(3, -1))
            attended = functional.scaled_dot_product_attention(*parts, is_causal=True)
            x = x + self.out(attended.transpose(1, 2).reshape(rows, tokens, width))
            return x + self.down(functional.gelu(self.up(self.between(x))))

    return torch.nn.Sequential(*[Block() for _ in range(layers)])


def wall_clock_wait(build):
    """A function that enqueues a wait of so many milliseconds by the clock on the wall: torch.cuda._sleep counts
    cycles, which are longer where the GPU is busy."""
    library, cuda = ctypes.CDLL(os.path.abspath(f"{build}/bin/bench/libstage_wait.so")), torch.cuda
    library.lull_bench_wait.argtypes = [ctypes.c_void_p, ctypes.c_uint64]

    def wait(ms):
        if library.lull_bench_wait(cuda.current_stream().cuda_stream, int(ms * 1e6)) != 0:
            raise NotRun("the wait could not be enqueued")

    return wait


def stream_of(kind):
    """The trainer's. By default a stream has the lowest priority: nothing could be below it."""
    if kind == "legacy":
        return torch.cuda.default_stream()
    return torch.cuda.Stream(priority=torch.cuda.Stream.priority_range()[1] if kind == "high" else 0)


class FirstStage(Trainer):
    """Stage 0 of 4 in 1F1B with 8 micro-batches. It has no peers: where it would wait for one it waits by the clock on
    the wall, inside a bubble. Which stage says how long a forward and a backward take, and enqueues both."""

    def begin(self):
        self.wait(HEAD_START_MS)

    @property
    def idle_ms(self):  # of a step
        return (STAGES - 1) * (self.backward_ms + self.forward_ms)

    def step(self, bubble):
        """1F1B: as many forwards as there are stages, the wait for the first backward, then both by turns, at the
        end with waits between."""
        live = [self._forward() for _ in range(STAGES)]
        with bubble("first backward"):
            self.wait((STAGES - 1) * self.backward_ms)
        for index in range(MICROBATCHES):
            self._backward(live.pop(0))
            if STAGES + index < MICROBATCHES:
                live.append(self._forward())
            elif index < MICROBATCHES - 1:
                with bubble(f"cool-down {index - (MICROBATCHES - STAGES)}"):
                    self.wait(self.forward_ms)
        self._update()


class Stage(FirstStage):
    """A GPT (bf16, SDPA, fused AdamW)."""

    def __init__(self, build, size):
        torch.manual_seed(0)
        self.wait = wall_clock_wait(build)
        self._stage = make_stage(torch, size.layers, size.width).cuda().to(torch.bfloat16)
        self._optimizer = torch.optim.AdamW(self._stage.parameters(), 1e-5, fused=True)
        shape = (size.batch, size.tokens, size.width)
        self._input = torch.randn(shape, device="cuda", dtype=torch.bfloat16)
        self._gradient = torch.randn(shape, device="cuda", dtype=torch.bfloat16)
        self.foreign = ForeignWait()
        self.waiting = Treatment("wait", around=self.foreign.pending)  # what a wait of the program's own costs
        self.wait(0)
        for _ in range(3):
            self._backward(self._forward())
            self._update()
        self.forward_ms, self.backward_ms = self._times()

    def steps(self, treatment, count):
        for _ in range(count):
            self.step(treatment.bubble)

    def _forward(self):
        made = self._stage(self._input)
        self.foreign.renew()
        return made

    def _backward(self, made):
        made.backward(self._gradient)
        self.foreign.renew()

    def _update(self):
        self._optimizer.step()
        self._optimizer.zero_grad()
        self.foreign.renew()

    def _times(self):
        self.synchronize()
        self.wait(HEAD_START_MS)
        marks = [self.mark()]
        made = self._forward()
        marks.append(self.mark())
        self._backward(made)
        marks.append(self.mark())
        self.synchronize()
        return marks[0].elapsed_time(marks[1]), marks[1].elapsed_time(marks[2])


class ReplayedStage(FirstStage):
    """bf16 products, and one graph of an iteration a treatment: no host sets the pace. A backward is two forwards, and
    the longest wait three backwards."""

    SIZE, GROUP_MS = 1024, 20

    def __init__(self, build, longest_ms):
        torch.manual_seed(0)
        self.wait = wall_clock_wait(build)
        self._a = torch.randn((self.SIZE, self.SIZE), device="cuda", dtype=torch.bfloat16)
        self._into = torch.empty_like(self._a)
        self.forward_ms = longest_ms / (2 * (STAGES - 1))
        self.backward_ms = 2 * self.forward_ms
        self._products = 1
        self._products = max(1, round(self.forward_ms / self._product_ms()))
        step_ms = self.idle_ms + MICROBATCHES * (self.forward_ms + self.backward_ms)
        self.group = max(GROUP, math.ceil(self.GROUP_MS / step_ms))
        self._graphs, self._side = {}, None

    def capture(self, treatment, side=None):
        """`side`: each replay is a step of it."""
        self._graphs[treatment.name] = graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            self.step(treatment.bubble)
        self._side = side or self._side

    def steps(self, treatment, count):
        side = self._side if treatment.bubble is not ALONE.bubble else None
        for _ in range(count):
            if side:
                side.step()
            self._graphs[treatment.name].replay()
        if side:
            side.skip_step()  # the group alone that follows is none of it

    def _forward(self, times=1):
        for _ in range(times * self._products):
            torch.mm(self._a, self._a, out=self._into)

    def _backward(self, _):
        self._forward(2)

    def _update(self):
        pass

    def _product_ms(self, count=1000):
        self._forward(count)  # the clocks are up then
        self.begin()
        begin = self.mark()
        self._forward(count)
        end = self.mark()
        self.synchronize()
        return begin.elapsed_time(end) / count
