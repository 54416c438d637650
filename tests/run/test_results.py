#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tells what one run of ctest came to, from the file that its --output-junit wrote.

    tests/run/test_results.py JUNIT

Prints the numbers of tests, of failed ones and of those that were not run, and the names of those that failed, in one
line. A program of gpu_tests.py is as many as its last line says. On standard error: the tests that took longest, then
each that failed with the end of its output."""

import re
import sys
import xml.etree.ElementTree as tree

SLOWEST = 10
LINES = 60  # of a failed test
COUNT = re.compile(r"gpu_tests: (\d+) passed, (\d+) failed, (\d+) skipped(?:, (\d+) not run)?$")


def counts(test):
    """Of a test: how many it is, how many of them failed, and how many were not run."""
    lines = (test.findtext("system-out") or "").strip().splitlines()
    found = COUNT.fullmatch(lines[-1]) if lines else None
    failed = test.find("failure") is not None
    if found:
        passed, failures, skipped, not_run = (int(number or 0) for number in found.groups())
        if passed + failures + skipped + not_run and failed == bool(failures + not_run):
            return passed + failures + skipped + not_run, failures + not_run, skipped
    return 1, int(failed), int(test.get("status") in ("notrun", "disabled"))


def main(path):
    tests = tree.parse(path).getroot().findall("testcase")
    by_time = sorted(tests, key=lambda test: float(test.get("time", 0)), reverse=True)
    slowest = [f"{test.get('name')} {float(test.get('time', 0)):.0f} s" for test in by_time[:SLOWEST]]
    print("slowest: " + ", ".join(slowest), file=sys.stderr)
    failed = [test for test in tests if test.find("failure") is not None]
    for test in failed:
        print(f"\nFAILED: {test.get('name')}", file=sys.stderr)
        output = (test.findtext("system-out") or "").splitlines()
        print("\n".join("  " + line for line in output[-LINES:]), file=sys.stderr)
    print(*map(sum, zip((0, 0, 0), *map(counts, tests))), *(test.get("name") for test in failed))


if __name__ == "__main__":
    main(sys.argv[1])
