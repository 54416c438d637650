# SPDX-License-Identifier: Apache-2.0
"""Side work while the host itself waits, for data and for a checkpoint; on CPU threads, which stand for a GPU."""

import sys
import time

import lull

HERE = {"executor": "threads", "bracket_waits": False}  # with torch on a GPU: leave it out
stream = lull.ThreadsStream()  # with torch: leave the argument out, or give the stream that trains


def loader():
    for batch in range(20):
        time.sleep(0.005)
        yield batch


def train():
    trained = []
    for batch in lull.stalls(loader(), "data", stream):
        stream.sleep(0.001)  # the step's kernels
        trained.append(batch)
    with lull.bubble("checkpoint", stream):
        time.sleep(0.02)  # the host writes it
    return trained


plain = train()  # without a session the batches alone
with lull.harvest(tasks=["compute:items=100000000"], **HERE) as side:
    harvested, counts, mode = train(), side.counts(), side.mode

print(f"{counts['opened']} bubbles, {counts['launches']} workers")
found = counts["opened"] + counts["no_job"]  # the first ones may come before the job stands ready
if mode == "on" and (found, counts["nested"]) != (22, 0):  # the last fetch finds the end
    sys.exit(1)
sys.exit(0 if harvested == plain == list(range(20)) else 1)
