# SPDX-License-Identifier: Apache-2.0
"""What tests of real torch over gloo share: works on CPU tensors are taken for CUDA ones, so that every wait is a
bubble of CPU threads, and a training is compared with the same one without Lull."""

import types

import lull
from lull import waits


def take_for_cuda(torch):
    """From now on. Returns the stream that bubbles are on, and a list that the site of each is appended to."""
    stream, sites, opened = lull.ThreadsStream(), [], lull.Runtime.open

    def noting_open(runtime, site, pointer):
        sites.append(site.decode())
        return opened(runtime, site, pointer)

    lull.Runtime.open = noting_open
    waits.Waits._ours = lambda *_: True
    torch.cuda.current_stream = lambda *_: types.SimpleNamespace(device_index=0, cuda_stream=stream.__index__())
    return stream, sites


def problems_of(torch, run, plain, sites):
    """What is wrong with one training, whose sites are given: see lab.pipelines.schedules.trained."""
    losses, weights, mode, counts = run
    if len(losses) != len(plain[0]) or not all(map(torch.equal, losses, plain[0])):
        yield "losses differ"
    if not all(map(torch.equal, weights, plain[1])):
        yield "weights differ"
    if mode == "off" or not sites or (mode == "observe" and counts["opened"] != len(sites)):
        yield f"the mode was {mode}, {len(sites)} waits were bubbles, {counts}"
    if counts.get("nested") or counts.get("unmatched"):
        yield f"edges are wrong: {counts}"
