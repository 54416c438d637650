#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Whether captured PyTorch steps that bubbles cut at random moments leave the bits of plain replays.

    LULL_LIBRARY=build/gpu/apps/c/liblull.so PYTHONPATH=apps/python python3 scripts/check_side_steps.py --closes 1000

Each model's step (random weights and inputs, dropout where the model has it) is captured once. It runs in bubbles of
random lengths, without training between two of them but a product, until so many have closed while a piece of it ran.
Then what the step changes is put back, and the same graph is replayed plainly as often, twice. One JSON object on
standard output; exit code 1 where the bits differ though two plain runs have the same."""

import argparse
import json
import random
import sys

import torch

import lull
from side_models import step_of

CYCLES_A_MS = 1.98e6
BUBBLES_MS = (0.05, 1.5)
BATCH = 20  # bubbles between two synchronisations


def closes(job):
    """Bubbles that closed while a piece ran."""
    found = job.result().splitlines()[1].split()[0]
    return int(found) if found.isdigit() else 0


def harvest(side, job, wanted, draw):
    """Bubbles of random lengths until so many have closed on the job; then its feed is cut. Returns the closes."""
    a = torch.randn(1024, 1024, device="cuda")
    for _ in range(100 * wanted // BATCH):
        for _ in range(BATCH):
            with side.bubble("random"):
                torch.cuda._sleep(int(draw.uniform(*BUBBLES_MS) * CYCLES_A_MS))
            torch.mm(a, a)
        torch.cuda.synchronize()
        if job.wait(0) or closes(job) >= wanted:
            break
    return closes(job)


def finish(side, job, limit=2000):
    """The steps that are left, in long bubbles."""
    for _ in range(limit):
        with side.bubble("long"):
            torch.cuda._sleep(int(20 * CYCLES_A_MS))
        torch.cuda.synchronize()
        if job.wait(0):
            return job.state == "finished"
    return False


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
        cut = harvest(side, job, given.closes, random.Random(given.seed))
        done = finish(side, job)
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


def tensors_of(state):
    from lull.step_state import tensors_of as of_part

    return [tensor for part in state for tensor in of_part(torch, part)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--closes", type=int, default=1000, help="bubbles that close while a piece runs, a model")
    parser.add_argument(
        "--steps",
        type=lambda text: {each.split("=")[0]: int(each.split("=")[1]) for each in text.split(",")},
        default={"resnet18": 160, "resnet50": 70, "vgg19": 50, "bert": 80, "efficientnet_b0": 90},
        help="model=steps,…: the models, and how long each runs",
    )
    parser.add_argument("--rooms", type=int, default=2)
    parser.add_argument("--segment", type=float, default=1e-4, help="seconds")
    parser.add_argument("--seed", type=int, default=11)
    given = parser.parse_args()
    torch.backends.cudnn.deterministic = True
    found = [check(name, given) for name in given.steps]
    print(json.dumps({"torch": torch.__version__, "rows": found}), flush=True)
    differ = [row for row in found if not row["finished"] or row["same_bits"] < row["plain_runs_have_the_same_bits"]]
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main())
