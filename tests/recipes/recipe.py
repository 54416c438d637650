# SPDX-License-Identifier: Apache-2.0
"""What the tests of recipes share: a queue of their own, and the program under the name that recipes use."""

import contextlib
import json
import os
import pathlib
import subprocess
import tempfile
import time

LIMIT_S = 50  # for one condition


def await_that(condition, what, limit_s=LIMIT_S):
    give_up = time.monotonic() + limit_s
    while not condition():
        if time.monotonic() >= give_up:
            raise AssertionError(f"not within {limit_s} s: {what}")
        time.sleep(0.05)


class Queue:
    """A spool in a folder of its own. `environment` is for whatever works on it."""

    def __init__(self, program, folder):
        self.folder = folder
        self.work = folder / "work"
        self.work.mkdir()
        programs = folder / "bin"
        programs.mkdir()
        (programs / "lull").symlink_to(pathlib.Path(program).resolve())
        plain = {key: value for key, value in os.environ.items() if not key.startswith(("LULL", "SLURM_"))}
        self.environment = {
            **plain,
            "PATH": f"{programs}:{os.environ['PATH']}",
            "LULL_QUEUE": f"spool:{folder}/queue",
            "CUDA_VISIBLE_DEVICES": "",  # the trainers of recipes are on CPU threads
        }
        self.ask("queue", "init", "--lease", "5s")

    def ask(self, *arguments):
        done = subprocess.run(
            ["lull", *arguments],
            env=self.environment,
            cwd=self.work,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == 0, (arguments, done)
        return done.stdout

    def submit(self, task):
        return self.ask("submit", "--task", task).strip()

    def job(self, number):
        return json.loads(self.ask("show", number))[0]

    def await_state(self, number, state):
        try:
            await_that(lambda: self.job(number)["state"] == state, f"job {number} is {state}")
        except AssertionError:
            print(json.dumps(self.job(number), indent=1), self.ask("agents"), flush=True)
            raise

    def checkpoint(self, number):
        """What the job's last attempt has saved so far, or begins with; empty: nothing."""
        attempts = self.job(number)["attempts"]
        files = self.folder.glob(f"queue/work/*/{number}/checkpoint-{attempts}/*.safetensors")
        return b"".join(file.read_bytes() for file in files)


@contextlib.contextmanager
def own_queue(program):
    with tempfile.TemporaryDirectory(prefix="lull-recipe-", ignore_cleanup_errors=True) as folder:
        yield Queue(program, pathlib.Path(folder))


def python_environment(root):
    """For trainers in Python; LULL_LIBRARY is CTest's."""
    return {
        "LULL_LIBRARY": os.environ["LULL_LIBRARY"],
        "PYTHONPATH": str(pathlib.Path(root, "apps/python").resolve()),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
