# SPDX-License-Identifier: Apache-2.0
"""Sections about bubbles in which the trainer's host itself stays."""

from lab.process import of_lab
from lab.record import outcomes
from lab.section import section
from lab.sections.stages import CONNECTIONS, TORCH


@section("stalls", "ms, us and shares as named", needs=TORCH, seconds=80, each=("compute", "streaming", "resnet18"))
def stalls(build, work):
    """What side work gets of a host's stalls, and what it costs training there."""
    return outcomes("case", of_lab(build, f"stalls --works {work}"), 290)


@section("zero_bubbles", "us as named", needs=TORCH, seconds=20, each=CONNECTIONS)
def zero_bubbles(build, connections):
    """What bubbles of no length cost training, a bubble."""
    rows = outcomes("work", of_lab(build, "zero_bubbles", CUDA_DEVICE_MAX_CONNECTIONS=connections), 120)
    return [{"connections": connections, **row} for row in rows]
