#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the benches and writes one JSON record a section.

    scripts/record.py --build build/gpu --results docs/results yield harvest               on a machine with a GPU
    scripts/record.py --build build/release --results docs/results setup pagerank_cpu sites  on any, with nothing else running

Every figure is measured twice by the same program, one process a run: `first` and `second`, whose difference stands beside
them as `noise`. `interval` holds, for each figure of which samples are known, the 95 % interval of its median by order
statistics. What could not run is recorded as not run, with the reason; nothing is ever filled in, and a record that has
figures is not replaced by one that has none.
"""
import argparse
import datetime
import json
import pathlib
import time

from measured import alone_with_bounds, commit, condition, lull, machine, not_run, paired, read_json, shell, twice, why_empty

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
    f"yield_latency/task:compute/behind:burst_264/landing:{how}/iterations:" for how in ("at_once", "500ns_later", "1000ns_later", "2000ns_later", "waited")
] + [f"yield_latency/task:{task}/behind:burst_264/landing:{how}/iterations:" for task in ("streaming", "pagerank") for how in ("2000ns_later", "waited")]
EDGES = [
    f"yield_latency/task:compute/behind:burst_264/iterations:{arguments}"
    for arguments in ("", " --successor", " --setter=kernel", " --launch=at_open", " --threads=256", " --threads=512", " --rooms=0")
]
ARRIVAL = [f"yield_latency/task:compute/arrival:{what}/iterations:" for what in ("one_thread", "blocks_132", "nccl_shape")]
HOST_CALLS = [
    f"host_calls/call:{call}/launch:{launch}/iterations: --connections={connections}"
    for call in ("nothing", "stream_synchronise", "device_synchronise", "free")
    for launch in ("at_close", "at_open")
    for connections in ((1, 8, 32) if call == "nothing" else (1, 8))
]
PRODUCTS = [(4096, 1, 100), (1024, 131, 100), (512, 524, 100)]  # size, count, rounds: so many that the worker's start counts for nothing
LEAVING = [
    *(f"yield_latency/task:product/behind:burst_132/iterations: --size={size} --bubbles=3000" for size in (4096, 1024)),
    "yield_latency/task:product/behind:burst_132/iterations: --size=4096 --bubbles=3000 --setter=kernel",
    "yield_latency/task:product/behind:burst_132/iterations: --size=4096 --bubbles=3000 --leave=saved",
    "yield_latency/task:mlp/behind:burst_132/iterations: --bubbles=3000",
]
RESIZE = [
    f"resize_npp/what:{what}/width:{width}/" for what in ("lanczos3_rgb", "lanczos3_grey", "area_rgb", "lanczos3_rgb_watermark", "area_rgb_watermark") for width in (1920, 640)
]
WHOLE_JOB = ["whole_job/from:3840/to:1920/iterations: --executor=cuda --count=300 --from=3840 --to=1920 --pairs=7"]
SETUP = [f"graph_load/kind:{kind}/threads:{threads}/" for kind in (0, 1) for threads in (1, 2)]
SITES = ["site_calls/executor:threads/", "site_calls/executor:cuda/"]
PAGERANK_CPU = ["pagerank_cpu/scale:18/", "pagerank_cpu/scale:20/"]
HARVEST = [(longest, mode) for longest in ("10ms", "1ms", "100us") for mode in ("lull", "naive")]


# Forward times that make the longest bubble of 1F1B, stage 0 of 4 with 8 micro-batches, about as long as named: after its warm-up
# stage 0 waits 6 forward times for its first backward.
SEGMENT = {"10ms": "1667us", "1ms": "167us", "200us": "33us", "100us": "17us", "50us": "8us"}


def in_bubbles(longest, *more):
    """A harvest's arguments."""
    return ["harvest", "--executor", "cuda", "--schedule", "1f1b", "--stages", "4", "--microbatches", "8", "--stage", "0", "--segment", SEGMENT[longest], *more]


