# SPDX-License-Identifier: Apache-2.0
"""What a PyTorch step changes on the host: a captured step would do that once, and then never again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from .binding import Error

_PLAIN = (bool, int, float, complex, str)


def _values(torch: Any, found: Any, path: str) -> Iterator[tuple[str, Any]]:
    """Of nested dictionaries, lists and tuples: each value on the host, with where it is."""
    if isinstance(found, torch.Tensor):
        if found.device.type == "cpu" and found.numel() == 1:  # such as a step that is counted in a tensor
            yield path, found.item()
    elif isinstance(found, dict):
        for key, each in found.items():
            yield from _values(torch, each, f"{path}[{key!r}]")
    elif isinstance(found, (list, tuple)):
        for number, each in enumerate(found):
            yield from _values(torch, each, f"{path}[{number}]")
    elif isinstance(found, _PLAIN):
        yield path, found


def _of_optimizer(torch, optimizer):
    for number, (key, state) in enumerate(optimizer.state.items()):
        yield from _values(torch, state, f"state[{key!r}]" if isinstance(key, str) else f"state[{number}]")
    for number, group in enumerate(optimizer.param_groups):
        rest = {name: value for name, value in group.items() if name != "params"}
        yield from _values(torch, rest, f"param_groups[{number}]")
    yield from _numbers_of(optimizer, "")


def _numbers_of(owner, path):
    """Attributes that count something. No flags: they say that something is prepared."""
    for name, value in vars(owner).items():
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            yield f"{path}.{name}", value


class HostValues:
    """What optimizers and modules keep on the host, from look to look."""

    def __init__(self, torch: Any, parts: Sequence[Any]) -> None:
        self._torch = torch
        self._optimizers = [part for part in parts if isinstance(part, torch.optim.Optimizer)]
        self._seen: list[dict[str, Any]] = [{} for _ in self._optimizers]
        self._modules = [part for part in parts if isinstance(part, torch.nn.Module)]
        self._counts: dict[str, Any] = {}  # of modules, at the last look
        self.counting: list[str] = []  # attributes of modules that changed since the look before
        self.look()

    def look(self) -> None:
        """After a run. Raises Error for an optimizer that has changed what was there at a look before, by name. What
        it made since is seen from now on."""
        for optimizer, seen in zip(self._optimizers, self._seen):
            for path, value in _of_optimizer(self._torch, optimizer):
                if path in seen and not _is_same(seen[path], value):
                    name = f"{type(optimizer).__module__}.{type(optimizer).__qualname__}"
                    raise Error(
                        f"{name} keeps {path} on the host, and a step changes it from {seen[path]!r} to {value!r}: a "
                        "captured step would go on with one value. Take an optimizer that keeps it in a tensor on the "
                        "device (capturable=True)"
                    )
                seen[path] = value
        counts = dict(self._of_modules())
        self.counting = [path for path, value in counts.items() if not _is_same(self._counts.get(path, value), value)]
        self._counts = counts

    def _of_modules(self):
        for part in self._modules:
            for name, module in part.named_modules():
                yield from _numbers_of(module, f"{type(part).__name__}{name and '.'}{name}")


def _is_same(one, other):
    return one == other or (one != one and other != other)  # NaN stays NaN
