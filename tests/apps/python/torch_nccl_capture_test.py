# SPDX-License-Identifier: Apache-2.0
"""torch_nccl_capture_test.py: real torch, two GPUs, NCCL: reserved groups are measured from an exchange of the ranks,
then `torch.cuda.graph` captures that exchange in each error mode while its waits are bubbles of a harvest. What arrives
in replays is right, and the counts say what was captured. Exit code 77: it could not be run here."""

import os
import sys

import lull
from torch_capture_test import MODES, TASK, WRONG, wait_until
from torch_two_gpus_test import run_on_ranks, why_not

GPUS = 2
WARM_UP, REPLAYS = 3, 20


class Exchange:
    """Sends a counter that grows by itself to the other rank, and receives its."""

    def __init__(self, torch, dist, rank):
        self._torch, self._dist, self._peer = torch, dist, 1 - rank
        self.mine = torch.full((1 << 16,), float(1000 * rank), device="cuda")
        self.theirs = torch.zeros_like(self.mine)

    def send_and_receive(self, *_):
        dist = self._dist
        operations = [dist.P2POp(dist.isend, self.mine, self._peer), dist.P2POp(dist.irecv, self.theirs, self._peer)]
        for work in dist.batch_isend_irecv(operations):
            work.wait()

    def step(self):
        self.mine += 1
        self.send_and_receive()


def replayed(torch, exchange, mode):
    """After warm-up steps on the stream that is captured then."""
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(WARM_UP):
            exchange.step()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=stream, capture_error_mode=mode):
        exchange.step()
    for _ in range(REPLAYS):
        graph.replay()
    torch.cuda.synchronize()


def problems_of(torch, dist, rank, mode, reserved_groups):
    exchange = Exchange(torch, dist, rank)
    with lull.harvest(TASK, executor="cuda", reserved_groups=reserved_groups) as side:
        replayed(torch, exchange, mode)
        seen = wait_until(lambda: side.counts()["replayed"] >= REPLAYS)
        counts, state = side.counts(), side.mode
    problems = [f"{name} is {counts[name]}" for name in WRONG if counts[name]]
    expected = 1000.0 * (1 - rank) + WARM_UP + REPLAYS
    if not bool((exchange.theirs == expected).all()):
        problems.append(f"{float(exchange.theirs[0])} arrived, not {expected}")
    if counts["captured"] == 0 or not seen:
        problems.append(f"{counts['captured']} bubbles were captured, {counts['replayed']} replayed")
    return problems + ([] if state == "on" else [f"the mode is {state}"])


def rank_main():
    import torch
    import torch.distributed as dist

    rank = int(os.environ["RANK"])
    device = torch.device("cuda", rank)
    torch.cuda.set_device(device)
    dist.init_process_group("nccl", device_id=device)
    first = Exchange(torch, dist, rank)
    first.send_and_receive()  # connections are made
    torch.cuda.synchronize()
    first.theirs.zero_()
    need = lull.measure_reserved_groups(first.send_and_receive, resident=2)
    torch.cuda.synchronize()
    failed = need.kernels == 0 or need.reserved_groups < 2 or bool(first.theirs.any())
    print(f"rank {rank}: {need.text}", flush=True)
    for mode in MODES:
        replayed(torch, Exchange(torch, dist, rank), mode)  # without Lull: torch itself can
        problems = problems_of(torch, dist, rank, mode, need.reserved_groups)
        print(f"rank {rank}, {mode}: {'; '.join(problems) or 'as it should be'}", flush=True)
        failed |= bool(problems)
    dist.barrier()
    dist.destroy_process_group()
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    run_on_ranks(rank_main, why_not(dry=False))
