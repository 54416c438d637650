# SPDX-License-Identifier: Apache-2.0
"""command_line_test.py: the laboratory's command line, without a GPU and without PyTorch: sections, options, and
what is said where nothing can be measured."""

import contextlib
import io
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

from stand_ins import ROOT, command_line

from lab import machine, section
from lab.treatment import ALONE, Treatment, abba, alternate, in_turns


def lab(*arguments):
    command = [sys.executable, "-B", ROOT / "bench/lab", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)


class command_lines(unittest.TestCase):
    def test_the_list_of_sections_is_that_of_the_documents(self):
        self.assertEqual(lab("list").stdout, (ROOT / "bench/lab/SECTIONS.md").read_text(encoding="utf-8"))
        for each in section.load().values():
            with self.subTest(each.name):
                self.assertTrue(each.text and each.seconds > 0)
                self.assertRegex(each.needs, r"^([124] gpus?( and PyTorch)?|an idle machine)$")

    def test_a_record_is_of_a_section_of_its_name(self):
        no_longer = {"early_close", "pending", "rest_before_close", "setup", "step_compute", "step_tasks"}
        no_longer |= {"connections", "killed_rank", "our_threads", "pagerank_cpu", "ranks", "settling"}
        no_longer |= {"chunk_by_commit", "stage_kernels", "torch_schedules", "two_streams"}
        for path in (ROOT / "docs/results").glob("*.json"):
            name = json.loads(path.read_text(encoding="utf-8"))["section"]
            with self.subTest(path.name):
                names = {each.replace(":", "_") for each in section.load()}
                self.assertIn(path.stem, names | no_longer)
                self.assertEqual(name.replace(":", "_"), path.stem)

    def test_a_section_that_is_added_is_measured_listed_and_recorded(self):
        with mock.patch.dict(section.load()), tempfile.TemporaryDirectory() as there:
            folder = f"{there}/not/there/yet"

            @section.section("mine", "us", needs="2 gpus", seconds=5, each=("a", "b"))
            def mine(build, name):
                """Nothing but a row."""
                return [{"name": name, "first": {"x": len(build)}, "second": {"x": 4}}]

            self.assertIn("| `mine:` `a`, `b` | us | 2 gpus | 5 s | Nothing but a row. |", section.table())
            with contextlib.redirect_stdout(io.StringIO()) as said:
                for within in ("4", "6"):
                    command_line.main(["measure", "--build=abc", f"--results={folder}", "--within", within, "mine:b"])
            self.assertIn("mine:b: NOT RUN: it takes 5 s, and", said.getvalue().splitlines()[0])
            made = json.loads(pathlib.Path(folder, "mine_b.json").read_text(encoding="utf-8"))
            self.assertEqual((made["section"], made["unit"], made["rows"][0]["first"]), ("mine:b", "us", {"x": 3}))
            self.assertLessEqual({"gpu", "driver", "torch"}, set(made["machine"]))
            with (
                mock.patch.object(machine, "query", lambda _: (["one"], [])),
                mock.patch.dict(section.SECTIONS, clear=True, **{"mine:a": section.SECTIONS["mine:a"]}),
                mock.patch.object(section, "load", lambda: section.SECTIONS),
                contextlib.redirect_stdout(io.StringIO()) as said,
            ):
                command_line.main(["measure", f"--results={folder}"])
            self.assertEqual(said.getvalue(), "mine:a: NOT RUN: it needs 2 gpus, there are 1 GPUs\n")

    def test_help_needs_no_torch(self):
        for name in command_line.PROGRAMS:
            with self.subTest(name), self.assertRaises(SystemExit) as ended:
                with contextlib.redirect_stdout(io.StringIO()) as said:
                    command_line.main([name, "--help"])
            self.assertEqual(ended.exception.code, 0)
            self.assertIn("usage: python3 bench/lab", said.getvalue())

    def test_wrong_usage_is_refused(self):
        for wrong in (
            ["measure", "no_such_section"],
            ["stage", "--foreign=maybe"],
            ["stage", "--connections=33"],
            ["governed", "--bound=2"],
            ["unreached", "--steps=100"],
            ["reporting", "--pairs=3"],
            ["memory", "--reserve=0"],
            ["mlp", "--sizes=64x7"],
            ["pipeline", "--scopes=1"],
            ["pipeline", "--schedules=no"],
            ["hub_graph"],
            ["no_such_program"],
        ):
            with self.subTest(wrong), self.assertRaises(SystemExit) as ended:
                with contextlib.redirect_stderr(io.StringIO()):
                    command_line.parse(wrong)
            self.assertEqual(ended.exception.code, 2)

    def test_options_are_read_as_their_defaults_are(self):
        given = command_line.parse(["stage", "--tasks=a+b", "--armed-ahead=default,0.5", "--width=256"])
        self.assertEqual((given.tasks, given.armed_ahead, given.width), (["a", "b"], [None, 0.5], 256))
        self.assertEqual((given.foreign, given.seconds, given.layers), ("off", 0.0, 6))
        given = command_line.parse(["side_check", "--steps=bert=3,vgg19=4"])
        self.assertEqual(given.steps, [("bert", 3), ("vgg19", 4)])

    def test_where_no_gpu_is_nothing_is_measured(self):
        done = lab("stage", "--build", "nowhere")
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertRegex(done.stderr, "^lab stage: NOT RUN: (No module named 'torch'|torch finds no GPU)\n$")


class treatments(unittest.TestCase):
    def test_they_take_turns_until_the_time_is_over(self):
        orders = []
        over = iter((False, False, True))
        found = alternate(lambda order: orders.append(order) or range(4), abba("a", "b"), 0, lambda _: next(over))
        self.assertEqual(orders, [("a", "b", "b", "a")] * 3)
        self.assertEqual(found, {"a": [0, 3] * 3, "b": [1, 2] * 3})

    def test_pairs_are_of_neighbours(self):
        class Trainer:
            def groups(self, treatments):
                return range(len(treatments))

        plain, other = in_turns(Trainer(), Treatment("other"))
        self.assertEqual([abs(one - two) for one, two in zip(plain, other)], [1] * 6)
        self.assertEqual((plain[:2], len(abba(ALONE, Treatment("x"), 3))), ([0, 3], 12))


if __name__ == "__main__":
    unittest.main()
