# SPDX-License-Identifier: Apache-2.0
"""What record.py's sections are made of: programs run, their figures read, and the machine's condition beside them."""

import json
import math
import os
import pathlib
import platform
import statistics
import subprocess
import tempfile
import time


def shell(command, limit=400):
    """Never raises: a program that is missing or does not end has failed, like any other."""
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=limit, check=False)
    except OSError as reason:
        return subprocess.CompletedProcess(command, 127, "", str(reason))
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(command, 124, "", f"not done within {limit} s")


def killed_when(command, there, limit):
    """Starts a program and kills it as soon as `there()`. False: it ended before that, or was stopped at the limit."""
    try:
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    except OSError:
        return False
    with process:
        until = time.monotonic() + limit
        while process.poll() is None:
            seen = there()
            if seen or time.monotonic() > until:
                process.kill()
                return seen
            time.sleep(0.001)
    return False


def write_whole(path, text):
    """So that a reader finds the text or what was there before, also where this process is killed or two write it."""
    written = pathlib.Path(f"{path}.{os.getpid()}.new")
    written.write_text(text, encoding="utf-8")
    written.replace(path)


def not_run(done):
    return {"not_run": f"exit {done.returncode}: {(done.stderr or done.stdout or 'no output').strip()[-400:]}"}


def read_json(done, ends=(0,)):
    """What a program printed that ended with one of these codes, or why there is nothing."""
    try:
        return json.loads(done.stdout) if done.returncode in ends and done.stdout else not_run(done)
    except ValueError:
        return {"not_run": f"its output is no JSON: {done.stdout.strip()[:200]}"}


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
    changed = shell(
        ["git", "status", "--porcelain", "--untracked-files=no", "--", ".", ":!docs/results"]
    ).stdout.strip()
    return head + (" with changes" if changed else "") if head else None


def median_interval(samples):
    """The narrowest symmetric pair of order statistics that holds the median with at least 95 %; none below 6
    samples."""
    n, below, rank = len(samples), 0.0, 0
    while rank < n and (below := below + math.comb(n, rank) / 2**n) <= 0.025:
        rank += 1
    ordered = sorted(samples)
    return [ordered[rank - 1], ordered[n - rank]] if rank else None


def alone_with_bounds(run):
    """Figures of one run, and the intervals that it states itself: `x_low` and `x_high` beside `x`."""
    spread = {
        key: [run[f"{key}_low"], run[f"{key}_high"]] for key in run if f"{key}_low" in run and f"{key}_high" in run
    }
    bounds = {f"{key}_{end}" for key in spread for end in ("low", "high")}
    return {key: value for key, value in run.items() if key not in bounds}, spread


def summed_up(rows):
    """One run of a bench: its own figures where it ran once, else the medians of its repetitions."""
    standard = {"family_index", "per_family_instance_index", "repetition_index", "repetitions", "threads", "iterations"}
    runs = [{k: v for k, v in row.items() if isinstance(v, (int, float)) and k not in standard} for row in rows]
    if len(runs) == 1:
        return alone_with_bounds(runs[0])
    samples = {key: [run[key] for run in runs] for key in runs[0]}
    spread = {key: median_interval(values) for key, values in samples.items()}
    return {"n": len(runs), **{key: statistics.median(values) for key, values in samples.items()}}, spread


def bench(build, name, limit=120):
    """A benchmark named PROGRAM/…, with its arguments if any: command, figures, intervals."""
    plan, *arguments = name.split()
    command = [
        f"{build}/bin/bench/{plan.split('/')[0]}",
        f"--benchmark_filter=^{plan}",
        "--benchmark_format=json",
        *arguments,
    ]
    done = shell(command, limit)
    try:
        rows = [row for row in json.loads(done.stdout)["benchmarks"] if row.get("run_type") != "aggregate"]
    except (ValueError, KeyError):
        rows = []
    if done.returncode != 0 or not rows:
        return command, not_run(done), {}
    failed = next((row.get("error_message", "failed") for row in rows if row.get("error_occurred")), None)
    if failed is not None:
        return command, {"not_run": failed}, {}
    if len(names := {row["name"] for row in rows}) > 1:
        return command, {"not_run": f"{plan} is the name of several benches: {', '.join(sorted(names))}"}, {}
    return command, *summed_up(rows)


def difference(first, second):
    """Of all numbers that both have, as deep as they go."""
    if isinstance(first, dict) and isinstance(second, dict):
        inner = {key: difference(first[key], second[key]) for key in first if key in second}
        return {key: value for key, value in inner.items() if value is not None} or None
    plain = all(isinstance(each, (int, float)) and not isinstance(each, bool) for each in (first, second))
    return abs(first - second) if plain else None


def once(command, first):
    """Of an outcome, which has no noise."""
    return {"command": _as_text(command), "first": first, "condition": condition()}


def _as_text(command):
    return " ".join([pathlib.Path(command[0]).name, *command[1:]])


def paired(command, first, second, **more):
    return {
        "command": _as_text(command),
        "first": first,
        "second": second,
        "noise": difference(first, second),
        **more,
        "condition": condition(),
    }


def with_lull(build, command, **environment):
    """A Python script with Lull's package."""
    where = {"LULL_LIBRARY": f"{build}/apps/c/liblull.so", "PYTHONPATH": "apps/python", **environment}
    return ["env", *(f"{name}={value}" for name, value in where.items()), "python3", *command]


def without(name, row):
    """The row's other values."""
    return {key: value for key, value in row.items() if key != name}


def of_each(name, build, command, limit, read=read_json, **environment):
    """A row for each row of two runs. `name`: what tells them apart."""
    first, second = (read(shell(with_lull(build, command, **environment), limit)) for _ in range(2))
    found = next((run["rows"] for run in (first, second) if "rows" in run), None)
    if found is None:
        return [paired(command, first, second)]
    rows = []
    for index, row in enumerate(found):
        figures = [without(name, run["rows"][index]) if "rows" in run else run for run in (first, second)]
        rows.append({name: row[name], **paired(command, *figures)})
    return rows


def twice(build, names, limit=120):
    rows = []
    for name in names:
        command, first, spread = bench(build, name, limit)
        _, second, again = bench(build, name, limit)
        rows.append(
            {
                "name": name.replace("/iterations:", "").replace(" --", "/").rstrip("/"),
                **paired(command, first, second, interval={"first": spread, "second": again}),
            }
        )
    return rows


def lull(build, arguments, limit):
    with tempfile.TemporaryDirectory() as folder:
        report = pathlib.Path(folder) / "report.json"
        done = shell([f"{build}/bin/lull", *arguments, "--report", str(report)], limit)
        return {"report": json.loads(report.read_text())} if done.returncode == 0 and report.exists() else not_run(done)


def why_empty(record):
    """The reason if no row of a record has a figure. A row that was measured once has no `second`."""
    runs = [row[key] for row in record["rows"] for key in ("first", "second") if key in row]
    reasons = [run.get("not_run") for run in runs]
    if not reasons:
        return "no row has a run"
    return reasons[0] if all(reasons) else None
