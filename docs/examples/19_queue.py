# SPDX-License-Identifier: Apache-2.0
"""Jobs that are submitted to a queue from Python, and the agent that runs them; on CPU threads, which stand for a
GPU."""

import os
import subprocess
import sys
import tempfile

import lull
from lull import program


def train(address):
    queue = lull.Queue(address)
    models = queue.submit(
        task="mlp",
        options={"epochs": 1, "hidden": 16, "seed": "${seed}", "model": "model-${seed}.safetensors"},
        array={"seed": [1, 2, 3]},
    )
    lists = queue.submit(command=["ls", "-l"], after=models, priority=5)
    for job in queue.as_completed([lists, *models], timeout=600):
        print(job.id, job.state(), job.reason())
    return [job.result() for job in models]  # where they are; raises lull.JobFailed with the reason


def started(*asked):
    return subprocess.Popen([program.path(), *asked, "--queue", address])


with tempfile.TemporaryDirectory() as folder:  # which no other user may write to
    os.chdir(folder)
    address = f"spool:{folder}/queue"
    if started("queue", "init").wait(60) != 0:
        sys.exit("no queue")
    agent = started("agent", "--executor", "threads", "--allow-commands")
    try:
        files = train(address)
        found = all(path.is_file() for each in files for path in each)
    finally:
        agent.terminate()
        agent.wait(60)
    os.chdir("/")
    sys.exit(0 if found and len(files) == 3 else 1)
