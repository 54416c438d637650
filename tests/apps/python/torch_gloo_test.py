# SPDX-License-Identifier: Apache-2.0
"""Real torch without a GPU: two ranks over gloo, whose works on CPU tensors are taken for CUDA ones. Which of
torch's own calls lead to a bracket, under which name, and that torch's classes are as they were. Exit code 77: there
is no torch here."""

import gc
import os
import pathlib
import sys

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parents[3] / folder) for folder in ("bench", "apps/python")]

import gloo_ranks  # noqa: E402
import lull  # noqa: E402
from lab.pipelines import schedules  # noqa: E402

SKIPPED = 77


def communicate(torch, dist, rank):
    """Each way to send and receive, then collectives."""
    tensor, peer = torch.ones(4), 1 - rank
    plain, works, operation = (dist.send, dist.isend, dist.isend) if rank == 0 else (dist.recv, dist.irecv, dist.irecv)
    other = dist.irecv if rank == 0 else dist.isend
    plain(tensor, peer)
    works(tensor, peer).wait()
    for work in dist.batch_isend_irecv([dist.P2POp(operation, tensor, peer), dist.P2POp(other, tensor.clone(), peer)]):
        work.wait()
    if rank == 0:
        dist.send(tensor, peer)
    else:
        dist.recv(tensor)  # from any
    dist.all_reduce(tensor)
    dist.all_reduce(tensor, async_op=True).wait()
    torch.optim.SGD([torch.nn.Parameter(tensor)], 0.1).step()
    plain(tensor, peer)
    return tensor


def expected(rank):
    there, back = ("send to 1", "recv from 1") if rank == 0 else ("recv from 0", "send to 0")
    last = f"{there} #3" if rank == 0 else "recv from any #0"
    return [f"{there} #0", f"{there} #1", f"{there} #2", f"{back} #0", last, f"{there} #0"]


def rank_main(torch, dist):
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    stream, sites = gloo_ranks.take_for_cuda(torch)
    classes = (dist.ProcessGroup, dist.Work)
    before = [(name, id(value)) for owner in classes for name, value in vars(owner).items()]
    without = communicate(torch, dist, rank)
    assert not sites
    with lull.observe(executor="threads") as side:
        assert side.mode == "observe", side.why_off
        assert torch.equal(communicate(torch, dist, rank), without)
        counts = side.counts()
        gc.collect()
        assert not side._waits._labels
    assert sites == expected(rank), sites
    assert counts["opened"] == len(sites) and not counts["nested"] and not counts["unmatched"], counts
    assert [(name, id(value)) for owner in classes for name, value in vars(owner).items()] == before
    communicate(torch, dist, rank)
    assert len(sites) == len(expected(rank))
    dist.barrier()
    dist.destroy_process_group()
    stream.close()


def main():
    try:
        import torch
        import torch.distributed as dist
    except ImportError as why:
        print(f"not run: {why}")
        sys.exit(SKIPPED)
    if not (dist.is_available() and dist.is_gloo_available()):
        print("not run: this torch has no gloo")
        sys.exit(SKIPPED)
    if "RANK" not in os.environ:
        sys.exit(schedules.launch([__file__], limit=200))
    rank_main(torch, dist)


if __name__ == "__main__":
    main()
