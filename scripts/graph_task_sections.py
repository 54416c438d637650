# SPDX-License-Identifier: Apache-2.0
"""Sections of record.py that hold each graph task to what it promises, graph by graph: how long chunks take, what its
jobs bring in bubbles and how they leave, and that neither preemption nor a kill changes a bit. A function a section."""

import math
import pathlib
import sys
import tempfile
from typing import NamedTuple

from harvest_sections import in_bubbles
from measured import killed_when, lull, paired, read_json, shell, write_whole

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
ROW_NAMES = (*GRAPHS, *RATINGS, *LARGE)
SHORT = ("shipped",)  # whose runs take some tens of microseconds


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


SWEEPS = "tolerance=1e-30,sweeps="
TASKS = {
    "pagerank": graph_task(
        chunks=f"{SWEEPS}20",
        harvest=f"{SWEEPS}2000",
        instants=f"{SWEEPS}60",
        cut=("50us", "5ms"),
        resumed=f"{SWEEPS}3000",
    ),
    "bfs": graph_task(harvest="sources={folder}/sources.txt"),
    "bfs_together": graph_task(
        task="bfs",
        chunks="sources={folder}/sources.txt,at_once=64",
        harvest="sources={folder}/sources.txt,at_once=64",
        instants="sources={folder}/sources.txt,at_once=64",
        resumed="sources={folder}/few_sources.txt,at_once=64",
    ),
    # As many trials as the GAP benchmark suite has of them.
    "components": graph_task(harvest="trials=16", instants="trials=3", resumed="trials=1000"),
    "components_once": graph_task(task="components", sections=("graph_harvest",)),  # short jobs
    "sssp": graph_task(harvest="sources={folder}/sources.txt"),
    "betweenness": graph_task(harvest="samples=64", instants="samples=1", cut=("50us", "5ms"), resumed="samples=64"),
    "triangles": graph_task(harvest="trials=3", instants="trials=3", cut=("50us", "5ms")),
    "kcore": graph_task(cut=("50us", "5ms")),
    "graph_sgd": graph_task(
        inputs=RATINGS,
        chunks="epochs=2",
        harvest="epochs=100",
        instants="epochs=3",
        cut=("50us", "5ms"),
        resumed="epochs=20",
        result="model",
    ),
}


def keep_rows(names):
    """From now on sections have these rows alone."""
    for inputs in (GRAPHS, RATINGS, LARGE):
        for name in set(inputs).difference(names):
            del inputs[name]


SOURCES = {"sources.txt": 64, "few_sources.txt": 4}  # searches of a job, each with a line of results for each vertex
INSTANTS = 1000
KILLS = 3


def rows_of(build, name, option, measure, more=()):
    """A row for each input, and for more of them: `measure` is given it and the request."""
    task = TASKS[name]
    folder = pathlib.Path(build).resolve()
    for file, searches in SOURCES.items():
        if f"/{file}" in getattr(task, option) and not (folder / file).exists():
            write_whole(folder / file, "".join(f"{31 * at}\n" for at in range(searches)))
    rows = []
    for called, chosen in {**task.inputs, **dict(more)}.items():
        if "hub.el" in chosen and not (folder / "hub.el").exists():
            maker = pathlib.Path(__file__).with_name("make_hub_graph.py")
            shell([sys.executable, str(maker), str(folder / "hub.el")])
        options = [each.format(folder=folder) for each in (chosen, getattr(task, option)) if each]
        asked = task.task or name
        row = measure(called, f"{asked}:{','.join(options)}" if options else asked)
        rows.append({"task": name, "graph": called, **row})
    return rows


def graph_chunks(build, name):
    """Percentiles of all chunks of five runs."""

    def measure(_, asked):
        command = [f"{build}/bin/bench/graph_chunks", asked]
        return paired(command, *(read_json(shell(command, 280)) for _ in range(2)))

    return rows_of(build, name, "chunks", measure)


