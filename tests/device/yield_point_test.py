#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""yield_point_test.py PROGRAM…: at a yield point a worker issues the loads of gate, slot and cursor together, so that
it waits for the L2 once and not twice. Read from the machine code of each worker's kernel, as source code cannot say
it: ptxas has six scoreboards, and a load may be given one that an earlier load still holds. Exit code 77: there is no
cuobjdump."""

import re
import shutil
import subprocess
import sys
import unittest

INSTRUCTION = re.compile(r"\s+/\*[0-9a-f]{4,6}\*/\s+(.*?)\s*;\s*/\* 0x[0-9a-f]{16} \*/")
SECOND_HALF = re.compile(r"\s+/\* (0x[0-9a-f]{16}) \*/")
LOAD = re.compile(r"LDG\.E\.(?:64\.)?STRONG\.(SYS|GPU) R\d+, desc\[UR\d+\]\[(R\d+)\.64(?:\+(0x[0-9a-f]+))?\]")
ENDS = re.compile(r"\b(BRA|BAR|EXIT|CALL|RET|MEMBAR|CCTL)\b")
NO_BARRIER = 7
COUNTS_OF_RING = ("0x280", "0x288")  # offsets in a cursor


def kernels(program):
    """Each worker's kernel: (text, scoreboard that is set, mask of those that are waited for) an instruction. Where
    they stand in Volta's to Hopper's code: Z. Jia et al., Dissecting the NVIDIA Volta GPU Architecture, 2018, 2.1."""
    dump = subprocess.run(["cuobjdump", "-sass", program], capture_output=True, text=True, check=True).stdout
    for part in dump.split("Function : ")[1:]:
        name, *lines = part.split("\n")
        if "resident_kernel" not in name:
            continue
        code = []
        for line, after in zip(lines, lines[1:]):
            found, rest = INSTRUCTION.match(line), SECOND_HALF.match(after)
            if found and rest:
                control = int(rest.group(1), 16) >> 41
                code.append((found.group(1), control >> 5 & 7, control >> 11 & 63))
        yield name.strip(), code


def stretches(code):
    """Instructions without a branch or a barrier between them."""
    begin = 0
    for index, (text, _, _) in enumerate(code):
        if ENDS.search(text):
            yield code[begin:index]
            begin = index + 1


def poll_of(stretch):
    """From the first to the last load of gate and ring there, or nothing."""
    loads = [(index, found) for index, each in enumerate(stretch) if (found := LOAD.search(each[0]))]
    gate = [index for index, found in loads if found.group(1) == "SYS"]
    ring = [index for index, found in loads if found.group(3) in COUNTS_OF_RING]
    return stretch[min(gate + ring) : max(gate + ring) + 1] if gate and len(ring) == 2 else []


def waits_within(poll):
    """What waits for one of the loads before the last of them is issued."""
    held, waits_seen = {}, []
    for text, sets, waits in poll:
        waits_seen += [f"`{text}` waits for `{held.pop(each)}`" for each in list(held) if waits >> each & 1]
        if LOAD.search(text) and sets != NO_BARRIER:
            held[sets] = text
    return waits_seen


class YieldPoints(unittest.TestCase):
    def test_the_loads_of_a_yield_point_are_issued_together(self):
        for program in sys.argv[1:]:
            found = 0
            for name, code in kernels(program):
                for poll in filter(None, map(poll_of, stretches(code))):
                    found += 1
                    with self.subTest(kernel=name):
                        self.assertEqual(waits_within(poll), [])
            self.assertGreater(found, 0, f"{program}: no yield point was recognised")


if __name__ == "__main__":
    if not shutil.which("cuobjdump"):
        print("NOT RUN: cuobjdump is not installed")
        sys.exit(77)
    unittest.main(argv=sys.argv[:1])
