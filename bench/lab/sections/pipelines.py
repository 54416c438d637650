# SPDX-License-Identifier: Apache-2.0
"""Sections that need several GPUs: what side work costs a pipeline, and what it brings. Side work of the pipelines in
PyTorch is given as the program `pipeline` takes it."""

import itertools
import operator
import statistics

from lab import ROOT
from lab.numbers import slowdown
from lab.process import of_bench, read_outcome, shell
from lab.record import bounded, lab_rows, paired
from lab.section import section
from lab.treatment import compared

NCCL_TASKS = ("compute", "streaming", "mlp")
LIMIT_S = 170
SIZES = {  # with fp32 a GPU stays below its power limit, and a step takes longer; with bf16 the limit sets its clock
    "fp32": "--dtype fp32 --tokens 1024 --layers 2 --verify-steps 32",
    "bf16": "--dtype bf16 --tokens 4096 --verify-steps 64",
}
SCHEDULES = ("gpipe", "1f1b", "interleaved", "zero_bubble")


def names(*parts):
    return ["".join(each) for each in itertools.product(*parts)]


NCCL = names(SIZES, (":streams:", ":graph:"), SCHEDULES, ("", ":200us"))


def over_scopes(scopes):
    """Of scopes, each with what its ranks told. They differ from each other by more than each of them by itself, so the
    interval is of their mean. `harvest`: of scopes in which no lease cut the long bubbles."""
    costs = [compared(ranks[0]["none_ms"], ranks[0]["worker_ms"]) for ranks in scopes]
    times = {key: [cost[key] for cost in costs] for key in ("step_ms_none", "step_ms_worker")}
    row = {"scopes": len(scopes), **slowdown(*times.values())}
    row["worst_slowdown_percent"] = max(cost["slowdown_percent"] for cost in costs)
    row |= {key: statistics.geometric_mean(each) for key, each in times.items()}
    every = [each["bubbles"] for ranks in scopes for each in ranks]
    ms, worked_ms, row["lease_exits"] = (sum(each[key] for each in every) for key in ("ms", "worked_ms", "lease_exits"))
    steps = (sum(each["steps_with_worker"] for each in ranks) for ranks in scopes)
    row["bubble_share"] = ms / sum(map(operator.mul, steps, times["step_ms_worker"]))
    row["worked"] = worked_ms / ms if ms else None
    told = [each for ranks in scopes if all(each["items_per_ms_alone"] for each in ranks) for each in ranks]
    if told and ms:
        solo_ms = sum(each["bubbles"]["items"] / each["items_per_ms_alone"] for each in told)
        row["harvest"] = solo_ms / sum(each["bubbles"]["ms"] for each in told)
    return row


@section("nccl", "as named", needs="2 gpus", seconds=54, each=NCCL)
def nccl(build, name):
    """A pipeline over NCCL in C++: two processes with a GPU each, and a row a task. `first` and `second` are every
    other scope of the run. With :200us no bubble below 200 µs is harvested."""
    size, mode, schedule, *shortest = name.split(":")
    words = f"--schedule {schedule} --task {','.join(NCCL_TASKS)} --scopes 6 {SIZES[size]}"
    words += (" --graph" if mode == "graph" else "") + (" --min-bubble-us 200" if shortest else "")
    launcher = ["env", "NCCL_NVLS_ENABLE=0", f"{ROOT}/scripts/ranks.py", "--limit", str(LIMIT_S), "2"]
    command = [*launcher, *of_bench(build, f"nccl_pipeline {words}"), "--limit", str(LIMIT_S)]
    found, told = read_outcome(shell(command, LIMIT_S + 5)), ["NCCL_NVLS_ENABLE=0", "nccl_pipeline", *words.split()]
    if "not_run" in found:
        return [{"task": task, **paired(told, found, found)} for task in NCCL_TASKS]
    rows = []
    for task in NCCL_TASKS:
        scopes = found["tasks"][task]
        is_equal = all(each.get("bit_equal", True) and each.get("repeats", True) for each in scopes[0])
        rest = {"bit_equal": is_equal, "reserved_groups": found["reserved_groups"], "ranks": scopes[-1]}
        rows.append({"task": task, **bounded(told, *(over_scopes(scopes[half::2]) for half in (0, 1))), **rest})
    return rows


# Of PyTorch: `several` schedules or one, and other trainers; the options of the program `pipeline`.
OF_TORCH = {f"{size}": f"--size {size}" for size in SIZES}
OF_TORCH |= {f"{size}:{each}": f"--size {size} --schedules {each}" for size in SIZES for each in SCHEDULES}
GPT = "--ranks 4 --size gpt --scopes 6 --reserved-groups 4"
GPT_WORK = (
    "observe+resnet18+resnet50+vgg19+pagerank:kronecker=20,sweeps=1000000,tolerance=1e-30"
    "+graph_sgd:count=2000000,epochs=100000"
)
OF_FOUR = {f"gpt_4_ranks:{each}": f"{GPT} --schedules {each} --work {GPT_WORK}" for each in SCHEDULES}
OF_FOUR["gpt_4_ranks:1f1b:straggler"] = f"{GPT} --schedules 1f1b --work observe+resnet50 --straggler 20"
OF_TRAINERS = {
    # A send and a receive of two groups at once need more room.
    f"{size}:{each}": f"--size {size} --schedules {each} --work observe+compute+streaming+equal{more}"
    for size in SIZES
    for each, more in (("megatron", ""), ("megatron_interleaved", " --reserved-groups 4"), ("deepspeed", ""))
}


def of_pipelines(family, needs, words, text):
    """With :200us after its name, a section harvests no bubble below 200 µs."""
    words |= {f"{name}:200us": f"{each} --min-bubble 200" for name, each in words.items()}

    def measure(build, name):
        return lab_rows(build, f"pipeline {words[name]}", 600)

    measure.__doc__ = text
    section(family, "as named", needs=needs, seconds=570, each=words)(measure)


of_pipelines("torch", "2 gpus and PyTorch", OF_TORCH, "Pipelines of torch.distributed.pipelining, on two GPUs.")
of_pipelines("torch", "4 gpus and PyTorch", OF_FOUR, "A GPT's pipeline on four; straggler: the last rank comes late.")
TRAINERS = "Megatron core and DeepSpeed; scripts/test_trainers.sh tells the versions."
of_pipelines("trainers", "2 gpus and PyTorch", OF_TRAINERS, TRAINERS)
