# SPDX-License-Identifier: Apache-2.0
"""The machine that a record is of, its condition, and the commit that was measured."""

import importlib.metadata
import os
import pathlib
import platform
import statistics

from lab.process import shell


def query(fields):
    """Of the GPU that programs find first, then of the others; nothing for what is not told."""
    found = shell(["nvidia-smi", f"--query-gpu={fields}", "--format=csv,noheader,nounits"])
    lines = found.stdout.splitlines() if found.returncode == 0 else []
    said = [[part.strip() or None for part in line.split(",")] for line in lines]
    first = os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",")[0]
    ours = int(first) if first.isdigit() and int(first) < len(said) else 0
    return (said.pop(ours) if said else [None] * len(fields.split(","))), said


def number(text):
    try:
        return float(text)
    except (TypeError, ValueError):
        return None


def processor(field):
    """Each core's value of a field of /proc/cpuinfo."""
    try:
        lines = pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return []
    return [line.split(":", 1)[1].strip() for line in lines if line.split(":")[0].strip() == field]


def torch_version():
    """Of PyTorch, which is not imported."""
    try:
        return importlib.metadata.version("torch")
    except importlib.metadata.PackageNotFoundError:
        return None


def machine():
    (gpu, driver, limit, clock), others = query("name,driver_version,power.limit,clocks.max.sm")
    cuda = shell(["nvcc", "--version"]).stdout.strip().splitlines()
    return {
        "gpu": gpu,
        "driver": driver,
        "power_limit_w": number(limit),
        "max_sm_mhz": number(clock),
        "other_gpus": len(others),
        "cuda": cuda[-1] if cuda else None,
        "torch": torch_version(),
        "cpu": next(iter(processor("model name")), platform.processor() or None),
        "cores": len(os.sched_getaffinity(0)),
        "kernel": platform.release(),
    }


def condition():
    """Clocks, power and load now. A GPU's power is its own mean over the last second; that of the machine's other GPUs
    says whether they worked meanwhile."""
    ours, others = query("clocks.sm,clocks.mem,power.draw,temperature.gpu")
    clocks = [value for value in map(number, processor("cpu MHz")) if value]
    return {
        **dict(zip(("sm_mhz", "mem_mhz", "power_w", "temperature_c"), map(number, ours))),
        **({"other_gpus_power_w": [number(each[2]) for each in others]} if others else {}),
        "cpu_mhz": statistics.median(clocks) if clocks else None,
        "load_1min": round(os.getloadavg()[0], 2),
    }


def commit():
    """What was measured; said, too, where it is not exactly that."""
    if os.environ.get("LULL_COMMIT"):
        return os.environ["LULL_COMMIT"]
    head = shell(["git", "rev-parse", "HEAD"]).stdout.strip()
    changed = shell("git status --porcelain --untracked-files=no -- . :!docs/results".split()).stdout.strip()
    return head + (" with changes" if changed else "") if head else None
