# SPDX-License-Identifier: Apache-2.0
"""What a PyTorch step changes: modules, optimizers and tensors, as tensors that are kept and put back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .binding import Error
from .ranks import process_group


def tensors_of(torch: Any, part: Any) -> list[Any]:
    """The tensors of a module, an optimizer, or a tensor itself, in a fixed order. Of an optimizer, those that are
    values in its state and its groups."""
    if isinstance(part, torch.Tensor):
        return [part.detach()]  # a copy of a parameter itself would tie its gradient to the stream of the copy
    if isinstance(part, torch.nn.Module):
        return [each.detach() for each in (*part.parameters(), *part.buffers())]
    if isinstance(part, torch.optim.Optimizer):
        states = [s.values() if isinstance(s, dict) else [s] for s in part.state.values()]
        found = [v for state in states for v in state if isinstance(v, torch.Tensor)]
        return found + [v for g in part.param_groups for v in g.values() if isinstance(v, torch.Tensor)]
    raise Error(f"state holds {part!r}: it must be modules, optimizers and tensors")


def refuse_elsewhere(torch: Any, device: Any, inputs: Sequence[Any], parts: Sequence[Any]) -> None:
    """Raises Error where a tensor of these is not on the device."""
    owners = [("inputs", inputs, "")]
    for part in parts:
        is_optimizer = isinstance(part, torch.optim.Optimizer)
        advice = "; make it with capturable=True, and a learning rate that is a tensor on the device"
        owners.append((type(part).__name__, tensors_of(torch, part), advice if is_optimizer else ""))
    for name, tensors, advice in owners:
        for tensor in tensors:
            if tensor.device != device:
                raise Error(
                    f"inputs and state must be on {device}, the runtime's device; {name} has a tensor on "
                    f"{tensor.device}{advice}"
                )


def refuse_exchanges(torch: Any, parts: Sequence[Any]) -> None:
    """Raises Error for a module that exchanges something with other ranks in each step, where there are any."""
    group = process_group(torch)
    if group is None or group.get_world_size() == 1:
        return
    for part in parts:
        for module in part.modules() if isinstance(part, torch.nn.Module) else ():
            if any(each.__name__ in _EXCHANGING for each in type(module).__mro__):
                raise Error(
                    f"{type(module).__name__} exchanges something with other ranks, whose bubbles come at "
                    "other times: give a side step the module without it"
                )


# By their names, of their bases too: none of these is imported for that.
_EXCHANGING = ("DistributedDataParallel", "FullyShardedDataParallel", "FSDPModule", "DeepSpeedEngine")

# Optimizers that make zeros in their first step; with SGD only where it does not damp its first gradient.
_BEGIN_AT_ZERO = ("Adadelta", "Adagrad", "Adam", "AdamW", "Adamax", "RAdam", "RMSprop", "SGD")


def _begins_at_zero(optimizer):
    name = type(optimizer).__name__
    return name in _BEGIN_AT_ZERO and not any(group.get("dampening") for group in optimizer.param_groups)


class Kept:
    """The state as it was."""

    def __init__(self, torch: Any, parts: Sequence[Any]) -> None:
        self._torch, self._parts = torch, parts
        optimizers = [part for part in parts if isinstance(part, torch.optim.Optimizer)]
        leaves = [part for part in parts if isinstance(part, torch.Tensor) and part.requires_grad]
        leaves += [each for part in parts if isinstance(part, torch.nn.Module) for each in part.parameters()]
        leaves += [each for one in optimizers for group in one.param_groups for each in group["params"]]
        self._gradients = [(each, each.grad) for each in dict.fromkeys(leaves)]
        self._was = [(t, t.clone()) for part in parts for t in tensors_of(torch, part)]
        self._was += [(grad.detach(), grad.detach().clone()) for _, grad in self._gradients if grad is not None]
        self._states = [(each, _entries(each), [dict(group) for group in each.param_groups]) for each in optimizers]

    def put_back(self) -> None:
        """All as it was, gradients too; what an optimizer made since is no longer part of its state, and new gradients
        are gone."""
        self._copy_back()
        for parameter, gradient in self._gradients:
            parameter.grad = gradient
        for optimizer, entries, groups in self._states:
            optimizer.state.clear()
            optimizer.state.update({key: _copied(entry) for key, entry in entries.items()})
            for group, was in zip(optimizer.param_groups, groups):
                group.clear()
                group.update(was)

    def begin(self) -> None:
        """As before the first step. What an optimizer made since stays, for a graph holds it, and becomes zero, as do
        new gradients. Raises Error for an optimizer that does not begin there."""
        self._copy_back()
        with self._torch.no_grad():
            for parameter, gradient in self._gradients:
                if gradient is None and parameter.grad is not None:
                    parameter.grad.zero_()
        known = {(t.data_ptr(), t.shape, t.stride()) for t, _ in self._was}
        for optimizer, *_ in self._states:
            made = [t for t in tensors_of(self._torch, optimizer) if (t.data_ptr(), t.shape, t.stride()) not in known]
            if made and not _begins_at_zero(optimizer):
                name = type(optimizer).__name__
                raise Error(f"{name} has no state yet, and its first is not zero: take one ordinary step before")
            for tensor in made:
                tensor.zero_()

    def _copy_back(self):
        with self._torch.no_grad():
            for tensor, was in self._was:
                tensor.copy_(was)


def _entries(optimizer):
    return {key: _copied(entry) for key, entry in optimizer.state.items()}


def _copied(entry):
    return dict(entry) if isinstance(entry, dict) else entry  # some keep one value for all parameters
