# SPDX-License-Identifier: Apache-2.0
"""A training step of the perceptron beside PyTorch's, in pairs, and empty phases; the rows of record `mlp`.

Both train 64 → hidden → hidden → 10 on the same rows, the shipped digits: 1,536 of them, again and again, so that
batches are whole; products in bf16 with fp32 sums, parameters and AdamW in fp32. PyTorch's whole epoch is one CUDA
graph, its data is resident in bf16, and a step begins by gathering rows by a shuffled index: bf16 copies of the
parameters are multiplied, AdamW is fused, and loops over parameters are single kernels (torch._foreach_*).
`compiled` is the same with forward and backward through torch.compile. Each pair is one run of Lull (device stamps,
2,400 steps, in the process that mlp_step is) and then one of each of PyTorch's (CUDA events, 480 steps). Every size
is measured twice. --sizes 256x64,1024x512: hidden and batch of each."""

import argparse
import csv
import gzip
import json
import statistics
import sys

from lab import ROOT, torch
from lab.numbers import median_interval
from lab.options import at_least, listed
from lab.process import Asked, not_run, of_bench, shell
from lab.record import bounded, paired, without

LIMIT_S = 500
RUN_S = 120  # limit of one
ROWS = 1536
STEPS = 480
WARM_UP = 3  # runs
SIZES = ((256, 64), (256, 512), (1024, 64), (1024, 512))
ADAMW = {"lr": 1e-3, "betas": (0.9, 0.999), "eps": 1e-8, "weight_decay": 0.01, "fused": True, "capturable": True}


def digits():
    """The first ROWS rows of the digits again and again: values of 0 to 1, and labels. As mlp_step takes them."""
    with gzip.open(ROOT / "data/digits.csv.gz", "rt", encoding="utf-8", newline="") as file:
        lines = [line for line in csv.reader(file) if line]
    try:
        float(lines[0][0])
    except ValueError:
        del lines[0]  # names of columns
    numbers = [[float(text) for text in line] for line in lines]
    chosen = [numbers[row % len(numbers)] for row in range(ROWS)]
    return [[value / 16 for value in row[:-1]] for row in chosen], [int(row[-1]) for row in chosen]


class Ours(Asked):
    """The bench that runs once for each line that it is sent."""

    def __init__(self, build, hidden, batch):
        super().__init__(of_bench(build, f"mlp_step {hidden} {batch}"))

    def run(self):
        return self.ask("run", RUN_S)


def loss_of(rows, labels, w0, b0, w1, b1, w2, b2):
    functional = torch.nn.functional
    hidden = functional.relu(functional.linear(rows, w0, b0))
    hidden = functional.relu(functional.linear(hidden, w1, b1))
    return functional.cross_entropy(functional.linear(hidden, w2, b2).float(), labels)