def graph_harvest(build, name):
    """A stage of 1F1B whose longest bubble is about 1 ms: `drain_us` and `harvest` of a report are of 2,000 bubbles; n
    and interval as in `harvest`."""
    return in_a_stage(build, name, 5, 100, LARGE if TASKS[name].inputs is GRAPHS else ())


def graph_drains(build, name):
    """The same stage in one pair of more iterations, 4,800 bubbles: work does not rest before the close in the first
    eight of each site."""
    return in_a_stage(build, name, 1, 1200)


def in_a_stage(build, name, pairs, iterations, more=()):
    def measure(_, asked):
        arguments = in_bubbles("1ms", "--pairs", str(pairs), "--iterations", str(iterations), "--task", asked)
        return paired(["lull", *arguments], *(lull(build, arguments, 280) for _ in range(2)))

    return rows_of(build, name, "harvest", measure, more)


def graph_instants(build, name):
    """Whether a run that is preempted at random instants ends with the bits of one that never was; `second` is at
    others."""

    def measure(called, asked):
        shortest, longest = ("5us", "50us") if called in SHORT else TASKS[name].cut
        lengths = ["--shortest", shortest, "--longest", longest]
        command = [f"{build}/bin/bench/random_instants", "--task", asked, "--instants", str(INSTANTS), *lengths]
        return paired(command, *(read_json(shell([*command, "--seed", seed], 280), ends=(0, 1)) for seed in "12"))

    return rows_of(build, name, "instants", measure)


def resumed(build, name, asked, executor):
    """What became of one job that was killed after each of its first checkpoints, and taken up again. A checkpoint
    comes a fifth of the job after its start, or after the last one."""
    task = TASKS[name]
    with tempfile.TemporaryDirectory(dir=build) as folder:
        saved = pathlib.Path(folder, "saved", f"{name}.safetensors")
        whole, again = pathlib.Path(folder, "whole"), pathlib.Path(folder, "again")

        def job(result, *more):
            named = f"{asked}{',' if ':' in asked else ':'}{task.result}={result}"
            return ["run", "--executor", executor, *more, "--task", named]

        plain = lull(build, job(whole), 200)
        if "not_run" in plain:
            return plain
        whole_s = plain["report"]["run"]["seconds"]
        every_us = math.ceil(whole_s * 1e6 / (KILLS + 2))
        every = ["--checkpoint-every", f"{every_us}us"]
        saving = ["--checkpoint", str(saved.parent), "--resume"]
        kills = 0
        for _ in range(KILLS):
            before = saved.stat().st_mtime_ns if saved.exists() else 0
            command = [f"{build}/bin/lull", *job(again, *saving, *every)]
            if not killed_when(command, lambda then=before: saved.exists() and saved.stat().st_mtime_ns != then, 200):
                break
            kills += 1
        if kills == 0:
            return {"not_run": "the job was over before it was saved"}
        rest = lull(build, job(again, *saving), 200)
        if "not_run" in rest:
            return rest
        found = {
            "kills": kills,
            "every_us": every_us,
            "whole_s": whole_s,
            "after_last_kill_s": rest["report"]["run"]["seconds"],
        }
        return {**found, "bytes": whole.stat().st_size, "bit_equal": whole.read_bytes() == again.read_bytes()}


def graph_resumed(build, name, executor="cuda"):
    """Whether a job that is killed ends, once it has been taken up from its checkpoint, with the file of one that was
    left to itself. `after_last_kill_s`: 0 where what was saved last was the end."""

    def measure(_, asked):
        runs = (resumed(build, name, asked, executor) for _ in range(2))
        return paired(["lull", "run", "--checkpoint", "…", "--resume", "--task", asked], *runs)

    return rows_of(build, name, "resumed", measure)


SECTIONS = {
    "graph_chunks": ("us", graph_chunks),
    "graph_harvest": (None, graph_harvest),
    "graph_drains": (None, graph_drains),
    "graph_instants": (None, graph_instants),
    "graph_resumed": ("seconds and bytes", graph_resumed),
}
