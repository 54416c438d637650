# SPDX-License-Identifier: Apache-2.0
"""Side work in a trainer's bubbles, from Python; on CPU threads, which stand for a GPU, and without torch."""

import sys

import lull

HERE = {"executor": "threads", "bracket_waits": False}  # with torch on a GPU: leave it out
stream = lull.ThreadsStream()


def train(enough):
    for step in range(10_000):
        if enough(step):
            return True
        with lull.bubble("recv_forward", stream):  # with torch, Work.wait() of a receive is a bubble by itself
            stream.sleep(0.001)
        stream.synchronize()
    return False


with lull.observe(report="bubbles.txt", **HERE) as seen:  # which bubbles are there? No side work runs
    train(lambda step: step == 50)
    opened = seen.counts()["opened"]

with lull.harvest(tasks=["pagerank:kronecker=12,top=3"], **HERE) as side:
    finished = train(lambda _: side.jobs[0].state == "finished")
    launches = side.counts()["launches"]

print(side.jobs[0].result())
sys.exit(0 if opened == 50 and finished and launches > 0 else 1)
