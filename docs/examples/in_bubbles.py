# SPDX-License-Identifier: Apache-2.0
"""What examples 12 to 15 share: the check for a GPU, the digits of data/, and a trainer that has bubbles."""

from __future__ import annotations

import gzip
import importlib
import pathlib
import sys
from collections.abc import Callable, Iterator
from typing import Any

ROOT = pathlib.Path(__file__).resolve().parents[2]
HELD_OUT = 297  # the last images of the file; a network never learns from them
SYNCHRONIZE_EVERY = 4  # iterations of the trainer


def require(*names: str) -> list[Any]:
    """Returns torch and the modules of these names. Ends the program with exit code 77 if one of them is missing."""
    try:
        modules = [importlib.import_module(name) for name in ("torch", *names)]
    except (ImportError, RuntimeError) as why:  # RuntimeError: a torchvision that is built for another torch
        print(f"NOT RUN: {why}")
        sys.exit(77)
    if not modules[0].cuda.is_available():
        print("NOT RUN: there is no PyTorch with CUDA")
        sys.exit(77)
    return modules


class Digits:
    """The shipped images on the host. Pixels are between -1 and 1."""

    def __init__(self, torch: Any) -> None:
        with gzip.open(ROOT / "data" / "digits.csv.gz", "rt", encoding="ascii") as file:
            table = torch.tensor([[float(value) for value in line.split(",")] for line in file])
        images, labels = table[:, :64].reshape(-1, 1, 8, 8) / 8 - 1, table[:, 64].long()
        self._torch = torch
        self.images, self.labels = images[:-HELD_OUT], labels[:-HELD_OUT]  # (1500, 1, 8, 8) float, (1500,) int64
        self.held_out = images[-HELD_OUT:], labels[-HELD_OUT:]

    def batch(self, number: int, size: int) -> tuple[Any, Any]:
        """Returns `size` images and their labels, drawn by `number`: the same number gives the same batch."""
        draw = self._torch.Generator().manual_seed(number)
        chosen = self._torch.randint(0, len(self.images), (size,), generator=draw)
        return self.images[chosen], self.labels[chosen]

    def batches(self, size: int, first: int = 0) -> Iterator[tuple[Any, Any]]:
        """Yields batches without end, from this number on."""
        number = first
        while True:
            yield self.batch(number, size)
            number += 1

    def accuracy(self, net: Any, prepare: Callable[[Any], Any] = lambda images: images) -> float:
        """Returns the share of held-out images that `net` names correctly. Leaves `net` in training mode."""
        images, labels = (tensor.cuda() for tensor in self.held_out)
        net.eval()
        with self._torch.no_grad():
            found = net(prepare(images)).argmax(1)
        net.train()
        return (found == labels).float().mean().item()


class Trainer:
    """A stand-in for a stage of a pipeline. An iteration is some products, and a wait that is a bubble, as long as the
    products."""

    def __init__(self, torch: Any, bubble_ms: float = 20) -> None:
        self._torch = torch
        self._a = torch.randn(4096, 4096, device="cuda", dtype=torch.bfloat16)
        self._product = torch.empty_like(self._a)
        self._products = max(1, round(bubble_ms / self._ms_of(self._multiply)))
        self._cycles = int(10_000_000 * bubble_ms / self._ms_of(lambda: torch.cuda._sleep(10_000_000)))
        self._waits: list[tuple[Any, Any]] = []  # events before and after a wait, not yet read
        self.bubble_seconds = 0.0  # of the waits that are over

    def iterate(self, side: Any) -> None:
        """Enqueues one iteration."""
        for _ in range(self._products):
            self._multiply()
        before, after = self._events()
        with side.bubble("recv_forward"):
            before.record()
            self._torch.cuda._sleep(self._cycles)
            after.record()
        self._waits.append((before, after))

    def synchronize(self) -> None:
        """Waits until all iterations are over, and adds up their bubbles."""
        self._torch.cuda.synchronize()
        self.bubble_seconds += sum(before.elapsed_time(after) for before, after in self._waits) / 1e3
        self._waits.clear()

    def run(self, side: Any, until: Callable[[], bool], max_iterations: int = 1_500) -> bool:
        """Iterates until `until()` is true. Returns False if that is not so after `max_iterations`."""
        for number in range(1, max_iterations + 1):
            self.iterate(side)
            if number % SYNCHRONIZE_EVERY == 0:
                self.synchronize()
                if until():
                    return True
        return False

    def _multiply(self):
        self._torch.mm(self._a, self._a, out=self._product)

    def _events(self):
        return [self._torch.cuda.Event(enable_timing=True) for _ in range(2)]

    def _ms_of(self, work):
        before, after = self._events()
        work()  # the first call prepares libraries
        before.record()
        work()
        after.record()
        after.synchronize()
        return before.elapsed_time(after)
