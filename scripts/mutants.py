#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Plants mutants one by one in a copy of the tree and runs the tests that cover each: which do tests not see?

Each list (tests/mutants/*.toml) names a mutant by file and text. For each the script builds its test
programs and runs them with a limit; a mutant that makes a test hang is killed by time, and the result says so. Results
are kept beside the copy: a run that was interrupted goes on, and a mutant runs again only when it, its file or its
tests have changed. Ends with 0 if tests see all, but for those that the list explains; 1 if not; 2 for a bad list."""

import argparse
import fcntl
import hashlib
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time

import mutant_list

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD_LIMIT_S = 3600
# As in the preset `dev`, without what is for debuggers, and without warnings: a mutant may leave a name unused.
CONFIGURE = ["-G", "Ninja", "-DCMAKE_BUILD_TYPE=Debug", "-DCMAKE_CXX_FLAGS_DEBUG=-O1 -w -D_GLIBCXX_ASSERTIONS"]
WITHOUT_GPU = ["-DLULL_CUDA=OFF", "-DLULL_BENCH=OFF"]
WITH_GPU = ["-DLULL_CUDA=ON", "-DLULL_BENCH=OFF"]

KILLED, BY_TIME, SURVIVED = "killed", "killed by time", "survived"
NO_BUILD, NO_TEST = "does not build", "not run: its tests fail without it"
CLEAN = (KILLED, BY_TIME, SURVIVED)  # outcomes that are kept


def run(command, limit_s, log=subprocess.PIPE):
    """Exit code and output; the code is None where the time was over. Leaves no process behind."""
    started = subprocess.Popen(
        list(map(str, command)), stdout=log, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, start_new_session=True
    )
    try:
        output, _ = started.communicate(timeout=limit_s)
        return started.returncode, (output or b"").decode(errors="replace")
    except BaseException as error:
        os.killpg(started.pid, signal.SIGTERM)  # ninja's compilers are of other groups: it ends them itself
        try:
            output, _ = started.communicate(timeout=10)
        except subprocess.TimeoutExpired:
            os.killpg(started.pid, signal.SIGKILL)
            output, _ = started.communicate()
        if isinstance(error, subprocess.TimeoutExpired):
            return None, (output or b"").decode(errors="replace")
        raise


def digest(*parts):
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


class Copy:
    """A copy of the tree with a build of its own, and what its runs have shown."""

    def __init__(self, tree, folder, jobs, gpu):
        self.tree, self.source, self.build = tree, folder / "tree", folder / "build"
        self.results_file, self.log = folder / "results.json", folder / "build.log"
        self.jobs, self.gpu = jobs, gpu
        folder.mkdir(parents=True, exist_ok=True)
        self.lock = open(folder / "lock", "w", encoding="utf-8")  # held while this process lives
        try:
            fcntl.flock(self.lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise SystemExit(f"mutants: another run uses {folder}: wait for it, or name another --folder") from None
        self.results = {}
        if self.results_file.exists():
            self.results = json.loads(self.results_file.read_text(encoding="utf-8"))

    def keep(self, key, result):
        self.results[key] = result
        new = self.results_file.with_suffix(".new")
        new.write_text(json.dumps(self.results, indent=1), encoding="utf-8")
        new.replace(self.results_file)

    def follow(self):
        """Makes the copy what the tree is, whatever an interrupted run has left in it. Files that are alike keep
        their time, so that nothing is compiled for them."""
        listed = ["git", "-C", self.tree, "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        names = subprocess.run(listed, capture_output=True, check=True, text=True).stdout.split("\0")
        wanted = {name for name in names if name and (self.tree / name).is_file()}
        for name in sorted(wanted):
            new, old = self.tree / name, self.source / name
            if old.is_file() and old.read_bytes() == new.read_bytes():
                continue
            old.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(new, old)  # its time is now
        for old in self.source.rglob("*"):
            if old.is_file() and str(old.relative_to(self.source)) not in wanted:
                old.unlink()

    def configure(self):
        what = [*CONFIGURE, *(WITH_GPU if self.gpu else WITHOUT_GPU)]
        code, output = run(["cmake", "-S", self.source, "-B", self.build, *what], BUILD_LIMIT_S)
        if code != 0:
            raise SystemExit(f"mutants: the copy cannot be configured:\n{output}")
        output = run(["cmake", "--build", self.build, "--target", "help"], BUILD_LIMIT_S)[1]
        return set(re.findall(r"^(?:\.\.\. )?(\w+)_test\b", output, re.MULTILINE))

    def compile(self, tests):
        targets = sorted({f"{program_of(each)}_test" for each in tests})
        command = ["nice", "cmake", "--build", self.build, "-j", self.jobs, "--target", *targets]
        with open(self.log, "wb") as log:
            return run(command, BUILD_LIMIT_S, log)[0] == 0

    def program(self, test):
        return self.build / "bin/tests" / f"{program_of(test)}_test"

    def passes(self, test, limit_s):
        """None, or how it does not: (by time?, text)."""
        wanted = test.partition(":")[2] or "*"
        code, output = run([self.program(test), f"--gtest_filter={wanted}", "--gtest_fail_fast"], limit_s)
        if code == 0 and re.search(r"^\[       OK \]", output, re.MULTILINE):
            return None
        begun = re.findall(r"^\[ RUN      \] (\S+)", output, re.MULTILINE)
        failed = re.findall(r"^\[  FAILED  \] ([^\s,]+)", output, re.MULTILINE)
        if code is None:
            return True, f"{begun[-1] if begun else test} was not done within {limit_s} s"
        if code == 0:
            return False, f"{test} runs no test"
        return False, failed[0] if failed else f"{begun[-1] if begun else test} ended with {code}"

    def fault_without(self, test, limit_s):
        """What is wrong with a test where no mutant is; the program as it is now is asked once."""
        key = "without a mutant: " + test
        now = hashlib.sha256(self.program(test).read_bytes()).hexdigest()
        known = self.results.get(key)
        if known is None or known["digest"] != now or known["fault"]:
            fault = self.passes(test, limit_s)
            known = {"digest": now, "fault": fault[1] if fault else ""}
            self.keep(key, known)
        return known["fault"]

    def digest_of(self, one):
        programs = [hashlib.sha256(self.program(each).read_bytes()).hexdigest() for each in one.tests]
        text = (self.source / one.file).read_text(encoding="utf-8")
        return digest(one.function, one.before, one.after, str(one.limit_s), *one.tests, text, *programs)

    def try_out(self, one):
        path = self.source / one.file
        original = path.read_text(encoding="utf-8")
        try:
            path.write_text(one.planted(original), encoding="utf-8")
            if not self.compile(one.tests):
                return NO_BUILD, f"see {self.log}"
            for test in one.tests:
                if fault := self.passes(test, one.limit_s):
                    by_time, what = fault
                    return (BY_TIME if by_time else KILLED), what
            return SURVIVED, ""
        finally:
            path.write_text(original, encoding="utf-8")


def program_of(test):
    return test.partition(":")[0]


def look_at(copy, mutants):
    """Runs what has to be run; yields each mutant with its outcome and what showed it."""
    if not copy.compile([test for one in mutants for test in one.tests]):
        raise SystemExit(f"mutants: the copy does not build without a mutant: see {copy.log}")
    digests = {one.name: copy.digest_of(one) for one in mutants}  # while all programs are those of the tree
    faults = {}
    for one in mutants:
        for test in one.tests:
            if test not in faults:
                faults[test] = copy.fault_without(test, one.limit_s)
    for one in mutants:
        known = copy.results.get(one.name)
        if known is not None and known["digest"] == digests[one.name]:
            yield one, known["outcome"], known["by"], True
            continue
        fault = next((f"{test}: {faults[test]}" for test in one.tests if faults[test]), None)
        outcome, by = (NO_TEST, fault) if fault else copy.try_out(one)
        if outcome in CLEAN:
            copy.keep(one.name, {"digest": digests[one.name], "outcome": outcome, "by": by})
        yield one, outcome, by, False


def is_well(one, outcome):
    return outcome in (KILLED, BY_TIME) or (outcome == SURVIVED and bool(one.survives_because))


def told(outcomes, away):
    """The last lines."""
    count = {each: sum(outcome == each for _, outcome, _ in outcomes) for each in (*CLEAN, NO_BUILD, NO_TEST)}
    killed = count[KILLED] + count[BY_TIME]
    ran = killed + count[SURVIVED]
    share = f" ({100 * killed / ran:.1f} %)" if ran else ""
    explained = [one for one, outcome, _ in outcomes if outcome == SURVIVED and one.survives_because]
    yield f"{len(outcomes)} mutants: {killed} killed{share}, {count[BY_TIME]} of them by time; "
    yield f"{count[SURVIVED]} survived, {len(explained)} of them explained; "
    yield f"{count[NO_BUILD]} do not build, {count[NO_TEST]} not run; {away}\n"
    for one, outcome, by in outcomes:
        if outcome in (NO_BUILD, NO_TEST):
            yield f"{one.place}: {one.name} {outcome}: {by}\n"
        if outcome == SURVIVED:
            yield f"{one.place}: {one.name} survived: {one.survives_because or one.why}\n"
        if outcome in (KILLED, BY_TIME) and one.survives_because:
            yield f"{one.place}: {one.name} is explained, and {by} sees it: delete survives_because\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("lists", nargs="*", type=pathlib.Path, help="lists of mutants; all of tests/mutants by default")
    parser.add_argument("--only", default="", metavar="REGEX", help="mutants with such names")
    parser.add_argument("--check", action="store_true", help="read the lists and find each text; build and run nothing")
    parser.add_argument("--gpu", action="store_true", help="run those that need a GPU, and no others")
    parser.add_argument("--jobs", default="2", help="compilers at a time (default 2)")
    parser.add_argument("--tree", type=pathlib.Path, default=ROOT, help="tree to copy (default: this one)")
    parser.add_argument("--folder", type=pathlib.Path, help="for copy, build and results (default: TREE/build/mutants)")
    asked = parser.parse_args()
    for each in (signal.SIGINT, signal.SIGTERM):  # so that what it started ends with it, and the copy is restored
        signal.signal(each, lambda number, _: sys.exit(128 + number))
    lists = asked.lists or sorted((asked.tree / "tests/mutants").glob("*.toml"))
    mutants, wrong = mutant_list.read(lists, asked.tree)
    if wrong or not mutants:
        print("\n".join(wrong) or "mutants: there is no list of them", file=sys.stderr)
        return 2
    if asked.check:
        print(f"{len(mutants)} mutants, each text found once")
        return 0
    mutants = [one for one in mutants if re.search(asked.only, one.name)]
    here = [one for one in mutants if (one.needs == "gpu") == asked.gpu]
    copy = Copy(
        asked.tree, asked.folder or asked.tree / f"build/mutants{'_gpu' if asked.gpu else ''}", asked.jobs, asked.gpu
    )
    copy.follow()
    known = copy.configure()
    wrong = [
        f"{one.place}: {test} is no test program" for one in here for test in one.tests if program_of(test) not in known
    ]
    if wrong or not here:
        print("\n".join(wrong) or "mutants: none of the lists is meant", file=sys.stderr)
        return 2
    outcomes = []
    began = time.monotonic()
    for one, outcome, by, before in look_at(copy, here):
        outcomes.append((one, outcome, by))
        when = "before" if before else f"{time.monotonic() - began:.0f} s"
        print(f"{len(outcomes)}/{len(here)} {one.name}: {outcome}{': ' + by if by else ''} [{when}]", flush=True)
    print(
        "".join(told(outcomes, f"{len(mutants) - len(here)} run {'without' if asked.gpu else 'with'} --gpu alone")),
        end="",
    )
    return 0 if all(is_well(one, outcome) for one, outcome, _ in outcomes) else 1


if __name__ == "__main__":
    sys.exit(main())
