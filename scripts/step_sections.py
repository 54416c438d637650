# SPDX-License-Identifier: Apache-2.0
"""Sections of record.py about what side work costs a step, and what waits on the device cost: a function a section."""

from measured import alone_with_bounds, of_each, once, paired, read_json, shell, with_lull, without

CONNECTIONS = (1, 4, 8, 32)
OTHER_TASKS = ("streaming", "mlp", "pagerank", "product")
ARMED_AHEAD_US = (10_000_000, 20_000, 2_000, 500, 0)  # from as soon as it can be to not before the bubble is open
STEP = {
    "compute": [
        ["--task", "compute", "--connections", str(count), *foreign]
        for count in CONNECTIONS
        for foreign in ([], ["--foreign"])
    ],
    "tasks": [["--task", task, "--connections", "8", "--foreign"] for task in OTHER_TASKS],
    "ahead": [
        ["--task", "compute", "--connections", "8", "--foreign", "--armed-ahead-us", str(ahead)]
        for ahead in ARMED_AHEAD_US
    ],
}
STAGE = {  # arguments for each number of connections
    "wait": ((8,), ["--tasks", "wait", "--foreign", "off"]),
    "few_sms": ((8,), ["--tasks", "compute", "--foreign", "off", "--processors", "16"]),
    # Whether hungry tasks that are half as wide cost less for what they do.
    "half_sms": ((8,), ["--tasks", "product+pagerank", "--foreign", "off", "--processors", "58"]),
    "all_sms": ((8,), ["--tasks", "product+pagerank", "--foreign", "off"]),
    "compute": (CONNECTIONS, ["--tasks", "compute", "--foreign", "off"]),
    "foreign": (CONNECTIONS, ["--tasks", "compute", "--foreign", "on"]),
    "tasks": ((8,), ["--tasks", "+".join(OTHER_TASKS), "--foreign", "on"]),
    "ahead": (
        (8,),
        [
            "--tasks",
            "compute",
            "--foreign",
            "on",
            "--armed-ahead",
            ",".join(f"{each / 1e6:g}" for each in ARMED_AHEAD_US),
        ],
    ),
}


def step(build, plans):
    """Six scopes a row. The interval of `slowdown_percent` is that of the mean of scopes, of
    `worst_slowdown_percent` the worst scope's own."""
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
        found = [
            "env",
            f"LULL_LIBRARY={build}/apps/c/liblull.so",
            "PYTHONPATH=apps/python",
            "python3",
            *command,
            "--wait",
            f"{build}/bin/bench/libstage_wait.so",
        ]
        rows += [
            {"connections": count, **row}
            for row in stage_rows(command, read_json(shell(found, 310)), read_json(shell(found, 310)))
        ]
    return rows


def stage_rows(command, first, second):
    """One a plan that either run has figures of; else one with the reason."""
    plans = next((run["rows"] for run in (first, second) if "rows" in run), None)
    if plans is None:
        return [paired(command, first, second)]
    asked = ("task", "armed_ahead_s", "foreign")
    rows = []
    for index, plan in enumerate(plans):
        (one, spread), (other, again) = (
            alone_with_bounds(run["rows"][index]) if "rows" in run else (run, {}) for run in (first, second)
        )
        figures = [{key: value for key, value in each.items() if key not in asked} for each in (one, other)]
        rows.append(
            {key: plan[key] for key in asked} | paired(command, *figures, interval={"first": spread, "second": again})
        )
    return rows


KERNELS = {  # connections and tasks of each section that compares a stage's kernels
    "stage_kernels": ((8, ("compute", "pagerank", "product")), (32, ("compute",))),
    "side_kernels": ((8, ("step:resnet18", "step:vgg19", "step:bert")),),
}


def stage_kernels(build, plans):
    """The kernels of that stage beside side work, and the gaps between them. A scope is a run: whether a wait slows
    it differs from one to the next."""
    rows = []
    for count, tasks in plans:
        command = ["scripts/stage_kernels.py", "--connections", str(count), "--scopes", "2", "--tasks", "+".join(tasks)]
        waits = ["--wait", f"{build}/bin/bench/libstage_wait.so"]
        said = read_json(shell(with_lull(build, [*command, *waits], LULL="on"), 200))
        rows += stage_kernel_rows(command, said, count, tasks)
    return rows


def stage_kernel_rows(command, said, count, tasks):
    if "rows" not in said:
        return [{"connections": count, **once(command, said)}]
    rows = []
    for task in tasks:
        first, second = (without("task", one) for one in said["rows"] if one["task"] == task)
        rows.append({"connections": count, "task": task, **paired(command, first, second)})
    return rows


def settling(build):
    """How many steps that stage takes to settle when side work begins or ends."""
    waits = ["--wait", f"{build}/bin/bench/libstage_wait.so"]
    return of_each("task", build, ["scripts/measure_settling.py", "--tasks", "product+pagerank", *waits], 230)


GOVERNED = ("product", "pagerank", "step:resnet50")


def governed(build, task):
    """Whether that stage keeps a bound of half a per cent. One run of 2,000 steps: it tells its own interval."""
    waits = ["--wait", f"{build}/bin/bench/libstage_wait.so"]
    command = ["scripts/measure_governed.py", "--task", task, "--bound", "0.005", *waits]
    said = read_json(shell(with_lull(build, command), 520))
    return [{"task": task, **once(command, without("task", said["rows"][0]) if "rows" in said else said)}]


def governor(build):
    """Simulated trainers: an outcome, which has no noise."""
    command = [f"{build}/bin/bench/governed_trainers"]
    found = read_json(shell(command, 200))
    rows = found.pop("rows", [])
    return [{"trainer": "all", **once(command, found)}] + [
        {**{key: row.pop(key) for key in ("trainer", "steps", "bound_percent")}, **once(command, row)} for row in rows
    ]


UNREACHED = ("mlp", "streaming")


def unreached(build, task):
    """What a bound of 2 %, which the task never reaches, costs it."""
    waits = ["--wait", f"{build}/bin/bench/libstage_wait.so"]
    command = ["scripts/measure_unreached.py", "--task", task, "--bound", "0.02", *waits]
    said = read_json(shell(with_lull(build, command), 320))
    return [{"task": task, **once(command, without("task", said["rows"][0]) if "rows" in said else said)}]


def reporting(build):
    """What it costs a step that a report is asked for. Pairs of scopes: it tells its own interval."""
    command = ["scripts/measure_report.py", "--wait", f"{build}/bin/bench/libstage_wait.so"]
    said = read_json(shell(with_lull(build, command), 320))
    return [{"task": "compute", **once(command, without("task", said["rows"][0]) if "rows" in said else said)}]


def memory(build):
    """How long 20 GB of a job take to go back to the driver, and whether a trainer that takes memory to the brim ever
    runs out of it."""
    command = [f"{build}/bin/bench/give_back"]
    given = paired(command, *(read_json(shell(command, 120)) for _ in range(2)))
    script = ["scripts/measure_memory.py", "--hook"]
    return [
        {"of": "give_back", **given},
        {"of": "pressure", **once(script, read_json(shell(with_lull(build, script), 240)))},
    ]


def pending(build):
    """What a wait that is pending beside training costs each of its kernels. A row is of one program; its rows are
    inside."""
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
        rows.append(
            {"connections": count, **paired(command, *(read_json(shell(command, 250), ends=(0, 1)) for _ in range(2)))}
        )
    return rows


def connections(build):
    """The same without Lull, and with further streams of the program that launch kernels: from how many on two
    streams that wait for each other hang."""
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
