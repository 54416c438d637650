# SPDX-License-Identifier: Apache-2.0
"""What it costs to run a captured PyTorch step as side work, and what it costs training.

Each model's step (random weights and inputs) is captured. Plain replays are timed, then the same step as the only job
in bubbles that are seconds long (--bubbles), and in gaps of one length (--gaps, milliseconds). With --scopes the steps
run in the bubbles of the stage of the program `stage`, by turns: the slowdown of a training step, and the side steps as
a share of plain replays in as much time. CUDA_DEVICE_MAX_CONNECTIONS is taken as it is."""

import statistics
import sys
import time

from lab import torch
from lab.models import LEARNING_GROUPS, is_over, plain_ms, step_of, submitted
from lab.options import at_least, count, listed, one_of
from lab.reports import closed_pieces, harvested_between, nodes_and_segments, report_of
from lab.trainer import GROUP, Size, Stage
from lab.treatment import compared, harvest, in_turns, over_scopes, warm_up, with_lull
from lab.work import MODELS

LIMIT_S = 300
BUBBLE_S = 1.6  # below the longest lease
CYCLES_A_MS = 1.98e6
LEARNING = 40  # bubbles: a site goes by the last 32
GAPS_MS = 1500  # of bubbles of one length, together


def sleep(ms):
    torch.cuda._sleep(int(ms * CYCLES_A_MS))


def in_a_bubble_ms(side, job):
    """Of a step, while one bubble is open; by the host's clock, between the first step seen to end and the last."""
    with side.bubble("long"):
        sleep(BUBBLE_S * 1e3)
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
    """Steps a millisecond in many bubbles of one length, after those that the site learns from."""
    for bubbles in (LEARNING, max(20, round(GAPS_MS / gap_ms))):
        marks, done = [], job.rounds()
        for _ in range(bubbles):
            begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            begin.record()
            with side.bubble(f"{gap_ms} ms"):
                sleep(gap_ms)
            end.record()
            sleep(1)
            marks.append((begin, end))
        torch.cuda.synchronize()
        time.sleep(0.05)
    open_ms = sum(begin.elapsed_time(end) for begin, end in marks)
    return (job.rounds() - done) / open_ms


def plain_ms_of(job):
    """Of a replay of the step's graph. No bubble may be open."""
    captured = job._feeder.captured
    return plain_ms(captured.graph, captured.stream)


def alone(name, step, state, reserved_groups, submit, bubbles, gaps):
    with harvest(executor="cuda", reserved_groups=reserved_groups) as side:
        began = time.monotonic()
        job = submit(side, name, step, state)
        submitted_s = time.monotonic() - began
        plain = [plain_ms_of(job)]
        gated = [in_a_bubble_ms(side, job) for _ in range(bubbles)]
        speeds = {f"{gap_ms} ms": in_gaps(side, job, gap_ms) for gap_ms in gaps}
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


def scope(side, jobs, trainer, seconds):
    """A row for each job, of training while it alone is not paused."""
    rows = {}
    for job in jobs.values():
        job.pause()
    for name, job in jobs.items():
        plain = plain_ms_of(job)
        job.resume()
        if not rows:
            trainer.groups([with_lull()] * LEARNING_GROUPS)
        warm_up(trainer, with_lull())  # last: it has the trainer's pauses
        before, closed = report_of(side), closed_pieces(job.result())["count"]
        times = in_turns(trainer, with_lull(), seconds)
        torch.cuda.synchronize()
        work = harvested_between(before, report_of(side))
        steps = work["items"] / nodes_and_segments(job.result())[0]
        share = steps * plain / (GROUP * len(times[1]) * trainer.idle_ms)
        found = {**compared(*times), **work, "plain_ms": plain, "side_steps": steps, "share": share}
        rows[name] = {**found, "closed_on_a_piece": closed_pieces(job.result())["count"] - closed}
        job.pause()
    return rows


def in_stage(steps, trainer, reserved_groups, submit, scopes, seconds):
    """All models in each scope, by turns: what a scope does to training is the same for all. Each scope begins with the
    next model."""
    found, names = {name: [] for name in steps}, list(steps)
    for number in range(scopes):
        at = number % len(names)
        with harvest(executor="cuda", reserved_groups=reserved_groups) as side:
            jobs = {name: submit(side, name, *steps[name]) for name in names[at:] + names[:at]}
            for name, row in scope(side, jobs, trainer, seconds).items():
                found[name].append(row)
                print(f"scope {number}, {name}: {row['slowdown_percent']:+.2f} %", file=sys.stderr, flush=True)
    share = {name: statistics.fmean(row["share"] for row in rows) for name, rows in found.items()}
    return {name: {**over_scopes(rows), "share": share[name]} for name, rows in found.items()}


def measure(
    build,
    models: listed(",") = MODELS,
    reserved_groups=2,
    segment=1e-4,
    hint: one_of(("on", "off")) = "on",
    gaps: listed(",", float) = (21, 3.5),
    bubbles: count = 2,
    scopes: at_least(0) = 0,
    seconds=2.5,
    size=Size(),
):
    def submit(side, name, step, state):
        return submitted(side, name, step, state, segment, hint=hint == "on")

    steps = {name: step_of(name) for name in models}
    if scopes:
        found = in_stage(steps, Stage(build, size), reserved_groups, submit, scopes, seconds)
    else:
        found = {name: alone(name, *steps[name], reserved_groups, submit, bubbles, gaps) for name in steps}
    asked = {"reserved_groups": reserved_groups, "segment_us": segment * 1e6, "hint": hint}
    return {"rows": [{"model": name, **asked, **found[name]} for name in steps]}
