# SPDX-License-Identifier: Apache-2.0
"""torch_two_gpus_test.py [--dry-run]: real torch, two GPUs, NCCL, the schedules of torch.distributed.pipelining: losses
and weights are bit-equal with nothing, observed and harvested, and torch is as it was afterwards.

--dry-run: on CPUs with gloo, where no wait is a bubble: for trying the program itself. Exit code 77: it could not be
run here."""

import ctypes
import importlib
import os
import pathlib
import sys

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parents[3] / folder) for folder in ("bench", "apps/python")]

import lull  # noqa: E402
from lab.pipelines import schedules  # noqa: E402

GPUS = 2
SKIPPED = 77
STEPS = 6
SMALL = {"width": 1024, "layers": 8, "rows": 256, "microbatches": 8}
TASKS = ["compute:items=65536,rounds=1000000", "streaming:items=1024,rounds=30000"]


def cuda_devices():
    """How many GPUs this process can use, as CUDA counts them. torch asks NVML, which also counts those of the
    machine that this process may not open."""
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return 0
    count = ctypes.c_int(0)
    if driver.cuInit(ctypes.c_uint(0)) != 0 or driver.cuDeviceGetCount(ctypes.byref(count)) != 0:
        return 0
    return count.value


def why_not(dry):
    try:
        import torch
        import torch.distributed as dist
    except ImportError as why:
        return str(why)
    if dry:
        return "" if dist.is_available() and dist.is_gloo_available() else "this torch has no gloo"
    if torch.version.cuda is None:
        return "this torch has no CUDA"
    if (devices := cuda_devices()) < 2:
        return f"two GPUs are needed, CUDA counts {devices}"
    return "" if dist.is_nccl_available() else "this torch has no NCCL"


def attributes():
    """Everything of torch.distributed that could be replaced, by identity."""
    import torch.distributed as dist

    owners = (dist, dist.distributed_c10d, dist.ProcessGroup, dist.Work)
    return {(owner.__name__, name): id(value) for owner in owners for name, value in list(vars(owner).items())}


def changed(before):
    after = attributes()
    return [name for name in before if before[name] != after.get(name)]


def rank_main(dry):
    import torch
    import torch.distributed as dist

    rank = int(os.environ["RANK"])
    device = torch.device("cpu") if dry else torch.device("cuda", rank)
    if not dry:
        torch.cuda.set_device(device)
    torch.use_deterministic_algorithms(True)
    executor = "threads" if dry else "cuda"
    dist.init_process_group("gloo" if dry else "nccl", **({} if dry else {"device_id": device}))
    importlib.import_module("torch.distributed.pipelining")  # what it imports is not ours to be blamed for
    before = attributes()
    failed = []
    for schedule in schedules.SCHEDULES:

        def train(scope):
            return schedules.trained(schedules.Pipeline(schedule, device, **SMALL), scope, STEPS)

        plain = train(schedules.without_lull())
        for name, scope in (
            ("observe", lull.observe(executor=executor)),
            ("harvest", lull.harvest(TASKS, executor=executor)),
        ):
            losses, weights, mode, counts = train(scope)
            assert lull.session._active is None
            problems = [f"{owner}.{attribute} was not restored" for owner, attribute in changed(before)]
            if mode != {"observe": "observe", "harvest": "on"}[name]:
                problems.append(f"the mode was {mode}: {scope.why_off}")
            if len(losses) != len(plain[0]) or not all(map(torch.equal, losses, plain[0])):
                problems.append("losses differ")
            if not all(map(torch.equal, weights, plain[1])):
                problems.append("weights differ")
            if not dry and counts["opened"] == 0:
                problems.append("no wait was a bubble")
            if not dry and name == "harvest" and counts["launches"] == 0:
                problems.append("nothing ran in the bubbles")
            told = ", ".join(f"{key} {value}" for key, value in counts.items() if value)
            print(f"rank {rank} {schedule} {name}: {'; '.join(problems) or 'as without'} ({told})", flush=True)
            failed += problems
    dist.barrier()
    dist.destroy_process_group()
    sys.exit(1 if failed else 0)


def run_on_ranks(rank_main, reason):
    """Runs this program on two ranks, each of which ends itself; with a reason it says that it could not be run."""
    if reason:
        print(f"not run: {reason}")
        sys.exit(SKIPPED)
    if "RANK" in os.environ:
        rank_main()
    sys.exit(schedules.launch(sys.argv))


def main():
    dry = "--dry-run" in sys.argv[1:]
    run_on_ranks(lambda: rank_main(dry), why_not(dry))


if __name__ == "__main__":
    main()
