# SPDX-License-Identifier: Apache-2.0
"""What side work gets of bubbles in which the trainer's host itself stays, and what they cost training.

A step is products of 0.4 ms, then a bubble in which the host does what the case says. Rows of --lengths (milliseconds):
the host sleeps. Rows `sync`: it waits for the whole device. Side work is a functor or a captured model's step, with
--reserved-groups. Groups of steps alone and with Lull take turns, after --learning steps that the site learns from.

  share_of_time  time in which workers were there, of the bubbles' time
  share          work done, of what the same work does in as much time alone: a captured step as plain replays on all
                 SMs, a functor in long bubbles of the same scope
  … _longer_us   of a part of a step, by medians: its products, entering the bubble, what the host does inside, leaving
                 it, and the product after it
  longer_us      of a step, by medians; longer_us_low and _high hold that with 90 % or more"""

import statistics
import time

from lab import lull, torch
from lab.numbers import median_interval, quantiles
from lab.options import at_least, count, listed
from lab.reports import report_of, sites_of
from lab.treatment import abba, harvest, no_bubble
from lab.work import MODELS, Functor, Model

LIMIT_S = 280
PRODUCTS, SIZE = 20, 2048
SYNC_PRODUCTS = 4  # of a step of some 160 µs
GROUP = 4  # steps
PARTS = ("products", "open", "inside", "close", "product_after")


class Stalls:
    def __init__(self, products):
        self._a = torch.randn(SIZE, SIZE, device="cuda", dtype=torch.bfloat16)
        self._into, self._products = torch.empty_like(self._a), products

    def wait(self, ms):  # on the device, of long bubbles
        torch.cuda._sleep(int(ms * 1.98e6))

    def step(self, bubble, inside):
        """Milliseconds of products, of entering the bubble, inside, of leaving it, and of the product after it; the
        device is idle before and after."""
        moments = [time.perf_counter()]
        for _ in range(self._products):
            torch.mm(self._a, self._a, out=self._into)
        torch.cuda.current_stream().synchronize()
        moments.append(time.perf_counter())
        with bubble():
            moments.append(time.perf_counter())
            inside()
            moments.append(time.perf_counter())
        moments.append(time.perf_counter())
        torch.mm(self._a, self._a, out=self._into)
        torch.cuda.current_stream().synchronize()
        moments.append(time.perf_counter())
        return [1e3 * (late - early) for early, late in zip(moments, moments[1:])]


def totals(report, name):
    site = next((each for each in sites_of(report)[0] if each["site"] == name), None)
    work = site and site["side_work"]
    return (site["total_ms"], work["gpu_ms"], work["bubbles"]) if work else (0, 0, 0)


def measured(side, work, trainer, name, inside, seconds, learning):
    def bubble(_=None):
        return lull.bubble(name)

    def now():
        report = report_of(side)
        return (*totals(report, name), work.done(report))

    for _ in range(learning):
        trainer.step(bubble, inside)
    before, times = now(), {no_bubble: [], bubble: []}
    until = time.monotonic() + seconds
    while time.monotonic() < until or len(times[bubble]) < 3 * GROUP:
        for treatment in abba(no_bubble, bubble):
            times[treatment] += [trainer.step(treatment, inside) for _ in range(GROUP)]
    idle_ms, gpu_ms, bubbles, done = (late - early for early, late in zip(before, now()))
    parts = [[1e3 * statistics.median(part) for part in zip(*steps)] for steps in times.values()]
    times = {treatment: [sum(step) for step in steps] for treatment, steps in times.items()}
    (plain_low, plain_high), (low, high) = map(median_interval, times.values())
    plain, at = quantiles(times[no_bubble]), quantiles(times[bubble])
    row = {"steps": at["count"], "step_ms": plain["p50"], "with_side_work": bubbles, "idle_ms": idle_ms}
    row |= {"longer_us": 1e3 * (at["p50"] - plain["p50"]), "longer_us_low": 1e3 * (low - plain_high)}
    row |= {"longer_us_high": 1e3 * (high - plain_low), "longer_percent": 100 * (at["p50"] / plain["p50"] - 1)}
    row |= {f"{part}_longer_us": late - early for part, early, late in zip(PARTS, *parts)}
    means = [statistics.fmean(each) for each in times.values()]
    row |= {"mean_longer_us": 1e3 * (means[1] - means[0]), "p99_longer_us": 1e3 * (at["p99"] - plain["p99"])}
    return row, (gpu_ms / idle_ms, done / idle_ms) if idle_ms > 0 else (None, None)


def measure(
    build,
    works: listed(",") = ("compute", "streaming", "resnet18"),
    lengths: listed(",", float) = (1, 5, 50, 400),
    reserved_groups: at_least(0) = 0,
    seconds=3.0,
    learning: count = 24,
):
    rows = []
    for name in works:
        work = Model(name) if name in MODELS else Functor(name)
        trainer, short = Stalls(PRODUCTS), Stalls(SYNC_PRODUCTS)
        with harvest(work.tasks, executor="cuda", reserved_groups=reserved_groups) as side:
            work.begin(side)
            per_ms = work.per_ms(trainer, side)
            cases = [(f"{ms:g}ms", trainer, lambda ms=ms: time.sleep(ms / 1e3), learning) for ms in lengths]
            cases += [
                ("sync", trainer, torch.cuda.synchronize, 8),
                ("sync_short_step", short, torch.cuda.synchronize, 8),
            ]
            for case, steps, inside, learn in cases:
                row, (in_time, speed) = measured(side, work, steps, case, inside, seconds, learn)
                share = speed / per_ms if per_ms and speed is not None else None
                rows.append({"work": name, "case": case, **row, "share_of_time": in_time, "share": share})
            work.end(side)
    return {"rows": rows}
