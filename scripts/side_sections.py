# SPDX-License-Identifier: Apache-2.0
"""Sections of records about captured PyTorch steps as side work."""

import json

from measured import not_run, of_each, once, read_json, shell, with_lull, without

MODELS = ("resnet18", "resnet50", "vgg19", "bert")
PROBES = ("sleeps", "copies", "products")
COMPARED = {  # rows, scopes of a run, and further arguments
    "gated": ("nothing,host_gated_step,host_gated_segment,planned,lull,lull_without_hint,lull_functor", 3, ()),
    "always_on": ("nothing,low_priority,green_split,other_process", 2, ()),
    "mps": ("nothing,mps", 2, ("--mps",)),
}


def side_steps(build):
    """Steps in long bubbles and in gaps, against plain replays on the same SMs."""
    return of_each("model", build, ["scripts/measure_side_steps.py", "--models", ",".join(MODELS)], 240)


def side_stage(build, connections, models=MODELS, scopes=6, seconds=1):
    """What they cost the stage of measure_stage.py, in scopes of a process."""
    waits = ["--wait", f"{build}/bin/bench/libstage_wait.so", "--scopes", str(scopes), "--seconds", str(seconds)]
    command = ["scripts/measure_side_steps.py", "--models", ",".join(models), *waits]
    rows = of_each("model", build, command, 230, CUDA_DEVICE_MAX_CONNECTIONS=connections)
    return [{"connections": connections, **row} for row in rows]


def side_causes(build):
    """What of VGG19's step it is that slows that stage: beside it, steps of one kind of kernel each."""
    return side_stage(build, 8, ("vgg19", *PROBES), scopes=2, seconds=2.5)


def side_host(build):
    """What they cost the trainer's host, and how much later a kernel after a bubble ends. Two runs."""
    command = ["scripts/measure_side_host.py", "--wait", f"{build}/bin/bench/libstage_wait.so"]
    return of_each("case", build, command, 170)


def read_rows(done):
    """What compare_side_work.py printed of its rows, behind a line for each scope."""
    if done.returncode != 0:
        return not_run(done)
    try:
        rows = [row for row in map(json.loads, done.stdout.splitlines()) if "scope" not in row]
    except ValueError:
        rows = []
    return {"rows": rows} if rows else {"not_run": f"it printed no rows: {done.stdout.strip()[:200]}"}


def side_compare(build, rows, rounds, more):
    """What else could run such a step beside training."""
    asked = [
        "--wait",
        f"{build}/bin/bench/libstage_wait.so",
        "--rows",
        rows,
        "--rounds",
        str(rounds),
        "--limit",
        "220",
        *more,
    ]
    return of_each("row", build, ["scripts/compare_side_work.py", *asked], 230, read_rows)


def side_check(build):
    """Whether steps that bubbles cut at random moments leave the bits of plain replays. An outcome: it has no noise."""
    command = ["scripts/check_side_steps.py"]
    found = read_json(shell(with_lull(build, command), 240), ends=(0, 1))
    if "rows" not in found:
        return [once(command, found)]
    return [{"model": row["model"], **once(command, without("model", row))} for row in found["rows"]]
