# SPDX-License-Identifier: Apache-2.0
"""Runs a Python function as a job of a queue: `python -m lull.entry [options] FILE.py:FUNCTION`. `lull agent` does that
(docs/11-the-queue.md, "Jobs in Python").

The function gets the job's options by name, and yields side work, one after another::

    def evaluate(checkpoint: str, out: str, batches: int = 100):
        model = load(checkpoint)
        job = yield lull.side_step(loss_of_batch, steps=batches, inputs=inputs, feed=data)
        write(out, job.outputs())

What it yields is a `lull.side_step`, or a task as a text. It goes on when that is over, in the bubbles of the trainer,
and has its job. A function that yields nothing may return one. Exit codes: 0; 1: it raised something; 2: the job cannot
run as it was asked for; 3: no trainer takes this process, and nothing has run; 130: asked to stop."""

from __future__ import annotations

import argparse
import contextlib
import importlib
import importlib.util
import inspect
import os
import pathlib
import shutil
import sys
import time
import types
from collections.abc import Callable, Generator, Sequence
from typing import Any

from .binding import Error
from .captured_step import SideStep
from .job import Job
from .options import Tuning
from .session import Session, attach, harvest
from .threads_stream import ThreadsStream


REFUSED = 2
NOT_ATTACHED = 3
INTERRUPTED = 130
CHECKPOINT_FOLDER = "checkpoint_folder"  # a parameter of this name gets it
LOOKS_EVERY_S = 0.001  # at a job that is not ready yet
KINDS: tuple[type, ...] = (int, float, bool, str, pathlib.Path)


class Refused(Exception):
    """The job cannot run as it was asked for, here or anywhere else."""


def found_function(entry: str, modules: str | None) -> Callable[..., Any]:
    """The function that "FILE.py:FUNCTION" or "MODULE:FUNCTION" names; `modules`: a folder to import from."""
    code, _, name = entry.rpartition(":")
    if modules is not None:
        sys.path.insert(0, modules)
    if code.endswith(".py"):
        path = pathlib.Path(code)
        sys.path.insert(0, str(path.parent))
        spec = importlib.util.spec_from_file_location(path.stem, path)
        if spec is None or spec.loader is None:
            raise Refused(f"{code} is no Python file")
        module = importlib.util.module_from_spec(spec)
        sys.modules[path.stem] = module
        spec.loader.exec_module(module)
    else:
        module = importlib.import_module(code)
    function = getattr(module, name, None)
    if not callable(function):
        raise Refused(f"{code} has no function {name}")
    return function


def converted(name: str, text: str, kind: Any) -> Any:
    """The option's text as the function's parameter is annotated."""
    if kind is inspect.Parameter.empty:
        return text
    if kind not in KINDS:
        raise Refused(f"parameter {name} is annotated {kind!r}: an option is int, float, bool, str or pathlib.Path")
    if kind is bool:
        if text not in ("true", "false"):
            raise Refused(f'option {name} is "true" or "false", not "{text}"')
        return text == "true"
    try:
        return kind(text)
    except ValueError as why:
        raise Refused(f'option {name} is "{text}", which is no {kind.__name__}') from why


def arguments_of(function: Callable[..., Any], options: dict[str, str], checkpoint: pathlib.Path) -> dict[str, Any]:
    """What the function is called with."""
    parameters = inspect.signature(function, eval_str=True).parameters
    takes_all = any(each.kind is inspect.Parameter.VAR_KEYWORD for each in parameters.values())
    known = [name for name, each in parameters.items() if each.kind is not inspect.Parameter.VAR_KEYWORD]
    for name in options:
        if name == CHECKPOINT_FOLDER or (name not in known and not takes_all):
            raise Refused(f'there is no option "{name}"; the function takes {", ".join(known) or "none"}')
    for name in known:
        if parameters[name].default is inspect.Parameter.empty and name not in (*options, CHECKPOINT_FOLDER):
            raise Refused(f'option "{name}" is missing')
    empty = inspect.Parameter.empty
    made = {
        name: converted(name, text, parameters[name].annotation if name in known else empty)
        for name, text in options.items()
    }
    if CHECKPOINT_FOLDER in known:
        made[CHECKPOINT_FOLDER] = checkpoint
    return made


