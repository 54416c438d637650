# SPDX-License-Identifier: Apache-2.0
"""The C library as the Python package sees it, and what happens where it is not there or the program ends."""

import contextlib
import ctypes
import gc
import io
import logging
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import threading
import unittest

import lull
from lull import binding

MANY_STREAMS = 17  # more than are harvested at a time
DEADLINE_S = 60  # of a program that would hang


class TheLibrary(unittest.TestCase):
    def test_structs_and_calls_are_the_header_s(self):
        header = re.sub(
            r"/\*.*?\*/", "", pathlib.Path(os.environ["LULL_HEADER"]).read_text(encoding="utf-8"), flags=re.DOTALL
        )
        types_of = {"uint32_t": ctypes.c_uint32, "int32_t": ctypes.c_int32, "uint64_t": ctypes.c_uint64}
        types_of |= {"void*": ctypes.c_void_p, "char const*": ctypes.c_char_p, "lull_log": binding.LogFunction}
        types_of |= {"double": ctypes.c_double, "lull_memory*": ctypes.c_void_p}
        options = (binding.Options, binding.JobOptions, binding.GraphOptions)
        structs = (*options, binding.JobStatus, binding.Counts, binding.ExchangeNeed, binding.Steps)
        declared = dict(re.findall(r"typedef struct (lull_\w+) \{(.*?)\}", header, re.DOTALL))
        self.assertEqual(len(declared), len(structs))
        for (name, fields), struct in zip(sorted(declared.items()), sorted(structs, key=lambda one: one.__name__)):
            pairs = re.findall(r"(\w[\w ]*[ *]+)(\w+);", fields)
            found = [(field, types_of.get(kind.strip())) for kind, field in pairs]
            with self.subTest(name):
                self.assertEqual(name.replace("_", ""), "lull" + struct.__name__.lower())
                self.assertEqual(found, struct._fields_)
        without_status = {"lull_abi", "lull_version", "lull_error_text", "lull_status_text", *binding.POOL_CALLS}
        self.assertEqual(set(re.findall(r"(lull_\w+)\(", header)) - without_status, set(binding._CALLS))
        statuses = dict(re.findall(r"LULL_(OK|TIMED_OUT|ERROR_\w+) = (\d+)", header))
        self.assertEqual(
            {name: int(value) for name, value in statuses.items()}, {one.name: one.value for one in lull.Status}
        )
        self.assertIn(f"#define LULL_ABI {binding.ABI}\n", header)

    def test_tasks(self):
        self.assertIn("pagerank", lull.tasks())

    def test_quiet(self):
        with lull.Runtime(executor="threads") as side:
            with side.pause_all():
                pass
            job = side.submit("compute:items=16", priority=3, name="mine")
            self.assertFalse(side.wait_all(0.01))
            job.pause()
            job.resume()
            job.cancel()
            self.assertTrue(side.wait_all(10))
        side.close()  # a second time

    def test_one_that_is_forgotten_is_ended_and_may_say_so(self):
        with tempfile.TemporaryDirectory() as folder:
            report = pathlib.Path(folder, "bubbles.txt")
            with self.assertLogs(
                "lull", "INFO"
            ) as said:  # its thread writes where the report is, when nobody holds it any more
                lull.Runtime(executor="threads", report=report).submit("compute:items=16")
                gc.collect()
            self.assertTrue(report.is_file())
            self.assertIn("bubbles.txt", "".join(said.output))

    def test_a_log_handler_that_raises_is_told_of_and_reaches_nobody(self):
        class Raises(logging.Handler):
            def emit(self, record):
                raise ZeroDivisionError("mine")

        logger, handler = logging.getLogger("lull"), Raises()
        with contextlib.redirect_stderr(io.StringIO()) as printed, self.assertLogs("lull", "INFO"):
            logger.addHandler(handler)
            try:
                lull.Runtime(executor="threads", mode="observe").close()  # logs the report's text
            finally:
                logger.removeHandler(handler)
            logger.info("assertLogs wants a line")
        self.assertIn("ZeroDivisionError: mine", printed.getvalue())

    def test_one_that_the_process_forgets_is_ended(self):
        with tempfile.TemporaryDirectory() as folder:
            report = pathlib.Path(folder, "bubbles.txt")
            done = self.run_python(f"import lull; side = lull.Runtime(executor='threads', report={str(report)!r})")
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertTrue(report.is_file())

    def run_python(self, code, **environment):
        return subprocess.run(
            [sys.executable, "-B", "-c", code],
            env={**os.environ, **environment},
            capture_output=True,
            text=True,
            check=False,
        )

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


