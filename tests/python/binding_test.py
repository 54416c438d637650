# SPDX-License-Identifier: Apache-2.0
"""The C library as the Python package sees it, and what happens where it is not there or the program ends."""

import ctypes
import gc
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

import lull
from lull import binding


class TheLibrary(unittest.TestCase):
    def test_structs_and_calls_are_the_header_s(self):
        header = re.sub(r"/\*.*?\*/", "", pathlib.Path(os.environ["LULL_HEADER"]).read_text(encoding="utf-8"), flags=re.DOTALL)
        types_of = {"uint32_t": ctypes.c_uint32, "int32_t": ctypes.c_int32, "uint64_t": ctypes.c_uint64}
        types_of |= {"void *": ctypes.c_void_p, "const char *": ctypes.c_char_p, "lull_log ": binding.LogFunction}
        structs = (binding.Options, binding.JobOptions, binding.JobStatus, binding.Counts)
        declared = dict(re.findall(r"typedef struct (lull_\w+) \{(.*?)\}", header, re.DOTALL))
        self.assertEqual(len(declared), len(structs))
        for (name, fields), struct in zip(sorted(declared.items()), sorted(structs, key=lambda one: one.__name__)):
            pairs = re.findall(r"(\w[\w ]*[ *])(\w+);", fields)
            found = [(field, types_of.get(kind, types_of.get(kind.strip()))) for kind, field in pairs]
            with self.subTest(name):
                self.assertEqual(name.replace("_", ""), "lull" + struct.__name__.lower())
                self.assertEqual(found, struct._fields_)
        without_status = {"lull_abi", "lull_version", "lull_error_text", "lull_status_text"}
        self.assertEqual(set(re.findall(r"(lull_\w+)\(", header)) - without_status, set(binding._CALLS))
        statuses = dict(re.findall(r"LULL_(OK|TIMED_OUT|ERROR_\w+) = (\d+)", header))
        self.assertEqual({name: int(value) for name, value in statuses.items()}, {one.name: one.value for one in lull.Status})
        self.assertIn(f"#define LULL_ABI {binding.ABI}\n", header)

    def test_tasks(self):
        self.assertIn("pagerank", lull.tasks())

    def test_quiet(self):
        with lull.Runtime(executor="threads") as side:
            with side.quiet():
                pass
            job = side.submit("compute:items=16", priority=3, name="mine")
            self.assertFalse(side.drain(0.01))
            job.pause()
            job.resume()
            job.cancel()
            self.assertTrue(side.drain(10))
        side.close()  # a second time

    def test_one_that_is_forgotten_is_ended_and_may_say_so(self):
        with tempfile.TemporaryDirectory() as folder:
            report = pathlib.Path(folder, "bubbles.txt")
            with self.assertLogs("lull", "INFO") as said:  # its thread writes where the report is, when nobody holds it any more
                lull.Runtime(executor="threads", report=report).submit("compute:items=16")
                gc.collect()
            self.assertTrue(report.is_file())
            self.assertIn("bubbles.txt", "".join(said.output))

    def test_one_that_the_process_forgets_is_ended(self):
        with tempfile.TemporaryDirectory() as folder:
            report = pathlib.Path(folder, "bubbles.txt")
            done = self.run_python(f"import lull; side = lull.Runtime(executor='threads', report={str(report)!r})")
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertTrue(report.is_file())

    def run_python(self, code, **environment):
        return subprocess.run([sys.executable, "-B", "-c", code], env={**os.environ, **environment}, capture_output=True, text=True, check=False)

    def test_a_library_that_is_not_there(self):
        done = self.run_python("import lull; lull.tasks()", LULL_LIBRARY="/nowhere/liblull.so")
        self.assertIn("/nowhere/liblull.so cannot be opened", done.stderr)
        self.assertIn("LULL_LIBRARY", done.stderr)

    def test_a_library_that_is_another(self):
        done = self.run_python("import lull; lull.tasks()", LULL_LIBRARY="libc.so.6")
        self.assertIn("is not the Lull that this package needs", done.stderr)

    def test_a_program_that_ends_inside(self):
        code = (
            "import lull, os\n"
            "stream = lull.ThreadsStream()\n"
            "side = lull.harvest('compute:items=64,rounds=1000000000', executor='threads', bracket_waits=False)\n"
            "side.__enter__()\n"
            "for _ in range(20):\n"
            "    with lull.bubble('x', stream): stream.sleep(0.001)\n"
        )
        done = self.run_python(code, LULL="")
        self.assertEqual((done.returncode, done.stderr), (0, ""))


if __name__ == "__main__":
    unittest.main()
