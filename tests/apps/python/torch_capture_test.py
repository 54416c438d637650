# SPDX-License-Identifier: Apache-2.0
"""torch_capture_test.py: real torch on a GPU captures a training step with bubbles in it by `torch.cuda.graph`, in
each error mode, after warm-up steps that were harvested, on torch's own capture stream and on the stream of the
warm-up. Weights are bit-equal with Lull and without, and the counts say what was captured and replayed. Exit code
77: it could not be run here."""

import contextlib
import os
import sys
import time

import lull
from torch_two_gpus_test import SKIPPED, cuda_devices

OWN_PROCESS = "CUBLAS_WORKSPACE_CONFIG is set before torch is imported"
MODES = ("global", "thread_local", "relaxed")
SITES = ("forward", "backward")
WARM_UP, GRAPHS, REPLAYS = 3, 2, 20
WAIT_CYCLES = 400_000  # about 200 µs
DEADLINE_S = 30
TASK = "compute:items=65536,rounds=1000000"
WRONG = ("nested", "unmatched", "abandoned", "not_captured", "foreign_stream")


def why_not():
    try:
        import torch
    except ImportError as why:
        return str(why)
    if torch.version.cuda is None:
        return "this torch has no CUDA"
    return "" if cuda_devices() else "a GPU is needed, CUDA counts none"


def wait_until(so):
    """False: it did not come so within the deadline."""
    deadline = time.monotonic() + DEADLINE_S
    while not so():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.001)
    return True


class Step:
    """A training step that does not know whether it is captured."""

    def __init__(self, torch):
        self.torch = torch
        torch.manual_seed(7)
        self.weights = torch.randn(256, 256, device="cuda", requires_grad=True)
        self.inputs = torch.randn(256, 256, device="cuda")

    def __call__(self):
        torch = self.torch
        with lull.bubble(SITES[0]):
            torch.cuda._sleep(WAIT_CYCLES)
        loss = (self.inputs @ self.weights).tanh().square().mean()
        with lull.bubble(SITES[1]):
            torch.cuda._sleep(WAIT_CYCLES)
        (gradient,) = torch.autograd.grad(loss, [self.weights])
        with torch.no_grad():
            self.weights -= 0.5 * gradient


def trained(torch, mode, own_stream, side=None):
    """The weights after warm-up steps, captures and replays in turns; `own_stream`: captured on the stream of the
    warm-up, else on torch's own, which is one for all captures."""
    step, stream = Step(torch), torch.cuda.Stream()
    if side is not None:
        assert wait_until(lambda: side.ready(stream)), "no job stood ready"
    graphs = []
    for _ in range(GRAPHS):
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            for _ in range(WARM_UP):
                step()
        graphs.append(torch.cuda.CUDAGraph())
        with torch.cuda.graph(graphs[-1], stream=stream if own_stream else None, capture_error_mode=mode):
            step()
    for _ in range(REPLAYS):
        for graph in graphs:
            graph.replay()
    torch.cuda.synchronize()
    return step.weights.detach().clone(), graphs


def problems_of(torch, mode, own_stream):
    plain, _ = trained(torch, mode, own_stream)
    with lull.harvest(TASK, executor="cuda", reserved_groups=0, bracket_waits=False) as side:
        weights, graphs = trained(torch, mode, own_stream, side)
        expected = REPLAYS * len(graphs) * len(SITES)
        replayed = wait_until(lambda: side.counts()["replayed"] >= expected)
        counts, mode_after = side.counts(), side.mode
        del graphs  # before the runtime
    problems = [f"{name} is {counts[name]}" for name in WRONG if counts[name]]
    if mode_after != "on":
        problems.append(f"the mode is {mode_after}")
    if not torch.equal(weights, plain):
        problems.append("weights differ")
    if counts["captured"] != GRAPHS * len(SITES):
        problems.append(f"{counts['captured']} bubbles were captured, not {GRAPHS * len(SITES)}")
    if not replayed:
        problems.append(f"{counts['replayed']} bubbles were replayed, not {expected}")
    if counts["launches"] == 0:
        problems.append("nothing ran in the warm-up's bubbles")
    return problems


def problems_of_a_cut(torch):
    """A bubble that is opened before a capture and closed in it, and one that is opened in it and closed afterwards:
    both are counted."""
    stream = torch.cuda.Stream()
    with lull.harvest(TASK, executor="cuda", reserved_groups=0, bracket_waits=False) as side, torch.cuda.stream(stream):
        assert wait_until(lambda: side.ready(stream)), "no job stood ready"
        before, inside = lull.bubble("before", stream), lull.bubble("inside", stream)
        graph = torch.cuda.CUDAGraph()
        with contextlib.ExitStack() as later:
            before.__enter__()
            with torch.cuda.graph(graph, stream=stream):
                before.__exit__(None, None, None)
                later.enter_context(inside)
                torch.cuda._sleep(WAIT_CYCLES)
        graph.replay()  # comes back when the worker's lease is over
        torch.cuda.synchronize()
        counts, mode = side.counts(), side.mode
    problems = [f"{name} is {counts[name]}" for name in WRONG if name != "unmatched" and counts[name]]
    if counts["unmatched"] != 2:
        problems.append(f"unmatched is {counts['unmatched']}, not 2")
    return problems + ([] if mode == "on" else [f"the mode is {mode}"])


def main():
    if reason := why_not():
        print(f"not run: {reason}")
        sys.exit(SKIPPED)
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    import torch

    torch.use_deterministic_algorithms(True)
    failed = False
    for mode in MODES:
        for own_stream in (False, True):
            problems = problems_of(torch, mode, own_stream)
            where = "the warm-up's stream" if own_stream else "torch's capture stream"
            print(f"{mode}, on {where}: {'; '.join(problems) or 'as without'}", flush=True)
            failed |= bool(problems)
    problems = problems_of_a_cut(torch)
    print(f"cut in two by a capture: {'; '.join(problems) or 'counted'}", flush=True)
    sys.exit(1 if failed or problems else 0)


if __name__ == "__main__":
    main()