def harvest(build):
    """n is `training.pairs` of a report, its interval `training.ci95_pct`."""
    rows = []
    for longest, mode in HARVEST:
        arguments = in_bubbles(longest, "--mode", mode, "--pairs", "5", "--task", "pagerank:kronecker=22,sweeps=2000,tolerance=1e-30")
        first, second = lull(build, arguments, 200), lull(build, arguments, 200)
        rows.append({"longest_bubble": longest, "mode": mode, **paired(["lull", *arguments], first, second)})
    return rows


TASKS = {
    "pagerank": "pagerank:kronecker=22,sweeps=2000,tolerance=1e-30",
    "mlp": "mlp:hidden=1024,batch=512,epochs=1000",
    "product": "product:rows=1024,columns=1024,depth=1024,count=64,rounds=2000",
    "compute": "compute:rounds=5000",
    "streaming": "streaming:rounds=3000",
}


def tasks(build):
    """Every task in the bubbles of one schedule, the longest about 1 ms; n and interval as in `harvest`."""
    rows = []
    for name, task in TASKS.items():
        arguments = in_bubbles("1ms", "--pairs", "5", "--iterations", "100", "--task", task)
        first, second = lull(build, arguments, 100), lull(build, arguments, 100)
        rows.append({"task": name, **paired(["lull", *arguments], first, second)})
    return rows


SHORT = {
    "handed back": "product:rows=4096,columns=4096,depth=4096,rounds=3000",
    "saved": "product:rows=4096,columns=4096,depth=4096,rounds=3000,leave=saved",
    "drained": "product:rows=4096,columns=4096,depth=4096,rounds=3000,leave=behind",
}


def short_bubbles(build):
    """Three ways to leave a tile where bubbles are hardly longer than one: a tile of depth 4,096 takes 50 us; n and interval as in `harvest`."""
    rows = []
    for longest in ("50us", "100us", "200us"):
        for how, task in SHORT.items():
            arguments = in_bubbles(longest, "--pairs", "3", "--iterations", "60", "--task", task)
            first, second = lull(build, arguments, 60), lull(build, arguments, 60)
            rows.append({"longest_bubble": longest, "how": how, **paired(["lull", *arguments], first, second)})
    return rows


def pictures(build):
    """Pictures of a folder in the bubbles, and the task that takes over where none is decoded yet; n and interval as in `harvest`."""
    folder = pathlib.Path(f"{build}/pictures")
    (folder / "in").mkdir(parents=True, exist_ok=True)
    photograph = pathlib.Path(__file__).parent.parent / "data" / "chelsea.png"
    for i in range(300):
        (folder / "in" / f"{i:03}.png").write_bytes(photograph.read_bytes())
    rows = []
    for beside in ([], ["--task", TASKS["compute"]]):
        arguments = in_bubbles("1ms", "--pairs", "3", "--iterations", "100", "--task", f"images:in={folder}/in,out={folder}/out,width=1920,priority=1", *beside)
        first, second = lull(build, arguments, 100), lull(build, arguments, 100)
        rows.append({"beside": beside[1:], **paired(["lull", *arguments], first, second)})
    return rows


def pagerank(build):
    """Its samples are nine pairs, of which it tells median, least and greatest: the latter two hold the median with 99.6 %."""
    rows = []
    for grain in (1, 2, 4):
        command = [f"{build}/bin/bench/pagerank_speed", "22", "100", "9", str(grain)]
        runs = [json.loads(done.stdout) if done.returncode == 0 else not_run(done) for done in (shell(command, 120), shell(command, 120))]
        spread = [{f"{who}_ms_per_sweep": [run[f"{who}_min"], run[f"{who}_max"]] for who in ("plain", "worker") if f"{who}_min" in run} for run in runs]
        rows.append({"grain": grain, **paired(command, *runs, interval={"first": spread[0], "second": spread[1]})})
    return rows


