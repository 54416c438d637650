# SPDX-License-Identifier: Apache-2.0
"""Sections about captured PyTorch steps as side work."""

import json

from lab.process import not_run, of_lab, read_outcome
from lab.record import of_each, outcomes
from lab.section import section
from lab.sections.stages import TORCH

MODELS = "resnet18,resnet50,vgg19,bert"
COMPARED = {  # rows, scopes of a run, and further arguments
    "gated": "nothing,host_gated_step,host_gated_segment,planned,lull,lull_without_hint,lull_functor --rounds 3",
    "always_on": "nothing,low_priority,green_split,other_process --rounds 2",
    "mps": "nothing,mps --rounds 2 --server mps",
}


@section("side_steps", "ms, shares and per cent as named", needs=TORCH, seconds=121)
def side_steps(build):
    """Captured steps in long bubbles and in gaps, against plain replays on the same SMs."""
    return of_each("model", of_lab(build, f"side_steps --models {MODELS}"), 240)


@section("side_stage", "as named", needs=TORCH, seconds=338, each=(4, 8, 32))
def side_stage(build, connections, words=f"--models {MODELS} --scopes 6 --seconds 1"):
    """What they cost the stage of the sections `stage:…`, in scopes of a process."""
    command = of_lab(build, f"side_steps {words}", CUDA_DEVICE_MAX_CONNECTIONS=connections)
    return [{"connections": connections, **row} for row in of_each("model", command, 230)]


@section("side_causes", "as named", needs=TORCH, seconds=128)
def side_causes(build):
    """What of VGG19's step it is that slows that stage: beside it, steps of one kind of kernel each."""
    return side_stage(build, 8, "--models vgg19,sleeps,copies,products --scopes 2 --seconds 2.5")


@section("side_host", "as named", needs=TORCH, seconds=100)
def side_host(build):
    """What they cost the trainer's host, and how much later a kernel after a bubble ends. Two runs."""
    return of_each("case", of_lab(build, "side_host"), 170)


def read_rows(done):
    """What the program printed of its rows, after a line for each scope."""
    if done.returncode != 0:
        return not_run(done)
    try:
        rows = [row for row in map(json.loads, done.stdout.splitlines()) if "scope" not in row]
    except ValueError:
        rows = []
    return {"rows": rows} if rows else {"not_run": f"it printed no rows: {done.stdout.strip()[:200]}"}


@section("side_compare", "as named", needs=TORCH, seconds=338, each=COMPARED)
def side_compare(build, name):
    """What else could run such a step beside training."""
    return of_each("row", of_lab(build, f"compare --limit 220 --rows {COMPARED[name]}"), 230, read_rows)


@section("side_check", "as named", needs=TORCH, seconds=104)
def side_check(build):
    """Whether steps that bubbles cut at random moments leave the bits of plain replays. An outcome: it has no noise."""
    return outcomes("model", of_lab(build, "side_check"), 240, read_outcome)
