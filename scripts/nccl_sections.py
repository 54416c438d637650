# SPDX-License-Identifier: Apache-2.0
"""Sections of record.py that need several GPUs: what side work costs a pipeline over NCCL in C++, and what it
brings."""

from measured import alone_with_bounds, paired, read_json, shell

SCHEDULES = ("gpipe", "1f1b", "interleaved", "zero_bubble")
TASKS = ("compute", "streaming", "mlp")
SIZES = {  # with fp32 a GPU stays below its power limit, with bf16 the limit sets its clock
    "fp32": ["--dtype", "fp32", "--tokens", "1024"],
    "bf16": ["--dtype", "bf16", "--tokens", "4096"],
}
MODES = {"streams": [], "graph": ["--graph"]}


def nccl(build, size, mode):
    """Two processes with a GPU each, one run a schedule. `first` and `second` of a row are every other scope of the
    run."""
    rows = []
    for schedule in SCHEDULES:
        arguments = ["--schedule", schedule, "--task", ",".join(TASKS), *SIZES[size], *MODES[mode]]
        launcher = ["env", "NCCL_NVLS_ENABLE=0", "scripts/ranks.py", "--limit", "140", "2"]
        command = [*launcher, f"{build}/bin/bench/nccl_pipeline", *arguments, "--limit", "140"]
        found = read_json(shell(command, 145), ends=(0, 1))
        rows += [row_of(["nccl_pipeline", *arguments], found, schedule, task) for task in TASKS]
    return rows


def row_of(command, found, schedule, task):
    row = {"schedule": schedule, "task": task}
    if "not_run" in found:
        return {**row, **paired(command, found, found)}
    told = found["tasks"][task]
    (first, spread), (second, again) = (alone_with_bounds(told[half]) for half in ("first", "second"))
    rest = {"bit_equal": told["bit_equal"], "rooms": found["rooms"], "ranks": told["ranks"]}
    return {**row, **paired(command, first, second, interval={"first": spread, "second": again}), **rest}


SECTIONS = {
    f"nccl:{size}_{mode}": ("as named", lambda build, size=size, mode=mode: nccl(build, size, mode))
    for size in SIZES
    for mode in MODES
}