def products(build):
    """Large products beside cuBLAS; the intervals are the spread of the pairs, 10th to 90th percentile."""
    rows = []
    for size, count, rounds in PRODUCTS:
        command = [f"{build}/bin/bench/product_speed", "--size", str(size), "--count", str(count), "--rounds", str(rounds)]
        runs = [read_json(shell(command, 150)) for _ in range(2)]
        figures = [{key: value["p50"] if isinstance(value, dict) else value for key, value in run.items()} for run in runs]
        spread = [{key: [value["p10"], value["p90"]] for key, value in run.items() if isinstance(value, dict)} for run in runs]
        rows.append({"size": size, "products": count, **paired(command, *figures, interval={"first": spread[0], "second": spread[1]})})
    return rows


def ranks(build):
    """Whether a job of bubbles ends with the bytes of one that was never interrupted."""
    task = "pagerank:kronecker=22,sweeps=100,tolerance=1e-30,out="
    files = [pathlib.Path(f"{build}/{name}.tsv") for name in ("uninterrupted", "first", "second")]
    plain = ["run", "--executor", "cuda", "--task", task + str(files[0])]
    bubbles = ["harvest", "--executor", "cuda", "--schedule", "1f1b", "--segment", "17us", "--pairs", "1", "--iterations", "40", "--verify", "--task"]
    done = [lull(build, plain, 200)] + [lull(build, [*bubbles, task + str(file)], 200) for file in files[1:]]
    if failed := next((one for one in done if "not_run" in one), None):
        return [paired(["lull", *bubbles], failed, failed)]
    expected = files[0].read_bytes()
    found = [{"bytes": len(expected), "equal": file.read_bytes() == expected, "bubbles": one["report"]["bubbles"]} for file, one in zip(files[1:], done[1:])]
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
    """Whether a task that is preempted at random instants ends with the bits of one that never was; `second` is at others."""
    rows = []
    for task in INSTANTS:
        command = [f"{build}/bin/bench/random_instants", "--task", task, "--instants", "500"]
        began = time.monotonic()
        first, second = (read_json(shell([*command, "--seed", seed], 200), ends=(0, 1)) for seed in "12")
        print(f"instants of {task}: {time.monotonic() - began:.0f} s", flush=True)
        rows.append({"task": task, **paired(command, first, second)})
    return rows


def nccl(build):
    """Two processes with a GPU each. The interval is the slowdown's own, over n = `pairs`."""
    rows = []
    for task in ("compute", "streaming"):
        for mode, microbatches in (("streams", 4), ("graph", 4), ("graph", 2)):
            arguments = ["--task", task, "--microbatches", str(microbatches), "--seconds", "25", *(["--graph"] if mode == "graph" else [])]
            command = ["env", "NCCL_NVLS_ENABLE=0", "scripts/ranks.py", "--limit", "95", "2", f"{build}/bin/bench/nccl_pipeline", *arguments]
            (first, spread), (second, again) = (alone_with_bounds(read_json(shell(command, 100))) for _ in range(2))
            run = paired(["nccl_pipeline", *arguments], first, second, interval={"first": spread, "second": again})
            rows.append({"task": task, "mode": mode, "microbatches": microbatches, **run})
    return rows


CONNECTIONS = (1, 4, 8, 32)
OTHER_TASKS = ("streaming", "mlp", "pagerank", "product")
ARMED_AHEAD_US = (10_000_000, 20_000, 2_000, 500, 0)  # from as soon as it can be to not before the bubble is open
STEP = {
    "compute": [["--task", "compute", "--connections", str(count), *foreign] for count in CONNECTIONS for foreign in ([], ["--foreign"])],
    "tasks": [["--task", task, "--connections", "8", "--foreign"] for task in OTHER_TASKS],
    "ahead": [["--task", "compute", "--connections", "8", "--foreign", "--armed-ahead-us", str(ahead)] for ahead in ARMED_AHEAD_US],
}
STAGE = {  # arguments for each number of connections
    "wait": ((8,), ["--tasks", "wait", "--foreign", "off"]),
    "few_sms": ((8,), ["--tasks", "compute", "--foreign", "off", "--processors", "16"]),
    "compute": (CONNECTIONS, ["--tasks", "compute", "--foreign", "off"]),
    "foreign": (CONNECTIONS, ["--tasks", "compute", "--foreign", "on"]),
    "tasks": ((8,), ["--tasks", "+".join(OTHER_TASKS), "--foreign", "on"]),
    "ahead": ((8,), ["--tasks", "compute", "--foreign", "on", "--armed-ahead", ",".join(f"{each / 1e6:g}" for each in ARMED_AHEAD_US)]),
}


