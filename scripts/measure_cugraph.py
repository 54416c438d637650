#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""cuGraph over the graphs that graph tasks work on, where cuGraph is installed.

    scripts/measure_cugraph.py --build build/gpu [--runs 9] bfs:kronecker=22 components:uniform=22 …

Prints a JSON object for each task: median, least and greatest milliseconds of a call, by the host's clock, until the
device is done. That holds what cuGraph does in Python; its graph is made before. Graphs have each edge in both
directions, once; cuGraph drops duplicates, which the task's own graph keeps."""

import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

CALLS = {
    "bfs": lambda cugraph, graph, source: cugraph.bfs(graph, start=source),
    "components": lambda cugraph, graph, source: cugraph.weakly_connected_components(graph),
    "sssp": lambda cugraph, graph, source: cugraph.sssp(graph, source=source),
    "triangles": lambda cugraph, graph, source: cugraph.triangle_count(graph),
}


def read_graph(build, request, cudf, cugraph, numpy):
    """The graph, and the lowest vertex that an edge leaves."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([f"{build}/bin/bench/graph_arrays", request, folder], check=True)
        offsets, targets = (
            numpy.fromfile(f"{folder}/{name}", kind) for name, kind in (("offsets.u64", "u8"), ("targets.u32", "u4"))
        )
        weights = pathlib.Path(folder, "weights.f32")
        columns = {"weight": numpy.fromfile(weights, "f4")} if weights.exists() else {}
    degrees = numpy.diff(offsets.astype("i8"))
    columns["source"] = numpy.repeat(numpy.arange(len(degrees), dtype="i4"), degrees)
    columns["destination"] = targets.astype("i4")
    graph = cugraph.Graph(directed=False)
    attribute = "weight" if "weight" in columns else None
    graph.from_cudf_edgelist(cudf.DataFrame(columns), edge_attr=attribute, renumber=False)
    return graph, int(numpy.flatnonzero(degrees)[0])


def measure(given, request, cudf, cugraph, cupy, numpy):
    graph, source = read_graph(given.build, request, cudf, cugraph, numpy)
    call = CALLS[request.partition(":")[0]]
    samples = []
    for run in range(given.runs + 1):
        cupy.cuda.runtime.deviceSynchronize()
        begin = time.perf_counter()
        call(cugraph, graph, source)
        cupy.cuda.runtime.deviceSynchronize()
        if run != 0:  # the first warms up
            samples.append((time.perf_counter() - begin) * 1e3)
    figures = {"ms": statistics.median(samples), "ms_low": min(samples), "ms_high": max(samples)}
    return {"asked": request, "cugraph": cugraph.__version__, "runs": given.runs, **figures}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build/gpu")
    parser.add_argument("--runs", type=int, default=9)
    parser.add_argument("tasks", nargs="+")
    given = parser.parse_args()
    unknown = [task for task in given.tasks if task.partition(":")[0] not in CALLS]
    if unknown or given.runs < 1:
        parser.error(f"tasks are {', '.join(CALLS)}, with options; at least one run")
    try:
        import cudf
        import cugraph
        import cupy
        import numpy
    except Exception as reason:  # without a driver their import raises errors of its own
        sys.exit(f"measure_cugraph.py: NOT RUN: {type(reason).__name__}: {reason}")
    for task in given.tasks:
        print(json.dumps(measure(given, task, cudf, cugraph, cupy, numpy)), flush=True)


if __name__ == "__main__":
    main()
