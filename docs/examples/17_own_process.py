# SPDX-License-Identifier: Apache-2.0
"""A trainer that shares its bubbles, and a worker in a process of its own; on CPU threads, which stand for a GPU."""

import os
import subprocess
import sys
import tempfile

import lull

HERE = {"executor": "threads"}  # on a GPU, once it can be shared there: leave it out


def train(address, worker):
    stream = lull.ThreadsStream()
    with lull.harvest(share=address, bracket_waits=False, **HERE) as side:
        for _ in range(100_000):
            if worker.poll() is not None:
                break
            with lull.bubble("recv_forward", stream):
                stream.sleep(0.001)
            stream.synchronize()
        print(side.report())  # with a line for the worker
    return side.mode


def work(address):
    with lull.attach(address, ["compute:items=1000,rounds=100"], **HERE) as side:
        job = side.jobs[0]
        job.wait(60)
        mode = side.mode
    print(job.state, job.status()["items"], "items")
    return job.state == ("finished" if mode == "on" else "off")


if len(sys.argv) > 1:
    sys.exit(0 if work(sys.argv[1]) else 1)
with tempfile.TemporaryDirectory() as folder:  # which no other user may write to
    socket = f"unix:{os.path.join(folder, 'socket')}"
    started = subprocess.Popen([sys.executable, __file__, socket])
    train(socket, started)
    sys.exit(started.wait(60))
