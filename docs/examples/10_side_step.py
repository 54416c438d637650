# SPDX-License-Identifier: Apache-2.0
"""A network is trained in the bubbles of a trainer. Needs PyTorch with CUDA; exit code 77 without."""

import sys

try:
    import torch
except ImportError:
    torch = None
if torch is None or not torch.cuda.is_available():
    print("NOT RUN: there is no PyTorch with CUDA")
    sys.exit(77)

import lull

torch.manual_seed(1)
model = torch.nn.Sequential(torch.nn.Linear(64, 256), torch.nn.ReLU(), torch.nn.Dropout(0.1), torch.nn.Linear(256, 1))
model.cuda()
optimizer = torch.optim.Adam(model.parameters(), 1e-3, capturable=True)
x, y = torch.zeros(128, 64, device="cuda"), torch.zeros(128, 1, device="cuda")


def step():
    optimizer.zero_grad(set_to_none=True)
    loss = torch.nn.functional.mse_loss(model(x), y)
    loss.backward()
    optimizer.step()
    return loss


def batches():
    while True:
        inputs = torch.randn(128, 64)
        yield inputs, inputs.sum(1, keepdim=True)


def train(side, job):
    """The trainer: a product, and a wait that is a bubble."""
    a = torch.randn(2048, 2048, device="cuda")
    for number in range(100_000):
        torch.mm(a, a)
        with side.bubble("recv_forward"):
            torch.cuda._sleep(1_000_000)
        if number % 16 == 0:
            torch.cuda.synchronize()
            if job.wait(0):
                return


with lull.harvest(bracket_waits=False) as side:
    job = side.submit(lull.side_step(step, steps=500, inputs=(x, y), feed=batches(), state=(model, optimizer)))
    train(side, job)
    losses = [float(loss) for (loss,) in job.outputs()]

print(f"{job.state}: loss {losses[0]:.1f} at first, {losses[-1]:.1f} after {len(losses)} steps")
sys.exit(0 if job.state == "finished" and len(losses) == 500 and losses[-1] < losses[0] / 2 else 1)
