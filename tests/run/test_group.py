# SPDX-License-Identifier: Apache-2.0
"""Runs the tests of one process and follows them one by one: a program of GoogleTest, or python_tests.py, which speaks
like one.

A test that fails, crashes or takes too long ends its process, since the device or the process may be in no state to go
on. The tests after it run in a new process."""

import collections
import os
import re
import selectors
import signal
import subprocess
import time

# The state is passed, failed, skipped or "not run", which is what no time was left for.
Result = collections.namedtuple("Result", "name state seconds text")

BEGINS = re.compile(r"\[ RUN      \] (\S+)$")
ENDS = re.compile(r"\[ +(OK|FAILED|SKIPPED) +\] (\S+?)(?:, .*)? \(\d+ ms\)$")
STATES = {"OK": "passed", "FAILED": "failed", "SKIPPED": "skipped"}
SECONDS_TO_END = 60  # a process has, before its first test and after its last
DISABLED = re.compile(r"(^|[./])DISABLED_")
LINES = 400  # that are kept of one test
SKIPPED = 77
FINDING = "========="  # begins a line of a sanitizer

_living = set()  # processes that were started


def kill_all():
    """Ends all processes, as before this one ends early."""
    for process in list(_living):
        process.kill()


class Process:
    """A command whose output is read line by line, with a limit for each. It is killed, with what it started."""

    def __init__(self, command, environment):
        self._child = subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            env=environment,
            start_new_session=True,
        )
        _living.add(self)
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._child.stdout, selectors.EVENT_READ)
        self._rest = b""

    def line(self, until):
        """The next line; None after the last, or when it is that late."""
        while b"\n" not in self._rest:
            if not self._selector.select(max(0, until - time.monotonic())):
                return None
            read = os.read(self._child.stdout.fileno(), 1 << 16)
            if not read:
                last, self._rest = self._rest, b""
                return last.decode(errors="replace") if last else None
            self._rest += read
        line, self._rest = self._rest.split(b"\n", 1)
        return line.decode(errors="replace").rstrip("\r")

    def end(self, until):
        """The exit code; None when it had to be killed."""
        code = None
        try:
            code = self._child.wait(max(0, until - time.monotonic()))
        except subprocess.TimeoutExpired:
            pass
        self.kill()
        return code

    def kill(self):
        """Ends the processes that it started, too, which may outlive it."""
        if self not in _living:
            return
        _living.discard(self)
        try:
            os.killpg(self._child.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self._child.wait()
        self._child.stdout.close()
        self._selector.close()


def told(code):
    return f"the process ended with {signal.Signals(-code).name if code < 0 else f'exit code {code}'}"


class Group:
    """`limit`: seconds for one test. `under`: a program before the command, such as a sanitizer. `part`: the first of
    so many parts of the tests is (0, parts)."""

    def __init__(self, name, command, environment=None, limit=120, matching="", under=(), part=(0, 1)):
        self.name, self.limit, self.results = name, limit, []
        self._command, self._matching, self._under, self._part = list(command), matching, list(under), part
        self._environment = {**os.environ, **(environment or {})}

    def cases(self):
        """The names of its tests, but for disabled ones. Needs no device."""
        command = [*self._command, "--gtest_list_tests"] + (
            [f"--gtest_filter={self._matching}"] if self._matching else []
        )
        done = subprocess.run(
            command, capture_output=True, text=True, env=self._environment, timeout=SECONDS_TO_END, check=False
        )
        if done.returncode != 0:
            raise OSError(f"{told(done.returncode)} when it was asked for its tests:\n{done.stdout}{done.stderr}")
        names, suite = [], ""
        for line in done.stdout.splitlines():
            word = line.split("#")[0].rstrip()
            if line.startswith("  "):
                names.append(suite + word.strip())
            elif word.endswith("."):
                suite = word
        enabled = [name for name in names if not DISABLED.search(name)]
        return enabled[self._part[0] :: self._part[1]]

    def run(self, until):
        """The results of all its tests. `until`: from then on the rest is not run."""
        began = time.monotonic()
        try:
            rest = self.cases()
        except (OSError, subprocess.TimeoutExpired) as why:
            self._add(self.name, "failed", began, str(why))
            return self.results
        while rest and time.monotonic() < until:
            try:
                self._run_process(rest, until)
            except OSError as why:
                self._add(self.name, "failed", began, str(why))
                break
            known = {result.name for result in self.results}
            rest = [name for name in rest if name not in known]
        for name in rest:
            self._add(name, "not run", time.monotonic(), "")
        return self.results

    def _add(self, name, state, began, text):
        self.results.append(Result(name, state, time.monotonic() - began, text))

    def _run_process(self, rest, until):
        """Runs the tests until one of them ends the process. Ends at least the first of them."""
        process = Process(
            [*self._under, *self._command, f"--gtest_filter={':'.join(rest)}", "--gtest_color=no"], self._environment
        )
        name, began, lines = None, time.monotonic(), collections.deque(maxlen=LINES)
        before, findings = len(self.results), []
        limit = began + SECONDS_TO_END
        while (line := process.line(min(limit, until))) is not None:
            if name is None and (found := BEGINS.search(line)):
                name, began = found[1], time.monotonic()
                limit = began + self.limit
                lines.clear()
            elif name and (found := ENDS.search(line)) and found[2] == name:
                state = STATES[found[1]]
                self._add(name, state, began, "\n".join(lines))
                name, limit = None, time.monotonic() + SECONDS_TO_END
                lines.clear()
                if state == "failed" and len(self.results) - before < len(rest):
                    process.kill()
                    return
            else:
                lines.append(line)
                if line.startswith(FINDING) and len(findings) < LINES:
                    findings.append(f"{name or self.name}: {line}")
        now = time.monotonic()
        if now >= until:
            process.kill()
            if name:
                self._add(name, "not run", began, "no time was left for it to end")
            return
        over = now >= limit
        code = None if over else process.end(min(limit, until))
        if over:
            process.kill()
        why = f"it took more than {self.limit:g} s" if over or code is None else told(code)
        text = "\n".join([*lines, why])
        missing = [each for each in rest if each not in {result.name for result in self.results}]
        if name or missing:  # a crash; or it ended without these
            self._add(name or missing[0], "failed", began, text)
        elif code != 0 and not any(result.state == "failed" for result in self.results[before:]):
            self._add(f"{self.name} as its process ends", "failed", began, "\n".join([*lines, *findings, why]))


class Program:
    """A program that is one test. Exit code 77: it cannot be run here."""

    def __init__(self, name, command, environment=None, limit=120):
        self.name, self.limit = name, limit
        self._command, self._environment = list(command), {**os.environ, **(environment or {})}

    def cases(self):
        return [self.name]

    def run(self, until):
        began, lines = time.monotonic(), collections.deque(maxlen=LINES)
        if began >= until:
            return [Result(self.name, "not run", 0.0, "no time was left")]
        try:
            process = Process(self._command, self._environment)
        except OSError as why:
            return [Result(self.name, "failed", 0.0, str(why))]
        end = began + self.limit
        while (line := process.line(min(end, until))) is not None:
            lines.append(line)
        code = process.end(min(end, until) + 1)
        state = {0: "passed", SKIPPED: "skipped"}.get(code, "failed")
        if code is None and end > until:
            state = "not run"
        if state == "failed":
            lines.append(f"it took more than {self.limit:g} s" if code is None else told(code))
        return [Result(self.name, state, time.monotonic() - began, "\n".join(lines))]
