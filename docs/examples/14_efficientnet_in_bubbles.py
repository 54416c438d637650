# SPDX-License-Identifier: Apache-2.0
"""EfficientNet-B0 learns digits in bubbles, is stopped in the middle, and goes on from its checkpoint with the same
bits. It draws random numbers in each step: dropout and stochastic depth. Its first weights are random.

Needs PyTorch with CUDA, and torchvision; exit code 77 without."""

import argparse
import os
import pathlib
import sys
import tempfile

os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # cuBLAS reads it once: else its bits may differ

from in_bubbles import Digits, Trainer, require

torch, torchvision = require("torchvision")
import lull

BATCH, SEED = 64, 7
torch.backends.cudnn.deterministic = True

options = argparse.ArgumentParser(description=__doc__)
options.add_argument("--steps", type=int, default=200, help="number of side steps")
options.add_argument("--size", type=int, default=224, help="pixels a side that the images are enlarged to")
asked = options.parse_args()
every = max(1, asked.steps // 5)


def enlarge(images):
    large = torch.nn.functional.interpolate(images, size=(asked.size, asked.size), mode="bilinear")
    return large.expand(-1, 3, -1, -1).contiguous(memory_format=torch.channels_last)


class Training:
    """A network and its step. The step returns its loss, and a random number that it drew."""

    def __init__(self, weights_seed):
        torch.manual_seed(weights_seed)
        self.net = torchvision.models.efficientnet_b0(num_classes=10)  # dropout 0.2, stochastic depth up to 0.2
        self.net.cuda().to(memory_format=torch.channels_last)
        self.optimizer = torch.optim.Adam(self.net.parameters(), 1e-3, fused=True, capturable=True)
        self.x = torch.zeros(BATCH, 1, 8, 8, device="cuda")
        self.y = torch.zeros(BATCH, dtype=torch.int64, device="cuda")
        self.outputs = []

    def step(self):
        self.optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cuda", torch.bfloat16, cache_enabled=False):
            loss = torch.nn.functional.cross_entropy(self.net(enlarge(self.x)), self.y)
        loss.backward()
        self.optimizer.step()
        return loss, torch.rand(1, device="cuda")

    def run(self, trainer, *, first=0, stop_at=None, **checkpoint):
        """Runs in bubbles until all steps are over, or until `stop_at`. Returns the job's state after the scope."""
        with lull.harvest(bracket_waits=False) as side:
            step = lull.side_step(
                self.step,
                steps=asked.steps,
                inputs=(self.x, self.y),
                feed=digits.batches(BATCH, first),
                state=(self.net, self.optimizer),
                seed=SEED,
                **checkpoint,
            )
            job = side.submit(step)
            trainer.run(side, lambda: job.wait(0) if stop_at is None else job.rounds() >= stop_at)
            self.outputs = [(float(loss), float(drawn)) for loss, drawn in job.outputs()]
        return job.state


digits, trainer = Digits(torch), Trainer(torch)
whole = Training(weights_seed=1)
before = digits.accuracy(whole.net, enlarge)
states = [whole.run(trainer)]
with tempfile.TemporaryDirectory() as folder:
    path = pathlib.Path(folder, "efficientnet.pt")
    stopped = Training(weights_seed=1)
    states.append(stopped.run(trainer, stop_at=asked.steps // 2, checkpoint=path, every=every))
    done = torch.load(path)["steps"]
    # Other first weights: all that it goes on with must come from the file.
    resumed = Training(weights_seed=2)
    states.append(resumed.run(trainer, first=done, checkpoint=path, every=every))

print(f"EfficientNet-B0 from random weights, {asked.steps} steps: {states[0]}; the other: {states[1]}, {states[2]}")
if states != ["finished", "cancelled", "finished"] or len(whole.outputs) != asked.steps:
    sys.exit(1)
tensors = zip(whole.net.state_dict().values(), resumed.net.state_dict().values(), strict=True)
differ = sum(not torch.equal(mine, others) for mine, others in tensors)
same_outputs = whole.outputs[done:] == resumed.outputs
drawn = {number for _, number in whole.outputs}
after = digits.accuracy(whole.net, enlarge)
print(f"{len(drawn)} different random numbers in {asked.steps} steps")
print(f"resumed from step {done}: losses and random numbers are {'the same' if same_outputs else 'not the same'}")
print(f"{differ} of {len(whole.net.state_dict())} tensors of the network differ in a bit")
print(f"loss {whole.outputs[0][0]:.3f} at first, {whole.outputs[-1][0]:.3f} at last")
print(f"held-out accuracy {before:.3f} before, {after:.3f} after (chance 0.1)")
sys.exit(0 if differ == 0 and same_outputs and len(drawn) > 0.9 * asked.steps else 1)
