# SPDX-License-Identifier: Apache-2.0
"""What captured PyTorch steps as side work cost a trainer's host, and how much later a kernel after a bubble ends.

Cases, a row each:

  burst/repeating  A product of the trainer comes after each bubble, in which the model's step runs. Measured by events:
  burst/random     from the end of the bubble's wait to the end of the product. `later_us` is that, less the median
                   without a bubble; `plain_us` is the same of products without. For comparison: `edges_us`, of bubbles
                   whose job has no batch; `functor_us`, with the functor that trains a perceptron; and `cold_us`,
                   without a bubble, where other data has filled the L2 meanwhile. Batches take turns. Lengths repeat
                   within 20 µs, or are random.
  calls            Host time of entering and leaving `side.bubble`, with a side step of --nodes kernels and in a scope
                   without jobs (`…_empty`), in scopes by turns.
  feed/none        Host time of enqueueing a trainer's step of small kernels and one bubble, which then is waited
  feed/idle        for: in a scope without jobs, with a side step whose feed yields one batch again and again, and
  feed/busy        with one whose feed computes in Python between two batches, and so takes the interpreter's lock.

The hint is on. CUDA_DEVICE_MAX_CONNECTIONS is taken as it is. --turns: pairs of batches of 20 bubbles, of each burst;
batches of a scope of calls. --seconds: of each scope with a feed."""

import contextlib
import itertools
import random
import statistics
import threading
import time
import types

from lab import lull, torch
from lab.models import step_of, submitted
from lab.numbers import quantiles
from lab.reports import closed_pieces
from lab.trainer import HEAD_START_MS, stream_of, wall_clock_wait
from lab.treatment import abba, alternate, harvest, no_bubble
from lab.work import TASKS

LIMIT_S = 150
SIZE = 2048  # of the product, in bf16
OTHER_BYTES = 256 << 20  # more than an L2 holds
LENGTHS_US = {"repeating": (590, 610), "random": (50, 1500)}
BATCH = 20  # bubbles between two synchronisations
LEARNING = 3  # batches: a site goes by its last 32 bubbles
CALLS_MS = 0.3  # a bubble in which calls are timed
FED_MS = 2  # a bubble beside a fed step
KERNELS = 100  # of the trainer's step beside a fed step: fewer than its stream can queue
BUSY = 50_000  # turns of a loop between two batches
ENDLESS = 1 << 30  # steps


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


def product_us(bubble, site, lengths_us, given):
    """From the end of each wait to the end of the product after it."""
    marks = []
    given.wait(HEAD_START_MS)
    for length_us in lengths_us:
        marks.append([torch.cuda.Event(enable_timing=True) for _ in range(2)])
        with bubble(site):
            given.wait(length_us / 1e3)
            marks[-1][0].record()
        given.product()
        marks[-1][1].record()
    torch.cuda.synchronize()
    return [1e3 * begin.elapsed_time(end) for begin, end in marks]


class Burst:
    """Products after bubbles of a site whose lengths are drawn."""

    def __init__(self, side, lengths, given):
        self._side, self._lengths, self._given, self._draw = side, lengths, given, random.Random(given.seed)
        for _ in range(LEARNING):
            self._batch(side.bubble)

    def _batch(self, bubble):
        drawn_us = [self._draw.uniform(*LENGTHS_US[self._lengths]) for _ in range(BATCH)]
        return product_us(bubble, self._lengths, drawn_us, self._given)

    def times_us(self):
        """Of products without a bubble, after bubbles, and without one and with a cold L2."""
        bubble, cold = self._side.bubble, self._given.product.cold
        order = (no_bubble, bubble, cold, bubble, no_bubble) * self._given.turns
        found = alternate(lambda order: map(self._batch, order), order)
        return [list(itertools.chain(*found[each])) for each in (no_bubble, bubble, cold)]


@contextlib.contextmanager
def idle_job(side):
    """A job that comes into each bubble and finds no batch. Bubbles without a job would have no edges."""
    over = threading.Event()

    def feed():
        yield (torch.zeros(64),)
        over.wait()

    fed_step(side, feed(), "idle")
    try:
        yield
    finally:
        over.set()


def fed_step(side, feed, name):
    x, y = (torch.zeros(64, device="cuda") for _ in range(2))

    def step():
        y.add_(x)

    return side.submit(lull.side_step(step, steps=ENDLESS, inputs=(x,), feed=feed, state=(y,)), name=name)


def later(plain, times):
    """Quantiles of times over the median of the plain ones."""
    usual = statistics.median(plain)
    return quantiles([each - usual for each in times])


