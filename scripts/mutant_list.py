# SPDX-License-Identifier: Apache-2.0
"""Mutants: small faults, named by file and text, that tests have to see. Reads lists of them and finds their
texts."""

import dataclasses
import pathlib
import re
import tomllib

LIMIT_S = 60  # of a mutant's tests, which take seconds
TEXTS = ("name", "file", "function", "before", "why")
KEYS = {**dict.fromkeys((*TEXTS, "after", "survives_because", "needs"), str), "tests": list, "limit_s": int}
NEEDS = ("gpu",)


@dataclasses.dataclass(frozen=True)
class Mutant:
    name: str
    file: str  # from the tree's root
    function: str  # in which a reader finds it; or `class NAME`, `struct NAME`
    before: str  # stands once in the file, whatever the spaces
    after: str
    why: str  # what breaks
    tests: tuple[str, ...]  # PROGRAM or PROGRAM:GTEST_FILTER
    limit_s: int = LIMIT_S
    survives_because: str = ""
    needs: str = ""
    place: str = ""  # FILE:LINE of the list

    def planted(self, text):
        """The file's text with the mutant in it. Raises ValueError unless `before` stands once in it."""
        if not re.search(rf"\b{re.escape(re.split(r'::| ', self.function)[-1])}\b", text):
            raise ValueError(f"{self.file} has no {self.function}")
        found = list(re.finditer(r"\s+".join(map(re.escape, self.before.split())), text))
        if len(found) != 1:
            raise ValueError(f"'{self.before.strip()}' stands {len(found)} times in {self.file}")
        return text[: found[0].start()] + self.after + text[found[0].end() :]


def read(lists, tree):
    """The mutants of all lists, and what is wrong with them, each line with its file and line."""
    mutants, wrong, names = [], [], {}
    for path in lists:
        text = pathlib.Path(path).read_text(encoding="utf-8")
        try:
            content = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            line = re.search(r"at line (\d+)", str(error))
            wrong.append(f"{path}:{line.group(1) if line else len(text.splitlines())}: {error}")
            continue
        entries = content.pop("mutant", [])
        places = [f"{path}:{n}" for n, line in enumerate(text.splitlines(), 1) if line.strip() == "[[mutant]]"]
        wrong += [f"{path}:1: '{key}' is not known: a list holds [[mutant]]s" for key in content]
        if not entries or len(places) != len(entries):
            wrong.append(f"{path}:1: it holds no [[mutant]], or one that is not on a line of its own")
            continue
        for place, entry in zip(places, entries):
            problems = _problems(entry)
            if not problems:
                one = Mutant(**{**entry, "tests": tuple(entry["tests"])}, place=place)
                problems = _misplaced(one, tree)
                if one.name in names:
                    problems.append(f"'{one.name}' is the name of the one at {names[one.name]}, too")
                names[one.name] = place
                mutants.append(one)
            wrong += [f"{place}: {each}" for each in problems]
    return mutants, wrong


def _problems(entry):
    problems = [f"'{key}' is not known" for key in entry if key not in KEYS]
    for key in (*TEXTS, "after", "tests"):
        if key not in entry:
            problems.append(f"'{key}' is missing")
    for key, value in entry.items():
        if key in KEYS and not isinstance(value, KEYS[key]):
            problems.append(f"'{key}' is no {KEYS[key].__name__}")
        elif key in TEXTS and not value.strip():
            problems.append(f"'{key}' is empty")
    if problems:
        return problems
    if not entry["tests"] or not all(
        isinstance(each, str) and re.fullmatch(r"\w+(:\S+)?", each) for each in entry["tests"]
    ):
        problems.append("'tests' is no list of PROGRAM or PROGRAM:GTEST_FILTER")
    if entry["before"].split() == entry["after"].split():
        problems.append("'after' is what 'before' is")
    if entry.get("limit_s", LIMIT_S) < 1:
        problems.append("'limit_s' is less than 1")
    if entry.get("needs", NEEDS[0]) not in NEEDS:
        problems.append(f"'needs' is none of {', '.join(NEEDS)}")
    return problems


def _misplaced(one, tree):
    try:
        one.planted((pathlib.Path(tree) / one.file).read_text(encoding="utf-8"))
    except OSError as error:
        return [f"{one.file}: {error.strerror}"]
    except ValueError as error:
        return [str(error)]
    return []
