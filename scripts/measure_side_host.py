#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What captured PyTorch steps as side work cost a trainer's host, and how much later a kernel after a bubble ends.

    LULL_LIBRARY=build/gpu/apps/c/liblull.so PYTHONPATH=apps/python python3 scripts/measure_side_host.py \\
        --wait build/gpu/bin/bench/libstage_wait.so

Cases, a row each:

  burst/repeating  A product of the trainer comes after each bubble, in which the model's step runs. Measured by events:
  burst/random     from the end of the bubble's wait to the end of the product. `later_us` is that, less the median
                   without a bubble; `plain_us` is the same of products without. For comparison: `edges_us`, of bubbles
                   whose job has no batch; `functor_us`, with the functor that trains a perceptron; and `cold_us`,
                   without a bubble, where other data has filled the L2 meanwhile. Batches take turns. Lengths repeat
                   within 20 µs, or are random.
  calls            Host time of entering and leaving `side.bubble`, with a side step of so many kernels and in a scope
                   without jobs (`…_empty`), in scopes by turns.
  feed/none        Host time of enqueueing a trainer's step of small kernels and one bubble, which then is waited
  feed/idle        for: in a scope without jobs, with a side step whose feed yields one batch again and again, and
  feed/busy        with one whose feed computes in Python between two batches, and so takes the interpreter's lock.

