# SPDX-License-Identifier: Apache-2.0
"""mutants_test.py ROOT: scripts/mutants.py plants what its lists say and nothing else, runs the tests of each, and
says what survived. Its tree is a toy whose test programs are scripts, so that nothing is compiled."""

import fcntl
import json
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest

ROOT = pathlib.Path(sys.argv.pop())
PATIENCE = 60  # seconds; against hangs only

SOURCE = """\
// SPDX-License-Identifier: Apache-2.0
namespace toy {

adder::adder(int first) : sum_(first), last_{first} {}

/// add() { is a comment.
int adder::add(int more) {
  if (more < 0) return sum_;  // }
  sum_ += more;
  return sum_;
}

int adder::take() {
  sum_ -= 1;
  return sum_;
}

}  // namespace toy
"""

# As a GoogleTest program: it passes while the source has a line, fails without it, and hangs where another is missing.
PROGRAM = """\
#!/bin/sh
echo run >> "$(dirname "$0")/runs"
case $1 in --gtest_filter=nothing*) exit 0 ;; esac
echo '[ RUN      ] toy.adds'
source=$(dirname "$0")/../../../tree/host/toy.cpp
grep -q 'return sum_;  // }' "$source" || sleep 600
grep -q 'sum_ += more;' "$source" || { echo '[  FAILED  ] toy.adds'; exit 1; }
echo '[       OK ] toy.adds (0 ms)'
"""

BUILD = """\
cmake_minimum_required(VERSION 3.25)
project(toy LANGUAGES NONE)
file(STRINGS host/toy.cpp broken REGEX "does not compile")
add_custom_target(toy_test COMMAND ! grep -q broken ${CMAKE_SOURCE_DIR}/host/toy.cpp
                           COMMAND ${CMAKE_COMMAND} -E make_directory bin/tests
                           COMMAND ${CMAKE_COMMAND} -E copy ${CMAKE_SOURCE_DIR}/toy.sh bin/tests/toy_test)
"""


def entry(**changes):
    fields = {
        "name": "toy.forgets",
        "file": "host/toy.cpp",
        "function": "adder::add",
        "before": "sum_ += more;",
        "after": "",
        "tests": ["toy"],
        "why": "what is added is lost",
        **changes,
    }
    return "[[mutant]]\n" + "".join(
        f"{key} = {json.dumps(value)}\n" for key, value in fields.items() if value is not None
    )