class Torch:
    """An epoch of steps as one CUDA graph."""

    def __init__(self, hidden, batch, compiled=False):
        self.batch, device = batch, torch.device("cuda")
        torch.manual_seed(1)
        values, labels = digits()
        self.values = torch.tensor(values, dtype=torch.bfloat16, device=device)
        self.labels = torch.tensor(labels, dtype=torch.int64, device=device)
        self.orders = torch.stack([torch.randperm(ROWS, device=device) for _ in range(64)])
        self.order, self.next = self.orders[0].clone(), 0
        self.masters, self.copies = [], []
        for inputs, outputs in ((64, hidden), (hidden, hidden), (hidden, 10)):
            for shape in ((outputs, inputs), (outputs,)):
                master = (torch.rand(shape, device=device) * 2 - 1) / inputs**0.5
                master.grad = torch.zeros_like(master)  # written in place by each step
                self.masters.append(master)
                self.copies.append(master.to(torch.bfloat16).requires_grad_())
        self.adamw = torch.optim.AdamW(self.masters, **ADAMW)
        self.losses = torch.zeros(ROWS // batch, device=device)
        self.loss_of = torch.compile(loss_of, fullgraph=True, dynamic=False) if compiled else loss_of
        side = torch.cuda.Stream()  # as captures want it: warmed up on another stream
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                self.step(0)
        torch.cuda.current_stream().wait_stream(side)
        torch.cuda.synchronize()
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            for each in range(ROWS // batch):
                self.step(each)
        torch.cuda.synchronize()

    def step(self, number):
        chosen = self.order[number * self.batch : (number + 1) * self.batch]
        loss = self.loss_of(self.values.index_select(0, chosen), self.labels.index_select(0, chosen), *self.copies)
        gradients = torch.autograd.grad(loss, self.copies)
        with torch.no_grad():
            torch._foreach_copy_([master.grad for master in self.masters], list(gradients))
            self.adamw.step()
            torch._foreach_copy_(self.copies, self.masters)
            self.losses[number].copy_(loss.detach())

    def epoch(self):
        self.next = (self.next + 1) % len(self.orders)
        self.order.copy_(self.orders[self.next])
        self.graph.replay()

    def run(self):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        epochs = STEPS // (ROWS // self.batch)
        self.epoch()  # the host gets ahead before the clock starts
        begin.record()
        for _ in range(epochs):
            self.epoch()
        end.record()
        torch.cuda.synchronize()
        step_us = begin.elapsed_time(end) * 1e3 / (epochs * (ROWS // self.batch))
        return {"step_us": step_us, "last_loss": self.losses.mean().item()}


def peers_of(hidden, batch):
    """PyTorch's variants, and why one is not there."""
    found, missing = {"torch": Torch(hidden, batch)}, {}
    try:
        found["compiled"] = Torch(hidden, batch, compiled=True)
    except Exception as reason:  # whatever a compiler says: the row tells it
        missing["compiled"] = f"{type(reason).__name__}: {str(reason)[-300:]}"
    return found, missing


def summed_up(everyone, pairs):
    """Alternating runs, one of each a pair: medians, their intervals, and how often ours is faster by how much."""
    for _ in range(WARM_UP):
        for each in everyone.values():
            each.run()
    runs = [{name: each.run() for name, each in everyone.items()} for _ in range(pairs)]
    samples = {f"{name}_step_us": [run[name]["step_us"] for run in runs] for name in everyone}
    for name in everyone:
        if name != "lull":
            samples[f"{name}_by_lull"] = [run[name]["step_us"] / run["lull"]["step_us"] for run in runs]
    figures = {"pairs": pairs, **{key: statistics.median(values) for key, values in samples.items()}}
    figures |= {f"{name}_last_loss": runs[-1][name]["last_loss"] for name in everyone}
    return figures, {key: median_interval(values) for key, values in samples.items()}


def row_of(build, hidden, batch, pairs):
    ours = Ours(build, hidden, batch)
    try:
        peers, missing = peers_of(hidden, batch)
        (first, spread), (second, again) = (summed_up({"lull": ours, **peers}, pairs) for _ in range(2))
    finally:
        ours.end()
    row = paired(ours.command, first, second, interval={"first": spread, "second": again})
    return {**row, **({"not_run": missing} if missing else {})}


def phases(build):
    """What mlp_step says of empty phases, twice."""
    command, both = of_bench(build, "mlp_step"), []
    for _ in range(2):
        done = shell(command, 240)
        lines = [json.loads(line) for line in done.stdout.splitlines()] if done.returncode == 0 else []
        both.append({line["items"]: line for line in lines if line["what"] == "empty"} or not_run(done))
    if any("not_run" in one for one in both):
        runs = ({key: one[key] for key in ("not_run",) if key in one} for one in both)
        return [{"what": "empty", **paired(command, *runs)}]
    pairs = {items: [without(["what"], one[items]) for one in both] for items in both[0]}
    return [{"what": "empty", "items": items, **bounded(command, *runs)} for items, runs in pairs.items()]


def size(text):
    hidden, batch = map(at_least(1), text.split("x"))
    if ROWS % batch:
        raise argparse.ArgumentTypeError(f"sizes are HIDDENxBATCH, and the batch divides {ROWS}")
    return hidden, batch


def measure(build, pairs=20, sizes: listed(",", size) = SIZES):
    rows = []
    for hidden, batch in sizes:
        try:
            row = row_of(build, hidden, batch, pairs)
        except (OSError, RuntimeError, ValueError) as reason:  # the other sizes are measured all the same
            row = paired(["mlp_step", str(hidden), str(batch)], *2 * [{"not_run": str(reason)[-400:]}])
        rows.append({"what": "step", "hidden": hidden, "batch": batch, **row})
        print(json.dumps(rows[-1]), file=sys.stderr, flush=True)
    return {"rows": rows + phases(build)}
