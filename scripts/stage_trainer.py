# SPDX-License-Identifier: Apache-2.0
"""The trainer that measure_stage.py measures: a GPT stage in PyTorch, as stage 0 of a pipeline that has no others."""

import contextlib
import ctypes
import os
import signal
import sys

WAIT = "wait"  # no side work: what a pending wait of the program's own costs
STAGES, MICROBATCHES = 4, 8
GROUP = 2  # steps
HEAD_START_MS = 10  # lets the host run ahead of the device, as a trainer's does


def no_bubble(_):
    return contextlib.nullcontext()


class ForeignWait:
    """A stream of the program that always has a wait pending, as NCCL's own streams do."""

    def __init__(self, torch):
        self._torch = torch
        self._stream, self._event = torch.cuda.Stream(), torch.cuda.Event()
        self._word = torch.zeros(1, device="cuda")
        self.on = False

    def renew(self):
        if not self.on:
            return
        self._event.record()
        self._stream.wait_event(self._event)
        with self._torch.cuda.stream(self._stream):
            self._word.add_(1)


def add_size(parser):
    """Of the stage: --layers, --batch (sequences of a micro-batch), --tokens (of a sequence), --width."""
    for name, value in (("layers", 6), ("batch", 3), ("tokens", 1024), ("width", 2048)):
        parser.add_argument(f"--{name}", type=int, default=value)


def on_gpu(program, given):
    """torch, lull and a trainer. The process ends after so many seconds as `given.limit` says, and now where there is
    no GPU."""
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(given.limit)
    import lull
    import torch

    if not torch.cuda.is_available():
        sys.exit(f"{program}: NOT RUN: torch finds no GPU")
    return torch, lull, Trainer(torch, given)


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
            parts = (
                part.view(rows, tokens, heads, width // heads).transpose(1, 2)
                for part in self.qkv(self.before(x)).chunk(3, -1)
            )
            attended = functional.scaled_dot_product_attention(*parts, is_causal=True)
            x = x + self.out(attended.transpose(1, 2).reshape(rows, tokens, width))
            return x + self.down(functional.gelu(self.up(self.between(x))))

    return torch.nn.Sequential(*[Block() for _ in range(layers)])


def wall_clock_wait(torch, path):
    """A function that enqueues a wait of so many milliseconds by the clock on the wall. `path`: libstage_wait.so."""
    library = ctypes.CDLL(os.path.abspath(path))
    library.lull_bench_wait.argtypes = [ctypes.c_void_p, ctypes.c_uint64]

    def wait(ms):
        if library.lull_bench_wait(torch.cuda.current_stream().cuda_stream, int(ms * 1e6)) != 0:
            sys.exit("stage_trainer.py: the wait could not be enqueued")

    return wait


class Trainer:
    """Stage 0 of a pipeline that has no other stages: it waits as long as they would take."""

    def __init__(self, torch, given):
        torch.manual_seed(0)
        self._torch = torch
        self.wait = wall_clock_wait(torch, given.wait)
        self._stage = make_stage(torch, given.layers, given.width).cuda().to(torch.bfloat16)
        self._optimizer = torch.optim.AdamW(self._stage.parameters(), 1e-5, fused=True)
        shape = (given.batch, given.tokens, given.width)
        self._input = torch.randn(shape, device="cuda", dtype=torch.bfloat16)
        self._gradient = torch.randn(shape, device="cuda", dtype=torch.bfloat16)
        self.foreign = ForeignWait(torch)
        self.wait(0)
        for _ in range(3):
            self._backward(self._forward())
            self._update()
        self.forward_ms, self.backward_ms = self._times()
        self.idle_ms = (STAGES - 1) * self.backward_ms + (STAGES - 1) * self.forward_ms  # of a step

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

    def groups(self, kinds):
        """Milliseconds a step, for each group of steps. A group's kind is what its bubbles are made with; or WAIT:
        without bubbles, beside a foreign wait. No pause stands between two groups."""
        cuda = self._torch.cuda
        marks = []

        def mark():
            marks.append(cuda.Event(enable_timing=True))
            marks[-1].record()

        self.wait(HEAD_START_MS)
        mark()
        always = self.foreign.on
        for kind in kinds:
            self.foreign.on = always or kind == WAIT
            for _ in range(GROUP):
                self.step(no_bubble if kind == WAIT else kind)
            mark()
        self.foreign.on = always
        cuda.synchronize()
        return [begin.elapsed_time(end) / GROUP for begin, end in zip(marks, marks[1:])]

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
        cuda = self._torch.cuda
        marks = [cuda.Event(enable_timing=True) for _ in range(3)]
        cuda.synchronize()
        self.wait(HEAD_START_MS)
        marks[0].record()
        made = self._forward()
        marks[1].record()
        self._backward(made)
        marks[2].record()
        cuda.synchronize()
        return marks[0].elapsed_time(marks[1]), marks[1].elapsed_time(marks[2])
