# SPDX-License-Identifier: Apache-2.0
"""test_results_test.py ROOT: tests/run/test_results.py counts what ctest writes, and programs of many GPU tests. It
names those that failed."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(sys.argv.pop())
LISTED = """
add_test(passes sh -c "echo 5 passed, 0 failed, 0 skipped")
add_test(fails sh -c "echo the reason; exit 1")
add_test(skips sh -c "exit 77")
add_test(is_not_there /nowhere/program)
add_test(is_disabled true)
add_test(many sh -c "echo; echo gpu_tests: 3 passed, 0 failed, 4 skipped")
add_test(many_fail sh -c "echo gpu_tests: 3 passed, 2 failed, 1 skipped, 1 not run; exit 1")
add_test(many_skip sh -c "echo gpu_tests: 0 passed, 0 failed, 9 skipped; exit 77")
add_test(breaks sh -c "echo gpu_tests: 3 passed, 0 failed, 0 skipped; exit 1")
set_tests_properties(skips many_skip PROPERTIES SKIP_RETURN_CODE 77)
set_tests_properties(is_disabled PROPERTIES DISABLED TRUE)
"""


class TestResults(unittest.TestCase):
    def count(self, chosen):
        with tempfile.TemporaryDirectory(prefix="lull-") as folder:
            path = pathlib.Path(folder, "results.xml")
            pathlib.Path(folder, "CTestTestfile.cmake").write_text(LISTED, encoding="utf-8")
            run = ["ctest", "--test-dir", folder, "-R", f"^({chosen})$", "--output-junit", path]
            subprocess.run(run, capture_output=True, timeout=60, check=False)
            told = [sys.executable, "-B", ROOT / "tests/run/test_results.py", path]
            done = subprocess.run(told, capture_output=True, text=True, timeout=60, check=True)
        words = done.stdout.split()
        return [int(number) for number in words[:3]], words[3:], done.stderr

    def test_each_kind_of_end(self):
        for chosen, expected in (
            ("passes", [1, 0, 0]),
            ("fails", [1, 1, 0]),
            ("skips", [1, 0, 1]),
            ("is_not_there", [1, 0, 1]),
            ("is_disabled", [1, 0, 1]),
            ("many", [7, 0, 4]),
            ("many_fail", [7, 3, 1]),
            ("many_skip", [9, 0, 9]),
            ("breaks", [1, 1, 0]),
        ):
            self.assertEqual((chosen, self.count(chosen)[0]), (chosen, expected))

    def test_the_sum_and_the_reasons(self):
        found, failed, told = self.count(".*")
        self.assertEqual(found, [29, 5, 17])
        self.assertEqual(failed, ["fails", "many_fail", "breaks"])
        self.assertIn("FAILED: fails\n  the reason", told)
        self.assertIn("slowest: ", told)


if __name__ == "__main__":
    unittest.main()
