#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What it costs to run a captured PyTorch step as side work, and what it costs training.

    LULL_LIBRARY=build/gpu/apps/c/liblull.so PYTHONPATH=apps/python python3 scripts/measure_side_steps.py \\
        --models resnet18,bert --rooms 2 --wait build/gpu/bin/bench/libstage_wait.so --scopes 6

Each model's step (random weights and inputs) is captured. Plain replays are timed, then the same step as the only job
in bubbles that are seconds long, and in gaps of one length. With --scopes the steps run in the bubbles of the stage
that measure_stage.py trains, by turns: the slowdown of a training step, and the side steps as a share of plain replays
in as much time. CUDA_DEVICE_MAX_CONNECTIONS is taken as it is. One JSON object on standard output."""

import argparse
import json
import statistics
import sys
import time

import torch

import lull
from closed_pieces import closed_pieces, nodes_and_segments
from measure_stage import compared, harvested_between, in_turns, report_of, summed_up, warm_up
from side_models import LEARNING_GROUPS, is_over, plain_ms, step_of, submitted
from stage_trainer import GROUP, Trainer, add_size

BUBBLE_S = 1.6  # below the longest lease
CYCLES_A_MS = 1.98e6
LEARNING = 40  # bubbles: a site goes by the last 32
GAPS_MS = 1500  # of bubbles of one length, together
PLAIN = 20  # replays


def in_a_bubble_ms(side, job):
    """Of a step, while one bubble is open; by the host's clock, between the first step seen to end and the last."""
    with side.bubble("long"):
        torch.cuda._sleep(int(BUBBLE_S * 1e3 * CYCLES_A_MS))
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


def in_gaps(side, job, gap_ms):
    """Steps a millisecond in many bubbles of one length, behind those that the site learns from."""
    marks, done = [], 0
    for turn in range(2):
        for _ in range(LEARNING if turn == 0 else max(20, round(GAPS_MS / gap_ms))):
            begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            begin.record()
            with side.bubble(f"{gap_ms} ms"):
                torch.cuda._sleep(int(gap_ms * CYCLES_A_MS))
            end.record()
            torch.cuda._sleep(int(CYCLES_A_MS))
            marks.append((begin, end))
        torch.cuda.synchronize()
        time.sleep(0.05)
        if turn == 0:
            marks, done = [], job.rounds()
    open_ms = sum(begin.elapsed_time(end) for begin, end in marks)
    return (job.rounds() - done) / open_ms


def submit(side, name, step, state, given):
    return submitted(side, name, step, state, given.segment, hint=given.hint == "on")


def measure_alone(name, step, state, given):
    with lull.harvest(tasks=[], executor="cuda", rooms=given.rooms) as side:
        began = time.monotonic()
        job = submit(side, name, step, state, given)
        submitted_s = time.monotonic() - began
        plain = [plain_ms_of(job)]
        gated = [in_a_bubble_ms(side, job) for _ in range(given.bubbles)]
        speeds = {f"{gap_ms} ms": in_gaps(side, job, gap_ms) for gap_ms in given.gaps}
        cut, closed = job.result().splitlines()  # while the job is there
        job.cancel()
        if not is_over(job, 10):
            raise RuntimeError(f"{name}: the job is not over 10 s after it was cancelled")
        plain.append(plain_ms_of(job))
    now, (_, segments) = statistics.median(plain), nodes_and_segments(cut)
    return {
        "cut": cut,
        "segments": segments,
        "submitted_s": round(submitted_s, 2),
        "plain_ms": plain,
        "gated_ms": gated,
        "longer_percent": [None if each is None else 100 * (each / now - 1) for each in gated],
        "longer_us_a_segment": [None if each is None else 1e3 * (each - now) / segments for each in gated],
        "share_in_gaps": {gap: speed * now for gap, speed in speeds.items()},
        "closed": closed,
    }


def plain_ms_of(job):
    """Of a replay of the step's graph. No bubble may be open."""
    captured = job._feeder.captured
    return plain_ms(captured.graph, captured.stream, PLAIN)


def measure_scope(side, jobs, trainer, given):
    """A row for each job, of training while it alone is not paused."""
    rows = {}
    for job in jobs.values():
        job.pause()
    for name, job in jobs.items():
        plain = plain_ms_of(job)
        job.resume()
        if not rows:
            trainer.groups([lull.bubble] * LEARNING_GROUPS)
        warm_up(trainer, lull.bubble)  # last: it has the trainer's pauses
        before, closed = report_of(side), closed_pieces(job.result())["count"]
        times = in_turns(trainer, lull.bubble, given.seconds)
        torch.cuda.synchronize()
        work = harvested_between(before, report_of(side))
        steps = work["items"] / nodes_and_segments(job.result())[0]
        rows[name] = {
            **compared(*times),
            **work,
            "plain_ms": plain,
            "side_steps": steps,
            "share": steps * plain / (GROUP * len(times[1]) * trainer.idle_ms),
            "closed_on_a_piece": closed_pieces(job.result())["count"] - closed,
        }
        job.pause()
    return rows


def measure_in_stage(steps, given):
    """All models in each scope, by turns: what a scope does to training is the same for all. Each scope begins with the
    next model."""
    trainer, scopes, names = Trainer(torch, given), {name: [] for name in steps}, list(steps)
    for number in range(given.scopes):
        at = number % len(names)
        with lull.harvest(tasks=[], executor="cuda", rooms=given.rooms) as side:
            jobs = {name: submit(side, name, *steps[name], given) for name in names[at:] + names[:at]}
            for name, row in measure_scope(side, jobs, trainer, given).items():
                scopes[name].append(row)
                print(f"scope {number}, {name}: {row['slowdown_percent']:+.2f} %", file=sys.stderr, flush=True)
    return {
        name: {**summed_up(rows), "share": statistics.fmean(row["share"] for row in rows)}
        for name, rows in scopes.items()
    }


def measure(given):
    steps = {name: step_of(name) for name in given.models.split(",")}
    if given.scopes:
        found = measure_in_stage(steps, given)
    else:
        found = {name: measure_alone(name, *steps[name], given) for name in steps}
    asked = {"rooms": given.rooms, "segment_us": given.segment * 1e6, "hint": given.hint}
    return [{"model": name, **asked, **found[name]} for name in steps]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--models", default="resnet18,resnet50,vgg19,bert")
    parser.add_argument("--rooms", type=int, default=2)
    parser.add_argument("--segment", type=float, default=1e-4, help="seconds")
    parser.add_argument("--hint", choices=("on", "off"), default="on")
    parser.add_argument(
        "--gaps", type=lambda text: [float(each) for each in text.split(",") if each], default=[21, 3.5]
    )
    parser.add_argument("--bubbles", type=int, default=2)
    parser.add_argument("--scopes", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=2.5, help="of training in a scope, a model")
    parser.add_argument("--wait", help="bench/libstage_wait.so")
    add_size(parser)
    given = parser.parse_args()
    if given.scopes and not given.wait:
        parser.error("--scopes needs --wait")
    print(json.dumps({"torch": torch.__version__, "rows": measure(given)}), flush=True)


if __name__ == "__main__":
    sys.exit(main())
