# SPDX-License-Identifier: Apache-2.0
"""Sections about what side work costs a step, and what waits on the device cost."""

from lab.process import of_bench, of_lab, read_json, shell
from lab.record import bounded, lab_rows, of_each, once, outcomes, twice
from lab.section import kept, section

CONNECTIONS = (1, 4, 8, 32)
OTHER_TASKS = ("streaming", "mlp", "pagerank", "product")
AHEAD_US = (10_000_000, 20_000, 2_000, 500, 0)  # from as soon as it can be to not before the bubble is open
STAGE = {  # arguments for each number of connections
    "wait": ((8,), "--tasks wait --foreign off"),
    "few_sms": ((8,), "--tasks compute --foreign off --processors 16"),
    # Whether hungry tasks that are half as wide cost less for what they do.
    "half_sms": ((8,), "--tasks product+pagerank --foreign off --processors 58"),
    "all_sms": ((8,), "--tasks product+pagerank --foreign off"),
    "compute": (CONNECTIONS, "--tasks compute --foreign off"),
    "foreign": (CONNECTIONS, "--tasks compute --foreign on"),
    "tasks": ((8,), f"--tasks {'+'.join(OTHER_TASKS)} --foreign on"),
    "ahead": ((8,), f"--tasks compute --foreign on --armed-ahead {','.join(f'{us / 1e6:g}' for us in AHEAD_US)}"),
}
TORCH = "1 gpu and PyTorch"


@section("stage", "as named", needs=TORCH, seconds=360, each=STAGE)
def stage(build, name):
    """What side work costs a real stage in PyTorch, in one process a run; a row for each plan of it. The interval of
    `slowdown_percent` is that of the mean of scopes, of `worst_slowdown_percent` the worst scope's own."""
    counts, words = STAGE[name]
    rows = []
    for count in kept(counts):
        command = of_lab(build, f"stage --connections {count} --scopes 6 {words}")
        found = of_each("task armed_ahead_s foreign", command, 310, row=bounded)
        rows += [{"connections": count, **row} for row in found]
    return rows


@section("attach_mps", "as named", needs=TORCH, seconds=240)
def attach_mps(build):
    """What side work in a process of its own costs that stage under MPS, and what it brings, against the same work in
    the trainer's process. The interval of `slowdown_percent` is that of the mean of scopes."""
    return outcomes("place", of_lab(build, "attached --scopes 12"), 420)


@section("worker_ends", "as named", seconds=260)
def worker_ends(build):
    """Whether a trainer under MPS outlives workers that end in order, that are killed, and that are stopped before. An
    outcome: it tells how many ends there were until it did not."""
    rows = outcomes("way", of_lab(build, "worker_ends"), 300)
    return [{"task": row["first"].pop("task", None), **row} for row in rows]


@section("replayed_lengths", "as named", needs=TORCH, seconds=300, each=("compute", *OTHER_TASKS))
def replayed_lengths(build, task):
    """What side work costs captured iterations whose longest bubble is 20 us to 20 ms, with options as they are. The
    interval of `slowdown_percent` is that of the mean of scopes."""
    return of_each("task longest_us", of_lab(build, f"replayed_lengths --task {task}"), 410, row=bounded)


@section("governed", "as named", needs=TORCH, seconds=385, each=("product", "pagerank", "resnet50"))
def governed(build, name):
    """Whether that stage keeps a bound of half a per cent. One run of 2,000 steps: it tells its own interval."""
    task = {"resnet50": "step:resnet50"}.get(name, name)
    rows = outcomes("task", of_lab(build, f"governed --task {task} --bound 0.005"), 520)
    return [{"task": task, **row} for row in rows]


@section("unreached", "as named", needs=TORCH, seconds=171, each=("mlp", "streaming"))
def unreached(build, name):
    """What a bound of 2 %, which the task never reaches, costs it."""
    rows = outcomes("task", of_lab(build, f"unreached --task {name} --bound 0.02"), 320)
    return [{"task": name, **row} for row in rows]


@section("reporting", "ms and per cent as named", needs=TORCH, seconds=88)
def reporting(build):
    """What it costs a step that a report is asked for. Pairs of scopes: it tells its own interval."""
    return [{"task": "compute", **row} for row in outcomes("task", of_lab(build, "reporting"), 320)]


@section("memory", "ms and bytes as named", needs=TORCH, seconds=123)
def memory(build):
    """How long 20 GB of a job take to go back to the driver, and whether a trainer that takes memory to the brim ever
    runs out of it."""
    given, script = twice(of_bench(build, "give_back"), 120), of_lab(build, "memory --hook")
    return [{"of": "give_back", **given}, {"of": "pressure", **once(script, read_json(shell(script, 240)))}]


@section("mlp", "us a step or a phase", needs=TORCH, seconds=300)
def mlp(build):
    """A training step of the perceptron beside PyTorch's, in pairs, and what a phase without items takes."""
    return lab_rows(build, "mlp", 540)
