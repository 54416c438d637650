#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compiles every C++ file of the tree once with clang, with the project's warnings as errors, and writes nothing.

    scripts/check_clang.py BUILD [--but-for OTHER]

BUILD is configured for clang, as by `cmake --preset dev -B build/clang -DCMAKE_CXX_COMPILER="$(scripts/clang.sh)"`;
nothing has to be built there. Files that the build generates are left out: headers alone and workers, which g++
compiles; and those of the build OTHER, which clang has compiled with the same warnings. Prints the messages and the
time; exits with 1 when a file fails."""

import argparse
import concurrent.futures
import json
import os
import pathlib
import shlex
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]


def sources(build):
    """{file: (file, folder, arguments)}, each file once though several targets may compile it."""
    with open(build / "compile_commands.json", encoding="utf-8") as file:
        commands = json.load(file)
    found = {}
    for each in commands:
        path = pathlib.Path(each["file"])
        if path.suffix == ".cpp" and ROOT in path.parents and build not in path.parents:
            found.setdefault(path, (path, each["directory"], syntax_only(shlex.split(each["command"]))))
    if not found:
        sys.exit(f"check_clang.py: {build} compiles no file of {ROOT}")
    compiler = next(iter(found.values()))[2][0]
    if "clang" not in subprocess.run([compiler, "--version"], capture_output=True, text=True, check=True).stdout:
        sys.exit(f"check_clang.py: {build} is configured for {compiler}, which is not clang")
    return found


def syntax_only(arguments):
    """The same call without the compiler cache, the object file and its name."""
    if pathlib.Path(arguments[0]).name == "ccache":
        arguments = arguments[1:]
    at = arguments.index("-o")
    return [word for word in arguments[:at] + arguments[at + 2 :] if word != "-c"] + ["-fsyntax-only"]


def check(source):
    path, folder, arguments = source
    done = subprocess.run(arguments, cwd=folder, capture_output=True, text=True, check=False)
    return path, done.returncode, done.stdout + done.stderr


def main(build, but_for):
    started = time.monotonic()
    compiled = sources(but_for.resolve()) if but_for else {}
    all_sources = [source for path, source in sources(build.resolve()).items() if path not in compiled]
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as threads:
        for path, code, text in threads.map(check, all_sources):
            if code:
                failed += 1
                print(f"{path.relative_to(ROOT)}:\n{text}", flush=True)
    print(f"clang: {len(all_sources)} files, {failed} failed, {time.monotonic() - started:.0f} s")
    sys.exit(failed != 0)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--but-for", type=pathlib.Path)
    given = parser.parse_args()
    main(given.build, given.but_for)
