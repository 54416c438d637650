# SPDX-License-Identifier: Apache-2.0
"""gpu_tests_test.py ROOT: tests/run/gpu_tests.py counts each test of a group, whatever happens to its process."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import unittest

ROOT = pathlib.Path(sys.argv.pop())
PATIENCE = 120  # seconds; against hangs only

# A program that speaks like one of GoogleTest. What each test does stands in its name.
PROGRAM = """
import os, sys, time
names = {names}
if "--gtest_list_tests" in sys.argv:
    print("main() of a library")
    print("suite.")
    for name in names:
        print("  " + name + "  # GetParam() = 1")
    sys.exit()
wanted = next(each for each in sys.argv if each.startswith("--gtest_filter=")).partition("=")[2].split(":")
with open(os.environ["STARTED"], "a") as log:
    log.write(",".join(wanted) + "\\n")
for name in names:
    if "suite." + name not in wanted:
        continue
    print("[ RUN      ] suite." + name, flush=True)
    if "crash" in name:
        print("about to crash", flush=True)
        os.abort()
    if "hang" in name:
        time.sleep(600)
    if "slow" in name:
        time.sleep(0.5)
    print("what it says, without an end of line", end="")
    word = "  FAILED  " if "fail" in name else "  SKIPPED " if "skip" in name else "       OK "
    print("[" + word + "] suite." + name + ", where GetParam() = 1" * ("fail" in name) + " (3 ms)", flush=True)
if "STAYS" in os.environ:
    time.sleep(600)
