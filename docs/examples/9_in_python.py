# SPDX-License-Identifier: Apache-2.0
"""Side work in a trainer's bubbles, from Python; on CPU threads, which stand for a GPU, and without torch."""

import sys

import lull

HERE = {"executor": "threads", "bracket_waits": False}  # with torch on a GPU: leave it out
stream = lull.ThreadsStream()


def train(enough):
    for step in range(10_000):
        if enough(step):
            return
        with lull.bubble("recv_forward", stream):  # with torch, Work.wait() of a receive is a bubble by itself
            stream.sleep(0.001)
        stream.synchronize()


with lull.observe(report="bubbles.txt", **HERE) as seen:  # which bubbles are there? No side work runs
    train(lambda step: step == 50)
    observed = seen.mode, seen.counts()["opened"]

with lull.harvest(tasks=["pagerank:kronecker=12,top=3"], **HERE) as side:
    job = side.jobs[0]
    train(lambda _: job.over)  # it has finished, failed or been cancelled; where nothing runs, it is off
    harvested = side.mode, side.counts()["launches"] > 0

print(job.state, job.result())
as_expected = {"off": ("off", 0), "observe": ("observe", 50), "on": ("observe", 50)}[harvested[0]] == observed
sys.exit(0 if as_expected and job.state == ("finished" if harvested == ("on", True) else "off") else 1)
