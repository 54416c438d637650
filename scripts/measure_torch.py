#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures Lull in real PyTorch pipelines on two GPUs and writes docs/results/torch_SIZE.json, as record.py does its
records.

    scripts/measure_torch.py --results docs/results [--size fp32] [--schedules 1f1b,gpipe] [--parts
    observe,compute,streaming,long]

Parts: `observe`, and `compute` and `streaming`, which harvest with the task of that name: slowdown of a step against
the same process with torch as it was, from alternating pairs of groups of 4 steps, until the 95 % interval of the
mean of the pairs' log ratios is ±0.2 % or the time is over; and the harvest of the bubbles' GPU-time, as items done
in bubbles against items that the task does in as much time of a bubble without training. Each is measured twice.
`long`: 200 steps whose losses and weights must be equal to the bit, then 1,000 steps whose lease exits are counted.
LULL_LIBRARY names the C library where the package is not installed."""

import argparse
import contextlib
import datetime
import json
import math
import os
import pathlib
import statistics
import sys
import tempfile
import time

sys.path[:0] = [
    str(pathlib.Path(__file__).resolve().parent),
    str(pathlib.Path(__file__).resolve().parents[1] / "apps/python"),
]

import measured  # noqa: E402
import torch_pipeline  # noqa: E402
import trainer_pipelines  # noqa: E402

SIZES = {  # with both the GPUs set the pace, not the hosts; with bf16 the GPUs' power limit does
    "bf16": {"width": 8192, "layers": 4, "rows": 3072, "microbatches": 4, "dtype": "bfloat16"},
    "fp32": {"width": 4096, "layers": 4, "rows": 1024, "microbatches": 4, "dtype": "float32"},
}
TASKS = {"compute": "compute:items=65536,rounds=1000000000", "streaming": "streaming:items=16384,rounds=32768"}
GROUP = 4  # steps
WARM_UP = 12  # steps: more than a site remembers
FEWEST, MOST = 12, 400  # pairs
ENOUGH = 0.002  # half-width of the interval


def interval(logs):
    """Mean and half-width of its 95 % interval; normal from 12 samples up, a little wide for the few."""
    spread = statistics.stdev(logs) / math.sqrt(len(logs))
    return statistics.fmean(logs), (1.96 + 2.7 / len(logs)) * spread


class Rank:
    """One rank's part. Every decision is taken from times that all ranks know."""

    def __init__(self, size):
        import torch
        import torch.distributed as dist

        self.torch, self.dist, self.size = torch, dist, size
        self.folder = tempfile.TemporaryDirectory()
        self.rank = int(os.environ["RANK"])
        self.device = torch.device("cuda", self.rank)
        torch.cuda.set_device(self.device)
        dist.init_process_group("nccl", device_id=self.device)

    def pipeline(self, schedule):
        make = trainer_pipelines.make if schedule in trainer_pipelines.SCHEDULES else torch_pipeline.Pipeline
        return make(schedule, self.device, **self.size)

    def slowest(self, seconds):
        """The greatest of all ranks' values."""
        value = self.torch.tensor([seconds], dtype=self.torch.float64, device=self.device)
        self.dist.all_reduce(value, self.dist.ReduceOp.MAX)
        return value.item()

    def together(self):
        self.torch.cuda.synchronize()
        self.dist.barrier()
        self.torch.cuda.synchronize()

    def groups(self, pipeline, side, order):
        """Milliseconds a step of groups with and without, in that order and without a pause between them, each the
        slowest rank's. The host runs ahead, as in a training: so the first two, in which the pipeline fills, are
        left out."""
        self.together()
        marks = []
        for with_lull in (True, False, *order):
            marks.append(self.torch.cuda.Event(enable_timing=True))
            marks[-1].record()
            with contextlib.nullcontext() if with_lull else side.suspended():
                for _ in range(GROUP):
                    pipeline.step()
        marks.append(self.torch.cuda.Event(enable_timing=True))
        marks[-1].record()
        self.torch.cuda.synchronize()
        times = [one.elapsed_time(other) / GROUP for one, other in zip(marks[2:], marks[3:])]
        slowest = self.torch.tensor(times, dtype=self.torch.float64, device=self.device)
        self.dist.all_reduce(slowest, self.dist.ReduceOp.MAX)
        return slowest.tolist()

    def pairs(self, pipeline, side, limit):
        """Alternating groups with and without, each order as often."""
        plain, lull, give_up = [], [], time.perf_counter() + limit
        order = (True, False, False, True) * 3
        while True:
            for with_lull, each in zip(order, self.groups(pipeline, side, order)):
                (lull if with_lull else plain).append(each)
            logs = [math.log(one / other) for one, other in zip(lull, plain)]
            mean, half = interval(logs)
            over = self.slowest(float(time.perf_counter() >= give_up)) > 0
            if len(logs) >= FEWEST and (half <= ENOUGH or over or len(logs) >= MOST):
                break
        return {
            "pairs": len(logs),
            "step_ms": statistics.median(plain),
            "slowdown_pct": 100 * math.expm1(mean),
            "slowdown_pct_low": 100 * math.expm1(mean - half),
            "slowdown_pct_high": 100 * math.expm1(mean + half),
            "slowest_pair_pct": 100 * math.expm1(max(logs)),
        }

    def alone(self, side):
        """One long bubble without training, for the task's own speed."""
        import lull

        stream = self.torch.cuda.current_stream()
        for _ in range(20):
            with lull.bubble("alone", stream):
                self.torch.cuda._sleep(20_000_000)
        self.torch.cuda.synchronize()
        time.sleep(0.1)  # until its records are read

    def slowdown(self, schedule, part, limit):
        import lull

        pipeline = self.pipeline(schedule)
        for _ in range(WARM_UP):
            pipeline.step()
        self.together()
        unread = f"{self.folder.name}/bubbles.txt"  # else it is printed
        with lull.observe(report=unread) if part == "observe" else lull.harvest(TASKS[part]) as side:
            for _ in range(WARM_UP):
                pipeline.step()
            found = self.pairs(pipeline, side, limit)
            if part != "observe":
                self.alone(side)
            self.torch.cuda.synchronize()
            report, found["counts"] = json.loads(side.report("json")), side.counts()
        return {**found, **harvested(report)}

    def long(self, schedule, _, __):
        import lull

        def train(scope, steps):
            return torch_pipeline.trained(self.pipeline(schedule), scope, steps)

        self.torch.use_deterministic_algorithms(True)
        self.torch.utils.deterministic.fill_uninitialized_memory = False
        plain = train(torch_pipeline.Nothing(), 200)
        lulled = train(lull.harvest(list(TASKS.values())), 200)
        self.torch.use_deterministic_algorithms(False)
        equal = all(map(self.torch.equal, plain[0] + plain[1], lulled[0] + lulled[1]))
        pipeline = self.pipeline(schedule)
        with lull.harvest(TASKS["streaming"]) as side:
            for step in range(1000):
                pipeline.step()
                if step % 50 == 49:
                    self.torch.cuda.synchronize()
            report = json.loads(side.report("json"))
            counts = side.counts()
        return {"steps": 200, "equal": equal, "harvested_steps": 1000, "counts": counts, **harvested(report)}