print("========= what a sanitizer found")
sys.exit(int(os.environ.get("CODE", "0")))
"""


class GpuTests(unittest.TestCase):
    def setUp(self):
        self._folder = tempfile.TemporaryDirectory(prefix="lull-")
        self.addCleanup(self._folder.cleanup)
        self.folder = pathlib.Path(self._folder.name)
        self.started = self.folder / "started"
        self.tests = []

    def file(self, name, text):
        path = self.folder / name
        path.write_text(text, encoding="utf-8")
        return str(path)

    def add(self, name, kind, command, **more):
        self.tests.append(
            {
                **{"name": name, "kind": kind, "command": command, "environment": {}, "matching": "", "group": ""},
                **{"limit": 60, "beside": False, **more},
            }
        )

    def add_program(self, names, environment=None, name="group", **more):
        path = self.file(f"{name}.py", PROGRAM.replace("{names}", repr(names)))
        environment = {"STARTED": str(self.started), **(environment or {})}
        self.add(name, "gtest", [sys.executable, "-B", path], environment=environment, **more)

    def add_python(self, name, text, **more):
        self.add(f"python.{name}", "python", [sys.executable, self.file(f"{name}.py", text)], **more)

    def count(self, *options):
        listed = {"source": str(ROOT), "build": str(self.folder), "python": sys.executable, "tests": self.tests}
        self.file("gpu_tests.json", json.dumps(listed))
        return self.run_listed(*options)

    def run_listed(self, *options):
        """The exit code, the last line, and all that it prints."""
        # As on a machine with one GPU, whatever this one has.
        (self.folder / "bin").mkdir(exist_ok=True)
        shown = self.folder / "bin/nvidia-smi"
        shown.write_text("#!/bin/sh\necho 'GPU 0: a test'\n", encoding="utf-8")
        shown.chmod(0o755)
        environment = {**os.environ, "PATH": f"{shown.parent}:{os.environ['PATH']}"}
        environment.pop("CUDA_VISIBLE_DEVICES", None)
        done = subprocess.run(
            [sys.executable, "-B", ROOT / "tests/run/gpu_tests.py", "--build", self.folder, *options],
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            env=environment,
            check=False,
        )
        text = done.stderr + done.stdout
        return done.returncode, text.splitlines()[-1], text

    def processes(self):
        return self.started.read_text(encoding="utf-8").splitlines()

    def test_one_process_runs_them_all(self):
        self.add_program(["a", "b", "skip", "c"])
        self.assertEqual(self.count()[:2], (0, "3 passed, 0 failed, 1 skipped"))
        self.assertEqual(self.processes(), ["suite.a,suite.b,suite.skip,suite.c"])

    def test_a_crash_is_told_by_name_and_the_rest_runs_again(self):
        self.add_program(["a", "crash", "b", "c"])
        code, last, text = self.count()
        self.assertEqual((code, last), (1, "3 passed, 1 failed, 0 skipped"))
        self.assertIn("FAILED: suite.crash", text)
        self.assertIn("about to crash\n  the process ended with SIGABRT", text)
        self.assertEqual(self.processes(), ["suite.a,suite.crash,suite.b,suite.c", "suite.b,suite.c"])

    def test_after_a_failure_the_rest_has_a_new_process(self):
        self.add_program(["a", "fail", "b"])
        self.assertEqual(self.count()[:2], (1, "2 passed, 1 failed, 0 skipped"))
        self.assertEqual(self.processes(), ["suite.a,suite.fail,suite.b", "suite.b"])

    def test_one_that_takes_too_long_is_killed(self):
        self.add_program(["a", "hang", "b"], limit=1)
        code, last, text = self.count()
        self.assertEqual((code, last), (1, "2 passed, 1 failed, 0 skipped"))
        self.assertIn("it took more than 1 s", text)

    def test_what_no_time_is_left_for_is_not_run(self):
        self.add_program(["a", "hang", "b"])
        self.add("later", "program", ["true"])
        self.add_python("file", "import unittest\nclass A(unittest.TestCase):\n def test_a(self): pass\n")
        began = time.monotonic()
        code, last, text = self.count("--within", "2")
        self.assertEqual((code, last), (1, "1 passed, 0 failed, 0 skipped, 4 not run"))
        self.assertIn("not run: suite.b", text)
        self.assertIn("not run: python.file.A.test_a", text)
        self.assertLess(time.monotonic() - began, 60)

    def test_a_process_that_ends_badly_after_its_tests_fails(self):
        self.add_program(["a", "b"], {"CODE": "9"})
        code, last, text = self.count()
        self.assertEqual((code, last), (1, "2 passed, 1 failed, 0 skipped"))
        self.assertIn("what a sanitizer found", text)
        self.assertIn("the process ended with exit code 9", text)

    def test_a_program_that_is_not_there_fails(self):
        self.add("group", "gtest", ["/nowhere/program"])
        self.add("other", "program", ["/nowhere/program"])
        self.assertEqual(self.count()[:2], (1, "0 passed, 2 failed, 0 skipped"))

    def test_programs_that_are_one_test(self):
        for code in (0, 1, 77):
            self.add(f"exit_{code}", "program", ["sh", "-c", f"exit {code}"])
        self.add("hangs", "program", ["sleep", "600"], limit=1)
        self.assertEqual(self.count()[:2], (1, "1 passed, 2 failed, 1 skipped"))

    def test_only_skipped_is_77_and_nothing_at_all_is_an_error(self):
        self.add_program(["skip"])
        self.assertEqual(self.count()[:2], (77, "0 passed, 0 failed, 1 skipped"))
        self.assertEqual(self.count("nothing")[:2], (1, "0 passed, 0 failed, 0 skipped"))

    def test_those_that_are_disabled_are_left_alone(self):
        self.add_program(["a", "DISABLED_hang", "b"])
        self.assertEqual(self.count()[:2], (0, "2 passed, 0 failed, 0 skipped"))
        self.assertEqual(self.processes(), ["suite.a,suite.b"])

    def test_names_choose(self):
        self.add_program(["a"], name="one")
        self.add_program(["b"], name="two")
        self.add("two.more", "program", ["true"])
        self.assertEqual(self.count("two")[:2], (0, "2 passed, 0 failed, 0 skipped"))
        self.assertEqual(self.processes(), ["suite.b"])

    def test_shards_share_the_tests(self):
        self.add_program(["a", "b", "c"])
        self.assertEqual(self.count("--shards", "2")[:2], (0, "3 passed, 0 failed, 0 skipped"))
        self.assertEqual(sorted(self.processes()), ["suite.a,suite.c", "suite.b"])

    def test_under_a_program(self):
        self.add_program(["a"])
        under = self.file("under.sh", '#!/bin/sh\necho "$1" >> "$STARTED.under"\nshift\nexec "$@"\n')
        os.chmod(under, 0o755)
        self.assertEqual(self.count("--under", f"{under} word")[0], 0)
        self.assertEqual((self.folder / "started.under").read_text(encoding="utf-8"), "word\n")

    def test_under_a_program_that_is_not_there(self):
        self.add_program(["a", "b"])
        code, last, text = self.count("--under", "/nowhere/program")
        self.assertEqual((code, last), (1, "0 passed, 1 failed, 0 skipped, 2 not run"))
        self.assertIn("No such file", text)

    def test_groups_that_are_not_alone_run_beside_each_other(self):
        meet = "import pathlib, sys, time\nmine, other = map(pathlib.Path, sys.argv[1:])\nmine.touch()\n"
        meet += "while not other.exists(): time.sleep(0.01)\n"
        path, first, second = self.file("meet.py", meet), str(self.folder / "first"), str(self.folder / "second")
        self.add("first", "program", [sys.executable, path, first, second], beside=True)
        self.add("second", "program", [sys.executable, path, second, first], beside=True)
        self.assertEqual(self.count()[:2], (0, "2 passed, 0 failed, 0 skipped"))

    def test_python_files_share_a_process(self):
        share = "import os, sys, unittest\n"
        share += "class A(unittest.TestCase):\n"
        share += " def test_a(self): open(os.environ['STARTED'], 'a').write(f'{os.getpid()}\\n')\n"
        share += " def test_b(self): self.assertEqual(sys.argv, [__file__])\n"
        share += "if __name__ == '__main__': unittest.main()\n"
        for name in ("one", "two"):
            self.add_python(name, share, environment={"STARTED": str(self.started)})
        own = share.replace("import os", "OWN_PROCESS = 'so it is'\nimport os", 1)
        self.add_python("own", own, environment={"STARTED": str(self.started)})
        other = share.replace("import os", "ENVIRONMENT = {'LULL': 'off'}\nimport os", 1)
        self.add_python("other", other, environment={"STARTED": str(self.started)})
        code, last, text = self.count()
        self.assertEqual((code, last), (0, "8 passed, 0 failed, 0 skipped"), text)
        self.assertIn("in a process of its own: python.own: so it is", text)
        found = self.processes()
        self.assertEqual((len(found), len(set(found))), (4, 3))

    def test_python_tests_are_counted_one_by_one(self):
        self.add_python(
            "kinds",
            """
