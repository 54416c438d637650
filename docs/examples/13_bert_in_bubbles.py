# SPDX-License-Identifier: Apache-2.0
"""BERT-tiny of transformers learns the text of these docs in bubbles, then fills in masked bytes of text that it has
not seen, in bubbles too. Its first weights are random; nothing is downloaded.

Needs PyTorch with CUDA, and transformers; exit code 77 without."""

import argparse
import sys

from in_bubbles import ROOT, Trainer, require

torch, transformers = require("transformers")
import lull

BATCH, LENGTH, MASK, IGNORE = 64, 32, 256, -100  # MASK follows the 256 bytes
TEST_BATCHES, TEST_SEED = 64, 1_000_000

options = argparse.ArgumentParser(description=__doc__)
options.add_argument("--steps", type=int, default=3_000, help="number of training steps")
options.add_argument("--layers", type=int, default=2, help="number of layers; 12 in BERT base")
options.add_argument("--hidden", type=int, default=128, help="hidden size; 768 in BERT base")
options.add_argument("--learning-rate", type=float, default=1e-3, help="AdamW learning rate")
asked = options.parse_args()

files = [*sorted(ROOT.glob("docs/*.md")), *sorted(ROOT.glob("docs/decisions/*.md")), ROOT / "README.md"]
text = torch.tensor(list(b"\n".join(file.read_bytes() for file in files)))
cut = len(text) * 9 // 10  # the last tenth is held out
frequency = torch.bincount(text[:cut], minlength=MASK)

torch.manual_seed(1)
config = transformers.BertConfig(
    vocab_size=MASK + 1,
    hidden_size=asked.hidden,
    num_hidden_layers=asked.layers,
    num_attention_heads=max(1, asked.hidden // 64),
    intermediate_size=4 * asked.hidden,
    initializer_range=asked.hidden**-0.5,  # BERT's 0.02 is for a hidden size of 768
    max_position_embeddings=LENGTH,  # dropout stays at BERT's 0.1
    pad_token_id=None,  # every sequence is full
    attn_implementation="sdpa",
)
net = transformers.BertForMaskedLM(config).cuda().train()
optimizer = torch.optim.AdamW(net.parameters(), asked.learning_rate, fused=True, capturable=True)
x = torch.zeros(BATCH, LENGTH, dtype=torch.int64, device="cuda")
y = torch.zeros(BATCH, LENGTH, dtype=torch.int64, device="cuda")


def masked(number, part):
    """Returns pieces of `part` with 15 % of their bytes masked, and these bytes; IGNORE stands for the others."""
    draw = torch.Generator().manual_seed(number)
    starts = torch.randint(0, len(part) - LENGTH, (BATCH, 1), generator=draw)
    pieces = part[starts + torch.arange(LENGTH)]
    hidden = torch.rand(BATCH, LENGTH, generator=draw) < 0.15
    return pieces.masked_fill(hidden, MASK), pieces.masked_fill(~hidden, IGNORE)


def scores():
    # No attention mask is given: transformers would read it back to see whether it masks anything.
    with torch.autocast("cuda", torch.bfloat16, cache_enabled=False):
        return net(input_ids=x).logits


def train_step():
    optimizer.zero_grad(set_to_none=True)
    loss = torch.nn.functional.cross_entropy(scores().float().flatten(0, 1), y.flatten(), ignore_index=IGNORE)
    loss.backward()
    optimizer.step()
    return loss


@torch.no_grad()
def infer_step():
    return scores().argmax(2)


trainer = Trainer(torch)
training = (masked(number, text[:cut]) for number in range(asked.steps))
tests = [masked(TEST_SEED + number, text[cut:]) for number in range(TEST_BATCHES)]
with lull.harvest(bracket_waits=False) as side:
    job = side.submit(
        lull.side_step(train_step, steps=asked.steps, inputs=(x, y), feed=training, state=(net, optimizer))
    )
    trainer.run(side, lambda: job.wait(0))
    losses = [float(loss) for (loss,) in job.outputs()]
    print(f"BERT from random weights: {job.state}, {len(losses)} of {asked.steps} training steps; {job.result()}")
    if job.state != "finished" or len(losses) != asked.steps:
        sys.exit(1)
    print(f"loss {losses[0]:.3f} at first, {losses[-1]:.3f} at last")
    print(f"{len(losses) / trainer.bubble_seconds:.1f} training steps per second of bubble time")

    net.eval()  # the capture of the next step is without dropout
    job = side.submit(lull.side_step(infer_step, steps=TEST_BATCHES, inputs=(x,), feed=((x,) for x, _ in tests)))
    trainer.run(side, lambda: job.wait(0))
    found = [predicted for (predicted,) in job.outputs()]
print(f"inference: {job.state}, {len(found)} of {TEST_BATCHES} batches")
if len(found) != TEST_BATCHES:
    sys.exit(1)

wanted = torch.stack([labels for _, labels in tests])
is_masked = wanted != IGNORE
correct = (torch.stack(found) == wanted)[is_masked].float().mean().item()
chance = (wanted[is_masked] == frequency.argmax()).float().mean().item()
print(f"{correct:.3f} of {is_masked.sum()} masked bytes are right; the most frequent byte alone gives {chance:.3f}")
sys.exit(0 if job.state == "finished" and losses[-1] < losses[0] and correct > 1.5 * chance else 1)