The hint is on. CUDA_DEVICE_MAX_CONNECTIONS is taken as it is. One JSON object on standard output."""

import argparse
import contextlib
import itertools
import json
import random
import signal
import statistics
import sys
import threading
import time

import torch

import lull
from closed_pieces import closed_pieces
from compare_side_work import stream_of
from compared_table import quantiles
from measure_stage import TASKS
from side_models import step_of, submitted
from stage_trainer import HEAD_START_MS, no_bubble, wall_clock_wait

SIZE = 2048  # of the product, in bf16
OTHER_BYTES = 256 << 20  # more than an L2 holds
LENGTHS_US = {"repeating": (590, 610), "random": (50, 1500)}
BATCH = 20  # bubbles between two synchronisations
LEARNING = 3  # batches: a site goes by its last 32 bubbles
CALLS_MS = 0.3  # a bubble in which calls are timed
FED_MS = 2  # a bubble beside a fed step
KERNELS = 100  # of the trainer's step beside a fed step: fewer than its stream can queue
BUSY = 50_000  # turns of a loop between two batches


@contextlib.contextmanager
def scope(given, tasks=()):
    with lull.harvest(tasks=list(tasks), executor="cuda", rooms=given.rooms) as side:
        if side.mode != "on":
            sys.exit(f"measure_side_host.py: NOT RUN: Lull is {side.mode}: {side.why_off}")
        yield side


class Product:
    """What the trainer runs after a bubble."""

    def __init__(self):
        self._a = torch.randn(SIZE, SIZE, device="cuda", dtype=torch.bfloat16)
        self._into = torch.empty_like(self._a)

        self._other = torch.zeros(OTHER_BYTES, device="cuda", dtype=torch.uint8)

    def __call__(self):
        torch.mm(self._a, self._a, out=self._into)

    @contextlib.contextmanager
    def cold(self, _):
        """In place of a bubble."""
        self._other.add_(1)
        yield


def product_us(kind, site, lengths_us, wait, product):
    """From the end of each wait to the end of the product after it. `kind`: what a bubble is made with."""
    marks = []
    wait(HEAD_START_MS)
    for length_us in lengths_us:
        marks.append([torch.cuda.Event(enable_timing=True) for _ in range(2)])
        with kind(site):
            wait(length_us / 1e3)
            marks[-1][0].record()
        product()
        marks[-1][1].record()
    torch.cuda.synchronize()
    return [1e3 * begin.elapsed_time(end) for begin, end in marks]


class Burst:
    """Products behind bubbles of a site whose lengths are drawn."""

    def __init__(self, side, lengths, given, wait, product):
        self._side, self._lengths, self._turns, self._wait, self._product = side, lengths, given.turns, wait, product
        self._draw = random.Random(given.seed)
        for _ in range(LEARNING):
            self._batch(side.bubble)

    def _batch(self, kind):
        drawn_us = [self._draw.uniform(*LENGTHS_US[self._lengths]) for _ in range(BATCH)]
        return product_us(kind, self._lengths, drawn_us, self._wait, self._product)

    def times_us(self):
        """Of products without a bubble, behind bubbles, and without one and with a cold L2."""
        plain, behind, cold = [], [], []
        for _ in range(self._turns):
            plain += self._batch(no_bubble)
            behind += self._batch(self._side.bubble)
            cold += self._batch(self._product.cold)
            behind += self._batch(self._side.bubble)
            plain += self._batch(no_bubble)
        return plain, behind, cold


@contextlib.contextmanager
def idle_job(side):
    """A job that comes into each bubble and finds no batch. Bubbles without a job would have no edges."""
    x, y = (torch.zeros(64, device="cuda") for _ in range(2))
    over = threading.Event()

    def step():
        y.add_(x)

    def feed():
        yield (torch.zeros(64),)
        over.wait()

    side.submit(lull.side_step(step, steps=1 << 30, inputs=(x,), feed=feed(), state=(y,)), name="idle")
    try:
        yield
    finally:
        over.set()


def later(plain, times):
    """Quantiles of times over the median of the plain ones."""
    usual = statistics.median(plain)
    return quantiles([each - usual for each in times])


def bursts(given, wait, product):
    with scope(given) as side, idle_job(side):
        edges = [Burst(side, lengths, given, wait, product).times_us() for lengths in LENGTHS_US]
        have_edges = side.counts()["opened"] >= len(LENGTHS_US) * (LEARNING + 2 * given.turns) * BATCH
    with scope(given, [TASKS["mlp"]]) as side:
        functor = [Burst(side, lengths, given, wait, product).times_us() for lengths in LENGTHS_US]
    step, state = step_of(given.model)
    with scope(given) as side:
        job = submitted(side, given.model, step, state, given.segment)
        rows = []
        for lengths, of_edges, of_functor in zip(LENGTHS_US, edges, functor, strict=True):
            learnt = Burst(side, lengths, given, wait, product)
            closed, steps = closed_pieces(job.result())["count"], job.rounds()
            plain, behind, cold = learnt.times_us()
            rows.append(
                {
                    "case": f"burst/{lengths}",
                    "lengths_us": LENGTHS_US[lengths],
                    "model": given.model,
                    "product_us": statistics.median(plain),
                    "plain_us": later(plain, plain),
                    "later_us": later(plain, behind),
                    "cold_us": later(plain, cold),
                    "edges_us": later(*of_edges[:2]) if have_edges else None,  # bubbles that are passed over have none
                    "functor_us": later(*of_functor[:2]),
                    "side_steps": job.rounds() - steps,
                    "closed_on_a_piece": closed_pieces(job.result())["count"] - closed,
                    "cut": job.result().splitlines()[0],
                }
            )
        return rows


def step_of_kernels(count):
    x = torch.zeros(1 << 16, device="cuda")

    def kernels():
        for _ in range(count):
            x.add_(1)

    return kernels, x


def call_ns(side, wait, product):
    """Of entering and leaving, a bubble."""
    enters, leaves = [], []
    wait(HEAD_START_MS)
    for _ in range(BATCH):
        bubble = side.bubble("calls")
        began = time.perf_counter_ns()
        bubble.__enter__()
        entered = time.perf_counter_ns()
        wait(CALLS_MS)
        leaving = time.perf_counter_ns()
        bubble.__exit__(None, None, None)
        left = time.perf_counter_ns()
        product()
        enters.append(entered - began)
        leaves.append(left - leaving)
    torch.cuda.synchronize()
    return enters, leaves


def calls(given, wait, product):
    found, cut, steps = {"": ([], []), "_empty": ([], [])}, None, 0
    for name in ("_empty", "", "", "_empty"):
        with scope(given) as side:
            job = None
            if not name:
                kernels, x = step_of_kernels(given.nodes)
                job = side.submit(lull.side_step(kernels, steps=1 << 30, state=(x,), segment=given.segment))
            for turn in range(LEARNING + given.turns):
                times = call_ns(side, wait, product)
                if turn >= LEARNING:
                    for into, more in zip(found[name], times):
                        into += more
            if job is not None:
                cut, steps = job.result().splitlines()[0], steps + job.rounds()
    us = {
        f"{call}_us{name}": quantiles([each / 1e3 for each in times])
        for name, both in found.items()
        for call, times in zip(("open", "close"), both)
    }
    both_us = {name: statistics.median(map(sum, zip(*both))) / 1e3 for name, both in found.items()}
    more = {"more_us_a_bubble": both_us[""] - both_us["_empty"], "side_steps": steps, "cut": cut}
    return {"case": "calls", "kernels": given.nodes, **us, **more}


def idle_feed():
    return itertools.repeat((torch.zeros(64),))


def busy_feed():
    batch, total = torch.zeros(64), 0
    while True:
        for number in range(BUSY):
            total += number * number
        yield (batch,)


FEEDS = {"none": None, "idle": idle_feed, "busy": busy_feed}


def batch_ms(feed):
    """Of a batch, with nothing beside it."""
    batches = feed()
    next(batches)
    began = time.perf_counter_ns()
    next(batches)
    return (time.perf_counter_ns() - began) / 1e6


def host_ms(side, seconds, wait, small):
    """Of enqueueing each step."""
    times, until = [], time.monotonic() + seconds
    while time.monotonic() < until:
        began = time.perf_counter_ns()
        with side.bubble("feed"):
            wait(FED_MS)
        for _ in range(KERNELS):
            small.add_(1)
        times.append((time.perf_counter_ns() - began) / 1e6)
        torch.cuda.synchronize()
    return times


def fed(side, feed, given, wait, small):
    """Host times, and how many batches were taken meanwhile."""
    job = None
    if feed is not None:
        x, y = (torch.zeros(64, device="cuda") for _ in range(2))

        def step():
            y.add_(x)

        job = side.submit(lull.side_step(step, steps=1 << 30, inputs=(x,), feed=feed(), state=(y,)), name="fed")
    host_ms(side, given.seconds / 4, wait, small)
    before = job.rounds() if job else 0
    times = host_ms(side, given.seconds, wait, small)
    batches = job.rounds() - before if job else 0
    if job:
        job.outputs()  # raises what the feed has met
    return times, batches


def feeds(given, wait):
    small = torch.zeros(64, device="cuda")
    found = {name: ([], []) for name in FEEDS}
    for name in (*FEEDS, *reversed(FEEDS)):
        with scope(given) as side:
            times, batches = fed(side, FEEDS[name], given, wait, small)
        found[name][0].extend(times)
        found[name][1].append(batches)
    return [
        {
            "case": f"feed/{name}",
            "host_ms": quantiles(times),
            "mean_host_ms": statistics.fmean(times),
            "batches_a_step": sum(batches) / len(times),
            "batch_ms": batch_ms(FEEDS[name]) if FEEDS[name] else None,
        }
        for name, (times, batches) in found.items()
    ]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--wait", required=True, help="bench/libstage_wait.so")
    parser.add_argument("--model", default="resnet18", help="model whose step runs beside bursts")
    parser.add_argument("--rooms", type=int, default=2)
    parser.add_argument("--segment", type=float, default=1e-4, help="seconds")
    parser.add_argument("--nodes", type=int, default=1500, help="kernels of the step beside which calls are timed")
    parser.add_argument(
        "--turns",
        type=int,
        default=30,
        help=f"pairs of batches of {BATCH} bubbles, of each burst; batches of a scope of calls",
    )
    parser.add_argument("--seconds", type=float, default=1, help="of each scope with a feed")
    parser.add_argument("--seed", type=int, default=11)
    parser.add_argument("--limit", type=int, default=150, help="seconds after which the process ends")
    given = parser.parse_args()
    signal.signal(signal.SIGALRM, signal.SIG_DFL)  # ends the process where the interpreter waits for a GPU that hangs
    signal.alarm(given.limit)
    if not torch.cuda.is_available():
        sys.exit("measure_side_host.py: NOT RUN: torch finds no GPU")
    wait = wall_clock_wait(torch, given.wait)
    with torch.cuda.stream(stream_of(torch, "high")):
        product = Product()
        for _ in range(3):
            product()
        wait(0)
        rows = [*bursts(given, wait, product), calls(given, wait, product), *feeds(given, wait)]
    print(json.dumps({"torch": torch.__version__, "rows": rows}), flush=True)


if __name__ == "__main__":
    main()