def bursts(given):
    with given.scope() as side, idle_job(side):
        edges = [Burst(side, lengths, given).times_us() for lengths in LENGTHS_US]
        have_edges = side.counts()["opened"] >= len(LENGTHS_US) * (LEARNING + 2 * given.turns) * BATCH
    with given.scope([TASKS["mlp"]]) as side:
        functor = [Burst(side, lengths, given).times_us() for lengths in LENGTHS_US]
    step, state = step_of(given.model)
    with given.scope() as side:
        job = submitted(side, given.model, step, state, given.segment)
        for lengths, of_edges, of_functor in zip(LENGTHS_US, edges, functor, strict=True):
            learnt = Burst(side, lengths, given)
            closed, steps = closed_pieces(job.result())["count"], job.rounds()
            plain, after, cold = learnt.times_us()
            yield {
                "case": f"burst/{lengths}",
                "lengths_us": LENGTHS_US[lengths],
                "model": given.model,
                "product_us": statistics.median(plain),
                "plain_us": later(plain, plain),
                "later_us": later(plain, after),
                "cold_us": later(plain, cold),
                "edges_us": later(*of_edges[:2]) if have_edges else None,  # bubbles that are passed over have none
                "functor_us": later(*of_functor[:2]),
                "side_steps": job.rounds() - steps,
                "closed_on_a_piece": closed_pieces(job.result())["count"] - closed,
                "cut": job.result().splitlines()[0],
            }


def step_of_kernels(count):
    x = torch.zeros(1 << 16, device="cuda")

    def kernels():
        for _ in range(count):
            x.add_(1)

    return kernels, x


def call_ns(side, given):
    """Of entering and leaving, a bubble."""
    enters, leaves = [], []
    given.wait(HEAD_START_MS)
    for _ in range(BATCH):
        bubble = side.bubble("calls")
        began = time.perf_counter_ns()
        bubble.__enter__()
        entered = time.perf_counter_ns()
        given.wait(CALLS_MS)
        leaving = time.perf_counter_ns()
        bubble.__exit__(None, None, None)
        left = time.perf_counter_ns()
        given.product()
        enters.append(entered - began)
        leaves.append(left - leaving)
    torch.cuda.synchronize()
    return enters, leaves


def calls(given):
    cut, steps = None, 0

    def scope(name):
        nonlocal cut, steps
        with given.scope() as side:
            if not name:
                kernels, x = step_of_kernels(given.nodes)
                asked = lull.side_step(kernels, steps=ENDLESS, state=(x,), segment=given.segment)
                job = side.submit(asked)
            batches = [call_ns(side, given) for _ in range(LEARNING + given.turns)][LEARNING:]
            if not name:
                cut, steps = job.result().splitlines()[0], steps + job.rounds()
            return batches

    us, both_us = {}, {}
    for name, scopes in sorted(alternate(lambda order: map(scope, order), abba("_empty", "")).items()):
        times = [list(itertools.chain(*each)) for each in zip(*itertools.chain(*scopes))]
        us |= {f"{call}_us{name}": quantiles([ns / 1e3 for ns in each]) for call, each in zip(("open", "close"), times)}
        both_us[name] = statistics.median(map(sum, zip(*times))) / 1e3
    found = {"more_us_a_bubble": both_us[""] - both_us["_empty"], "side_steps": steps, "cut": cut}
    return {"case": "calls", "kernels": given.nodes, **us, **found}


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


def host_ms(side, seconds, given, small):
    """Of enqueueing each step."""
    times, until = [], time.monotonic() + seconds
    while time.monotonic() < until:
        began = time.perf_counter_ns()
        with side.bubble("feed"):
            given.wait(FED_MS)
        for _ in range(KERNELS):
            small.add_(1)
        times.append((time.perf_counter_ns() - began) / 1e6)
        torch.cuda.synchronize()
    return times


def feeds(given):
    small = torch.zeros(64, device="cuda")

    def scope(name):
        """Host times, and how many batches were taken meanwhile."""
        with given.scope() as side:
            job = fed_step(side, FEEDS[name](), "fed") if FEEDS[name] else None
            host_ms(side, given.seconds / 4, given, small)
            before = job.rounds() if job else 0
            times = host_ms(side, given.seconds, given, small)
            batches = job.rounds() - before if job else 0
            if job:
                job.outputs()  # raises what the feed has met
            return times, batches

    found = alternate(lambda order: map(scope, order), (*FEEDS, *reversed(FEEDS)))
    for name, scopes in found.items():
        times = list(itertools.chain(*(each for each, _ in scopes)))
        yield {
            "case": f"feed/{name}",
            "host_ms": quantiles(times),
            "mean_host_ms": statistics.fmean(times),
            "batches_a_step": sum(batches for _, batches in scopes) / len(times),
            "batch_ms": batch_ms(FEEDS[name]) if FEEDS[name] else None,
        }


def measure(build, model="resnet18", reserved_groups=2, segment=1e-4, nodes=1500, turns=30, seconds=1.0, seed=11):
    given = types.SimpleNamespace(**locals())
    given.scope = lambda tasks=(): harvest(tasks, executor="cuda", reserved_groups=reserved_groups)
    given.wait = wall_clock_wait(build)
    with torch.cuda.stream(stream_of("high")):
        given.product = Product()
        for _ in range(3):
            given.product()
        given.wait(0)
        return {"rows": [*bursts(given), calls(given), *feeds(given)]}
