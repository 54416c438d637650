# SPDX-License-Identifier: Apache-2.0
"""Sections: what a record is made of, each named once. The recorder, scripts/gpu.sh and the list of sections know them
by this registry."""

import importlib
import pkgutil
from typing import NamedTuple

SECTIONS = {}
_kept = []  # names of rows


class Section(NamedTuple):
    name: str
    unit: str
    needs: str  # "2 gpus", "1 gpu and PyTorch", "an idle machine"
    seconds: int  # about; a record tells how many it took
    measure: object  # given the build's folder, makes the rows
    text: str

    def gpus(self):
        return int(self.needs.split()[0]) if self.needs[0].isdigit() else 0


def section(name, unit, *, needs="1 gpu", seconds, each=(None,)):
    """Registers a function of (build), or for each of several names, which come after the section's and a colon, of
    (build, name)."""

    def registered(measure):
        text = " ".join((measure.__doc__ or "").split())
        for one in each:
            full = name if one is None else f"{name}:{one}"
            given = () if one is None else (one,)
            SECTIONS[full] = Section(
                full, unit, needs, seconds, lambda build, given=given: measure(build, *given), text
            )
        return measure

    return registered


def load():
    """All sections, in the order of their modules' names."""
    import lab.sections

    for module in sorted(each.name for each in pkgutil.iter_modules(lab.sections.__path__)):
        importlib.import_module(f"lab.sections.{module}")
    return SECTIONS


def chosen(names):
    """Sections in order, with the rows that are wanted of each, or none for all. A prefix such as `stage` stands for
    every `stage:…`; NAME@ROW,… has these rows. Raises ValueError for a name of none."""
    found = []
    for name, _, rows in (each.partition("@") for each in names or load()):
        of_name = [name] if name in load() else [each for each in SECTIONS if each.startswith(f"{name}:")]
        if not of_name:
            raise ValueError(f"unknown section {name}; known: {', '.join(SECTIONS)}")
        found += [(SECTIONS[each], rows.split(",") if rows else []) for each in of_name]
    return found


def keep_rows(names):
    """From now on sections of graphs or of connections have these rows alone; without names all."""
    _kept[:] = names


def kept(rows):
    return [row for row in rows if not _kept or str(row) in _kept]


def table():
    """All sections as Markdown."""
    lines = ["# Sections", "", "`scripts/gpu.sh measure NAME` records one, or all that begin with `NAME:`.", ""]
    lines += ["| section | unit | needs | about | what |", "|---|---|---|---|---|"]
    families = {}
    for each in load().values():
        family = each.name.partition(":")[0]
        families.setdefault((family, each.unit, each.needs, each.seconds, each.text), []).append(each)
    for (family, unit, needs, seconds, text), members in families.items():
        names = ", ".join(f"`{each.name.removeprefix(family + ':')}`" for each in members)
        called = f"`{family}`" if members[0].name == family else f"`{family}:` {names}"
        lines.append(f"| {called} | {unit or 'as the report names'} | {needs} | {seconds} s | {text} |")
    return "\n".join(lines) + "\n"
