#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures a training step of the perceptron beside PyTorch's on one GPU, and writes docs/results/mlp.json as record.py
does its records.

    scripts/measure_mlp.py --build build/gpu --results docs/results [--pairs 20] [--sizes 256x64,1024x512]

Both train 64 → hidden → hidden → 10 on the same rows, the shipped digits: 1,536 of them, again and again, so that
batches are whole; products in bf16 with fp32 sums, parameters and AdamW in fp32. PyTorch's whole epoch is one CUDA
graph, its data is resident in bf16, and a step begins by gathering rows by a shuffled index: bf16 copies of the
parameters are multiplied, AdamW is fused, and loops over parameters are single kernels (torch._foreach_*).
`compiled` is the same with forward and backward through torch.compile. Each pair is one run of Lull (device stamps,
2,400 steps, in the process that mlp_step is) and then one of each of PyTorch's (CUDA events, 480 steps). Every size
is measured twice."""

import argparse
import csv
import datetime
import gzip
import json
import pathlib
import statistics
import subprocess
import sys

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parent)]

import measured  # noqa: E402

ROWS = 1536
STEPS = 480
WARM_UP = 3  # runs
SIZES = [(256, 64), (256, 512), (1024, 64), (1024, 512)]
DATA = pathlib.Path(__file__).resolve().parents[1] / "data/digits.csv.gz"


def digits():
    """The first ROWS rows of the digits again and again: values of 0 to 1, and labels. As mlp_step takes them."""
    with gzip.open(DATA, "rt", encoding="utf-8", newline="") as file:
        lines = [line for line in csv.reader(file) if line]
    try:
        float(lines[0][0])
    except ValueError:
        del lines[0]  # names of columns
    numbers = [[float(text) for text in line] for line in lines]
    chosen = [numbers[row % len(numbers)] for row in range(ROWS)]
    return [[value / 16 for value in row[:-1]] for row in chosen], [int(row[-1]) for row in chosen]


class Ours:
    """The bench that runs once for each line that it is sent."""

    def __init__(self, build, hidden, batch):
        self.command = [f"{build}/bin/bench/mlp_step", str(hidden), str(batch)]
        self.process = subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def run(self):
        try:
            self.process.stdin.write("run\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            pass  # it says why by itself, and its output is empty
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"{' '.join(self.command)}: exit {self.process.wait(60)}")
        return json.loads(line)

    def close(self):
        self.process.stdin.close()
        try:
            self.process.wait(60)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


class Torch:
    """An epoch of steps as one CUDA graph."""

    def __init__(self, hidden, batch, compiled=False):
        import torch

        self.torch, self.batch = torch, batch
        device = torch.device("cuda")
        torch.manual_seed(1)
        values, labels = digits()
        self.values = torch.tensor(values, dtype=torch.bfloat16, device=device)
        self.labels = torch.tensor(labels, dtype=torch.int64, device=device)
        self.orders = torch.stack([torch.randperm(ROWS, device=device) for _ in range(64)])
        self.order = self.orders[0].clone()
        self.next = 0
        sizes = [64, hidden, hidden, 10]
        self.masters, self.copies = [], []
        for inputs, outputs in zip(sizes, sizes[1:]):
            for shape in ((outputs, inputs), (outputs,)):
                master = (torch.rand(shape, device=device) * 2 - 1) / inputs**0.5
                master.grad = torch.zeros_like(master)  # written in place by each step
                self.masters.append(master)
                self.copies.append(master.to(torch.bfloat16).requires_grad_())
        self.adamw = torch.optim.AdamW(
            self.masters, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.01, fused=True, capturable=True
        )
        self.losses = torch.zeros(ROWS // batch, device=device)
        self.loss_of = torch.compile(self.forward, fullgraph=True, dynamic=False) if compiled else self.forward
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

    @staticmethod
    def forward(rows, labels, w0, b0, w1, b1, w2, b2):
        from torch.nn import functional

        hidden = functional.relu(functional.linear(rows, w0, b0))
        hidden = functional.relu(functional.linear(hidden, w1, b1))
        return functional.cross_entropy(functional.linear(hidden, w2, b2).float(), labels)

    def step(self, number):
        torch = self.torch
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
        torch = self.torch
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        epochs = STEPS // (ROWS // self.batch)
        self.epoch()  # the host gets ahead before the clock starts
        begin.record()
        for _ in range(epochs):
            self.epoch()
        end.record()
        torch.cuda.synchronize()
        return {
            "step_us": begin.elapsed_time(end) * 1e3 / (epochs * (ROWS // self.batch)),
            "loss": self.losses.mean().item(),
        }


def peers_of(hidden, batch):
    """PyTorch's variants, and why one is not there."""
    found, missing = {"torch": Torch(hidden, batch)}, {}
    try:
        found["compiled"] = Torch(hidden, batch, compiled=True)
    except Exception as reason:  # whatever a compiler says: the row tells it
        missing["compiled"] = f"{type(reason).__name__}: {str(reason)[-300:]}"
    return found, missing


