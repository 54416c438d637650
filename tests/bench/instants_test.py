# SPDX-License-Identifier: Apache-2.0
"""instants_test.py PROGRAM: bench/instants/ on CPU threads."""

import json
import subprocess
import sys
import unittest

PROGRAM = sys.argv.pop()


def run(*arguments):
    return subprocess.run([PROGRAM, "--executor", "threads", *arguments], capture_output=True, text=True, check=False)


class instants(unittest.TestCase):
    def test_a_task_ends_with_the_bits_of_an_uninterrupted_run(self):
        tasks = {
            "compute:items=4096,rounds=8,fma=2000": (1, 4096 * 8),
            "product:rows=64,columns=256,depth=64,count=32": (1, 32 * 64 * 256 * 2),  # hands chunks back
            "images_unfed:count=10,from=320,to=160": (10, 10 * 160 * 90 * 3),
        }
        for task, (arrays, array_bytes) in tasks.items():
            with self.subTest(task=task):
                done = run("--task", task, "--instants", "10", "--shortest", "50us", "--longest", "2ms", "--seed", "3")
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                found = json.loads(done.stdout)
                as_asked = {
                    "name": "random_instants",
                    "task": task,
                    "executor": "threads",
                    "shortest": "50us",
                    "longest": "2ms",
                    "seed": 3,
                }
                self.assertEqual({key: found[key] for key in as_asked}, as_asked)
                self.assertGreaterEqual(found["instants"], 10)
                self.assertGreaterEqual(found["bubbles"], found["instants"])
                self.assertGreaterEqual(found["runs"], 1)
                self.assertEqual(found["handed_back"] > 0, task.startswith("product"))
                self.assertIs(found["bit_equal"], True)
                self.assertEqual((found["arrays"], found["array_bytes"]), (arrays, array_bytes))
                self.assertTrue(found["verified"])

    def test_what_cannot_be_done_is_said(self):
        cases = [
            (["--task", "nothing"], "unknown task"),
            (["--task", "compute", "--longest", "5"], '--longest: "5" is not a duration'),
            (["--task", "compute:items=1,rounds=1", "--shortest", "5ms", "--longest", "1ms"], "bubbles of 5ms to 1ms"),
            (
                ["--task", "compute:items=1,rounds=1", "--instants", "1000000000", "--at-most", "100ms"],
                "within 100ms: ask for fewer",
            ),
            ([], "--task is required"),
        ]
        for arguments, expected in cases:
            with self.subTest(arguments=arguments):
                done = run(*arguments)
                self.assertIn(expected, done.stderr)
                self.assertEqual(done.stdout, "")
                self.assertNotIn(done.returncode, (0, 2))


if __name__ == "__main__":
    unittest.main()
