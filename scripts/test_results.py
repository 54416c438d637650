#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tells what one run of ctest came to, from the file that its --output-junit wrote.

    scripts/test_results.py JUNIT

Prints the numbers of tests, of failed ones and of those that were not run, in one line. On standard error: the tests
that took longest, then each that failed with the end of its output."""

import sys
import xml.etree.ElementTree as tree

SLOWEST = 5
LINES = 60  # of a failed test


def main(path):
    suite = tree.parse(path).getroot()
    tests = suite.findall("testcase")
    by_time = sorted(tests, key=lambda test: float(test.get("time", 0)), reverse=True)
    slowest = [f"{test.get('name')} {float(test.get('time', 0)):.0f} s" for test in by_time[:SLOWEST]]
    print("slowest: " + ", ".join(slowest), file=sys.stderr)
    for test in tests:
        if test.find("failure") is not None:
            print(f"\nFAILED: {test.get('name')}", file=sys.stderr)
            output = (test.findtext("system-out") or "").splitlines()
            print("\n".join("  " + line for line in output[-LINES:]), file=sys.stderr)
    number = {name: int(suite.get(name, 0)) for name in ("tests", "failures", "skipped", "disabled")}
    print(number["tests"], number["failures"], number["skipped"] + number["disabled"])


if __name__ == "__main__":
    main(sys.argv[1])
