# SPDX-License-Identifier: Apache-2.0
"""Bubbles of Megatron core's schedules, named by micro-batch. Needs megatron-core 0.14 or later.

Each wait of Megatron's is a bubble without this, too. A stage talks to one peer in both directions, and most of its
exchanges are batches: torch alone cannot tell the forward pass of a micro-batch from the backward pass of another."""

from __future__ import annotations

import re

from megatron.core.pipeline_parallel import p2p_communication  # type: ignore[import-not-found,unused-ignore]

from .session import in_named_waits

_EXCHANGE = re.compile(
    r"(?P<send>send_forward|send_backward|send_forward_backward)?_?"
    r"(?P<recv>recv_forward|recv_backward|recv_forward_backward)?"
)


class P2PCommunicator(p2p_communication.P2PCommunicator):  # type: ignore[misc]
    """Megatron's own, whose bubbles are `recv_forward 3` or `send_backward 3`. For the schedules' argument
    `p2p_communicator`, together with `pg_collection`. Without a session it does what Megatron's does."""


for _name, _method in vars(p2p_communication.P2PCommunicator).items():
    if _name and (_match := _EXCHANGE.fullmatch(_name)):
        setattr(P2PCommunicator, _name, in_named_waits(_method, **_match.groupdict("")))