def summed_up(ours, peers, pairs):
    """Alternating runs, one of each a pair: medians, their intervals, and how often ours is faster by how much."""
    everyone = {"lull": ours, **peers}
    for _ in range(WARM_UP):
        for each in everyone.values():
            each.run()
    runs = [{name: each.run() for name, each in everyone.items()} for _ in range(pairs)]
    figures, spread = {"pairs": pairs}, {}
    for name in everyone:
        samples = [run[name]["step_us"] for run in runs]
        figures[f"{name}_step_us"], spread[f"{name}_step_us"] = (
            statistics.median(samples),
            measured.median_interval(samples),
        )
        if name != "lull":
            ratios = [run[name]["step_us"] / run["lull"]["step_us"] for run in runs]
            figures[f"{name}_by_lull"], spread[f"{name}_by_lull"] = (
                statistics.median(ratios),
                measured.median_interval(ratios),
            )
            figures[f"{name}_last_loss"] = runs[-1][name]["loss"]
    figures["lull_last_loss"] = runs[-1]["lull"]["last_loss"]
    return figures, spread


def row_of(build, hidden, batch, pairs):
    ours = Ours(build, hidden, batch)
    try:
        peers, missing = peers_of(hidden, batch)
        (first, spread), (second, again) = (summed_up(ours, peers, pairs) for _ in range(2))
    finally:
        ours.close()
    more = {"not_run": missing} if missing else {}
    return {
        "what": "step",
        "hidden": hidden,
        "batch": batch,
        **measured.paired(ours.command, first, second, interval={"first": spread, "second": again}),
        **more,
    }


def phases(build):
    """What mlp_step says of empty phases, twice."""
    command = [f"{build}/bin/bench/mlp_step"]
    both = []
    for _ in range(2):
        done = measured.shell(command, 240)
        lines = [json.loads(line) for line in done.stdout.splitlines()] if done.returncode == 0 else []
        both.append(
            {line["items"]: measured.alone_with_bounds(line) for line in lines if line["what"] == "empty"}
            or measured.not_run(done)
        )
    if any("not_run" in one for one in both):
        return [
            {
                "what": "empty",
                **measured.paired(command, *({key: one[key] for key in ("not_run",) if key in one} for one in both)),
            }
        ]
    rows = []
    for items, (first, spread) in both[0].items():
        second, again = both[1][items]
        plain = [{key: value for key, value in each.items() if key != "what"} for each in (first, second)]
        rows.append(
            {
                "what": "empty",
                "items": items,
                **measured.paired(command, *plain, interval={"first": spread, "second": again}),
            }
        )
    return rows


def sizes_of(text):
    """256x64,1024x512: hidden and batch of each."""
    found = [tuple(int(number) for number in size.split("x")) for size in text.split(",")]
    if any(len(size) != 2 or size[0] < 1 or size[1] < 1 or ROWS % size[1] for size in found):
        raise argparse.ArgumentTypeError(f"sizes are HIDDENxBATCH, and the batch divides {ROWS}")
    return found


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True)
    parser.add_argument("--results", required=True)
    parser.add_argument("--pairs", type=int, default=20)
    parser.add_argument("--sizes", type=sizes_of, default=SIZES)
    given = parser.parse_args()
    try:
        import torch
    except ImportError:
        sys.exit("NOT RUN: there is no PyTorch")
    if not torch.cuda.is_available():
        sys.exit("NOT RUN: PyTorch finds no GPU")
    made = {
        "schema": "lull.record/1",
        "section": "mlp",
        "date": datetime.date.today().isoformat(),
        "commit": measured.commit(),
        "machine": {**measured.machine(), "torch": torch.__version__},
        "before": measured.condition(),
        "unit": "us a step or a phase",
        "rows": [],
    }
    path = pathlib.Path(given.results) / "mlp.json"
    for hidden, batch in given.sizes:
        try:
            made["rows"].append(row_of(given.build, hidden, batch, given.pairs))
        except (OSError, RuntimeError, ValueError) as reason:  # the other sizes are measured all the same
            failed = {"not_run": str(reason)[-400:]}
            made["rows"].append(
                {
                    "what": "step",
                    "hidden": hidden,
                    "batch": batch,
                    **measured.paired(["mlp_step", str(hidden), str(batch)], failed, failed),
                }
            )
        print(json.dumps(made["rows"][-1]), flush=True)
    made["rows"] += phases(given.build)
    made["after"] = measured.condition()
    if reason := measured.why_empty(made):
        sys.exit(f"NOT RUN: {path} is left as it was: {reason}")
    path.write_text(json.dumps(made, indent=1) + "\n", encoding="utf-8")
    print(f"mlp: {path}")


if __name__ == "__main__":
    main()
