# SPDX-License-Identifier: Apache-2.0
"""Sections about graph tasks: uninterrupted, beside plain kernels and those of textbooks; and what each promises, graph
by graph: how long chunks take, what its jobs bring in bubbles and how they leave, and that neither preemption nor a
kill changes a bit."""

import math
import pathlib
import sys
import tempfile
from typing import NamedTuple

from lab.process import LAB, killed_when, of_bench, read_json, read_outcome, run_lull, shell, write_whole
from lab.record import bounded, paired, split_bounds, twice, without
from lab.section import kept, section
from lab.sections.harvests import in_bubbles

# A task, and whether its phases as plain kernels need an `advance` between them; none, where they depend on timing.
SPEED = {
    "graph_sgd": ("never", ["count=20000000,users=138000,items=100000,epochs=5"]),
    "bfs": ("always", ["kronecker=22", "uniform=22", "kronecker=24", "grid=2048"]),
    "components": ("always", ["kronecker=22", "uniform=22"]),
    "kcore": ("always", ["kronecker=20", "kronecker=22", "uniform=22"]),
    "betweenness": ("always", ["kronecker=22", "uniform=22", "grid=2048"]),
    "sssp": ("none", ["kronecker=22", "uniform=22", "kronecker=24", "grid=2048"]),
    "triangles": ("never", ["kronecker=20", "kronecker=22"]),
}


@section("graph", "ms, us and GB/s as named", seconds=90, each=SPEED)
def graph(build, name):
    """A graph task uninterrupted, in nine pairs: least and greatest hold the median with 99.6 %."""
    advance, graphs = SPEED[name]
    rows = []
    for request in (f"{name}:{each}" for each in graphs):
        command = of_bench(build, ["graph_speed", request, "9", advance])
        runs = [read_json(shell(command, 280)) for _ in range(2)]
        interval = dict(zip(("first", "second"), (split_bounds(run)[1] for run in runs)))
        rows.append({"asked": request, **paired(command, *runs, interval=interval)})
    return rows


def by_sweep(run, sweeps):
    """Milliseconds of a whole run as those of a sweep."""
    whole = {key: value for key, value in run.items() if key.startswith(("plain_ms", "worker_ms"))}
    return without(whole, run) | {key.replace("_ms", "_ms_per_sweep"): ms / sweeps for key, ms in whole.items()}


@section("pagerank", "ms a sweep", seconds=180)
def pagerank(build):
    """PageRank uninterrupted, in nine pairs: least and greatest hold the median with 99.6 %."""
    rows, sweeps = [], 20
    request = f"pagerank:kronecker=22,tolerance=1e-30,sweeps={sweeps}"
    for grain in (1, 2, 4):
        command = of_bench(build, ["graph_speed", request, "9", "always", str(grain)])
        runs = (by_sweep(read_json(shell(command, 200)), sweeps) for _ in range(2))
        rows.append({"grain": grain, **bounded(command, *runs)})
    return rows


# Inputs as a task is asked for them. Later ones are a line each.
GRAPHS = {
    "kronecker": "kronecker=22",
    "uniform": "uniform=22",
    "grid": "grid=2048",
    "shipped": "",
    "hub": "graph={folder}/hub.el",  # made when it is first needed
}
RATINGS = {
    "many": "count=20000000,users=138000,items=100000",
    "popular": "count=10000000,users=1000000,items=100",  # one item has a tenth of them
}
LARGE = {"large": "kronecker=24"}  # in bubbles; jobs on the others may be shorter than one
SHORT = ("shipped",)  # whose runs take some tens of microseconds
SOURCES = {"sources.txt": 64, "few_sources.txt": 4}  # searches of a job, each with a line of results for each vertex
KILLS = 3


class graph_task(NamedTuple):
    """What a task is asked for beside its input, so that its jobs are as long as a section needs them."""

    inputs: dict = GRAPHS
    task: str = ""  # its name, where that is not the section's
    chunks: str = ""  # options: a run
    harvest: str = ""  # … a job that lasts for several bubbles
    instants: str = ""  # … a run of some milliseconds, whose arrays are compared at its end
    cut: tuple = ("10us", "200us")  # shortest and longest bubble of those
    resumed: str = ""  # … a job that is not over before it is saved, and whose file of results is not too large
    result: str = "out"  # the option that names the file to compare
    sections: tuple = ()  # the only ones that it has; none: it has all


SWEEPS, LONG = "tolerance=1e-30,sweeps=", ("50us", "5ms")
SEARCHES, AT_ONCE = "sources={folder}/sources.txt", ",at_once=64"
DRAWN = "weights=drawn"  # where a file has none, too
TOGETHER = SEARCHES + AT_ONCE
TASKS = {
    "pagerank": graph_task(
        chunks=f"{SWEEPS}20", harvest=f"{SWEEPS}2000", instants=f"{SWEEPS}60", cut=LONG, resumed=f"{SWEEPS}3000"
    ),
    "bfs": graph_task(harvest=SEARCHES),
    "bfs_together": graph_task(
        task="bfs",
        chunks=TOGETHER,
        harvest=TOGETHER,
        instants=TOGETHER,
        resumed="sources={folder}/few_sources.txt" + AT_ONCE,
    ),
    # As many trials as the GAP benchmark suite has of them.
    "components": graph_task(harvest="trials=16", instants="trials=3", resumed="trials=1000"),
    "components_once": graph_task(task="components", sections=("graph_harvest",)),  # short jobs
    "sssp": graph_task(chunks=DRAWN, harvest=f"{DRAWN},{SEARCHES}", instants=DRAWN, resumed=DRAWN),
    "betweenness": graph_task(harvest="samples=64", instants="samples=1", cut=LONG, resumed="samples=64"),
    "triangles": graph_task(harvest="trials=3", instants="trials=3", cut=LONG),
    "kcore": graph_task(cut=LONG),
    "graph_sgd": graph_task(
        RATINGS,
        chunks="epochs=2",
        harvest="epochs=100",
        instants="epochs=3",
        cut=LONG,
        resumed="epochs=20",
        result="model",
    ),
}


