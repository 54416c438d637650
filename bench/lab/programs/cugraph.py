# SPDX-License-Identifier: Apache-2.0
"""cuGraph over the graphs of graph tasks, where cuGraph is installed: bfs:kronecker=22 components:uniform=22 …

Prints a JSON object for each task: median, least and greatest milliseconds of a call, by the host's clock, until the
device is done. That holds what cuGraph does in Python; its graph is made before. Graphs have each edge in both
directions, once; cuGraph drops duplicates, which the task's own graph keeps."""

import json
import pathlib
import statistics
import subprocess
import tempfile
import time

from lab import NotRun
from lab.options import count
from lab.process import of_bench

CALLS = {
    "bfs": lambda cugraph, graph, source: cugraph.bfs(graph, start=source),
    "components": lambda cugraph, graph, source: cugraph.weakly_connected_components(graph),
    "sssp": lambda cugraph, graph, source: cugraph.sssp(graph, source=source),
    "triangles": lambda cugraph, graph, source: cugraph.triangle_count(graph),
}


def read_graph(build, request, cudf, cugraph, numpy):
    """The graph, and the lowest vertex that an edge leaves."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(of_bench(build, ["graph_arrays", request, folder]), check=True)
        names = (("offsets.u64", "u8"), ("targets.u32", "u4"))
        offsets, targets = (numpy.fromfile(f"{folder}/{name}", kind) for name, kind in names)
        weights = pathlib.Path(folder, "weights.f32")
        columns = {"weight": numpy.fromfile(weights, "f4")} if weights.exists() else {}
    degrees = numpy.diff(offsets.astype("i8"))
    columns["source"] = numpy.repeat(numpy.arange(len(degrees), dtype="i4"), degrees)
    columns["destination"] = targets.astype("i4")
    graph = cugraph.Graph(directed=False)
    attribute = "weight" if "weight" in columns else None
    graph.from_cudf_edgelist(cudf.DataFrame(columns), edge_attr=attribute, renumber=False)
    return graph, int(numpy.flatnonzero(degrees)[0])


def measure(build, tasks, runs: count = 9):
    try:
        import cudf
        import cugraph
        import cupy
        import numpy
    except Exception as reason:  # without a driver their import raises errors of its own
        raise NotRun(f"{type(reason).__name__}: {reason}") from reason
    if unknown := [task for task in tasks if task.partition(":")[0] not in CALLS]:
        raise NotRun(f"tasks are {', '.join(CALLS)}, with options: {unknown}")
    for request in tasks:
        graph, source = read_graph(build, request, cudf, cugraph, numpy)
        samples = []
        for run in range(runs + 1):
            cupy.cuda.runtime.deviceSynchronize()
            begin = time.perf_counter()
            CALLS[request.partition(":")[0]](cugraph, graph, source)
            cupy.cuda.runtime.deviceSynchronize()
            if run != 0:  # the first warms up
                samples.append((time.perf_counter() - begin) * 1e3)
        figures = {"ms": statistics.median(samples), "ms_low": min(samples), "ms_high": max(samples)}
        print(json.dumps({"asked": request, "cugraph": cugraph.__version__, "runs": runs, **figures}), flush=True)
