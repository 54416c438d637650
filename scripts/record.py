#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the benches on a machine with a GPU and writes one JSON record a section.

Every figure is measured twice by the same program, one process a run, so that the difference of the two stands beside it as
noise. What could not run is recorded as not run, with the reason; nothing is ever filled in.
"""
import argparse
import datetime
import json
import os
import pathlib
import subprocess

YIELD = [
    f"yield_latency/task:{task}/behind:{behind}/"
    for task in ("compute", "streaming", "pagerank")
    for behind in ("burst_132", "burst_264", "cublas_2048")
]
LANDING = [
    f"yield_latency/task:{task}/behind:burst_264/landing:{how}/" for task in ("compute", "streaming") for how in ("none", "gap", "join")
]
ARRIVAL = [f"yield_latency/task:compute/arrival:{what}/" for what in ("one_thread", "blocks_132", "nccl_shape")]
HARVEST = [(longest, mode) for longest in ("10ms", "1ms", "100us") for mode in ("lull", "naive")]


def shell(command, limit=400):
    return subprocess.run(command, capture_output=True, text=True, timeout=limit, check=False)


def query(fields):
    found = shell(["nvidia-smi", f"--query-gpu={fields}", "--format=csv,noheader,nounits"])
    return [part.strip() for part in found.stdout.splitlines()[0].split(",")] if found.returncode == 0 and found.stdout else None


def machine():
    found = query("name,driver_version,power.limit,clocks.max.sm")
    cuda = shell(["nvcc", "--version"]).stdout.strip().splitlines()
    return {
        "gpu": found[0] if found else None,
        "driver": found[1] if found else None,
        "power_limit_w": float(found[2]) if found else None,
        "max_sm_mhz": float(found[3]) if found else None,
        "cuda": cuda[-1] if cuda else None,
    }


def condition():
    found = query("clocks.sm,clocks.mem,power.draw,temperature.gpu")
    return dict(zip(("sm_mhz", "mem_mhz", "power_w", "temperature_c"), map(float, found))) if found else None


def commit():
    found = os.environ.get("LULL_COMMIT") or shell(["git", "rev-parse", "HEAD"]).stdout.strip()
    return found or None


def bench(build, name):
    command = [f"{build}/bin/bench/yield_latency", f"--benchmark_filter=^{name}", "--benchmark_format=json"]
    done = shell(command, 120)
    if done.returncode != 0 or not done.stdout.strip():
        return command, {"not_run": (done.stderr or "no output").strip()[-400:]}
    rows = json.loads(done.stdout)["benchmarks"]
    standard = {"family_index", "per_family_instance_index", "repetition_index", "repetitions", "threads", "iterations"}
    return command, {k: v for k, v in rows[0].items() if isinstance(v, (int, float)) and k not in standard}


def twice(build, names):
    rows = []
    for name in names:
        command, first = bench(build, name)
        _, second = bench(build, name)
        noise = {k: abs(first[k] - second[k]) for k in first if k in second and isinstance(first[k], (int, float))}
        rows.append({"name": name.rstrip("/"), "command": " ".join(command[1:]), "first": first, "second": second, "noise": noise})
    return {"unit": "us", "rows": rows}


def lull(build, arguments, limit):
    report = pathlib.Path(f"{build}/report.json")
    report.unlink(missing_ok=True)
    command = [f"{build}/bin/lull", *arguments, "--report", str(report)]
    try:
        done = shell(command, limit)
    except subprocess.TimeoutExpired:
        return {"command": " ".join(arguments), "not_run": f"not done within {limit} s"}
    if done.returncode != 0 or not report.exists():
        return {"command": " ".join(arguments), "not_run": f"exit {done.returncode}: {(done.stderr or done.stdout).strip()[-400:]}"}
    return {"command": " ".join(arguments), "report": json.loads(report.read_text())}


# Forward times that make the longest bubble of 1F1B, stage 0 of 4 with 8 micro-batches, about as long as named: after its warm-up
# stage 0 waits 6 forward times for its first backward.
SEGMENT = {"10ms": "1667us", "1ms": "167us", "100us": "17us"}


def harvest(build):
    rows = []
    for longest, mode in HARVEST:
        arguments = ["harvest", "--executor", "cuda", "--schedule", "1f1b", "--stages", "4", "--microbatches", "8", "--stage", "0",
                     "--segment", SEGMENT[longest], "--mode", mode, "--pairs", "5", "--task", "pagerank:kronecker=22,sweeps=2000,tolerance=1e-30"]
        for _ in range(2 if mode == "lull" else 1):
            rows.append({"longest_bubble": longest, "mode": mode, **lull(build, arguments, 200)})
    return {"rows": rows}


def pagerank(build):
    rows = []
    for grain in ("1", "2", "4"):
        command = [f"{build}/bin/bench/pagerank_speed", "22", "100", "5", grain]
        for _ in range(2):
            done = shell(command, 120)
            row = json.loads(done.stdout) if done.returncode == 0 else {"not_run": done.stderr.strip()[-400:]}
            rows.append({"command": " ".join(command[1:]), "grain": int(grain), **row})
    return {"unit": "ms a sweep", "rows": rows}


SECTIONS = {
    "yield": lambda build: twice(build, YIELD),
    "landing": lambda build: twice(build, LANDING),
    "arrival": lambda build: twice(build, ARRIVAL),
    "pagerank": pagerank,
    "harvest": harvest,
}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True)
    parser.add_argument("--results", required=True)
    parser.add_argument("names", nargs="*", help=f"sections: {', '.join(SECTIONS)}; all of them by default")
    given = parser.parse_args()
    unknown = [name for name in given.names if name not in SECTIONS]
    if unknown:
        parser.error(f"unknown section {unknown[0]}; known: {', '.join(SECTIONS)}")
    for name in given.names or SECTIONS:
        before = condition()
        record = {
            "schema": "lull.record/1",
            "section": name,
            "date": datetime.date.today().isoformat(),
            "commit": commit(),
            "machine": machine(),
            "before": before,
            **SECTIONS[name](given.build),
            "after": condition(),
        }
        path = pathlib.Path(given.results) / f"{name}.json"
        path.write_text(json.dumps(record, indent=1) + "\n")
        print(f"{name}: {path}")


if __name__ == "__main__":
    main()