def place(asked: argparse.Namespace) -> Session:
    """Where the side work runs: in the bubbles of a trainer that shares them, or on the whole machine."""
    options: dict[str, Any] = {
        "device": asked.device,
        "executor": asked.executor,
        "checkpoint": asked.checkpoint,
        "tuning": Tuning(checkpoint_every=10),
    }
    if asked.attach is not None:
        return attach(asked.attach, **options)
    return harvest(bracket_waits=False, **options)


def wait_for(job: Job, side: Session, asked: argparse.Namespace) -> None:
    """Until it is over. On the whole machine it has a bubble that lasts as long."""
    if asked.attach is not None:
        job.wait()
        return
    on_threads = asked.executor == "threads"
    with contextlib.closing(ThreadsStream()) if on_threads else contextlib.nullcontext() as stream:
        while not job.over:
            if side.ready(stream):
                with side.bubble("agent", stream):
                    job.wait()
            else:
                time.sleep(LOOKS_EVERY_S)


def done(work: object, side: Session, asked: argparse.Namespace) -> Job:
    """Submits side work, and waits until it has finished."""
    if not isinstance(work, (str, SideStep)):
        raise Refused(f"the function gave {work!r}: it yields lull.side_step(…), or a task as a text")
    job = side.submit(work)
    wait_for(job, side, asked)
    if job.state != "finished":
        raise Error(f"{job.task}: {job.state}, {job.status()['failure']}")
    if isinstance(work, str):
        print(job.result(), flush=True)
    return job


def run(function: Callable[..., Any], arguments: dict[str, Any], side: Session, asked: argparse.Namespace) -> None:
    """Does all side work that the function gives, in order."""
    given = function(**arguments)
    if not isinstance(given, types.GeneratorType):
        if isinstance(given, (str, SideStep)):
            done(given, side, asked)
        elif given is not None:
            print(f"what the function returned is left out: {given!r:.200}", flush=True)
        return
    work: Generator[Any, Job, None] = given
    with contextlib.closing(work):
        try:
            each = next(work)
            while True:
                each = work.send(done(each, side, asked))
        except StopIteration:
            pass


def parsed(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser("lull.entry", description="Runs a Python function as a job of a queue.")
    parser.add_argument("entry", metavar="FILE.py:FUNCTION", help="or MODULE:FUNCTION")
    parser.add_argument("--attach", metavar="unix:PATH", help="work in the bubbles that a trainer shares there")
    parser.add_argument("--executor", choices=("cuda", "threads"))
    parser.add_argument("--device", type=int, default=0)
    parser.add_argument("--modules", metavar="FOLDER", help="to import from")
    parser.add_argument("--folder", default=".", help="where the function runs")
    parser.add_argument("--checkpoint", type=pathlib.Path, required=True, metavar="FOLDER", help="to go on from")
    parser.add_argument("--option", action="append", default=[], metavar="NAME=TEXT", help="of the function")
    return parser.parse_args(arguments)


def own_files(folder: pathlib.Path) -> None:
    """Makes files that are also another attempt's, under a second name, this one's alone."""
    for path in folder.rglob("*"):
        if path.is_file() and not path.is_symlink() and path.stat().st_nlink > 1:
            copy = path.with_name(f".{path.name}.copy")
            shutil.copy2(path, copy)
            os.replace(copy, path)


def main(arguments: Sequence[str] | None = None) -> int:
    asked = parsed(sys.argv[1:] if arguments is None else arguments)
    options = dict(each.split("=", 1) for each in asked.option)
    try:
        own_files(asked.checkpoint)
        session = place(asked)  # before the code is imported: that may start CUDA, which reads what is set here
        os.chdir(asked.folder)
        function = found_function(asked.entry, asked.modules)
        ready = arguments_of(function, options, asked.checkpoint)
        with contextlib.ExitStack() as scope:
            try:
                side = scope.enter_context(session)
            except Error as why:
                print(f"nothing runs here: {why}", file=sys.stderr)
                return NOT_ATTACHED
            if side.mode != "on":
                print(f"nothing runs here: {side.why_off or 'LULL=observe'}", file=sys.stderr)
                return NOT_ATTACHED
            run(function, ready, side, asked)
    except SystemExit as why:  # its code would say something else of the job
        raise RuntimeError(f"the code has called sys.exit({why.code!r})") from why
    except Refused as why:
        print(f"{asked.entry}: {why}", file=sys.stderr)
        return REFUSED
    except KeyboardInterrupt:
        return INTERRUPTED
    return 0


if __name__ == "__main__":
    sys.exit(main())