def step(build, plans):
    """Six scopes a row. The interval of `slowdown_percent` is that of the mean of scopes, of `worst_slowdown_percent` the worst scope's own."""
    rows = []
    for plan in plans:
        command = [f"{build}/bin/bench/step_slowdown", "--scopes", "6", "--seconds", "2", *plan]
        (first, spread), (second, again) = (alone_with_bounds(read_json(shell(command, 250))) for _ in range(2))
        asked = first.pop("arguments", None) or second.get("arguments")
        second.pop("arguments", None)
        rows.append({"asked": asked, **paired(command, first, second, interval={"first": spread, "second": again})})
    return rows


def stage(build, connections, arguments):
    """A real stage in PyTorch, in one process a run; a row for each plan of it. Intervals as in `step`."""
    rows = []
    for count in connections:
        command = ["scripts/measure_stage.py", "--connections", str(count), "--scopes", "6", *arguments]
        found = ["env", f"LULL_LIBRARY={build}/apps/c/liblull.so", "PYTHONPATH=apps/python", "python3", *command, "--wait", f"{build}/bin/bench/libstage_wait.so"]
        rows += [{"connections": count, **row} for row in stage_rows(command, read_json(shell(found, 310)), read_json(shell(found, 310)))]
    return rows


def stage_rows(command, first, second):
    """One a plan that either run has figures of; else one with the reason."""
    plans = next((run["rows"] for run in (first, second) if "rows" in run), None)
    if plans is None:
        return [paired(command, first, second)]
    asked = ("task", "armed_ahead_s", "foreign")
    rows = []
    for index, plan in enumerate(plans):
        (one, spread), (other, again) = (alone_with_bounds(run["rows"][index]) if "rows" in run else (run, {}) for run in (first, second))
        figures = [{key: value for key, value in each.items() if key not in asked} for each in (one, other)]
        rows.append({key: plan[key] for key in asked} | paired(command, *figures, interval={"first": spread, "second": again}))
    return rows


def stage_kernels(build):
    """The kernels of that stage beside side work, and the gaps between them. A scope is a run: whether a wait slows it differs from one to the
    next."""
    rows = []
    for count, tasks in ((8, ("compute", "pagerank", "product")), (32, ("compute",))):
        command = ["scripts/stage_kernels.py", "--connections", str(count), "--scopes", "2", "--tasks", "+".join(tasks)]
        found = ["env", "LULL=on", f"LULL_LIBRARY={build}/apps/c/liblull.so", "PYTHONPATH=apps/python", "python3", *command, "--wait", f"{build}/bin/bench/libstage_wait.so"]
        rows += stage_kernel_rows(command, read_json(shell(found, 200)), count, tasks)
    return rows


def stage_kernel_rows(command, said, count, tasks):
    rows = []
    for task in tasks:
        first, second = ({key: one[key] for key in one if key != "task"} for one in said["rows"] if one["task"] == task)
        rows.append({"connections": count, "task": task, **paired(command, first, second)})
    return rows


def pending(build):
    """What a wait that is pending beside training costs each of its kernels. A row is of one program; its rows are inside."""
    rows = []
    for count in CONNECTIONS:
        command = [f"{build}/bin/bench/pending_wait", "--connections", str(count)]
        rows.append({"connections": count, **paired(command, *(read_json(shell(command, 130)) for _ in range(2)))})
    return rows