def of_tasks(kind, unit, seconds):
    """A section of that kind for each task that has one."""
    names = [name for name, task in TASKS.items() if not task.sections or kind in task.sections]
    return section(kind, unit, seconds=seconds, each=names)


def rows_of(build, name, option, measure, more=()):
    """A row for each input, and for more of them: `measure` is given it and the request."""
    task, folder, rows = TASKS[name], pathlib.Path(build).resolve(), []
    for file, searches in SOURCES.items():
        if f"/{file}" in getattr(task, option) and not (folder / file).exists():
            write_whole(folder / file, "".join(f"{31 * at}\n" for at in range(searches)))
    inputs = {**task.inputs, **dict(more)}
    for called in kept(inputs):
        if "hub.el" in inputs[called] and not (folder / "hub.el").exists():
            shell([sys.executable, LAB, "hub_graph", str(folder / "hub.el")])
        options = [each.format(folder=folder) for each in (inputs[called], getattr(task, option)) if each]
        asked = task.task or name
        row = measure(called, f"{asked}:{','.join(options)}" if options else asked)
        rows.append({"task": name, "graph": called, **row})
    return rows


@of_tasks("graph_chunks", "us", 70)
def graph_chunks(build, name):
    """How long chunks take: percentiles of all chunks of five runs."""
    return rows_of(build, name, "chunks", lambda _, asked: twice(of_bench(build, ["graph_chunks", asked]), 280))


@of_tasks("graph_harvest", None, 80)
def graph_harvest(build, name):
    """A graph task in a stage of 1F1B whose longest bubble is about 1 ms: `drain_us` and `harvest` of a report are of
    2,000 bubbles; n and interval as in `harvest`."""
    return in_a_stage(build, name, "--pairs 5 --iterations 100", LARGE if TASKS[name].inputs is GRAPHS else ())


@of_tasks("graph_drains", None, 50)
def graph_drains(build, name):
    """The same stage in one pair of more iterations, 4,800 bubbles: work does not rest before the close in the first
    eight of each site."""
    return in_a_stage(build, name, "--pairs 1 --iterations 1200")


def in_a_stage(build, name, words, more=()):
    return rows_of(build, name, "harvest", lambda _, asked: in_bubbles(build, "1ms", words, [asked], 280), more)


@of_tasks("graph_instants", None, 80)
def graph_instants(build, name):
    """Whether a run that is preempted at random instants ends with the bits of one that never was; `second` is at
    others."""

    def measure(called, asked):
        shortest, longest = ("5us", "50us") if called in SHORT else TASKS[name].cut
        lengths = ("--shortest", shortest, "--longest", longest)
        return at_instants(build, asked, 280, "--instants", "1000", *lengths)

    return rows_of(build, name, "instants", measure)


def at_instants(build, task, limit, *more):
    """Two runs, at different instants."""
    command = of_bench(build, ["random_instants", "--task", task, *more])
    return paired(command, *(read_outcome(shell([*command, "--seed", seed], limit)) for seed in "12"))


def resumed(build, name, asked, executor):
    """What became of one job that was killed after each of its first checkpoints, and taken up again. A checkpoint
    comes a fifth of the job after its start, or after the last one."""
    with tempfile.TemporaryDirectory(dir=build) as folder:
        saved = pathlib.Path(folder, "saved", f"{name}.safetensors")
        whole, again = pathlib.Path(folder, "whole"), pathlib.Path(folder, "again")

        def job(result, *more):
            named = f"{asked}{',' if ':' in asked else ':'}{TASKS[name].result}={result}"
            return ["run", "--executor", executor, *more, "--task", named]

        plain = run_lull(build, job(whole), 200)
        if "not_run" in plain:
            return plain
        whole_s = plain["report"]["run"]["seconds"]
        every_us = math.ceil(whole_s * 1e6 / (KILLS + 2))
        saving = ["--checkpoint", str(saved.parent), "--resume"]
        command = [f"{build}/bin/lull", *job(again, *saving, "--checkpoint-every", f"{every_us}us")]
        kills = 0
        for _ in range(KILLS):
            before = saved.stat().st_mtime_ns if saved.exists() else 0
            if not killed_when(command, lambda: saved.exists() and saved.stat().st_mtime_ns != before, 200):
                break
            kills += 1
        if kills == 0:
            return {"not_run": "the job was over before it was saved"}
        rest = run_lull(build, job(again, *saving), 200)
        if "not_run" in rest:
            return rest
        found = {"kills": kills, "every_us": every_us, "whole_s": whole_s}
        found["after_last_kill_s"] = rest["report"]["run"]["seconds"]
        return {**found, "bytes": whole.stat().st_size, "bit_equal": whole.read_bytes() == again.read_bytes()}


@of_tasks("graph_resumed", "seconds and bytes", 40)
def graph_resumed(build, name, executor="cuda"):
    """Whether a job that is killed ends, once it has been taken up from its checkpoint, with the file of one that was
    left to itself. `after_last_kill_s`: 0 where what was saved last was the end."""

    def measure(_, asked):
        runs = (resumed(build, name, asked, executor) for _ in range(2))
        return paired(["lull", "run", "--checkpoint", "…", "--resume", "--task", asked], *runs)

    return rows_of(build, name, "resumed", measure)
