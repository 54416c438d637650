# SPDX-License-Identifier: Apache-2.0
"""ranks_test.py ROOT: scripts/ranks.py starts programs once a rank, tells how they ended, and leaves none behind."""

import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest

ROOT = pathlib.Path(sys.argv.pop())
PATIENCE = 30  # seconds; against hangs only


class Ranks(unittest.TestCase):
    def start(self, code, *options):
        command = [
            sys.executable,
            "-B",
            ROOT / "scripts/ranks.py",
            *options,
            "2",
            sys.executable,
            "-B",
            "-c",
            f"import os, sys, time\n{code}",
        ]
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def run_all(self, code, *options):
        done = self.start(code, *options)
        out, error = done.communicate(timeout=PATIENCE)
        return done.returncode, out, error

    def test_each_learns_its_rank(self):
        says = 'os.environ["RANK"] + "/" + os.environ["WORLD_SIZE"] + "\\n"'
        code, out, _ = self.run_all(f"os.write(1, ({says}).encode())")  # in one piece, whatever the other writes
        self.assertEqual((code, sorted(out.split())), (0, ["0/2", "1/2"]))

    def test_the_first_that_fails_ends_the_other(self):
        code, _, error = self.run_all('sys.exit(7) if os.environ["RANK"] == "1" else time.sleep(600)')
        self.assertEqual(code, 7)
        self.assertIn("rank 1 ended with 7", error)

    def test_a_signal_is_an_exit_code(self):
        self.assertEqual(self.run_all("os.abort()")[0], 128 + signal.SIGABRT)

    def test_the_time_is_over(self):
        code, _, error = self.run_all("time.sleep(600)", "--limit", "0.2")
        self.assertEqual(code, 124)
        self.assertIn("ranks 0, 1 not done within 0.2 s", error)

    def test_a_program_that_is_not_there(self):
        done = subprocess.run(
            [sys.executable, "-B", ROOT / "scripts/ranks.py", "2", "/nowhere/program"],
            capture_output=True,
            text=True,
            check=False,
        )
        self.assertEqual(done.returncode, 127)
        self.assertIn("/nowhere/program", done.stderr)

    def test_ended_it_leaves_no_rank_behind(self):
        with tempfile.TemporaryDirectory() as folder:
            started = self.start(
                f'open({folder!r} + "/" + os.environ["RANK"], "w").write(str(os.getpid())); time.sleep(600)'
            )
            give_up = time.monotonic() + PATIENCE
            files = [pathlib.Path(folder, rank) for rank in "01"]
            while not all(file.is_file() and file.read_text() for file in files) and time.monotonic() < give_up:
                time.sleep(0.02)
            started.send_signal(signal.SIGTERM)
            started.communicate(timeout=PATIENCE)
            self.assertEqual(started.returncode, 128 + signal.SIGTERM)
            for file in files:
                with self.assertRaises(ProcessLookupError):
                    os.kill(int(file.read_text()), 0)


if __name__ == "__main__":
    unittest.main()
