#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the tests that need a GPU, a group of them in one process, and counts each test.

    tests/run/gpu_tests.py --build FOLDER [--within SECONDS] [--under COMMAND] [--shards N] [--carried] [NAME…]

The tests are those that CMake has written into FOLDER/gpu_tests.json. NAME: only tests and groups of that name, or
whose name it begins. --under: a program that runs the others, such as a sanitizer. --shards: each group as so many
processes. --carried: FOLDER was built elsewhere; where that was leads here, as the programs hold paths.

A group is a program of GoogleTest, or Python programs with equal needs. A Python program has a process of its own where
it is no file of unittest, or says OWN_PROCESS = "why". It says GPUS = 2 where it needs so many, ENVIRONMENT = {…} where
it needs other variables, and BESIDE = "why" where others may run beside it. Groups that only compare results run beside
each other, then those that look at times or at free memory, alone. What does not end in time is counted as not run.
Exit code 77: no test could be run."""

import argparse
import ast
import concurrent.futures
import json
import os
import pathlib
import shlex
import signal
import subprocess
import sys
import threading
import time

from python_tests import cases_of
from test_group import SKIPPED, Group, Program, Result, kill_all

ROOT = pathlib.Path(__file__).resolve().parents[2]
NEEDS = ("OWN_PROCESS", "GPUS", "ENVIRONMENT", "BESIDE")
TOGETHER = 3  # processes on one GPU
LINES = 60  # of a failed test
SLOWEST = 10


def read_tests(build, carried):
    """What CMake has registered, with the paths of this tree."""
    text = (build / "gpu_tests.json").read_text(encoding="utf-8")
    there = json.loads(text)
    for was, now in ((there["python"], sys.executable), (there["build"], build), (there["source"], ROOT)):
        text = text.replace(json.dumps(was)[1:-1], json.dumps(str(now))[1:-1])
    for was, now in ((there["source"], ROOT), (there["build"], build)):
        if carried and not pathlib.Path(was).exists():
            pathlib.Path(was).parent.mkdir(parents=True, exist_ok=True)
            pathlib.Path(was).symlink_to(now)
            print(f"gpu_tests.py: {was} leads to {now} now")
    return json.loads(text)["tests"]


def needs_of(path):
    """What a Python program says that it needs, read and not imported."""
    tree = ast.parse(pathlib.Path(path).read_bytes())
    found = {}
    for each in tree.body:
        if isinstance(each, ast.Assign) and ast.unparse(each.targets[0]) in NEEDS:
            found[ast.unparse(each.targets[0])] = ast.literal_eval(each.value)
    if cases_of("", path) == [""]:
        found.setdefault("OWN_PROCESS", "it is no file of unittest")
    return found


def gpus():
    """How many there are. Makes no context."""
    try:
        done = subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return 0
    there = sum(line.startswith("GPU ") for line in done.stdout.splitlines())
    chosen = os.environ.get("CUDA_VISIBLE_DEVICES")
    return there if chosen is None else min(there, len([each for each in chosen.split(",") if each]))


class NotHere(Program):
    """A Python program that needs more GPUs than there are; none is started to hear that."""

    def __init__(self, name, path, why):
        super().__init__(name, [])
        self._cases, self._why = cases_of(name, path), why

    def run(self, until):
        return [Result(case, "skipped", 0.0, f"NOT RUN: {self._why}") for case in self._cases]


def groups_of(tests, under, shards, limit):
    """(group, whether others may run beside it) for each process that is needed, and why some have one of their own."""
    groups, together, alone, there = [], {}, {}, gpus()

    def python_group(name, members):
        first, environment, seconds = members[0]
        files = [f"{test['name']}={test['command'][-1]}" for test, _, _ in members]
        command = [*first["command"][:-1], "-X", "faulthandler", str(ROOT / "tests/run/python_tests.py"), *files]
        groups.append((Group(name, command, environment, max(each for _, _, each in members)), first["beside"]))

    for test in tests:
        name, command, environment, beside = test["name"], test["command"], test["environment"], test["beside"]
        seconds = limit or test["limit"]
        if test["kind"] == "gtest":
            for part in range(shards):
                group = Group(name, command, environment, seconds, test["matching"], under, (part, shards))
                groups.append((group, beside))
            continue
        if test["kind"] == "python":
            # Loading eagerly, as is good for our own programs, would load each kernel that torch has.
            environment = {"CUDA_MODULE_LOADING": "LAZY", "PYTHONUNBUFFERED": "1", **environment}
            needs = needs_of(command[-1])
            environment.update(needs.get("ENVIRONMENT", {}))
            beside = test["beside"] = beside or "BESIDE" in needs
            if there < needs.get("GPUS", 1):
                why = f"{needs.get('GPUS', 1)} GPUs are needed, there are {there}"
                groups.append((NotHere(name, command[-1], why), True))
                continue
            if "OWN_PROCESS" in needs and not test["group"]:
                alone[name] = needs["OWN_PROCESS"]
                python_group(name, [(test, environment, seconds)])
            else:
                key = (test["group"], beside, *sorted(environment.items()))
                together.setdefault(key, []).append((test, environment, seconds))
            continue
        groups.append((Program(name, command, environment, seconds), beside))
    for number, members in enumerate(together.values(), 1):
        python_group(f"python, group {number}", members)
    return groups, alone


class Report:
    """Prints the results of a group when it is over, and all in all."""

    def __init__(self, brief):
        self._brief, self._lock = brief, threading.Lock()
        self.results, self._groups = [], []

    def run(self, group, until):
        began = time.monotonic()
        results = group.run(until)
        with self._lock:
            self.results += results
            self._groups.append((time.monotonic() - began, group.name, results))
            if not self._brief:
                print(f"{time.monotonic() - began:7.1f} s  {group.name}: {counted(results)}", flush=True)
            for result in results:
                if result.state == "failed":
                    print(f"\nFAILED: {result.name} ({result.seconds:.1f} s)")
                    print("\n".join("  " + line for line in result.text.splitlines()[-LINES:]), flush=True)

    def end(self, alone):
        slowest = sorted(self.results, key=lambda result: -result.seconds)[:SLOWEST]
        slowest = [each for each in slowest if each.seconds > 1]
        if not self._brief:
            if slowest:
                print("slowest: " + ", ".join(f"{each.name} {each.seconds:.1f} s" for each in slowest))
            for name, why in alone.items():
                print(f"in a process of its own: {name}: {why}")
        reasons = {
            result.text.strip().splitlines()[-1] for result in self.results if result.state == "skipped" and result.text
        }
        for reason in sorted(reasons)[:SLOWEST]:
            print(f"skipped: {reason[-200:]}")
        for result in self.results:
            if result.state == "not run":
                print(f"not run: {result.name}")
        print(("gpu_tests: " if self._brief else "") + counted(self.results))
        states = {result.state for result in self.results}
        if states & {"failed", "not run"} or not states:
            return 1
        return 0 if "passed" in states else SKIPPED


def counted(results):
    number = {
        state: sum(result.state == state for result in results) for state in ("passed", "failed", "skipped", "not run")
    }
    return f"{number['passed']} passed, {number['failed']} failed, {number['skipped']} skipped" + (
        f", {number['not run']} not run" if number["not run"] else ""
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--within", type=float, default=float("inf"), help="seconds")
    parser.add_argument("--limit", type=float, help="seconds for one test, instead of those that are registered")
    parser.add_argument("--under", default="", help="a command before each program of GoogleTest")
    parser.add_argument("--shards", type=int, default=1)
    parser.add_argument("--carried", action="store_true")
    parser.add_argument("--brief", action="store_true", help="print failures and the count alone")
    parser.add_argument("names", nargs="*")
    given = parser.parse_args()
    until = time.monotonic() + given.within
    signal.signal(signal.SIGTERM, lambda *_: (kill_all(), os._exit(128 + signal.SIGTERM)))
    tests = [
        test
        for test in read_tests(given.build.resolve(), given.carried)
        if not given.names or any(test["name"] == name or test["name"].startswith(name + ".") for name in given.names)
    ]
    groups, alone = groups_of(tests, shlex.split(given.under), given.shards, given.limit)
    report = Report(given.brief)
    with concurrent.futures.ThreadPoolExecutor(TOGETHER) as pool:
        for done in [pool.submit(report.run, group, until) for group, beside in groups if beside]:
            done.result()
    for group, beside in groups:
        if not beside:
            report.run(group, until)
    sys.exit(report.end(alone))


if __name__ == "__main__":
    main()
