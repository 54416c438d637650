#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs programs of Python tests in one process, each as `python3 FILE` would, and speaks like a program of GoogleTest.

    tests/run/python_tests.py [--gtest_list_tests] [--gtest_filter=NAME:NAME…] NAME=FILE…

A process imports torch and makes a CUDA context once, which takes seconds. A program is a file of unittest, whose
tests are NAME.Class.test_…, or any other, which is one test: NAME. Exit code 77 of it: skipped. Between two programs
memory goes back to the device, and the environment and what torch has been told to do are as before."""

import ast
import gc
import os
import pathlib
import runpy
import sys
import time
import traceback
import unittest

SKIPPED = 77
SETTINGS = ("are_deterministic_algorithms_enabled", "get_default_dtype", "is_grad_enabled")


def cases_of(name, path):
    """Names of a program's tests, read and not imported."""
    tree = ast.parse(pathlib.Path(path).read_bytes())
    found = []
    for each in tree.body:
        if isinstance(each, ast.ClassDef) and any("TestCase" in ast.unparse(base) for base in each.bases):
            found += [
                f"{name}.{each.name}.{member.name}"
                for member in each.body
                if isinstance(member, ast.FunctionDef) and member.name.startswith("test")
            ]
    return found or [name]


def say(word, name, began=None):
    sys.stderr.flush()
    print(f"[{word}] {name}" + ("" if began is None else f" ({(time.monotonic() - began) * 1000:.0f} ms)"), flush=True)


def skip(names, why):
    for name in names:
        say(" RUN      ", name)
        print(why)
        say("  SKIPPED ", name, time.monotonic())


def fail(name):
    say(" RUN      ", name)
    say("  FAILED  ", name, time.monotonic())


class Results(unittest.TestResult):
    """Tells each test as it begins and ends."""

    def __init__(self, name):
        super().__init__()
        self._name, self._state, self._began = name, "", 0.0

    def name_of(self, test):
        return f"{self._name}.{type(test).__name__}.{test._testMethodName}"

    def startTest(self, test):
        super().startTest(test)
        self._state, self._began = "       OK ", time.monotonic()
        say(" RUN      ", self.name_of(test))

    def stopTest(self, test):
        super().stopTest(test)
        say(self._state, self.name_of(test), self._began)

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        print(f"NOT RUN: {reason}")
        self._state = "  SKIPPED "

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self._failed(test, err)

    def addError(self, test, err):
        super().addError(test, err)
        self._failed(test, err)

    def addSubTest(self, test, subtest, err):
        super().addSubTest(test, subtest, err)
        if err is not None:
            print(subtest)
            self._failed(test, err)

    def addUnexpectedSuccess(self, test):
        super().addUnexpectedSuccess(test)
        self._state = "  FAILED  "

    def _failed(self, test, err):
        self._state = "  FAILED  "
        traceback.print_exception(*err, file=sys.stdout)
        if not hasattr(test, "_testMethodName"):  # what a class or a module sets up has no beginning of its own
            fail(f"{self._name}.{test}".replace(" ", "_"))


def tests_in(suite):
    for each in suite:
        yield from tests_in(each) if isinstance(each, unittest.TestSuite) else [each]


def run_program(name, path, wanted):
    """Runs those tests of a program."""

    def main(*_, **__):
        result = Results(name)
        all_tests = tests_in(unittest.defaultTestLoader.loadTestsFromModule(sys.modules["__main__"]))
        unittest.TestSuite(test for test in all_tests if result.name_of(test) in wanted).run(result)
        sys.exit(0 if result.wasSuccessful() else 1)

    kept = unittest.main, sys.argv, list(sys.path), dict(os.environ), torch_settings()
    unittest.main, sys.argv = main, [path]
    sys.path.insert(0, os.path.dirname(path))
    is_one = wanted == [name]
    began, code = time.monotonic(), 0
    if is_one:
        say(" RUN      ", name)
    try:
        runpy.run_path(path, run_name="__main__")
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 0 if end.code is None else 1
        if isinstance(end.code, str):
            print(end.code)
    except BaseException:
        traceback.print_exc(file=sys.stdout)
        code = 1
    finally:
        unittest.main, sys.argv, sys.path[:], environment, settings = kept
        os.environ.clear()
        os.environ.update(environment)
    if is_one:
        say({0: "       OK ", SKIPPED: "  SKIPPED "}.get(code, "  FAILED  "), name, began)
    elif code == SKIPPED:
        skip(wanted, "NOT RUN: as the lines before say")
    try:
        give_back(settings)
    except RuntimeError:  # of the device
        traceback.print_exc(file=sys.stdout)
        fail(f"{name}.its_end")
        return False
    return code in (0, SKIPPED)


def torch_settings():
    torch = sys.modules.get("torch")
    if torch is None:
        return None
    cudnn = torch.backends.cudnn
    return [getattr(torch, each)() for each in SETTINGS], cudnn.deterministic, cudnn.benchmark


def give_back(settings):
    """What a process's end would do."""
    gc.collect()
    torch = sys.modules.get("torch")
    if torch is None:
        return
    (deterministic, number, grad), cudnn_deterministic, benchmark = settings or (
        (False, torch.float32, True),
        False,
        False,
    )
    torch.use_deterministic_algorithms(deterministic)
    torch.set_default_dtype(number)
    torch.set_grad_enabled(grad)
    torch.backends.cudnn.deterministic, torch.backends.cudnn.benchmark = cudnn_deterministic, benchmark
    if torch.cuda.is_initialized():
        torch.cuda.synchronize()
        torch.cuda.empty_cache()


def main(arguments):
    wanted, listing, programs = None, False, []
    for each in arguments:
        key, _, value = each.partition("=")
        if key == "--gtest_filter":
            wanted = set(value.split(":"))
        elif key == "--gtest_list_tests":
            listing = True
        elif not key.startswith("--"):
            programs.append((key, os.path.abspath(value)))
    good = True
    for name, path in programs:
        names = [case for case in cases_of(name, path) if wanted is None or case in wanted]
        if listing:
            for case in names:
                suite, dot, last = case.rpartition(".")
                print(f"{suite}{dot}\n  {last}")
        elif names:
            good &= run_program(name, path, names)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
