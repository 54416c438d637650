#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the benches and writes one JSON record a section.

    scripts/record.py --build build/gpu --results docs/results yield harvest               on a machine with a GPU
    scripts/record.py --build build/release --results docs/results setup graph_setup pagerank_cpu sites  on any, with
    nothing else running

Every figure is measured twice by the same program, one process a run: `first` and `second`, whose difference stands
beside them as `noise`. `interval` holds, for each figure of which samples are known, the 95 % interval of its median
by order statistics. What could not run is recorded as not run, with the reason; nothing is ever filled in, and a
record that has figures is not replaced by one that has none."""

import argparse
import datetime
import json
import math
import pathlib
import time

from graph_sections import GRAPHS, graph, pagerank
from graph_task_sections import RATINGS, ROW_NAMES, keep_rows
from graph_task_sections import SECTIONS as GRAPH_TASK_SECTIONS
from graph_task_sections import TASKS as GRAPH_TASKS
from harvest_sections import harvest, pictures, short_bubbles, tasks
from measured import (
    commit,
    condition,
    lull,
    machine,
    once,
    paired,
    read_json,
    shell,
    twice,
    why_empty,
)
from nccl_sections import SECTIONS as NCCL_SECTIONS
from side_sections import COMPARED, side_causes, side_check, side_compare, side_host, side_stage, side_steps
from step_sections import (
    CONNECTIONS,
    GOVERNED,
    KERNELS,
    STAGE,
    STEP,
    UNREACHED,
    connections,
    governed,
    governor,
    memory,
    our_threads,
    pending,
    reporting,
    settling,
    stage,
    stage_kernels,
    step,
    two_streams,
    unreached,
)

YIELD = [
    f"yield_latency/task:{task}/behind:{behind}/iterations:"
    for task in ("compute", "streaming", "pagerank")
    for behind in ("burst_132", "burst_264", "cublas_2048")
]
CAPTURED = [
    f"yield_latency/task:{task}/behind:{behind}/captured/iterations:"
    for task in ("compute", "streaming")
    for behind in ("burst_132", "burst_264", "cublas_2048")
] + [f"yield_latency/task:{task}/behind:burst_264/captured/iterations: --others" for task in ("compute", "streaming")]
LANDING = [
    f"yield_latency/task:compute/behind:burst_264/landing:{how}/iterations:"
    for how in ("at_once", "500ns_later", "1000ns_later", "2000ns_later", "waited")
] + [
    f"yield_latency/task:{task}/behind:burst_264/landing:{how}/iterations:"
    for task in ("streaming", "pagerank")
    for how in ("2000ns_later", "waited")
]
EDGES = [
    f"yield_latency/task:compute/behind:burst_264/iterations:{arguments}"
    for arguments in (
        "",
        " --successor",
        " --setter=kernel",
        " --launch=at_open",
        " --threads=256",
        " --threads=512",
        " --rooms=0",
    )
]
ARRIVAL = [
    f"yield_latency/task:compute/arrival:{what}/iterations:" for what in ("one_thread", "blocks_132", "nccl_shape")
]
HOST_CALLS = [
    f"host_calls/call:{call}/launch:{launch}/iterations: --connections={connections}"
    for call in ("nothing", "stream_synchronise", "device_synchronise", "free")
    for launch in ("at_close", "at_open")
    for connections in ((1, 8, 32) if call == "nothing" else (1, 8))
]
PRODUCTS = [
    (4096, 1, 100),
    (1024, 131, 100),
    (512, 524, 100),
]  # size, count, rounds: so many that the worker's start counts for nothing
LEAVING = [
    *(f"yield_latency/task:product/behind:burst_132/iterations: --size={size} --bubbles=3000" for size in (4096, 1024)),
    "yield_latency/task:product/behind:burst_132/iterations: --size=4096 --bubbles=3000 --setter=kernel",
    "yield_latency/task:product/behind:burst_132/iterations: --size=4096 --bubbles=3000 --leave=saved",
    "yield_latency/task:mlp/behind:burst_132/iterations: --bubbles=3000",
]
RESIZE = [
    f"resize_npp/what:{what}/width:{width}/"
    for what in ("lanczos3_rgb", "lanczos3_grey", "area_rgb", "lanczos3_rgb_watermark", "area_rgb_watermark")
    for width in (1920, 640)
]
WHOLE_JOB = ["whole_job/from:3840/to:1920/iterations: --executor=cuda --count=300 --from=3840 --to=1920 --pairs=7"]
SETUP = [f"graph_load/kind:{kind}/threads:{threads}/" for kind in (0, 1) for threads in (1, 2)]
GRAPH_TEXTS = {
    name: ("csv",) if task.inputs is RATINGS else ("el", "wel", "gr", "mtx")
    for name, task in GRAPH_TASKS.items()
    if not task.task
}
GRAPH_PARTS = "el wel gr mtx transpose is_symmetric orient plan_triangles read_ratings rating_blocks".split()
GRAPH_SETUP = [
    *(f"graph_setup/task:{name}/text:{text}/cores:1/" for name, texts in GRAPH_TEXTS.items() for text in texts),
    *(f"graph_setup/task:{name}/text:{texts[0]}/cores:0/" for name, texts in GRAPH_TEXTS.items()),
    *(f"graph_setup/part:{part}/cores:1/" for part in GRAPH_PARTS),
]
SITES = ["site_calls/executor:threads/", "site_calls/executor:cuda/"]
PAGERANK_CPU = ["pagerank_cpu/scale:18/", "pagerank_cpu/scale:20/"]


def products(build):
    """Large products beside cuBLAS; the intervals are the spread of the pairs, 10th to 90th percentile."""
    rows = []
    for size, count, rounds in PRODUCTS:
        command = [
            f"{build}/bin/bench/product_speed",
            "--size",
            str(size),
            "--count",
            str(count),
            "--rounds",
            str(rounds),
        ]
        runs = [read_json(shell(command, 150)) for _ in range(2)]
        figures = [
            {key: value["p50"] if isinstance(value, dict) else value for key, value in run.items()} for run in runs
        ]
        spread = [
            {key: [value["p10"], value["p90"]] for key, value in run.items() if isinstance(value, dict)} for run in runs
        ]
        rows.append(
            {
                "size": size,
                "products": count,
                **paired(command, *figures, interval={"first": spread[0], "second": spread[1]}),
            }
        )
    return rows


def ranks(build):
    """Whether a job of bubbles ends with the bytes of one that was never interrupted."""
    task = "pagerank:kronecker=22,sweeps=100,tolerance=1e-30,out="
    files = [pathlib.Path(f"{build}/{name}.tsv") for name in ("uninterrupted", "first", "second")]
    plain = ["run", "--executor", "cuda", "--task", task + str(files[0])]
    bubbles = [
        "harvest",
        "--executor",
        "cuda",
        "--schedule",
        "1f1b",
        "--segment",
        "17us",
        "--pairs",
        "1",
        "--iterations",
        "40",
        "--verify",
        "--task",
    ]
    done = [lull(build, plain, 200)] + [lull(build, [*bubbles, task + str(file)], 200) for file in files[1:]]
    if failed := next((one for one in done if "not_run" in one), None):
        return [paired(["lull", *bubbles], failed, failed)]
    expected = files[0].read_bytes()
    found = [
        {"bytes": len(expected), "equal": file.read_bytes() == expected, "bubbles": one["report"]["bubbles"]}
        for file, one in zip(files[1:], done[1:])
    ]
    return [paired(["lull", *bubbles, task + "…"], *found)]


INSTANTS = [
    "pagerank:kronecker=18,sweeps=60,tolerance=1e-30",
    "mlp:hidden=256,batch=512,epochs=20",
    # One round, and little to compare: what another round stores again would hide what was left out.
    "product:rows=2048,columns=2048,depth=16384,count=2",
    "product:rows=2048,columns=2048,depth=16384,count=2,leave=saved",
    "product:rows=1024,columns=1024,depth=1024,count=16,rounds=160",
    "compute:rounds=125",
    "streaming:rounds=200",
    "images_unfed",
]


def instants(build):
    """Whether a task that is preempted at random instants ends with the bits of one that never was; `second` is at
    others."""
    rows = []
    for task in INSTANTS:
        command = [f"{build}/bin/bench/random_instants", "--task", task, "--instants", "500"]
        began = time.monotonic()
        first, second = (read_json(shell([*command, "--seed", seed], 200), ends=(0, 1)) for seed in "12")
        print(f"instants of {task}: {time.monotonic() - began:.0f} s", flush=True)
        rows.append({"task": task, **paired(command, first, second)})
    return rows


SECTIONS = {
    "yield": ("us", lambda build: twice(build, YIELD)),
    "captured": ("us", lambda build: twice(build, CAPTURED)),
    "landing": ("us", lambda build: twice(build, LANDING)),
    "edges": ("us", lambda build: twice(build, EDGES)),
    "host_calls": ("host in us, calls in ms", lambda build: twice(build, HOST_CALLS)),
    "arrival": ("us", lambda build: twice(build, ARRIVAL)),
    "tasks": (None, tasks),
    "short_bubbles": (None, short_bubbles),
    "pictures": (None, pictures),
    "pagerank": ("ms a sweep", pagerank),
    **{
        f"graph:{name}": ("ms, us and GB/s as named", lambda build, name=name: graph(build, GRAPHS[name]))
        for name in GRAPHS
    },
    **{
        f"{kind}:{name}": (unit, lambda build, measure=measure, name=name: measure(build, name))
        for kind, (unit, measure) in GRAPH_TASK_SECTIONS.items()
        for name, task in GRAPH_TASKS.items()
        if not task.sections or kind in task.sections
    },
    "harvest": (None, harvest),
    "product": ("TFLOP/s", products),
    "leaving": ("us", lambda build: twice(build, LEAVING)),
    "resize": ("us", lambda build: twice(build, RESIZE)),
    "whole_job": ("files a second", lambda build: twice(build, WHOLE_JOB)),
    "ranks": ("bytes", ranks),
    "instants": (None, instants),
    **NCCL_SECTIONS,
    **{f"step:{name}": ("as named", lambda build, plans=plans: step(build, plans)) for name, plans in STEP.items()},
    **{f"stage:{name}": ("as named", lambda build, name=name: stage(build, *STAGE[name])) for name in STAGE},
    **{name: ("as named", lambda build, name=name: stage_kernels(build, KERNELS[name])) for name in KERNELS},
    "settling": ("ms", settling),
    "memory": ("ms and bytes as named", memory),
    **{
        f"governed:{task.removeprefix('step:')}": ("as named", lambda build, task=task: governed(build, task))
        for task in GOVERNED
    },
    **{f"unreached:{task}": ("as named", lambda build, task=task: unreached(build, task)) for task in UNREACHED},
    "reporting": ("ms and per cent as named", reporting),
    "side_steps": ("ms, shares and per cent as named", side_steps),
    **{
        f"side_stage:{count}": ("as named", lambda build, count=count: side_stage(build, count))
        for count in CONNECTIONS[1:]
    },
    **{
        f"side_compare:{name}": ("as named", lambda build, name=name: side_compare(build, *COMPARED[name]))
        for name in COMPARED
    },
    "side_causes": ("as named", side_causes),
    "side_host": ("as named", side_host),
    "side_check": ("as named", side_check),
    "governor": (None, governor),
    "pending": ("ns", pending),
    "two_streams": ("us", two_streams),
    "connections": ("us", connections),
    "our_threads": ("per cent of a core", our_threads),
    "setup": ("times in ms, rates as named", lambda build: twice(build, SETUP, 240)),
    "graph_setup": ("times in ms, rates as named", lambda build: twice(build, GRAPH_SETUP, 240)),
    "sites": ("us", lambda build: twice(build, SITES, 240)),
    "pagerank_cpu": ("ms", lambda build: twice(build, PAGERANK_CPU, 240)),
}


def chosen(names):
    """Sections in order; a prefix such as `step` stands for every `step:…`. Raises ValueError for a name of none."""
    found = []
    for name in names or SECTIONS:
        of_name = [name] if name in SECTIONS else [each for each in SECTIONS if each.startswith(f"{name}:")]
        if not of_name:
            raise ValueError(f"unknown section {name}; known: {', '.join(SECTIONS)}")
        found += of_name
    return found


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True)
    parser.add_argument("--results", required=True)
    parser.add_argument(
        "names",
        nargs="*",
        help=f"sections: {', '.join(SECTIONS)}, or what stands before a colon; all of them by default",
    )
    parser.add_argument(
        "--connections",
        type=int,
        nargs="+",
        choices=CONNECTIONS,
        help="of the sections stage:… only these rows, where time is short",
    )
    parser.add_argument("--graphs", nargs="+", choices=ROW_NAMES, help="of the sections graph_…:TASK only these rows")
    parser.add_argument(
        "--within",
        type=float,
        default=math.inf,
        help="seconds; a section is left out if its last record says that it takes longer than what is left",
    )
    given = parser.parse_args()
    for name, (counts, arguments) in STAGE.items() if given.connections else ():
        STAGE[name] = ([count for count in counts if count in given.connections], arguments)
    if given.graphs:
        keep_rows(given.graphs)
    try:
        names = chosen(given.names)
    except ValueError as unknown:
        parser.error(str(unknown))
    until = time.monotonic() + given.within
    for name in names:
        path = pathlib.Path(given.results) / f"{name.replace(':', '_')}.json"
        left = until - time.monotonic()
        if (usual := usual_seconds(path)) > left:
            print(f"{name}: NOT RUN: it takes {usual:.0f} s, and {left:.0f} s are left", flush=True)
            continue
        print(record_of(name, given.build, path), flush=True)


def usual_seconds(path):
    """What a section took when it was recorded; 0 where nothing tells."""
    return json.loads(path.read_text()).get("took_s", 0) if path.exists() else 0


def record_of(name, build, path):
    """Measures a section; what came of it, in words."""
    began = time.monotonic()
    unit, measure = SECTIONS[name]
    record = {
        "schema": "lull.record/1",
        "section": name,
        "date": datetime.date.today().isoformat(),
        "commit": commit(),
        "machine": machine(),
        "before": condition(),
        "unit": unit,
        "rows": measure(build),
        "after": condition(),
        "took_s": round(time.monotonic() - began),
    }
    if reason := why_empty(record):
        record["not_run"] = reason
        if path.exists() and "not_run" not in json.loads(path.read_text()):
            return f"{name}: NOT RUN, {path} is left as it was: {reason}"
    path.write_text(json.dumps(record, indent=1) + "\n")
    return f"{name}: NOT RUN: {reason}" if reason else f"{name}: {path}, {record['took_s']} s"


if __name__ == "__main__":
    main()
