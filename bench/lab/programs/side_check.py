# SPDX-License-Identifier: Apache-2.0
"""Whether captured PyTorch steps that bubbles cut at random moments leave the bits of plain replays.

Each model's step (random weights and inputs, dropout where the model has it) is captured once. It runs in bubbles of
random lengths, without training between two of them but a product, until --closes have closed while a piece of it ran.
The steps that are left run in long bubbles. Then what the step changes is put back, and the same graph is replayed
plainly as often, twice. --steps model=steps,…: the models, and how long each runs. Exit code 1, and on standard error
why: the bits differ, two plain runs differ, fewer bubbles closed on a piece than were asked for, or the steps did not
end."""

import os
import random
import time

from lab import lull, torch
from lab.models import is_over, step_of
from lab.options import count, listed
from lab.programs.side_steps import sleep
from lab.reports import closed_pieces

LIMIT_S = 230
BUBBLES_MS = (0.05, 1.5)
BATCH = 20  # bubbles between two synchronisations
STEPS = ("resnet18", 280), ("resnet50", 125), ("vgg19", 90), ("bert", 140), ("efficientnet_b0", 160)


def cut_at_random(side, job, wanted, draw, seconds):
    """Bubbles of random lengths, until so many have closed on a piece of the job, its steps are over, or the time is.
    Returns how many closed so."""
    a, found = torch.randn(1024, 1024, device="cuda"), 0
    until = time.monotonic() + seconds
    while found < wanted and time.monotonic() < until and not is_over(job, 0):
        for _ in range(BATCH):
            with side.bubble("random"):
                sleep(draw.uniform(*BUBBLES_MS))
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
            sleep(20)
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


def tensors_of(state):
    import torch
    from lull.step_state import tensors_of as of_part

    return [tensor for part in state for tensor in of_part(torch, part)]


def check(name, steps, closes, seconds, reserved_groups, segment, seed):
    step, state = step_of(name)
    step()  # makes the optimizer's state
    torch.cuda.synchronize()
    with lull.harvest(tasks=[], executor="cuda", reserved_groups=reserved_groups) as side:
        asked = lull.side_step(step, steps=steps, state=state, seed=seed, segment=segment)
        first = [tensor.clone() for tensor in tensors_of(state)]
        job = side.submit(asked, name=name)
        captured = job._feeder.captured
        release, captured.release = (
            captured.release,
            lambda: None,
        )  # a job that is over would give back what is replayed
        cut = cut_at_random(side, job, closes, random.Random(seed), seconds)
        done = finish(side, job, seconds)
        if not done:  # nothing of it may run beside the plain replays
            job.cancel()
            is_over(job, 10)
        left = [tensor.clone() for tensor in captured.state()]
        runs = [plain(captured, first, steps) for _ in range(2)]
        release()
    found = {"model": name, "steps": steps, "closed_on_a_piece": cut, "finished": done}
    return {**found, "same_bits": equal(left, runs[0]), "plain_runs_have_the_same_bits": equal(*runs)}


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


def model_and_steps(text):
    name, _, steps = text.partition("=")
    return name, int(steps)


def measure(
    build,
    closes: count = 1000,
    steps: listed(",", model_and_steps) = STEPS,
    seconds=20.0,
    reserved_groups=2,
    segment=1e-4,
    seed=11,
):
    """`closes`: of a model; `seconds`: of bubbles a model, random ones, and then long ones."""
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # cuBLAS reads it once: else its bits may differ
    torch.backends.cudnn.deterministic = True
    rows = [check(name, count, closes, seconds, reserved_groups, segment, seed) for name, count in steps]
    why = [f"{row['model']}: {reason}" for row in rows for reason in failures(row, closes)]
    return {"rows": rows, "failures": why}
