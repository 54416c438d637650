# SPDX-License-Identifier: Apache-2.0
"""An image network of torchvision learns digits in the bubbles of a trainer. Its first weights are random.

Needs PyTorch with CUDA, and torchvision; exit code 77 without."""

import argparse
import sys

from in_bubbles import Digits, Trainer, require

torch, torchvision = require("torchvision")
import lull

BATCH = 64
LEARNING_RATES = {"resnet18": 1e-3, "resnet50": 1e-3, "vgg19": 1e-4}

options = argparse.ArgumentParser(description=__doc__)
options.add_argument("--model", choices=LEARNING_RATES, default="resnet18", help="network, with random weights")
options.add_argument("--steps", type=int, default=400, help="number of side steps")
options.add_argument("--size", type=int, default=224, help="pixels a side that the images are enlarged to")
asked = options.parse_args()

torch.manual_seed(1)
digits = Digits(torch)
net = getattr(torchvision.models, asked.model)(num_classes=10)
net.cuda().to(memory_format=torch.channels_last)
optimizer = torch.optim.Adam(net.parameters(), LEARNING_RATES[asked.model], fused=True, capturable=True)
x = torch.zeros(BATCH, 1, 8, 8, device="cuda")
y = torch.zeros(BATCH, dtype=torch.int64, device="cuda")


def enlarge(images):
    """8 × 8 grey pixels become three channels of the network's size, on the device: so batches are small copies."""
    large = torch.nn.functional.interpolate(images, size=(asked.size, asked.size), mode="bilinear")
    return large.expand(-1, 3, -1, -1).contiguous(memory_format=torch.channels_last)


def step():
    optimizer.zero_grad(set_to_none=True)
    # Without a cache of cast weights, as PyTorch's notes on graphs have it.
    with torch.autocast("cuda", torch.bfloat16, cache_enabled=False):
        loss = torch.nn.functional.cross_entropy(net(enlarge(x)), y)
    loss.backward()
    optimizer.step()
    return loss


before = digits.accuracy(net, enlarge)
trainer = Trainer(torch)
with lull.harvest(bracket_waits=False) as side:
    job = side.submit(
        lull.side_step(step, steps=asked.steps, inputs=(x, y), feed=digits.batches(BATCH), state=(net, optimizer))
    )
    has_ended = trainer.run(side, lambda: job.wait(0))
    losses = [float(loss) for (loss,) in job.outputs()]
    cut = job.result()

print(f"{asked.model} from random weights: {job.state}, {len(losses)} of {asked.steps} steps; {cut}")
if not has_ended or len(losses) != asked.steps:
    sys.exit(1)
after = digits.accuracy(net, enlarge)
print(f"loss {losses[0]:.3f} at first, {losses[-1]:.3f} at last")
print(f"held-out accuracy {before:.3f} before, {after:.3f} after (chance 0.1)")
print(f"{len(losses) / trainer.bubble_seconds:.1f} side steps per second of bubble time")
sys.exit(0 if job.state == "finished" and losses[-1] < losses[0] and after > 0.5 else 1)
