#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The laboratory's command line.

python3 bench/lab list                    the sections: what each measures, what it needs, and how long it takes
python3 bench/lab measure NAME…           records of sections, or of all that have a prefix; without a name, of all
python3 bench/lab PROGRAM [OPTION…]       what a section runs, in a process of its own; PROGRAM --help tells more"""

import argparse
import ast
import importlib
import json
import math
import os
import pathlib
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
if not __package__:  # it is run as a folder
    sys.path[0] = str(HERE.parent)

import lab  # noqa: E402
from lab import machine, options, section  # noqa: E402
from lab.process import library_of  # noqa: E402
from lab.record import Record  # noqa: E402

PROGRAMS = sorted(path.stem for path in (HERE / "programs").glob("[a-z]*.py"))


def record_all(given):
    """Measures sections one after the other, those that fit into the time."""
    until, there = time.monotonic() + given.within, None if given.names else gpus()
    for each, rows in section.chosen(given.names):
        path = pathlib.Path(given.results) / f"{each.name.replace(':', '_')}.json"
        usual, left = Record.read(path).get("took_s", each.seconds), until - time.monotonic()
        if there is not None and each.gpus() > there:
            print(f"{each.name}: NOT RUN: it needs {each.needs}, there are {there} GPUs", flush=True)
        elif usual > left:
            print(f"{each.name}: NOT RUN: it takes {usual:.0f} s, and {left:.0f} s are left", flush=True)
        else:
            section.keep_rows(rows)
            path.parent.mkdir(parents=True, exist_ok=True)  # before minutes of measuring
            record = Record(each.name, each.unit, path)
            print(record.write(each.measure(given.build)), flush=True)


def gpus():
    gpu, others = machine.query("name")
    return len(others) + (gpu != [None])


def run(name, given):
    """Prints what a program found as one JSON object; exits with 1 where that tells of a fault."""
    if os.path.exists(library := library_of(given.build)):
        os.environ.setdefault("LULL_LIBRARY", library)
    module = importlib.import_module(f"lab.programs.{name}")
    try:
        if hasattr(module, "LIMIT_S"):
            lab.on_gpu(given.limit)
        found = options.call(module.measure, given)
    except (ImportError, lab.NotRun) as why:
        sys.exit(f"lab {name}: NOT RUN: {why}")
    if found is None:
        return
    failures = found.pop("failures", ())
    print(json.dumps({"torch": machine.torch_version(), **found}), flush=True)
    if failures:
        sys.exit("\n".join(failures))


def parse(arguments):
    parser = argparse.ArgumentParser(prog="python3 bench/lab", description=__doc__)
    parser.formatter_class = argparse.RawTextHelpFormatter
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    commands.add_parser("list", help="the sections, as Markdown")
    measure = commands.add_parser("measure", help="write records")
    names = "sections, or what stands before a colon; NAME@ROW,…: of graphs or connections these alone; default: all"
    measure.add_argument("names", nargs="*", metavar="NAME", help=names)
    measure.add_argument("--build", default="build/gpu")
    measure.add_argument("--results", default="docs/results")
    within = {"type": float, "default": math.inf, "metavar": "SECONDS", "help": "leave out what takes longer"}
    measure.add_argument("--within", **within)
    for name in PROGRAMS:
        text = ast.get_docstring(ast.parse((HERE / f"programs/{name}.py").read_bytes()))
        shown = {"help": " ".join(text.split()).split(". ")[0].split(": ")[0].rstrip("."), "description": text}
        each = commands.add_parser(name, **shown, formatter_class=argparse.RawDescriptionHelpFormatter)
        if arguments and arguments[0] == name:  # the others are not read
            module = importlib.import_module(f"lab.programs.{name}")
            each.add_argument("--build", default="build/gpu", metavar="FOLDER", help="%(default)s")
            if hasattr(module, "LIMIT_S"):
                each.add_argument("--limit", type=options.count, default=module.LIMIT_S, metavar="…", help="seconds")
            options.add_options(each, module.measure)
    given = parser.parse_args(arguments)
    try:
        if given.command == "measure":
            section.chosen(given.names)
    except ValueError as unknown:
        parser.error(str(unknown))
    return given


def main(arguments):
    given = parse(arguments)
    if given.command == "list":
        print(section.table(), end="")
    elif given.command == "measure":
        record_all(given)
    else:
        run(given.command, given)


if __name__ == "__main__":
    main(sys.argv[1:])