def harvested(report):
    """Of the sites of training, beside `alone`: idle time, and what of it was used."""
    sites = [site for gate in report["gates"] for site in gate["sites"]]
    idle = sum(site["total_ms"] for site in sites if site["site"] != "alone")
    work = [site["side_work"] for site in sites if site["site"] != "alone" and site["side_work"]]
    found = {
        "bubbles": sum(site["bubbles"] for site in sites if site["site"] != "alone"),
        "idle_ms": idle,
        "lease_exits": sum(each["lease_exits"] for each in work),
        "sites": {site["site"]: [site["bubbles"], site["p50_us"], site["p99_us"]] for site in sites},
    }
    alone = next((site for site in sites if site["site"] == "alone" and site["side_work"]), None)
    if alone and idle:
        speed = alone["side_work"]["items"] / alone["total_ms"]
        found["harvest"] = sum(each["items"] for each in work) / speed / idle
    return found


def rank_main(given, size):
    rank = Rank(size)
    rows = []
    for schedule in given.schedules:
        for part in given.parts:
            measure = rank.long if part == "long" else rank.slowdown
            runs = [measure(schedule, part, given.seconds) for _ in range(1 if part == "long" else 2)]
            everyone = [None] * rank.dist.get_world_size()
            rank.dist.all_gather_object(everyone, runs)
            if rank.rank == 0:
                rows.append(row_of(given.size, schedule, part, everyone))
                print(json.dumps(rows[-1]), flush=True)
    rank.dist.barrier()
    if rank.rank == 0:
        pathlib.Path(given.rows).write_text(json.dumps(rows), encoding="utf-8")
    rank.dist.destroy_process_group()


