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
    def test_structs_and_constants_are_those_of_a_c_compiler(self):
        header = binding.Header("lull.h", "lull_threads.h")
        fields = {name: [field for field, _ in kind._fields_] for name, kind in header.structs.items()}
        self.assertGreaterEqual(len(fields), 8)
        lines = [f'printf("%zu\\n", sizeof(lull_{name}));' for name in fields]
        lines += [f'printf("%zu\\n", offsetof(lull_{name}, {each}));' for name in fields for each in fields[name]]
        lines += [f'printf("%zu\\n", (size_t)({name}));' for name in header.constants]
        found = [ctypes.sizeof(kind) for kind in header.structs.values()]
        found += [getattr(header.structs[name], each).offset for name in fields for each in fields[name]]
        found += header.constants.values()
        code = f"#include <stdio.h>\n#include <lull/host/lull_threads.h>\nint main(void) {{ {' '.join(lines)} }}\n"
        with tempfile.TemporaryDirectory() as folder:
            program, include = pathlib.Path(folder, "print"), pathlib.Path(folder, "lull")
            include.symlink_to(pathlib.Path(os.environ["LULL_HEADER"]).parents[1])
            command = ["cc", "-x", "c", f"-I{folder}", "-o", program, "-"]
            subprocess.run(command, input=code, text=True, check=True, timeout=DEADLINE_S)
            said = subprocess.run([program], capture_output=True, text=True, check=True, timeout=DEADLINE_S).stdout
        self.assertEqual([int(line) for line in said.split()], found)

    def test_calls_and_statuses_are_the_header_s(self):
        header = pathlib.Path(os.environ["LULL_HEADER"]).read_text(encoding="utf-8")
        named = set(re.findall(r"\n[\w ]+[ *]+(lull_\w+)\(", re.sub(r"/\*.*?\*/", "", header, flags=re.DOTALL)))
        threads = {f"lull_threads_stream_{each}" for each in ("create", "sleep", "synchronize", "destroy")}
        self.assertEqual(set(binding.CALLS), named | threads)
        found = {name: one for name, one in binding.CONSTANTS.items() if re.match("LULL_(OK|TIMED_OUT|ERROR_)", name)}
        self.assertEqual(found, {f"LULL_{one.name}": one.value for one in lull.Status})
        for name, value in (("NEXT", binding.NEXT_STEP), ("SKIP", binding.SKIP_STEP)):
            self.assertRegex(header, rf"#define LULL_{name}_STEP +\(?UINT64_MAX{' - 1' * (value != 2**64 - 1)}\)?[ \n]")
        self.assertEqual(
            binding.CALLS["lull_pool_allocate"], (ctypes.c_void_p, [ctypes.c_ssize_t, ctypes.c_int32, ctypes.c_void_p])
        )

    def test_tasks(self):
        self.assertIn("pagerank", lull.tasks())

    def test_pause_all(self):
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


class CallsOfEachBubble(unittest.TestCase):
    def test_errors_are_told_as_those_of_other_calls(self):
        library = binding.load()
        self.assertEqual(library.open_bubble(0, 0, b"x"), -lull.Status.ERROR_HANDLE)
        self.assertEqual(library.close_bubble(0, 1, 0), lull.Status.ERROR_HANDLE)
        stream = lull.ThreadsStream()
        with lull.Runtime(executor="threads", mode="observe") as side:
            for site in (b"", b"x" * 256):
                with self.subTest(site), self.assertRaisesRegex(lull.ArgumentError, "site must have 1 to 255 bytes"):
                    side.open(site, stream.__index__())
        with self.assertRaisesRegex(lull.Error, "handle"):
            side.open(b"x", stream.__index__())
        stream.close()

    def test_what_no_handle_can_be_raises_and_stops_nothing(self):
        library = binding.load()
        for wrong, raised in (
            ((None, 0, b"x"), TypeError),
            ((-1, 0, b"x"), OverflowError),
            ((1, 2**64, b"x"), OverflowError),
            ((1, 0, "x"), TypeError),
        ):
            with self.subTest(wrong), self.assertRaises(raised):
                library.open_bubble(*wrong)
        with self.assertRaises(TypeError):
            library.close_bubble(1, b"1", 0)
        self.assertEqual(library.open_bubble(1, 0), -lull.Status.ERROR_ARGUMENT)
        self.assertEqual(library.close_bubble(), lull.Status.ERROR_ARGUMENT)


class TheInterpretersLock(unittest.TestCase):
    def test_only_what_enqueues_keeps_it(self):
        keeping = [
            name
            for name in binding.CALLS
            if getattr(binding.load(), name)._flags_ & ctypes.PyDLL._func_flags_ & ~ctypes.CDLL._func_flags_
        ]
        self.assertEqual(sorted(keeping), ["lull_ready", "lull_step"])

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