def two_streams(build):
    """Two streams of a trainer of which one waits for the other. A run in which a wait ran out is an outcome."""
    rows = []
    for count in CONNECTIONS:
        command = [f"{build}/bin/bench/two_streams", "--connections", str(count)]
        rows.append({"connections": count, **paired(command, *(read_json(shell(command, 250), ends=(0, 1)) for _ in range(2)))})
    return rows


def connections(build):
    """The same without Lull, and with further streams of the program that launch kernels: from how many on two streams that wait for each
    other hang."""
    rows = []
    for count in (1, 2, 3, 4, 6, 8):
        for further in range(5):
            command = [f"{build}/bin/bench/two_streams", "--connections", str(count), "--further", str(further)]
            found = (read_json(shell(command, 60), ends=(0, 1)) for _ in range(2))
            rows.append({"connections": count, "further": further, **paired(command, *found)})
    return rows


def our_threads(build):
    """What the runtime's own threads take of a core."""
    command = [f"{build}/bin/bench/our_threads"]
    return [paired(command, *(read_json(shell(command, 60)) for _ in range(2)))]


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
    "harvest": (None, harvest),
    "product": ("TFLOP/s", products),
    "leaving": ("us", lambda build: twice(build, LEAVING)),
    "resize": ("us", lambda build: twice(build, RESIZE)),
    "whole_job": ("files a second", lambda build: twice(build, WHOLE_JOB)),
    "ranks": ("bytes", ranks),
    "instants": (None, instants),
    "nccl": ("as named", nccl),
    **{f"step:{name}": ("as named", lambda build, plans=plans: step(build, plans)) for name, plans in STEP.items()},
    **{f"stage:{name}": ("as named", lambda build, name=name: stage(build, *STAGE[name])) for name in STAGE},
    "stage_kernels": ("as named", stage_kernels),
    "pending": ("ns", pending),
    "two_streams": ("us", two_streams),
    "connections": ("us", connections),
    "our_threads": ("per cent of a core", our_threads),
    "setup": ("times in ms, rates as named", lambda build: twice(build, SETUP, 240)),
    "sites": ("us", lambda build: twice(build, SITES, 240)),
    "pagerank_cpu": ("ms", lambda build: twice(build, PAGERANK_CPU, 240)),
}


def chosen(names):
    """Sections in order; `step` stands for every `step:…`. Raises ValueError for a name of none."""
    found = []
    for name in names or SECTIONS:
        of_name = [each for each in SECTIONS if each == name or each.startswith(f"{name}:")]
        if not of_name:
            raise ValueError(f"unknown section {name}; known: {', '.join(SECTIONS)}")
        found += of_name
    return found


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True)
    parser.add_argument("--results", required=True)
    parser.add_argument("names", nargs="*", help=f"sections: {', '.join(SECTIONS)}, or what stands before a colon; all of them by default")
    parser.add_argument("--connections", type=int, nargs="+", choices=CONNECTIONS, help="of the sections stage:… only these rows, where time is short")
    given = parser.parse_args()
    for name, (connections, arguments) in STAGE.items() if given.connections else ():
        STAGE[name] = ([count for count in connections if count in given.connections], arguments)
    try:
        names = chosen(given.names)
    except ValueError as unknown:
        parser.error(str(unknown))
    for name in names:
        unit, measure = SECTIONS[name]
        record = {
            "schema": "lull.record/1",
            "section": name,
            "date": datetime.date.today().isoformat(),
            "commit": commit(),
            "machine": machine(),
            "before": condition(),
            "unit": unit,
            "rows": measure(given.build),
            "after": condition(),
        }
        path = pathlib.Path(given.results) / f"{name.replace(':', '_')}.json"
        if reason := why_empty(record):
            record["not_run"] = reason
            if path.exists() and "not_run" not in json.loads(path.read_text()):
                print(f"{name}: NOT RUN, {path} is left as it was: {reason}")
                continue
        path.write_text(json.dumps(record, indent=1) + "\n")
        print(f"{name}: {'NOT RUN: ' + reason if reason else path}")


if __name__ == "__main__":
    main()