def row_of(size, schedule, part, everyone):
    """Times are the same on all ranks; what else there is stands under each rank."""
    shared = ("pairs", "step_ms", "slowdown_pct", "slowest_pair_pct", "steps", "harvested_steps")
    bounds = ("slowdown_pct_low", "slowdown_pct_high")
    runs = []
    for per_rank in zip(*everyone):
        each = [{key: value for key, value in one.items() if key not in (*shared, *bounds)} for one in per_rank]
        runs.append({**{key: per_rank[0][key] for key in shared if key in per_rank[0]}, "ranks": each})
    spread = [{"slowdown_pct": [one[bound] for bound in bounds]} for one in everyone[0] if bounds[0] in one]
    command = [pathlib.Path(sys.argv[0]).name, "--size", size, "--schedules", schedule, "--parts", part]
    second = runs[1] if len(runs) > 1 else runs[0]
    more = {"interval": {"first": spread[0], "second": spread[1]}} if spread else {}
    return {"schedule": schedule, "part": part, **measured.paired(command, runs[0], second, **more)}


def main(trained="torch", schedules=torch_pipeline.SCHEDULES, sizes=SIZES):
    parser = argparse.ArgumentParser()
    parser.add_argument("--results", required=True)
    parser.add_argument("--size", choices=sizes, default="bf16")
    parser.add_argument("--schedules", type=lambda text: text.split(","), default=list(schedules))
    parser.add_argument("--parts", type=lambda text: text.split(","), default=["observe", *TASKS, "long"])
    parser.add_argument("--seconds", type=float, default=30, help="of pairs, each time")
    parser.add_argument("--limit", type=float, default=570, help="seconds for all")
    parser.add_argument("--rows", default="", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if "RANK" in os.environ:
        rank_main(given, sizes[given.size])
        return
    results = pathlib.Path(given.results)
    section = f"{trained}_{given.size}"
    rows = results / f"{section}.rows.json"
    rows.unlink(missing_ok=True)
    made = {
        "schema": "lull.record/1",
        "section": section,
        "date": datetime.date.today().isoformat(),
        "commit": measured.commit(),
        "machine": measured.machine(),
        "before": measured.condition(),
        "unit": "as named",
        "size": sizes[given.size],
    }
    code = torch_pipeline.launch([*sys.argv, "--rows", str(rows)], limit=given.limit)
    if code != 0 or not rows.exists():
        sys.exit(f"NOT RUN: exit {code}; {results / section}.json is left as it was")
    made |= {"rows": json.loads(rows.read_text(encoding="utf-8")), "after": measured.condition()}
    rows.unlink()
    (results / f"{section}.json").write_text(json.dumps(made, indent=1) + "\n", encoding="utf-8")
    print(f"{trained}: {results / section}.json")


if __name__ == "__main__":
    main()
