# SPDX-License-Identifier: Apache-2.0
"""A part of the training step itself runs in the step's own bubbles: a teacher's predictions for later batches.

A student learns digits from a teacher's predictions alone. In its bubbles a fed side step runs the teacher on the next
batches. The trainer uses a prediction if it has come; otherwise the trainer runs the teacher itself. So the student
never waits for a bubble, and the result does not depend on how long bubbles are. This is safe because the side step
reads only what no one changes: the teacher's weights. It never reads the student's.

Needs PyTorch with CUDA; exit code 77 without."""

import argparse
import sys

from in_bubbles import Digits, Trainer, require

(torch,) = require()
import lull

BATCH, TEMPERATURE = 128, 2.0
functional = torch.nn.functional

options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
options.add_argument("--steps", type=int, default=400, help="number of the student's steps")
options.add_argument("--bubble-ms", type=float, default=5, help="length of a bubble in milliseconds")
asked = options.parse_args()

torch.manual_seed(1)
digits = Digits(torch)
x = torch.zeros(BATCH, 1, 8, 8, device="cuda")  # of the side step only


def network(hidden):
    layers = [torch.nn.Flatten(), torch.nn.Linear(64, hidden), torch.nn.ReLU(), torch.nn.Linear(hidden, 10)]
    return torch.nn.Sequential(*layers).cuda()


def train_teacher(steps=300):
    """The teacher learns first, from labels, as usual."""
    net = network(2048)
    optimizer = torch.optim.Adam(net.parameters(), 1e-3)
    for number in range(steps):
        images, labels = (tensor.cuda() for tensor in digits.batch(1_000_000 + number, BATCH))
        optimizer.zero_grad()
        functional.cross_entropy(net(images), labels).backward()
        optimizer.step()
    return net.requires_grad_(False)


teacher, student = train_teacher(), network(32)
optimizer = torch.optim.Adam(student.parameters(), 2e-3)
batch_now = 0  # of the trainer; the feed reads it
fed = []  # the number of the batch of each side step, in order


def teacher_step():
    return teacher(x)


def later_batches():
    """A thread of Lull takes from here. It skips what the trainer has passed; the last batch ends the job."""
    number = 0
    while number < asked.steps:
        fed.append(number)
        yield (digits.batch(number, BATCH)[0],)
        number = max(number, batch_now) + 1


def learn(images, predicted):
    """One ordinary step of the student."""
    optimizer.zero_grad()
    found = functional.log_softmax(student(images) / TEMPERATURE, dim=1)
    wanted = functional.softmax(predicted / TEMPERATURE, dim=1)
    functional.kl_div(found, wanted, reduction="batchmean").backward()
    optimizer.step()


before = digits.accuracy(student)
trainer = Trainer(torch, asked.bubble_ms)
ready = {}  # batch -> what the teacher said of it, on the host
outputs_taken = from_bubbles = by_trainer = 0
max_difference = 0.0
with lull.harvest(bracket_waits=False) as side:
    job = side.submit(lull.side_step(teacher_step, steps=asked.steps, inputs=(x,), feed=later_batches()))
    for batch_now in range(asked.steps):
        for (predicted,) in job.outputs():
            ready[fed[outputs_taken]] = predicted
            outputs_taken += 1
        images = digits.batch(batch_now, BATCH)[0].cuda()
        predicted = ready.pop(batch_now, None)
        if predicted is None:
            by_trainer += 1
            predicted = teacher(images)
        else:
            from_bubbles += 1
            predicted = predicted.cuda()
            if from_bubbles % 16 == 1:  # a sample is computed twice
                difference = (predicted - teacher(images)).abs().max().item()
                max_difference = max(max_difference, difference)
        learn(images, predicted)
        trainer.iterate(side)
        trainer.synchronize()

teachers, after = digits.accuracy(teacher), digits.accuracy(student)
print(f"{asked.steps} batches: {from_bubbles} predicted in bubbles, {by_trainer} by the trainer itself")
print(f"{outputs_taken - from_bubbles} predictions of bubbles were not used: the trainer had passed them")
print(f"a prediction in a bubble and one by the trainer differ by {max_difference:.2g} at most")
print(f"held-out accuracy: student {before:.3f} before, {after:.3f} after; its teacher {teachers:.3f} (chance 0.1)")
sys.exit(0 if from_bubbles > asked.steps / 2 and max_difference < 1e-2 and after > 0.8 else 1)
