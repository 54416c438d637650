#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures Lull in real PyTorch pipelines on several GPUs and writes docs/results/torch_SIZE.json, as record.py does
its records; with some of the schedules alone, torch_SIZE_SCHEDULE.json.

    scripts/measure_torch.py --results docs/results [--ranks 2] [--size fp32] [--schedules 1f1b,gpipe]
        [--work observe+compute+streaming+mlp] [--scopes 12] [--straggler MS] [--min-bubble US]

One pipeline a schedule. A scope is one `with lull.harvest(…)`, or lull.observe for `observe`. In each, groups of steps
with Lull and with torch as it was take turns (ABBA); a step is as long as the slowest rank's. `first` and `second` of a
record are every other scope, so they alternate.

`work` is a task of measure_stage.py, a task as lull tasks lists them, or a model of side_models.py whose training step
is side work: resnet18, resnet50, vgg19, bert. `harvest`: what was done in bubbles against what is done in as much time
of long bubbles without training, on the SMs that workers may use; of a model, in as much time of plain replays on the
whole GPU. `known_share`: of the bubbles that were opened, those whose length is known, so that they count there: a
bubble that no worker came to is none of them. `saved_percent`: the share of the training's GPU time that the side work
would take by itself, less the slowdown: FreeRide's cost savings (arXiv:2409.06941) with one price for all GPUs.
`equal`: 200 steps whose losses and weights must be equal to the bit, and no other figures.

`--straggler`: in one step of each group the last rank comes so many milliseconds late. LULL_LIBRARY names the C library
where the package is not installed."""

import argparse
import contextlib
import datetime
import faulthandler
import json
import math
import os
import pathlib
import sys
import tempfile
import time
import traceback

sys.path[:0] = [
    str(pathlib.Path(__file__).resolve().parent),
    str(pathlib.Path(__file__).resolve().parents[1] / "apps/python"),
]

import measured  # noqa: E402
import torch_pipeline  # noqa: E402
import torch_rows  # noqa: E402
import trainer_pipelines  # noqa: E402
from measure_stage import (  # noqa: E402
    ALONE,
    ALONE_MS,
    ALONE_WARM_UP,
    QUARTETS,
    TASKS,
    compared,
    long_bubbles,
    report_of,
    sites_of,
    speed_alone,
)

SIZES = {  # with these the GPUs set the pace, not the hosts; with bf16 the GPUs' power limit does
    "bf16": {"width": 8192, "layers": 4, "rows": 3072, "microbatches": 4, "dtype": "bfloat16"},
    "fp32": {"width": 4096, "layers": 4, "rows": 2048, "microbatches": 4, "dtype": "float32"},
    # 3.6 billion weights in a GPT's blocks, as FreeRide's middle model has, for four ranks
    "gpt": {"width": 3072, "layers": 32, "rows": 1, "tokens": 1024, "microbatches": 4, "dtype": "bfloat16"},
}
MODELS = ("resnet18", "resnet50", "vgg19", "bert")
GROUP = 4  # steps
WARM_UP = 12  # steps: more than a site remembers
EQUAL_STEPS = 200
MARGIN_S = 40  # of the limit, left for a round of scopes to come to its end
LAST_WORDS_S = 5


class Functor:
    """A task of Lull's. Its amounts are items."""

    def __init__(self, name):
        self.tasks = [TASKS.get(name, name)]

    def begin(self, side):
        pass

    def done(self, report):
        return sum(site["side_work"]["items"] for site in sites_of(report)[0] if site["side_work"])

    def per_ms(self, rank, side):
        import lull

        reports = [long_bubbles(rank.torch, lull, rank, side, count) for count in (ALONE_WARM_UP, ALONE)]
        return speed_alone(*reports)

    def end(self, side):
        if not any(job.state in ("queued", "placed") for job in side.jobs):
            sys.exit(f"the side work ended before the measurement did: {self.tasks[0]}")


class Model:
    """A captured training step. Its amounts are steps."""

    tasks = ()

    def __init__(self, name):
        import side_models
        import torch

        self._models, self._name = side_models, name
        self._step, self._state = side_models.step_of(name)
        stream = torch.cuda.Stream()
        with side_models.captured(self._step, self._state[1], stream) as graph:
            self._plain_ms = side_models.plain_ms(graph, stream, 20)

    def begin(self, side):
        self._job = self._models.submitted(side, self._name, self._step, self._state, 1e-4)

    def done(self, _):
        return self._job.rounds()

    def per_ms(self, _, __):
        return 1 / self._plain_ms

    def end(self, _):
        self._job.cancel()
        self._job.wait(10)
        self._state[1].zero_grad(set_to_none=True)  # gradients lie in the step's memory, and would keep it


def work_of(name):
    """None: nothing runs."""
    if name == "observe":
        return None
    return Model(name) if name in MODELS else Functor(name)


