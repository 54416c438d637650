# SPDX-License-Identifier: Apache-2.0
"""A small pipeline-parallel training on torch.distributed.pipelining, one process a rank: what the program `pipeline`
measures and tests/apps/python/torch_two_gpus_test.py holds to the bit."""

import contextlib
import os
import subprocess
import sys

from lab import ROOT, torch
from lab.trainer import make_stage

SCHEDULES = {
    "gpipe": ("ScheduleGPipe", 1),  # class, stages a rank
    "1f1b": ("Schedule1F1B", 1),
    "interleaved": ("ScheduleInterleaved1F1B", 2),
    "zero_bubble": ("ScheduleInterleavedZeroBubble", 2),
}


def launch(arguments, count=2, limit=300):
    """Runs this program's script once a rank; the first exit code that is not 0. torchrun makes 1 of every code, and
    has no limit."""
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    os.environ.setdefault("NCCL_NVLS_ENABLE", "0")  # multicast is for collectives; the other records have none
    command = [f"{ROOT}/scripts/ranks.py", "--limit", str(limit), str(count), sys.executable, *arguments]
    return subprocess.run([sys.executable, *command], check=False).returncode


def without_lull():
    """The scope of such a training."""
    return contextlib.nullcontext()


def trained(pipeline, scope, steps):
    """All losses of so many steps in a scope of Lull's, the weights after them, and the mode and the counts of the
    scope."""
    losses = pipeline.step()  # shapes are told to each other in the first one
    with scope as side:
        for _ in range(steps):
            losses += pipeline.step()
        if pipeline.on_gpu:
            torch.cuda.synchronize()
        counts, mode = ({}, "none") if side is None else (side.counts(), side.mode)
    return (
        [loss.detach().cpu() for loss in losses],
        [weight.detach().cpu() for weight in pipeline.parameters],
        mode,
        counts,
    )


def plain_stage(torch, layers, width):
    nn, blocks = torch.nn, []
    for _ in range(layers):
        blocks += [nn.Linear(width, width), nn.GELU(), nn.LayerNorm(width)]
    return nn.Sequential(*blocks)


class Pipeline:
    """One schedule with a stack of layers split over the ranks, the same at each making. `width` is that of the
    layers, `rows` what a micro-batch has. `tokens`: the layers are a GPT's blocks, a row is a sequence of so many, and
    the optimizer is AdamW."""

    def __init__(
        self,
        schedule,
        device,
        *,
        width=2048,
        layers=16,
        rows=512,
        tokens=0,
        microbatches=8,
        learning_rate=1e-3,
        dtype="float32",
    ):
        from torch.distributed import get_rank, get_world_size, pipelining

        kind, per_rank = SCHEDULES[schedule]
        world, self.rank = get_world_size(), get_rank()
        count = world * per_rank
        self.stages, modules = [], []
        kind_of_number = getattr(torch, dtype)
        for index in range(self.rank, count, world):
            torch.manual_seed(1000 + index)
            make = make_stage if tokens else plain_stage
            modules.append(make(torch, layers // count, width).to(device, kind_of_number))
            self.stages.append(pipelining.PipelineStage(modules[-1], index, count, device))
        self.parameters = [parameter for module in modules for parameter in module.parameters()]
        if tokens:
            self.optimizer = torch.optim.AdamW(self.parameters, learning_rate, fused=device.type == "cuda")
        else:
            self.optimizer = torch.optim.SGD(self.parameters, learning_rate)
        make = getattr(pipelining.schedules, kind)
        self._schedule = make(
            self.stages if per_rank > 1 else self.stages[0],
            microbatches,
            loss_fn=lambda out, target: (out.float() - target.float()).pow(2).mean(),
        )
        torch.manual_seed(7)
        shape = (rows * microbatches, tokens, width) if tokens else (rows * microbatches, width)
        self._input = torch.randn(shape, device=device, dtype=kind_of_number)
        self._target = torch.randn(shape, device=device, dtype=kind_of_number)
        self.on_gpu = device.type == "cuda"
        self._first, self._last = self.rank == 0, self.rank == world - 1

    def step(self):
        """Returns the losses of the micro-batches, on the last rank. Enqueues only."""
        losses = []
        self.optimizer.zero_grad()
        given = (self._input,) if self._first else ()
        self._schedule.step(*given, **({"target": self._target, "losses": losses} if self._last else {}))
        self.optimizer.step()
        return losses
