#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fuzzes readers of files: cmake --preset fuzz && cmake --build --preset fuzz && tests/fuzz/run.py [READER…]

Each reader gets as many executions and minutes as are asked for, whichever comes later. A run that was stopped goes on
where it was. Executions count for one build of the program: after a change they are counted from 0 again, on the inputs
found so far. An input that crashes, leaks, waits or allocates too much is kept under found/, and ends its reader's run.
"""

import argparse
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys
import time

SLICE_S = 60  # the account is written this often
ROOT = pathlib.Path(__file__).resolve().parents[2]
# A minute of wall-clock time: on a busy computer a reader waits for a core, too.
LIMITS = ["-timeout=60", "-rss_limit_mb=2048", "-malloc_limit_mb=64", "-max_len=16384", "-len_control=20"]
COUNT = re.compile(r"stat::number_of_executed_units: (\d+)")


def readers_of(program):
    listed = subprocess.run([program], capture_output=True, text=True).stderr
    return listed.split(":", 1)[1].split()


def fuzz(program, reader, folder, seconds):
    """Returns the executions and whether nothing was found; what libFuzzer wrote is in READER.log."""
    inputs, found, log = folder / "inputs" / reader, folder / "found", folder / f"{reader}.log"
    for each in (inputs, found, folder / "temporary"):
        each.mkdir(parents=True, exist_ok=True)
    seeds = program.parents[1] / "tests" / "fuzz" / "seeds" / reader
    command = [program, f"--reader={reader}", f"-max_total_time={seconds}", "-print_final_stats=1", *LIMITS]
    command += [f"-artifact_prefix={found}/{reader}-", inputs, seeds]
    with log.open("w") as out:
        done = subprocess.run(
            command, stdout=out, stderr=subprocess.STDOUT, env={**os.environ, "TMPDIR": str(folder / "temporary")}
        )
    count = COUNT.search(log.read_text(errors="replace"))
    return int(count.group(1)) if count else 0, done.returncode == 0


def run(program, reader, folder, executions, seconds):
    """Returns whether nothing was found."""
    account = folder / f"{reader}.json"
    build = hashlib.sha256(program.read_bytes()).hexdigest()
    done = json.loads(account.read_text()) if account.exists() else {}
    if done.get("build") != build:
        done = {"build": build, "executions": 0, "seconds": 0.0, "clean": True}
    while done["clean"] and (done["executions"] < executions or done["seconds"] < seconds):
        start = time.monotonic()
        left = int(seconds - done["seconds"])
        more, done["clean"] = fuzz(program, reader, folder, min(left, SLICE_S) if left > 0 else SLICE_S)
        done["executions"] += more
        done["seconds"] += time.monotonic() - start
        new = account.with_suffix(".new")
        new.write_text(json.dumps(done))
        new.replace(account)
    print(f"{reader}: {done['executions']} executions in {done['seconds']:.0f} s", end=", ")
    print(
        "nothing found" if done["clean"] else f"STOPPED: see {folder / reader}.log and {folder / 'found'}", flush=True
    )
    return done["clean"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("reader", nargs="*", help="all by default")
    parser.add_argument("--executions", type=float, default=1e6, help="of each reader, at least")
    parser.add_argument("--minutes", type=float, default=20, help="of each reader, at least")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build" / "fuzz", help="folder of the build")
    given = parser.parse_args()
    program = given.build / "bin" / "lull_fuzz"
    if not program.exists():
        sys.exit(f"run.py: there is no {program}: cmake --preset fuzz && cmake --build --preset fuzz")
    known = readers_of(program)
    for each in given.reader:
        if each not in known:
            sys.exit(f"run.py: unknown reader {each}; known: {' '.join(known)}")
    folder = given.build / "fuzzed"
    folder.mkdir(exist_ok=True)
    results = [run(program, each, folder, given.executions, given.minutes * 60) for each in given.reader or known]
    sys.exit(0 if all(results) else 1)


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit("run.py: stopped; the same command goes on")