class Rank:
    """One rank's part. Every decision is taken from times that all ranks know."""

    def __init__(self, size, straggler_ms=0.0, options=None):
        import torch
        import torch.distributed as dist

        self.torch, self.dist, self.size = torch, dist, size
        self._straggler_ms, self._options = straggler_ms, options or {}  # of lull.harvest
        self.began = time.perf_counter()
        self._folder = tempfile.TemporaryDirectory()
        self.rank = int(os.environ["RANK"])
        self.set_up()

    def set_up(self):
        self.device = self.torch.device("cuda", self.rank)
        self.torch.cuda.set_device(self.device)
        self.dist.init_process_group("nccl", device_id=self.device)

    def synchronize(self):
        self.torch.cuda.synchronize()

    def wait(self, ms):
        """Enqueues a wait."""
        self.torch.cuda._sleep(int(ms * 1.9e6))  # cycles

    def mark(self):
        event = self.torch.cuda.Event(enable_timing=True)
        event.record()
        return event

    def new_pipeline(self, schedule):
        make = trainer_pipelines.make if schedule in trainer_pipelines.SCHEDULES else torch_pipeline.Pipeline
        return make(schedule, self.device, **self.size)

    def slowest(self, values):
        """Of each the greatest of all ranks."""
        every = self.torch.tensor(values, dtype=self.torch.float64, device=self.device)
        self.dist.all_reduce(every, self.dist.ReduceOp.MAX)
        return every.tolist()

    def together(self):
        self.synchronize()
        self.dist.barrier()
        self.synchronize()

    def steps(self, pipeline, count):
        for index in range(count):
            if self._straggler_ms and index % GROUP == 1 and self.rank == self.dist.get_world_size() - 1:
                self.wait(self._straggler_ms)
            pipeline.step()

    def groups(self, pipeline, side, order):
        """Milliseconds a step of groups with and without, in that order and without a pause between them, each the
        slowest rank's. The host runs ahead, as in a training: so the first two, in which the pipeline fills, are
        left out."""
        self.together()
        marks = []
        for with_lull in (True, False, *order):
            marks.append(self.mark())
            with contextlib.nullcontext() if with_lull else side.suspended():
                self.steps(pipeline, GROUP)
        marks.append(self.mark())
        self.synchronize()
        return self.slowest([one.elapsed_time(other) / GROUP for one, other in zip(marks[2:], marks[3:])])

    def in_turns(self, pipeline, side, seconds):
        """Milliseconds a step, of groups without and of groups with."""
        plain, lull, give_up, order = [], [], time.perf_counter() + seconds, (True, False, False, True) * QUARTETS
        while True:
            for with_lull, each in zip(order, self.groups(pipeline, side, order)):
                (lull if with_lull else plain).append(each)
            if self.slowest([float(time.perf_counter() >= give_up)])[0] > 0:
                return plain, lull

    def scope(self, pipeline, work, seconds):
        """What all ranks know of it, with each rank's own part."""
        import lull

        unread = f"{self._folder.name}/bubbles.txt"  # else it is printed
        with lull.observe(report=unread) if work is None else lull.harvest(work.tasks, **self._options) as side:
            if side.mode != ("observe" if work is None else "on"):
                sys.exit(f"measure_torch.py: NOT RUN: Lull is {side.mode}: {side.why_off}")
            if work is not None:
                work.begin(side)
            self.together()  # or the first bubble lasts as long as the slowest rank's beginning
            self.steps(pipeline, WARM_UP)
            self.together()
            before, counted = report_of(side), side.counts()
            done = 0 if work is None else -work.done(before)
            plain, with_lull = self.in_turns(pipeline, side, seconds)
            after = report_of(side)
            counts = {key: count - counted[key] for key, count in side.counts().items()}
            own = {"counts": counts, **torch_rows.between(before, after)}
            if work is not None:
                done += work.done(after)
                own |= {"done": done, "done_per_ms_alone": work.per_ms(self, side)}
                work.end(side)
        everyone = [None] * self.dist.get_world_size()
        self.dist.all_gather_object(everyone, own)
        turns = len(with_lull) // (2 * QUARTETS)
        steps = GROUP * (len(with_lull) + turns)  # those in which the pipeline fills, too
        return {**compared(plain, with_lull), **torch_rows.over_ranks(everyone, steps), "ranks": everyone}

    def equal(self, schedule):
        import lull

        def train(scope):
            return torch_pipeline.trained(self.new_pipeline(schedule), scope, EQUAL_STEPS)

        self.torch.use_deterministic_algorithms(True)
        self.torch.utils.deterministic.fill_uninitialized_memory = False
        plain = train(torch_pipeline.Nothing())
        lulled = train(lull.harvest([TASKS["compute"], TASKS["streaming"]]))
        self.torch.use_deterministic_algorithms(False)
        results = plain[0] + plain[1]
        own = {
            "equal": all(map(self.torch.equal, results, lulled[0] + lulled[1])),
            "finite": all(bool(each.isfinite().all()) for each in results),
            "mode": lulled[2],
            "launches": lulled[3].get("launches", 0),
        }
        everyone = [None] * self.dist.get_world_size()
        self.dist.all_gather_object(everyone, own)
        return {"steps": EQUAL_STEPS, "equal": all(map(torch_rows.says_something, everyone)), "ranks": everyone}


