# SPDX-License-Identifier: Apache-2.0
"""record_test.py: the laboratory's sections and records, with programs that stand for the benches."""

import contextlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

from stand_ins import ROOT

from lab import machine, numbers, process, record, section
from lab.programs import governed, hub_graph, unreached
from lab.sections import benches, graphs, pipelines, stages

SECTIONS = section.load()
BENCH = """#!{python}
import json, sys
runs = [
    dict(name="r", run_type="iteration", repetition_index=i, ratio=r, text="x"{error}) for i, r in enumerate({ratios})
]
print(json.dumps(dict(benchmarks=runs + [dict(name="r_mean", run_type="aggregate", ratio=9e9)])))
"""


class records(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.build = pathlib.Path(folder.name)
        (self.build / "bin/bench").mkdir(parents=True)

    def bench(self, ratios, error=""):
        program = self.build / "bin/bench/whole_job"
        program.write_text(BENCH.format(python=sys.executable, ratios=ratios, error=error))
        program.chmod(0o755)

    def test_bounds_that_a_bench_states_become_intervals(self):
        figures, spread = record.split_bounds(
            {"drain_p50": 4, "drain_p50_low": 3, "drain_p50_high": 5, "n": 9, "odd_low": 1}
        )
        self.assertEqual(figures, {"drain_p50": 4, "n": 9, "odd_low": 1})
        self.assertEqual(spread, {"drain_p50": [3, 5]})

    def measure(self, *names):
        command = [sys.executable, "-B", ROOT / "bench/lab", "measure", "--build", self.build, "--results", self.build]
        return subprocess.run([*command, *names], cwd=ROOT, capture_output=True, text=True, check=True).stdout

    def read(self, name):
        return json.loads((self.build / f"{name}.json").read_text())

    def test_repetitions_become_a_median_with_its_interval(self):
        self.bench([5, 1, 9, 3, 7, 2, 8, 4, 6])
        self.measure("whole_job")
        made = self.read("whole_job")
        self.assertLessEqual(
            {"schema", "section", "date", "commit", "machine", "before", "unit", "rows", "after"}, set(made)
        )
        self.assertEqual(len(made["rows"]), len(benches.WHOLE_JOB))
        row = made["rows"][0]
        self.assertEqual((row["first"], row["noise"]), ({"n": 9, "ratio": 5}, {"n": 0, "ratio": 0}))
        self.assertEqual(row["interval"]["second"], {"ratio": [2, 8]})
        self.assertTrue(
            row["command"].startswith("whole_job --benchmark_filter=^whole_job/from:3840/to:1920/iterations:")
        )

    def test_what_cannot_run_says_so_and_replaces_no_figures(self):
        self.assertIn("NOT RUN", self.measure("yield", "harvest", "pagerank"))
        for name in ("yield", "harvest", "pagerank"):
            self.assertIn("No such file", self.read(name)["not_run"])
        self.bench([1, 2])
        self.measure("whole_job")
        self.bench([1, 2], ', error_occurred=True, error_message="pictures differ"')
        self.assertIn("left as it was: pictures differ", self.measure("whole_job"))
        self.assertEqual(self.read("whole_job")["rows"][0]["first"], {"n": 2, "ratio": 1.5})

    def test_a_section_that_takes_longer_than_what_is_left_is_not_begun(self):
        self.bench([1, 2, 3])
        self.measure("whole_job")
        path = self.build / "whole_job.json"
        recorded = json.loads(path.read_text())
        self.assertGreaterEqual(recorded["took_s"], 0)
        path.write_text(json.dumps({**recorded, "took_s": 50}))
        self.assertIn("NOT RUN: it takes 50 s, and", self.measure("whole_job", "--within", "40"))
        self.assertEqual(json.loads(path.read_text())["took_s"], 50)
        self.measure("whole_job", "--within", "60")
        self.assertLess(json.loads(path.read_text())["took_s"], 50)

    def sections(self, done, names, said=lambda _: None):
        """The rows of these sections where every program ends so; nothing runs. `said` is told the commands."""
        with contextlib.ExitStack() as stack:
            for module in (benches, graphs, pipelines, process, record, stages):
                stage = mock.patch.object(module, "shell", lambda command, *_: said(command) or done)
                stack.enter_context(stage)
            stack.enter_context(mock.patch.object(record, "condition", lambda: {}))
            return {name: SECTIONS[name].measure(str(self.build)) for name in names}

    def test_the_rows_of_every_section_say_why_they_are_empty(self):
        failed = subprocess.CompletedProcess([], 1, "", "no GPU")
        for name, rows in self.sections(failed, SECTIONS).items():
            with self.subTest(name):
                self.assertIn("no GPU", record.why_empty({"rows": rows}))

    def test_the_rows_of_side_sections_have_figures(self):
        said = {"rows": [{"model": name, "case": name, "same_bits": True} for name in ("resnet18", "bert")]}
        done = subprocess.CompletedProcess([], 0, json.dumps(said), "")
        names = [name for name in SECTIONS if name.startswith("side_") and not name.startswith("side_compare")]
        for name, rows in self.sections(done, names).items():
            with self.subTest(name):
                self.assertIsNone(record.why_empty({"rows": rows}))
                named = "case" if name == "side_host" else "model"
                counts = {"side_causes": 8, **{f"side_stage:{count}": count for count in (4, 8, 32)}}
                each = [(model, counts.get(name)) for model in ("resnet18", "bert")]
                self.assertEqual([(row[named], row.get("connections")) for row in rows], each)
                self.assertEqual((rows[1]["first"]["same_bits"], named in rows[1]["first"]), (True, False))
        rows[1]["first"] = {"not_run": "no"}  # the others still have figures
        self.assertIsNone(record.why_empty({"rows": rows}))

    def test_of_a_comparison_the_lines_of_rows_are_kept(self):
        said = [{"scope": 0, "row": "lull", "harvest": 1}, {"rounds": 1, "row": "lull", "harvest": 2}]
        lines = "\n".join(map(json.dumps, said))
        names = [name for name in SECTIONS if name.startswith("side_compare:")]
        self.assertEqual(len(names), 3)
        for rows in self.sections(subprocess.CompletedProcess([], 0, lines, ""), names).values():
            self.assertEqual([(row["row"], row["first"]) for row in rows], [("lull", {"rounds": 1, "harvest": 2})])
        for said in (lines.splitlines()[0], "a word", ""):
            for rows in self.sections(subprocess.CompletedProcess([], 0, said, ""), names).values():
                self.assertIn("it printed no rows", record.why_empty({"rows": rows}))

    def test_a_bound_is_judged_by_turns_and_not_by_its_own_estimate(self):
        turn = [100.4] * governed.BOUNDED + [100.0] * governed.PLAIN
        slow = [110.0] * governed.BOUNDED + [100.0] * governed.PLAIN
        found = governed.judged(slow + turn * 29)
        self.assertEqual((found["turns"], found["steps"]), (30, 480))
        self.assertGreater(found["slowdown_percent"], 0.6)
        self.assertAlmostEqual(found["behind_percent"], 0.4)
        self.assertEqual(found["step_ms_none"], 100)

    def test_steps_under_a_bound_are_marked_and_those_without_bubbles_skipped(self):
        side, opened = mock.Mock(), []
        turn = governed.turn_of(side, opened.append)
        self.assertEqual(len(turn), governed.BOUNDED + governed.PLAIN)
        for treatment in turn:
            for name in ("first backward", "cool-down 1"):
                treatment.bubble(name)
        self.assertEqual(side.step.call_count, governed.BOUNDED)
        self.assertEqual(side.skip_step.call_count, governed.PLAIN)
        self.assertEqual(len(opened), 2 * governed.BOUNDED)

    def test_what_is_done_under_a_bound_is_counted_by_marked_steps(self):
        side, items = mock.Mock(), iter((100, 1060))

        class Trainer:
            def groups(self, treatments):
                for treatment in treatments:
                    treatment.bubble("first backward")

        work = {"bubbles": 1, "items": 0, "lease_exits": 0, "waited_ms": 0}

        def report_of(_):
            return {"gates": [{"sites": [{"site": "a", "bubbles": 1, "side_work": {**work, "items": next(items)}}]}]}

        with mock.patch.multiple(unreached, report_of=report_of, torch=mock.Mock()):
            found = unreached.items_a_step(Trainer(), side, mock.Mock(), 96)
        self.assertEqual(found, 10)
        self.assertEqual(side.step.call_count, 2 * unreached.GROUPS_A_CALL)

    def test_a_section_of_so_many_connections_runs_with_them(self):
        done, commands = subprocess.CompletedProcess([], 0, json.dumps({"rows": [{"model": "bert"}]}), ""), []
        self.sections(done, ["side_stage:8"], commands.append)
        self.assertEqual(len(commands), 2)
        for command in commands:
            self.assertEqual(command[0], "env")
            self.assertIn("CUDA_DEVICE_MAX_CONNECTIONS=8", command[: command.index(sys.executable)])

    def test_each_way_that_a_graph_task_was_timed_has_its_bounds(self):
        ways = ("plain_ms", "worker_ms", "textbook_ms", "textbook_top_down_ms")
        said = {f"{way}{end}": at for way in ways for at, end in enumerate(("_low", "", "_high"), start=1)}
        done = subprocess.CompletedProcess([], 0, json.dumps({**said, "textbook_ratio": 0.5}), "")
        for row in self.sections(done, ["graph:bfs"])["graph:bfs"]:
            self.assertEqual(row["interval"]["second"], {way: [1, 3] for way in ways})
            self.assertEqual((row["first"]["textbook_top_down_ms"], row["noise"]["textbook_ratio"]), (2, 0))

    def test_a_name_that_several_benches_answer_to_is_no_figure(self):
        self.bench([1, 2])
        program = self.build / "bin/bench/whole_job"
        program.write_text(program.read_text().replace('name="r"', 'name=f"r{i}"'))
        self.assertEqual(
            record.bench(self.build, "whole_job/")[1],
            {"not_run": "whole_job/ is the name of several benches: r0, r1"},
        )

    def test_two_ranks_are_started_and_the_first_speaks(self):
        program = self.build / "bin/bench/nccl_pipeline"
        program.write_text(
            f"""#!{sys.executable}
import json, os, sys
given = dict(zip(sys.argv[1::2], sys.argv[2::2]))
if given["--schedule"] == "zero_bubble":
    sys.exit("no room" if os.environ["RANK"] == "1" else None)
if os.environ["RANK"] == "0":
    bubbles = dict(ms=40, worked_ms=30, lease_exits=1, items=60)
    rank = dict(none_ms=[10, 10], worker_ms=[10.1, 10.1], steps_with_worker=8, items_per_ms_alone=2, bubbles=bubbles)
    first = dict(rank, bit_equal=given["--schedule"] != "gpipe", repeats=True)
    second, cut = dict(rank, worker_ms=[10.2, 10.2]), dict(rank, items_per_ms_alone=None)
    scopes = [[each] * int(os.environ["WORLD_SIZE"]) for each in (first, second, cut)]
    print(json.dumps(dict(reserved_groups=2, tasks={{task: scopes for task in given["--task"].split(",")}})))
    sys.exit(given["--schedule"] == "gpipe")
"""
        )
        program.chmod(0o755)
        self.measure("nccl:fp32:graph", "nccl:bf16:streams:gpipe")
        rows = self.read("nccl_fp32_graph_1f1b")["rows"]
        self.assertEqual([row["task"] for row in rows], list(pipelines.NCCL_TASKS))
        told = {"scopes": 2, "slowdown_percent": 1, "worst_slowdown_percent": 1, "step_ms_none": 10}
        told |= {"step_ms_worker": 10.1, "lease_exits": 4, "bubble_share": 160 / (32 * 10.1), "worked": 0.75}
        told["harvest"] = 0.75  # of the scope that no lease cut
        self.assertEqual(set(rows[1]["first"]), set(told))
        for key, value in told.items():
            self.assertAlmostEqual(rows[1]["first"][key], value)
        self.assertAlmostEqual(rows[1]["second"]["slowdown_percent"], 2)
        interval = rows[1]["interval"]["first"]["slowdown_percent"]
        self.assertEqual([round(end, 6) for end in interval], [1, 1])
        self.assertEqual(len(rows[1]["ranks"]), 2)
        self.assertIsNone(rows[1]["ranks"][0]["items_per_ms_alone"])  # of the last scope
        self.assertIn("--schedule 1f1b", rows[1]["command"])
        self.assertIn("--dtype fp32", rows[1]["command"])
        self.assertIn("--graph", rows[1]["command"])
        self.assertNotIn("--min-bubble-us", rows[1]["command"])
        self.assertIn("--min-bubble-us 200", self.read("nccl_fp32_graph_1f1b_200us")["rows"][0]["command"])
        self.assertTrue(rows[1]["bit_equal"])
        other = self.read("nccl_bf16_streams_gpipe")["rows"]
        self.assertFalse(other[0]["bit_equal"])
        self.assertNotIn("--graph", other[0]["command"])
        self.assertFalse((self.build / "nccl_bf16_streams_gpipe_200us.json").exists())
        self.assertIn("rank 1 ended with 1", self.read("nccl_fp32_graph_zero_bubble")["not_run"])

    def test_a_run_that_differs_is_an_outcome_and_no_run_is_none(self):
        program = self.build / "bin/bench/random_instants"
        program.write_text(
            f"""#!{sys.executable}
import json, sys
given = dict(zip(sys.argv[1::2], sys.argv[2::2]))
if given["--task"].startswith("mlp"):
    sys.exit("12 of 1000 bubbles were cut within 100s")
equal = not given["--task"].startswith("pagerank")
print(json.dumps(dict(instants=int(given["--instants"]) + int(given["--seed"]), bit_equal=equal)))
sys.exit(None if equal else "array 'rank' differs")
"""
        )
        program.chmod(0o755)
        self.measure("instants")
        rows = {row["task"].split(":")[0]: row for row in self.read("instants")["rows"]}
        self.assertEqual(set(rows), {"pagerank", "mlp", "product", "compute", "streaming", "images_unfed"})
        self.assertEqual(len(self.read("instants")["rows"]), len(benches.INSTANTS))
        self.assertEqual(rows["pagerank"]["first"], {"instants": 501, "bit_equal": False})
        self.assertEqual(rows["compute"]["second"], {"instants": 502, "bit_equal": True})
        self.assertTrue(rows["compute"]["command"].startswith("random_instants --task compute:"))
        self.assertIn("exit 1: 12 of 1000", rows["mlp"]["first"]["not_run"])
        program.unlink()
        self.assertIn("left as it was", self.measure("instants"))

    def test_a_job_is_killed_after_its_checkpoints_and_taken_up(self):
        (self.build / "bin/lull").write_text(
            f"""#!{sys.executable}
import json, pathlib, sys, time
given = dict(zip(sys.argv[1:], sys.argv[2:]))
result = pathlib.Path(given["--task"].partition("out=")[2])
saved = pathlib.Path(given.get("--checkpoint", "-")) / "bfs.safetensors"
steps = int(saved.read_text()) if saved.exists() else 0
if given.get("--checkpoint-every") == "800000us":
    saved.parent.mkdir(exist_ok=True)
    written = saved.with_suffix(".new")
    written.write_text(str(steps + 1))
    written.replace(saved)
    time.sleep(60)
result.write_text("same" if steps in (0, 3) else "other")
pathlib.Path(given["--report"]).write_text(json.dumps(dict(run=dict(seconds=4 - steps))))
"""
        )
        (self.build / "bin/lull").chmod(0o755)
        with mock.patch.dict(graphs.GRAPHS, clear=True, kronecker="kronecker=4"):
            (row,) = graphs.graph_resumed(str(self.build), "bfs", "threads")
        self.assertEqual((row["task"], row["graph"]), ("bfs", "kronecker"))
        self.assertEqual(
            row["second"],
            {"kills": 3, "every_us": 800_000, "whole_s": 4, "after_last_kill_s": 1, "bytes": 4, "bit_equal": True},
        )

    def test_a_section_of_some_graphs_runs_with_them(self):
        done = subprocess.CompletedProcess([], 0, "{}", "")
        self.addCleanup(section.keep_rows, [])
        section.keep_rows(["grid", "many", "uniform"])
        for name, kept in (("bfs", ["uniform", "grid"]), ("graph_sgd", ["many"])):
            (rows,) = self.sections(done, [f"graph_chunks:{name}"]).values()
            self.assertEqual([row["graph"] for row in rows], kept)
        section.keep_rows(["8"])
        self.assertEqual([row["connections"] for row in self.sections(done, ["stage:compute"])["stage:compute"]], [8])

    def test_two_that_make_the_same_graph_both_leave_it_whole(self):
        file, edges, other = self.build / "hub.el", hub_graph.edges, mock.Mock(return_value=1)

        def while_another_does(*given):
            with mock.patch("os.getpid", other), mock.patch.object(hub_graph, "edges", edges):
                hub_graph.write(file, 5, 2, 1)
            yield from edges(*given)

        with mock.patch.object(hub_graph, "edges", while_another_does):
            hub_graph.write(file, 5, 2, 1)
        self.assertEqual(file.read_text(), "".join(edges(5, 2, 1)))
        self.assertEqual(list(self.build.glob("hub.*")), [file])

    def test_each_graph_task_is_measured_on_each_graph(self):
        done, commands = subprocess.CompletedProcess([], 0, "{}", ""), []
        names = [name for name in SECTIONS if name.startswith("graph_") and name != "graph_setup"]
        self.assertEqual([name for name in names if "_once" in name], ["graph_harvest:components_once"])
        for name, rows in self.sections(done, names, commands.append).items():
            kind, _, task = name.partition(":")
            large = ["large"] if kind == "graph_harvest" and task != "graph_sgd" else []
            expected = [*graphs.TASKS[task].inputs, *large]
            self.assertEqual([row["graph"] for row in rows], expected, name)
        asked = {" ".join(command) for command in commands}
        self.assertIn(f"{self.build}/bin/bench/graph_chunks components", asked)
        self.assertIn(f"{self.build}/bin/bench/graph_chunks pagerank:tolerance=1e-30,sweeps=20", asked)
        self.assertTrue(any(f"triangles:graph={self.build}/hub.el,trials=3 --instants 1000" in each for each in asked))

    def test_an_interval_holds_the_median_or_is_not_given(self):
        self.assertIsNone(numbers.median_interval([1] * 5))
        for n, low in ((6, 1), (8, 1), (9, 2), (15, 4), (20, 6), (100, 40)):  # the tables of the sign test
            self.assertEqual(numbers.median_interval(range(1, n + 1)), [low, n + 1 - low], n)

    def test_noise_goes_as_deep_as_the_figures(self):
        first = {"report": {"training": {"ms": 3.5, "ci": [1, 2]}, "verified": True}, "gone": 1}
        second = {"report": {"training": {"ms": 5.0, "ci": [1, 3]}, "verified": True}}
        self.assertEqual(record.difference(first, second), {"report": {"training": {"ms": 1.5}}})
        self.assertIsNone(record.difference({"not_run": "no"}, second))

    def test_a_record_names_the_gpu_that_its_programs_use(self):
        program = self.build / "nvidia-smi"
        program.write_text(
            "#!/bin/sh\ncase $1 in *name*) echo 'first, 1, 700, 1980'; echo 'second, 1, 700, 1755' ;;\n"
            "*) echo '300, 3201, 70, 30'; echo '1500, 3201, 650, 50' ;; esac\n"
        )
        program.chmod(0o755)
        for visible, name, other_w in (("", "first", 650), ("1", "second", 70), ("1,0", "second", 70)):
            with mock.patch.dict(os.environ, PATH=f"{self.build}:{os.environ['PATH']}", CUDA_VISIBLE_DEVICES=visible):
                self.assertEqual(machine.machine()["gpu"], name)
                self.assertEqual(machine.machine()["other_gpus"], 1)
                self.assertEqual(machine.condition()["other_gpus_power_w"], [other_w])


if __name__ == "__main__":
    unittest.main()
