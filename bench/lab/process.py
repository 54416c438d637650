# SPDX-License-Identifier: Apache-2.0
"""Programs that are run, and what they print."""

import contextlib
import json
import os
import pathlib
import select
import subprocess
import sys
import tempfile
import time

from lab import ROOT

LAB = f"{ROOT}/bench/lab"
ANSWER_S = 20  # limit


def shell(command, limit=400):
    """Never raises: a program that is missing or does not end has failed, like any other."""
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=limit, check=False)
    except OSError as reason:
        return subprocess.CompletedProcess(command, 127, "", str(reason))
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(command, 124, "", f"not done within {limit} s")


def killed_when(command, there, limit):
    """Starts a program and kills it as soon as `there()`. False: it ended before that, or was stopped at the limit."""
    try:
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    except OSError:
        return False
    with process:
        until = time.monotonic() + limit
        while process.poll() is None:
            seen = there()
            if seen or time.monotonic() > until:
                process.kill()
                return seen
            time.sleep(0.001)
    return False


class Asked:
    """A program that answers each line it is sent with a line of JSON."""

    def __init__(self, command, environment=None):
        self.command, pipes = command, {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "bufsize": 0}
        self._process = subprocess.Popen(command, env={**os.environ, **(environment or {})}, **pipes)

    def ask(self, word, limit_s):
        with contextlib.suppress(BrokenPipeError):  # then there is no answer either
            self._process.stdin.write(f"{word}\n".encode())
        return self.answer(limit_s)

    def answer(self, limit_s):
        until = time.monotonic() + limit_s
        while select.select([self._process.stdout], [], [], max(until - time.monotonic(), 0))[0]:
            line = self._process.stdout.readline()
            if not line:
                raise RuntimeError(f"{' '.join(self.command)} has ended; what it said is on standard error")
            if line.startswith(b"{"):  # libraries may print, too
                return json.loads(line)
        raise RuntimeError(f"{' '.join(self.command)} did not answer within {limit_s} s")

    def end(self):
        with contextlib.suppress(OSError):
            self._process.stdin.close()
        try:
            self._process.wait(ANSWER_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait(ANSWER_S)
        self._process.stdout.close()


def write_whole(path, text):
    """So that a reader finds the text or what was there before, also where this process is killed or two write it."""
    written = pathlib.Path(f"{path}.{os.getpid()}.new")
    written.write_text(text, encoding="utf-8")
    written.replace(path)


def not_run(done):
    return {"not_run": f"exit {done.returncode}: {(done.stderr or done.stdout or 'no output').strip()[-400:]}"}


def read_json(done, ends=(0,)):
    """What a program printed that ended with one of these codes, or why there is nothing."""
    try:
        return json.loads(done.stdout) if done.returncode in ends and done.stdout else not_run(done)
    except ValueError:
        return {"not_run": f"its output is no JSON: {done.stdout.strip()[:200]}"}


def read_outcome(done):
    """The same of a program that fails where its figures tell of a fault."""
    return read_json(done, ends=(0, 1))


def run_lull(build, arguments, limit):
    with tempfile.TemporaryDirectory() as folder:
        report = pathlib.Path(folder) / "report.json"
        done = shell([f"{build}/bin/lull", *arguments, "--report", str(report)], limit)
        return {"report": json.loads(report.read_text())} if done.returncode == 0 and report.exists() else not_run(done)


def of_bench(build, words):
    """The command line of a program of bench/."""
    name, *options = words.split() if isinstance(words, str) else words
    return [f"{build}/bin/bench/{name}", *options]


def library_of(build):
    return f"{build}/apps/c/liblull.so"


def of_lab(build, words, **environment):
    """The command line of a program of this laboratory."""
    name, *options = words.split()
    environment = {"LULL_LIBRARY": library_of(build), **environment}
    return [
        "env",
        *(f"{key}={value}" for key, value in environment.items()),
        sys.executable,
        "-B",
        LAB,
        name,
        "--build",
        str(build),
        *options,
    ]
