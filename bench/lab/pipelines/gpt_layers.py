# SPDX-License-Identifier: Apache-2.0
"""The layers of a small GPT for DeepSpeed's pipeline. Each hands on a pair: activations, and the mask of the places
that a place may look at, which learns nothing."""

import torch
from torch import nn


class First(nn.Module):
    def __init__(self, vocabulary, width, rows):
        super().__init__()
        self.words, self.places = nn.Embedding(vocabulary, width), nn.Embedding(rows, width)

    def forward(self, text):
        rows = text.shape[1]
        places = torch.arange(rows, device=text.device)
        return self.words(text) + self.places(places), places


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.before, self.between = nn.LayerNorm(width), nn.LayerNorm(width)
        self.asked, self.answered = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.wide, self.narrow = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, given):
        x, places = given
        texts, rows, width = x.shape
        shape = (texts, rows, self.heads, width // self.heads)
        query, key, value = (part.view(shape).transpose(1, 2) for part in self.asked(self.before(x)).chunk(3, -1))
        scores = query @ key.transpose(2, 3) / shape[3] ** 0.5
        scores = scores.masked_fill(places[None, :] > places[:, None], float("-inf"))
        seen = (scores.softmax(-1) @ value).transpose(1, 2).reshape(texts, rows, width)
        x = x + self.answered(seen)
        return x + self.narrow(nn.functional.gelu(self.wide(self.between(x)))), places


class Last(nn.Module):
    def __init__(self, vocabulary, width):
        super().__init__()
        self.norm, self.words = nn.LayerNorm(width), nn.Linear(width, vocabulary)

    def forward(self, given):
        return self.words(self.norm(given[0]))


def loss(scores, text):
    return nn.functional.cross_entropy(scores.float().flatten(0, 1), text.flatten())
