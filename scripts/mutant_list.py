# SPDX-License-Identifier: Apache-2.0
"""Mutants: small faults, named by function and text, that tests have to see. Reads lists of them and finds their
texts."""

import dataclasses
import pathlib
import re
import tomllib

LIMIT_S = 60  # of a mutant's tests, which take seconds
TEXTS = ("name", "file", "function", "before", "why")
KEYS = {**dict.fromkeys((*TEXTS, "after", "survives_because", "needs"), str), "tests": list, "limit_s": int}
NEEDS = ("gpu",)

# Comments, strings and characters, in which a brace is none. A quote after a digit or a letter separates digits.
_QUIET = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|(?<![0-9a-zA-Z])\'(?:\\.|[^\'\\\n])+\'', re.DOTALL)
_BEHIND_PARAMETERS = re.compile(
    r"\s*(?:(?:const|noexcept|override|final|requires\s+\w+)\s*|->\s*[\w:<>*& ]+?\s*)*(?=[:{])"
)
_INITIALISER = re.compile(r"\s*[\w:<>]+\s*(?=[({])")


@dataclasses.dataclass(frozen=True)
class Mutant:
    name: str
    file: str  # from the tree's root
    function: str  # as its definition spells it; or `class NAME`, `struct NAME`
    before: str  # stands once in the function, whatever the spaces
    after: str
    why: str  # what breaks
    tests: tuple[str, ...]  # PROGRAM or PROGRAM:GTEST_FILTER
    limit_s: int = LIMIT_S
    survives_because: str = ""
    needs: str = ""
    place: str = ""  # FILE:LINE of the list

    def planted(self, text):
        """The file's text with the mutant in it. Raises ValueError unless `before` stands once in the function."""
        bodies = bodies_of(text, self.function)
        if not bodies:
            raise ValueError(f"{self.file} defines no {self.function}")
        pattern = re.compile(r"\s+".join(map(re.escape, self.before.split())))
        found = [match for first, past in bodies for match in pattern.finditer(text, first, past)]
        if len(found) != 1:
            raise ValueError(f"'{self.before.strip()}' stands {len(found)} times in {self.function} of {self.file}")
        return text[: found[0].start()] + self.after + text[found[0].end() :]


def bodies_of(text, function):
    """[first, past) of each definition of a function, parameters and initialisers included, or of a class."""
    quiet = _QUIET.sub(lambda found: re.sub(r"[^\n]", " ", found.group()), text)
    if function.startswith(("class ", "struct ")):
        heads = re.finditer(rf"\b{re.escape(function)}\b[^;{{()]*(?=\{{)", quiet)
        return [(head.start(), _past_pair(quiet, head.end())) for head in heads]
    bodies = []
    for head in re.finditer(rf"(?<![\w:~]){re.escape(function)}\s*(?=\()", quiet):
        past = _past_definition(quiet, head.end())
        if past is not None:
            bodies.append((head.start(), past))
    return bodies


def _past_pair(text, at):
    """Past the bracket that belongs to the one at `at`; the text's end where there is none."""
    opening, closing = text[at], {"(": ")", "{": "}"}[text[at]]
    depth = 0
    for place in range(at, len(text)):
        depth += (text[place] == opening) - (text[place] == closing)
        if depth == 0:
            return place + 1
    return len(text)


def _past_definition(text, at):
    """Past the body of the function whose parameters begin at `at`; None where it is a call or a declaration."""
    behind = _BEHIND_PARAMETERS.match(text, _past_pair(text, at))
    if behind is None:
        return None
    at = behind.end()
    if text[at] == ":":
        at += 1
        while (member := _INITIALISER.match(text, at)) is not None:
            at = _past_pair(text, member.end())
            rest = re.compile(r"\s*,").match(text, at)
            if rest is None:
                break
            at = rest.end()
        body = re.compile(r"\s*(?=\{)").match(text, at)
        if body is None:
            return None
        at = body.end()
    return _past_pair(text, at)


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
