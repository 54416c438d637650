#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Whether captured PyTorch steps that bubbles cut at random moments leave the bits of plain replays.

    LULL_LIBRARY=build/gpu/apps/c/liblull.so PYTHONPATH=apps/python python3 scripts/check_side_steps.py --closes 1000

Each model's step (random weights and inputs, dropout where the model has it) is captured once. It runs in bubbles of
random lengths, without training between two of them but a product, until so many have closed while a piece of it ran.
The steps that are left run in long bubbles. Then what the step changes is put back, and the same graph is replayed
plainly as often, twice. One JSON object on standard output. Exit code 1, and on standard error why: the bits differ,
two plain runs differ, fewer bubbles closed on a piece than were asked for, or the steps did not end."""

import argparse
import json
import os
import random
import signal
import sys
import time

os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # cuBLAS reads it once: else its bits may differ

import torch

import lull
from closed_pieces import closed_pieces
from side_models import is_over, step_of

CYCLES_A_MS = 1.98e6
BUBBLES_MS = (0.05, 1.5)
BATCH = 20  # bubbles between two synchronisations


def harvest(side, job, wanted, draw, seconds):
    """Bubbles of random lengths, until so many have closed on a piece of the job, its steps are over, or the time is.
    Returns how many closed so."""
    a, found = torch.randn(1024, 1024, device="cuda"), 0
    until = time.monotonic() + seconds
    while found < wanted and time.monotonic() < until and not is_over(job, 0):
        for _ in range(BATCH):
            with side.bubble("random"):
                torch.cuda._sleep(int(draw.uniform(*BUBBLES_MS) * CYCLES_A_MS))
            torch.mm(a, a)
        torch.cuda.synchronize()
        found = max(found, closed_pieces(job.result())["count"])  # a job that is over may tell of none
    return found


def finish(side, job, seconds):
    """The steps that are left, in long bubbles."""
    until = time.monotonic() + seconds
    while not is_over(job, 0):
        if time.monotonic() > until:
            return False
        with side.bubble("long"):
            torch.cuda._sleep(int(20 * CYCLES_A_MS))
        torch.cuda.synchronize()
    return lull.Job.status(job)["state"] == "finished"


def plain(captured, first, steps):
    """What as many ordinary replays leave."""
    tensors = captured.state()
    with captured._numbers.in_use(), torch.cuda.stream(captured.stream), torch.no_grad():
        for tensor, was in zip(tensors, first):
            tensor.copy_(was)
        torch.cuda.default_generators[captured.device].set_offset(0)
        for _ in range(steps):
            captured.graph.replay()
    torch.cuda.synchronize()
    return [tensor.clone() for tensor in tensors]


def equal(one, other):
    return all(torch.equal(a, b) for a, b in zip(one, other, strict=True))


def check(name, given):
    step, state = step_of(name)
    step()  # makes the optimizer's state
    torch.cuda.synchronize()
    with lull.harvest(tasks=[], executor="cuda", rooms=given.rooms) as side:
        asked = lull.side_step(step, steps=given.steps[name], state=state, seed=given.seed, segment=given.segment)
        first = [tensor.clone() for tensor in tensors_of(state)]
        job = side.submit(asked, name=name)
        captured = job._feeder.captured
        cut = harvest(side, job, given.closes, random.Random(given.seed), given.seconds)
        done = finish(side, job, given.seconds)
        if not done:  # nothing of it may run beside the plain replays
            job.cancel()
            is_over(job, 10)
        left = [tensor.clone() for tensor in captured.state()]
        runs = [plain(captured, first, given.steps[name]) for _ in range(2)]
    return {
        "model": name,
        "steps": given.steps[name],
        "closed_on_a_piece": cut,
        "finished": done,
        "same_bits": equal(left, runs[0]),
        "plain_runs_have_the_same_bits": equal(*runs),
    }


def failures(row, wanted):
    """Why a row shows nothing, or that bits differ; none where all is well."""
    found = []
    if not row["finished"]:
        found.append("its steps did not end: raise --seconds")
    if row["closed_on_a_piece"] < wanted:
        found.append(f"{row['closed_on_a_piece']} of {wanted} bubbles closed on a piece: raise --steps, or --seconds")
    if not row["plain_runs_have_the_same_bits"]:
        found.append("two plain runs differ, so the bits of the run in bubbles say nothing")
    elif row["finished"] and not row["same_bits"]:
        found.append("the run in bubbles left other bits than plain replays")
    return found


def tensors_of(state):
    from lull.step_state import tensors_of as of_part

    return [tensor for part in state for tensor in of_part(torch, part)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--closes", type=int, default=1000, help="bubbles that close while a piece runs, a model")
    parser.add_argument(
        "--steps",
        type=lambda text: {each.split("=")[0]: int(each.split("=")[1]) for each in text.split(",")},
        default={"resnet18": 280, "resnet50": 125, "vgg19": 90, "bert": 140, "efficientnet_b0": 160},
        help="model=steps,…: the models, and how long each runs",
    )
    parser.add_argument("--seconds", type=float, default=20, help="of bubbles a model: random ones, and then long ones")
    parser.add_argument("--limit", type=int, default=230, help="seconds after which the process ends")
    parser.add_argument("--rooms", type=int, default=2)
    parser.add_argument("--segment", type=float, default=1e-4, help="seconds")
    parser.add_argument("--seed", type=int, default=11)
    given = parser.parse_args()
    signal.signal(signal.SIGALRM, signal.SIG_DFL)  # ends the process where the interpreter waits for a GPU that hangs
    signal.alarm(given.limit)
    torch.backends.cudnn.deterministic = True
    found = [check(name, given) for name in given.steps]
    print(json.dumps({"torch": torch.__version__, "rows": found}), flush=True)
    why = [f"{row['model']}: {reason}" for row in found for reason in failures(row, given.closes)]
    print("\n".join(why), file=sys.stderr, end="\n" if why else "")
    return 1 if why else 0


if __name__ == "__main__":
    sys.exit(main())