class TheInterpretersLock(unittest.TestCase):
    def test_only_what_enqueues_keeps_it(self):
        keeping = [
            name
            for name in binding._CALLS
            if getattr(binding.load(), name)._flags_ & ctypes.PyDLL._func_flags_ & ~ctypes.CDLL._func_flags_
        ]
        self.assertEqual(sorted(keeping), ["lull_close", "lull_open", "lull_ready", "lull_step", "lull_step_number"])

    def test_a_busy_thread_is_not_let_in(self):
        """It stands ready, and would run as soon as a call released the lock: nothing else does within the switch
        interval."""
        go, ran, interval = threading.Lock(), [], sys.getswitchinterval()
        go.acquire()

        def be_busy():
            with go:
                ran.append(True)

        busy = threading.Thread(target=be_busy)
        stream = lull.ThreadsStream()
        with lull.Runtime(executor="threads", mode="observe") as side:
            pointer = stream.__index__()
            side.close_bubble(side.open(b"first", pointer), pointer)
            busy.start()
            sys.setswitchinterval(1000)
            try:
                go.release()
                for _ in range(100):
                    side.close_bubble(side.open(b"x", pointer), pointer)
                    side.ready(pointer)
                let_in = list(ran)
            finally:
                sys.setswitchinterval(interval)
            busy.join()
            stream.synchronize()
        stream.close()
        self.assertEqual((let_in, ran), ([], [True]))

    def assert_ends_well(self, code):
        done = subprocess.run(
            [sys.executable, "-B", "-c", code],
            env={**os.environ, "LULL": ""},
            capture_output=True,
            text=True,
            timeout=DEADLINE_S,
            check=False,
        )
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_a_line_from_an_opening_is_said_with_no_lock_that_calls_take(self):
        self.assert_ends_well(
            "import lull, threading\n"
            "from lull import binding, heard\n"
            f"streams = [lull.ThreadsStream() for _ in range({MANY_STREAMS})]\n"
            "lines, opened = [], threading.Event()\n"
            "def bubbles():\n"
            "    for stream in streams:\n"
            "        side.close_bubble(side.open(b'x', stream.__index__()), stream.__index__())\n"
            "        side.ready(stream.__index__())\n"
            "    opened.set()\n"
            "def hear(_, line):\n"
            "    lines.append(line)\n"
            "    if b'streams' in line:\n"
            "        threading.Thread(target=bubbles).start()\n"
            "        opened.wait()\n"
            "heard.CALLBACK = binding.LogFunction(hear)\n"
            "side = lull.Runtime(executor='threads', mode='observe')\n"
            "for stream in streams: side.open(b'y', stream.__index__())\n"
            "assert opened.wait(30) and len(lines) == 1, lines\n"
            "side.close()\n"
        )

    def test_a_runtime_that_a_log_handler_forgets(self):
        self.assert_ends_well(
            "import logging, lull, time\n"
            "said = []\n"
            "class Handler(logging.Handler):\n"
            "    def emit(self, record):\n"
            "        said.append(record.getMessage())\n"
            "        held.clear()\n"
            "logging.getLogger('lull').setLevel('INFO')\n"
            "held = [lull.Runtime(executor='threads', mode='observe')]\n"  # its end logs the report's text
            "logging.getLogger('lull').addHandler(Handler())\n"
            "logging.getLogger('lull').info('first')\n"
            "while len(said) < 2: time.sleep(0.01)\n"
            "assert said[0] == 'first' and not held, said\n"
        )


if __name__ == "__main__":
    unittest.main()