import os, signal, sys, unittest
class A(unittest.TestCase):
    def test_1_passes(self): pass
    def test_2_fails(self): self.fail("as it should")
    def test_3_crashes(self): os.kill(os.getpid(), signal.SIGSEGV)
    def test_4_is_skipped(self): self.skipTest("why not")
    def test_5_has_parts(self):
        for part in range(2):
            with self.subTest(part=part): self.assertEqual(part, 0)
    def test_6_raises(self): raise KeyError("that")
    def test_7_passes(self): pass
class B(unittest.TestCase):
    def test_after(self): pass
if __name__ == "__main__": unittest.main()
""",
        )
        code, last, text = self.count()
        self.assertEqual((code, last), (1, "3 passed, 4 failed, 1 skipped"), text)
        for words in ("as it should", "SIGSEGV", "KeyError: 'that'", "skipped: NOT RUN: why not", "part=1"):
            self.assertIn(words, text)

    def test_a_python_file_that_cannot_run_here_is_skipped(self):
        self.add_python(
            "absent",
            """
import sys, unittest
class A(unittest.TestCase):
    def test_1(self): self.fail("it runs")
    def test_2(self): self.fail("it runs")
if __name__ == "__main__":
    sys.exit(77)
""",
        )
        two = (
            "import unittest\nGPUS = 2\nclass A(unittest.TestCase):\n def test_1(self): pass\n def test_2(self): pass\n"
        )
        self.add_python("two_gpus", two)
        self.add_python("two_ranks", "GPUS = 2\nraise SystemExit(1)\n")
        self.assertEqual(self.count()[:2], (77, "0 passed, 0 failed, 5 skipped"))

    def test_python_scripts_of_a_group_share_a_process_and_leave_it_as_it_was(self):
        script = "import os, sys, lull_mark as mark\n"
        script += "assert 'LEFT' not in os.environ and mark.count() == {number}\nos.environ['LEFT'] = '1'\n"
        self.file("lull_mark.py", "counted = []\ndef count():\n counted.append(1)\n return len(counted)\n")
        self.add_python("first", script.format(number=1), group="scripts")
        self.add_python("second", script.format(number=2) + "sys.exit(0)\n", group="scripts")
        self.add_python("third", script.format(number=3) + "sys.exit('a word')\n", group="scripts")
        self.add_python("fourth", "import sys\nsys.exit(77)\n", group="scripts")
        code, last, text = self.count()
        self.assertEqual((code, last), (1, "2 passed, 1 failed, 1 skipped"), text)
        self.assertIn("a word", text)

    def test_a_tree_that_is_carried_is_found_where_it_was_built(self):
        was = self.folder / "elsewhere/tree"
        self.add("there", "program", ["test", "-e", str(was / "tests/run/gpu_tests.py")])
        listed = {"source": str(was), "build": str(was / "build"), "python": "/nowhere/python", "tests": self.tests}
        self.file("gpu_tests.json", json.dumps(listed))
        code, _, text = self.run_listed()
        self.assertEqual((code, was.exists()), (0, False), text)  # its paths are those of this tree
        code, _, text = self.run_listed("--carried")
        self.assertEqual((code, was.resolve()), (0, ROOT.resolve()), text)


if __name__ == "__main__":
    unittest.main()
