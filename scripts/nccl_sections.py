# SPDX-License-Identifier: Apache-2.0
"""Sections of record.py that need several GPUs: what side work costs a pipeline over NCCL in C++, and what it
brings."""

from measured import alone_with_bounds, paired, read_json, shell

SCHEDULES = ("gpipe", "1f1b", "interleaved", "zero_bubble")
TASKS = ("compute", "streaming", "mlp")
LIMIT_S = 170
SIZES = {  # with fp32 a GPU stays below its power limit, and a step takes longer; with bf16 the limit sets its clock
    "fp32": ["--dtype", "fp32", "--tokens", "1024", "--layers", "2", "--verify-steps", "32"],
    "bf16": ["--dtype", "bf16", "--tokens", "4096", "--verify-steps", "64"],
}
MODES = {"streams": [], "graph": ["--graph"]}
SHORTEST = {"": [], ":200us": ["--min-bubble-us", "200"]}  # bubbles that are harvested


def nccl(build, size, mode, schedule, shortest):
    """Two processes with a GPU each, and a row a task. `first` and `second` are every other scope of the run."""
    arguments = ["--schedule", schedule, "--task", ",".join(TASKS), "--scopes", "6"]
    arguments += [*SIZES[size], *MODES[mode], *SHORTEST[shortest]]
    launcher = ["env", "NCCL_NVLS_ENABLE=0", "scripts/ranks.py", "--limit", str(LIMIT_S), "2"]
    command = [*launcher, f"{build}/bin/bench/nccl_pipeline", *arguments, "--limit", str(LIMIT_S)]
    found = read_json(shell(command, LIMIT_S + 5), ends=(0, 1))
    return [row_of(["NCCL_NVLS_ENABLE=0", "nccl_pipeline", *arguments], found, task) for task in TASKS]


def row_of(command, found, task):
    row = {"task": task}
    if "not_run" in found:
        return {**row, **paired(command, found, found)}
    told = found["tasks"][task]
    (first, spread), (second, again) = (alone_with_bounds(told[half]) for half in ("first", "second"))
    rest = {"bit_equal": told["bit_equal"], "rooms": found["rooms"], "ranks": told["ranks"]}
    return {**row, **paired(command, first, second, interval={"first": spread, "second": again}), **rest}


SECTIONS = {
    f"nccl:{size}:{mode}:{schedule}{shortest}": (
        "as named",
        lambda build, asked=(size, mode, schedule, shortest): nccl(build, *asked),
    )
    for size in SIZES
    for mode in MODES
    for schedule in SCHEDULES
    for shortest in SHORTEST
}
