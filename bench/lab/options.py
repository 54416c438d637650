# SPDX-License-Identifier: Apache-2.0
"""A program's options are the parameters of its function `measure`: an annotation says how a word is read, else the
type of the default does. A default that is a dataclass stands for its fields."""

import argparse
import dataclasses
import inspect
import math


def listed(separator, read=str):
    def words(text):
        return [read(each) for each in text.split(separator) if each]

    return words


def at_least(low, high=math.inf, kind=int, multiple=1):
    def number(text):
        value = kind(text)
        if not low <= value <= high or (kind is int and value % multiple):
            raise argparse.ArgumentTypeError(f"{text} is not of {low:g} to {high:g}, in steps of {multiple}")
        return value

    return number


def one_of(words):
    def word(text):
        if text not in words:
            raise argparse.ArgumentTypeError(f"{text} is not one of {', '.join(words)}")
        return text

    return word


def all_of(separator, words):
    return listed(separator, one_of(words))


share = at_least(1e-9, 1, float)  # of a step
count = at_least(1)


def _add(parser, name, default, annotation):
    flags = [f"--{name.replace('_', '-')}"]
    named = {"default": default, "metavar": "…", "help": None if isinstance(default, tuple) else "%(default)s"}
    if default is inspect.Parameter.empty:
        flags, named = [name], {"nargs": "+", "metavar": name.upper()}
    elif isinstance(default, bool):
        parser.add_argument(*flags, action="store_true")
        return
    read = str if default in (None, inspect.Parameter.empty) else type(default)
    parser.add_argument(*flags, type=read if annotation is inspect.Parameter.empty else annotation, **named)


def add_options(parser, measure):
    for name, parameter in inspect.signature(measure).parameters.items():
        if dataclasses.is_dataclass(parameter.default):
            for field in dataclasses.fields(parameter.default):
                _add(parser, field.name, getattr(parameter.default, field.name), inspect.Parameter.empty)
        elif name != "build":  # which each program has
            _add(parser, name, parameter.default, parameter.annotation)


def call(measure, given):
    """With what was given for its parameters."""
    found = {}
    for name, parameter in inspect.signature(measure).parameters.items():
        if dataclasses.is_dataclass(parameter.default):
            fields = (field.name for field in dataclasses.fields(parameter.default))
            found[name] = type(parameter.default)(**{field: getattr(given, field) for field in fields})
        else:
            found[name] = getattr(given, name)
    return measure(**found)
