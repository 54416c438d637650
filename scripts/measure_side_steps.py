#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What it costs to run a captured PyTorch step as side work, and what it costs training.

    LULL_LIBRARY=build/gpu/apps/c/liblull.so PYTHONPATH=apps/python python3 scripts/measure_side_steps.py \\
        --models resnet18,bert --rooms 2 --wait build/gpu/bin/bench/libstage_wait.so --scopes 6

Each model's step (random weights and inputs) is captured. Plain replays are timed, then the same step as the only job
in bubbles that are seconds long. With --scopes it also runs in the bubbles of the stage that measure_stage.py trains:
the slowdown of a step, and the side steps as a share of plain replays in as much time. CUDA_DEVICE_MAX_CONNECTIONS is
taken as it is. One JSON object a model on standard output."""

import argparse
import json
import statistics
import sys
import time

import torch

import lull
from measure_stage import compared, in_turns, summed_up, warm_up
from side_models import plain_ms, step_of, submitted
from stage_trainer import GROUP, Trainer

BUBBLE_S = 1.6  # below the longest lease


def in_a_bubble_ms(side, job):
    """Of a step, while one bubble is open; by the host's clock, between the first step seen to end and the last."""
    with side.bubble("long"):
        torch.cuda._sleep(int(BUBBLE_S * 1.98e9))
    seen = []
    end = time.monotonic() + BUBBLE_S - 0.1
    while time.monotonic() < end:
        rounds = job.rounds()
        if not seen or rounds != seen[-1][1]:
            seen.append((time.monotonic(), rounds))
        time.sleep(1e-4)
    torch.cuda.synchronize()
    seen = seen[2:]
    if len(seen) < 3:
        return None
    return 1e3 * (seen[-1][0] - seen[0][0]) / (seen[-1][1] - seen[0][1])


def measure_alone(name, step, state, given):
    with lull.harvest(tasks=[], executor="cuda", rooms=given.rooms) as side:
        began = time.monotonic()
        job = submitted(side, name, step, state, given.segment)
        submitted_s = time.monotonic() - began
        captured = job._captured
        plain = [plain_ms(captured.graph, captured.stream, 20)]
        gated = [in_a_bubble_ms(side, job) for _ in range(given.bubbles)]
        job.cancel()
        job.wait(10)
        plain.append(plain_ms(captured.graph, captured.stream, 20))
    now = statistics.median(plain)
    return {
        "cut": job.result().strip(),
        "submitted_s": round(submitted_s, 2),
        "plain_ms": plain,
        "gated_ms": gated,
        "longer_percent": [None if each is None else 100 * (each / now - 1) for each in gated],
    }


def measure_in_stage(name, step, state, given, plain):
    """`plain`: milliseconds of a plain replay."""
    trainer, scopes = Trainer(torch, given), []
    for _ in range(given.scopes):
        with lull.harvest(tasks=[], executor="cuda", rooms=given.rooms) as side:
            job = submitted(side, name, step, state, given.segment)
            warm_up(trainer, lull.bubble)
            before = job.rounds()
            times = in_turns(trainer, lull.bubble, given.seconds)
            torch.cuda.synchronize()
            steps = job.rounds() - before
            share = steps * plain / (GROUP * len(times[1]) * trainer.idle_ms)
            scopes.append({**compared(*times), "side_steps": steps, "share": share, "counts": side.counts()})
    return {**summed_up(scopes), "share": statistics.fmean(scope["share"] for scope in scopes)}


def measure(name, given):
    step, state = step_of(name)
    found = {"model": name, "rooms": given.rooms, "segment_us": given.segment * 1e6, "torch": torch.__version__}
    found |= measure_alone(name, step, state, given)
    if given.scopes:
        found["stage"] = measure_in_stage(name, step, state, given, statistics.median(found["plain_ms"]))
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--models", default="resnet18,resnet50,vgg19,bert")
    parser.add_argument("--rooms", type=int, default=2)
    parser.add_argument("--segment", type=float, default=1e-4, help="seconds")
    parser.add_argument("--bubbles", type=int, default=2)
    parser.add_argument("--scopes", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=5, help="of training in a scope")
    parser.add_argument("--wait", help="bench/libstage_wait.so")
    for name, value in (("layers", 6), ("batch", 3), ("tokens", 1024), ("width", 2048)):
        parser.add_argument(f"--{name}", type=int, default=value)
    given = parser.parse_args()
    if given.scopes and not given.wait:
        parser.error("--scopes needs --wait")
    for name in given.models.split(","):
        print(json.dumps(measure(name, given)), flush=True)


if __name__ == "__main__":
    sys.exit(main())
