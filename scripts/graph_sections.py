# SPDX-License-Identifier: Apache-2.0
"""Sections of record.py about graph tasks uninterrupted, against plain kernels and textbook kernels: a function a
section."""

import json

from measured import not_run, paired, read_json, shell

# A task, and whether its phases as plain kernels need an `advance` between them; none, where they depend on timing.
GRAPHS = {
    "graph_sgd": [("graph_sgd:count=20000000,users=138000,items=100000,epochs=5", "never")],
    "bfs": [(f"bfs:{graph}", "always") for graph in ("kronecker=22", "uniform=22", "kronecker=24", "grid=2048")],
    "components": [(f"components:{graph}", "always") for graph in ("kronecker=22", "uniform=22")],
    "kcore": [(f"kcore:{graph}", "always") for graph in ("kronecker=20", "kronecker=22", "uniform=22")],
    "betweenness": [(f"betweenness:{graph}", "always") for graph in ("kronecker=22", "uniform=22", "grid=2048")],
    "sssp": [(f"sssp:{graph}", "none") for graph in ("kronecker=22", "uniform=22", "kronecker=24", "grid=2048")],
    "triangles": [(f"triangles:{graph}", "never") for graph in ("kronecker=20", "kronecker=22")],
}


def low_and_high(run):
    """Nine pairs, of which least and greatest are told: they hold the median with 99.6 %."""
    names = [each.removesuffix("_low") for each in run if each.endswith("_low")]
    return {each: [run[f"{each}_low"], run[f"{each}_high"]] for each in names}


def graph(build, requests):
    """Each twice, in a process of its own."""
    rows = []
    for request, advance in requests:
        command = [f"{build}/bin/bench/graph_speed", request, "9", advance]
        runs = [read_json(shell(command, 280)) for _ in range(2)]
        spread = [low_and_high(run) for run in runs]
        rows.append({"asked": request, **paired(command, *runs, interval={"first": spread[0], "second": spread[1]})})
    return rows


def pagerank(build):
    """Its samples are nine pairs, of which it tells median, least and greatest."""
    rows = []
    for grain in (1, 2, 4):
        command = [f"{build}/bin/bench/pagerank_speed", "22", "100", "9", str(grain)]
        runs = [
            json.loads(done.stdout) if done.returncode == 0 else not_run(done)
            for done in (shell(command, 120), shell(command, 120))
        ]
        spread = [
            {
                f"{who}_ms_per_sweep": [run[f"{who}_min"], run[f"{who}_max"]]
                for who in ("plain", "worker")
                if f"{who}_min" in run
            }
            for run in runs
        ]
        rows.append({"grain": grain, **paired(command, *runs, interval={"first": spread[0], "second": spread[1]})})
    return rows