class Mutants(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.tree = pathlib.Path(folder.name) / "toy"
        (self.tree / "host").mkdir(parents=True)
        (self.tree / "host/toy.cpp").write_text(SOURCE)
        (self.tree / "toy.sh").write_text(PROGRAM)
        (self.tree / "toy.sh").chmod(0o755)
        (self.tree / "CMakeLists.txt").write_text(BUILD)
        (self.tree / ".gitignore").write_text("/build/\n")
        subprocess.run(["git", "init", "--quiet", self.tree], check=True)
        self.list = self.tree / "mutants.toml"

    def run_it(self, content, *options):
        self.list.write_text(content)
        command = [sys.executable, "-B", ROOT / "scripts/mutants.py", "--tree", self.tree, self.list, *options]
        done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
        return done.returncode, done.stdout, done.stderr

    def runs(self):
        return (self.tree / "build/mutants/build/bin/tests/runs").read_text().count("run")

    def copied(self):
        return (self.tree / "build/mutants/tree/host/toy.cpp").read_text()

    def test_one_that_a_test_sees_is_killed_and_the_tree_stays_as_it_is(self):
        code, out, error = self.run_it(entry())
        self.assertEqual((code, error), (0, ""), out)
        self.assertIn("toy.forgets: killed: toy.adds", out)
        self.assertIn("1 mutants: 1 killed (100.0 %), 0 of them by time; 0 survived", out)
        self.assertEqual((self.tree / "host/toy.cpp").read_text(), SOURCE)
        self.assertEqual(self.copied(), SOURCE)

    def test_one_that_no_test_sees_is_named_with_its_place_and_its_reason(self):
        lost = entry(name="toy.takes", function="adder::take", before="sum_ -= 1;", why="all is given twice")
        code, out, _ = self.run_it(entry() + lost)
        self.assertEqual(code, 1)
        self.assertIn(f"{self.list}:9: toy.takes survived: all is given twice", out)
        self.assertIn("2 mutants: 1 killed (50.0 %)", out)

    def test_one_that_is_explained_may_survive_and_must(self):
        code, out, _ = self.run_it(
            entry(function="adder::take", before="sum_ -= 1;", survives_because="nothing reads it")
        )
        self.assertEqual(code, 0)
        self.assertIn("toy.forgets survived: nothing reads it", out)
        code, out, _ = self.run_it(entry(survives_because="nothing reads it"))
        self.assertEqual(code, 0)
        self.assertIn("toy.adds sees it: delete survives_because", out)

    def test_one_that_hangs_is_killed_by_time(self):
        code, out, _ = self.run_it(entry(before="if (more < 0) return sum_;", limit_s=1))
        self.assertEqual(code, 0)
        self.assertIn("toy.forgets: killed by time: toy.adds was not done within 1 s", out)
        self.assertIn("1 of them by time", out)

    def test_what_was_run_is_not_run_again_until_it_changes(self):
        self.run_it(entry())
        self.assertEqual(self.runs(), 2)  # without the mutant, and with it
        code, out, _ = self.run_it(entry())
        self.assertEqual((code, self.runs()), (0, 2))
        self.assertIn("killed: toy.adds [before]", out)
        self.run_it(entry(after="sum_ -= more;"))
        self.assertEqual(self.runs(), 3)
        (self.tree / "toy.sh").write_text(PROGRAM + "# changed\n")
        self.run_it(entry(after="sum_ -= more;"))
        self.assertEqual(self.runs(), 5)

    def test_a_copy_that_an_interrupted_run_has_left_is_mended(self):
        self.run_it(entry())
        stray = self.tree / "build/mutants/tree/host/stray.cpp"
        stray.write_text("left behind")
        stray.with_name("toy.cpp").write_text(SOURCE.replace("sum_ += more;", ""))
        code, out, _ = self.run_it(entry(after="sum_ -= more;"))
        self.assertEqual(code, 0, out)
        self.assertEqual(self.copied(), SOURCE)
        self.assertFalse(stray.exists())

    def test_one_that_is_ended_leaves_nothing_behind(self):
        self.list.write_text(entry(before="if (more < 0) return sum_;"))
        command = [sys.executable, "-B", ROOT / "scripts/mutants.py", "--tree", self.tree, self.list]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL) as running:
            runs = self.tree / "build/mutants/build/bin/tests/runs"
            until = time.monotonic() + PATIENCE
            while (not runs.exists() or self.runs() < 2) and time.monotonic() < until:
                time.sleep(0.02)
            self.assertEqual(self.runs(), 2)  # the mutant's test hangs by now
            running.terminate()
            self.assertEqual(running.wait(PATIENCE), 128 + signal.SIGTERM)
        self.assertEqual(self.copied(), SOURCE)
        program = self.tree / "build/mutants/build/bin/tests/toy_test"
        listing = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout
        self.assertNotIn(str(program), listing)

    def test_two_runs_do_not_share_a_copy(self):
        folder = self.tree / "build/mutants"
        folder.mkdir(parents=True)
        with open(folder / "lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            code, out, error = self.run_it(entry())
            self.assertEqual((code, out), (1, ""))
            self.assertIn("another run uses", error)
        self.assertEqual(self.run_it(entry())[0], 0)

    def test_tests_that_fail_without_a_mutant_kill_none(self):
        (self.tree / "host/toy.cpp").write_text(SOURCE.replace("sum_ += more;", "sum_ = sum_ + more;"))
        code, out, _ = self.run_it(entry(function="adder::take", before="sum_ -= 1;"))
        self.assertEqual(code, 1)
        self.assertIn("not run: its tests fail without it: toy: toy.adds", out)

    def test_a_filter_that_runs_no_test_kills_none(self):
        code, out, _ = self.run_it(entry(tests=["toy:nothing.*"]))
        self.assertEqual(code, 1)
        self.assertIn("toy:nothing.* runs no test", out)

    def test_one_that_does_not_compile_is_not_killed(self):
        code, out, _ = self.run_it(entry(after="broken"))
        self.assertEqual(code, 1)
        self.assertIn("toy.forgets does not build", out)
        self.assertEqual(self.copied(), SOURCE)

    def test_the_text_may_be_broken_into_lines_in_another_way(self):
        self.assertEqual(self.run_it(entry(before="sum_  +=\n more;"))[0], 0)

    def test_bad_lists_are_refused_with_file_and_line(self):
        cases = {
            "'return sum_;' stands 3 times in host/toy.cpp": entry(before="return sum_;"),
            "'sum_ -= 2;' stands 0 times in host/toy.cpp": entry(before="sum_ -= 2;"),
            "host/toy.cpp has no adder::addd": entry(function="adder::addd"),
            "host/none.cpp: No such file": entry(file="host/none.cpp"),
            "'why' is missing": entry(why=None),
            "'why' is empty": entry(why=" "),
            "'colour' is not known": entry(colour="red"),
            "'limit_s' is no int": entry(limit_s="1"),
            "'limit_s' is less than 1": entry(limit_s=0),
            "'tests' is no list of": entry(tests=[]),
            "'after' is what 'before' is": entry(after="sum_ +=  more;"),
            "'needs' is none of": entry(needs="luck"),
            "is no test program": entry(tests=["another"]),
        }
        for message, content in cases.items():
            with self.subTest(message):
                code, out, error = self.run_it("# a comment\n\n" + content)
                self.assertEqual((code, out), (2, ""))
                self.assertIn(f"{self.list}:3: ", error)
                self.assertIn(message, error)
        code, _, error = self.run_it(entry() + entry())
        self.assertEqual(code, 2)
        self.assertIn(f"{self.list}:9: 'toy.forgets' is the name of the one at {self.list}:1", error)
        code, _, error = self.run_it(entry() + "name = \n")
        self.assertEqual(code, 2)
        self.assertIn(f"{self.list}:9: ", error)
        for content in ("", "[other]\n"):
            self.assertEqual(self.run_it(content)[0], 2)

    def test_a_check_runs_nothing(self):
        code, out, error = self.run_it(entry(), "--check")
        self.assertEqual((code, error), (0, ""))
        self.assertIn("1 mutants, each text found once", out)

    def test_only_those_that_are_meant_are_run(self):
        other = entry(name="toy.other", after="sum_ = more;") + entry(name="toy.gpu", needs="gpu", after="sum_ = 0;")
        code, out, _ = self.run_it(entry() + other, "--only", "other|gpu")
        self.assertEqual(code, 0)
        self.assertNotIn("toy.forgets", out)
        self.assertIn("1 mutants: 1 killed (100.0 %)", out)
        self.assertIn("1 run with --gpu alone", out)

    def test_the_projects_own_lists_fit_its_sources(self):
        command = [sys.executable, "-B", ROOT / "scripts/mutants.py", "--check"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))


if __name__ == "__main__":
    unittest.main()