def say(what, scope, seconds):
    text = f"{scope['slowdown_percent']:+.2f} %, harvest {scope.get('harvest', math.nan):.3f}, {seconds:.1f} s"
    for key in ("held_up", "groups_added"):
        text += f", {key} {count}" if (count := sum(each["counts"][key] for each in scope["ranks"])) else ""
    print(f"{what}: {text}", file=sys.stderr, flush=True)


def rank_main(given, rank):
    faulthandler.dump_traceback_later(max(given.limit - LAST_WORDS_S, 1))  # where a rank that hangs stands
    try:
        measure(given, rank)
    except BaseException:  # teardown would wait for the peers' exchanges, and they for this rank
        traceback.print_exc()
        sys.stderr.flush()
        os._exit(1)


def measure(given, rank):
    works = {name: work_of(name) for name in given.work if name != "equal"}
    rows = []
    for schedule in given.schedules:
        found = {name: [] for name in given.work}
        if "equal" in found:
            found["equal"].append(rank.equal(schedule))
        pipeline = rank.new_pipeline(schedule)
        rank.steps(pipeline, WARM_UP)
        for index in range(given.scopes):
            for name, work in works.items():
                began = time.perf_counter()
                found[name].append(rank.scope(pipeline, work, given.seconds))
                if rank.rank == 0:
                    say(f"scope {index}, {schedule}, {name}", found[name][-1], time.perf_counter() - began)
            if rank.rank == 0:  # what follows may not come to its end
                measured.write_whole(given.rows, json.dumps(rows + torch_rows.rows_of(given, schedule, found)))
            if rank.slowest([time.perf_counter() - rank.began])[0] > given.limit - MARGIN_S:
                break
        rows += torch_rows.rows_of(given, schedule, found)
    rank.dist.barrier()
    rank.dist.destroy_process_group()


def parse(arguments, schedules=torch_pipeline.SCHEDULES, sizes=SIZES):
    def names(text):
        return text.split(",")

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--results", required=True)
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--size", choices=sizes, default="bf16")
    parser.add_argument("--schedules", type=names, default=list(schedules))
    parser.add_argument("--work", type=lambda text: text.split("+"), default=["observe", "compute", "streaming", "mlp"])
    parser.add_argument("--scopes", type=int, default=12, help="of each row")
    parser.add_argument("--seconds", type=float, default=0, help="of groups a scope; twelve groups at a time")
    parser.add_argument("--rooms", type=int, default=0, help="groups of SMs kept off; 0: Lull's default")
    parser.add_argument("--min-bubble", type=int, default=0, help="microseconds; 0: Lull's default")
    parser.add_argument("--straggler", type=float, default=0, help="milliseconds")
    parser.add_argument("--limit", type=float, default=570, help="seconds for all")
    parser.add_argument("--rows", default="", help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    if unknown := set(given.schedules) - set(schedules):
        parser.error(f"unknown schedules: {', '.join(sorted(unknown))}; there are {', '.join(schedules)}")
    layers = sizes[given.size]["layers"]
    for schedule in given.schedules:
        per_rank = torch_pipeline.SCHEDULES.get(schedule, (None, 1))[1]
        if layers % (given.ranks * per_rank):
            parser.error(f"{layers} layers cannot be shared out over {given.ranks} ranks in schedule {schedule}")
    if given.scopes < 2 or given.ranks < 2:
        parser.error("scopes and ranks are at least 2")
    return given


def main(trained="torch", schedules=torch_pipeline.SCHEDULES, sizes=SIZES):
    given = parse(None, schedules, sizes)
    if "RANK" in os.environ:
        options = {"rooms": given.rooms} if given.rooms else {}
        options |= {"min_bubble": given.min_bubble / 1e6} if given.min_bubble else {}
        rank_main(given, Rank(sizes[given.size], given.straggler, options))
        return
    results = pathlib.Path(given.results)
    section = torch_rows.section_of(trained, given, schedules)
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
    command = [*sys.argv, "--rows", str(rows)]
    code = torch_pipeline.launch(command, count=given.ranks, limit=given.limit)
    if not rows.exists():
        sys.exit(f"NOT RUN: exit {code}; {results / section}.json is left as it was")
    if code != 0:
        print(f"exit {code}: only the schedules before that are in the record", file=sys.stderr)
    made |= {"rows": json.loads(rows.read_text(encoding="utf-8")), "after": measured.condition()}
    rows.unlink()
    (results / f"{section}.json").write_text(json.dumps(made, indent=1) + "\n", encoding="utf-8")
    print(f"{trained}: {results / section}.json")


if __name__ == "__main__":
    main()
