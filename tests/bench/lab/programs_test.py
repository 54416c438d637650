# SPDX-License-Identifier: Apache-2.0
"""programs_test.py: the laboratory's programs from begin to end, with stand-ins for torch and lull: which rows they
make, of which treatments. Times that they tell mean nothing."""

import contextlib
import itertools
import pathlib
import sys
import tempfile
import unittest
from unittest import mock

from stand_ins import give_side, run, stand_ins

from lab import models, trainer
from lab.programs import memory, unreached


@contextlib.contextmanager
def trained(events_ms=(4.0, 5.0, 6.0)):
    """A stage whose groups take these times."""
    parts = mock.patch.multiple(trainer, wall_clock_wait=mock.MagicMock(), make_stage=mock.MagicMock())
    with stand_ins() as (torch, lull), parts, mock.patch("time.sleep"):
        times = itertools.cycle(events_ms)
        torch.cuda.Event.return_value.elapsed_time.side_effect = lambda _: next(times)
        yield torch, lull, give_side(lull)


class programs(unittest.TestCase):
    def test_stage_has_a_row_a_plan(self):
        with trained() as (_, lull, side):
            (found,) = run("stage", "--tasks=compute+wait", "--foreign=both", "--scopes=2", "--armed-ahead=0.5")
        asked = [(row["task"], row["armed_ahead_s"], row["foreign"]) for row in found["rows"]]
        self.assertEqual(
            asked, [("compute", 0.5, False), ("compute", 0.5, True), ("wait", 0.5, False), ("wait", 0.5, True)]
        )
        compute, wait = found["rows"][0]["scopes"][0], found["rows"][2]["scopes"][0]
        self.assertEqual((compute["pairs"], compute["items"], wait["pairs"]), (6, 2800, 6))
        self.assertEqual(compute["idle_ms"], 2 * (2 + 6) * 3 * (4.0 + 5.0))
        self.assertAlmostEqual(compute["harvest"], 2800 / (700 / 3) / compute["idle_ms"])
        self.assertEqual(compute["waited_ms_a_bubble"], 0.1)
        lull.Tuning.assert_called_with(armed_ahead=0.5, processors=0)
        self.assertLessEqual({"forward_ms", "backward_ms", "idle_share", "size", "torch"}, set(found))

    def test_replayed_lengths_has_a_row_a_length_and_a_graph_a_scope(self):
        with trained((4.0, 4.0, 5.0)) as (torch, lull, side):
            (found,) = run("replayed_lengths", "--lengths=200,6000", "--scopes=2", "--learning=50")
        self.assertEqual(
            [(row["task"], row["longest_us"]) for row in found["rows"]], [("compute", 200), ("compute", 6000)]
        )
        self.assertEqual(torch.cuda.CUDAGraph.call_count, 2 * (1 + 2))
        short, long = (row["scopes"][0] for row in found["rows"])
        self.assertAlmostEqual(long["idle_ms"], 6 * 2 * 9.0)  # groups of two iterations, each 6 + 3 ms idle
        self.assertAlmostEqual(short["idle_ms"], 6 * 19 * 0.3)
        self.assertAlmostEqual(long["harvest"], 700 / (700 / 3) / long["idle_ms"])
        self.assertEqual(side.step.call_count, 2 * ((3 + 6) * 19 + (25 + 6) * 2))
        self.assertEqual(short["steps"], {"chance": 0.5})

    def test_a_stage_whose_jobs_ended_is_not_run(self):
        with trained() as (_, lull, side), self.assertRaises(SystemExit) as ended:
            side.jobs[0].state = "finished"
            run("stage", "--scopes=1")
        self.assertIn("lab stage: NOT RUN: the jobs ended before the measurement did", ended.exception.code)
        with trained() as (_, lull, side), self.assertRaises(SystemExit) as ended:
            side.mode, side.why_off = "off", "no driver"
            run("governed")
        self.assertEqual(ended.exception.code, "lab governed: NOT RUN: Lull is off: no driver")

    def test_governed_turns_until_the_steps_are_done(self):
        with trained((5.0,)) as (_, lull, side):
            (found,) = run("governed", "--steps=400", "--bound=0.01", "--task=streaming")
            self.assertEqual(len(lull.harvest.call_args.kwargs["tasks"]), 8)
            ((row,), calls) = found["rows"], side.step.call_count
        self.assertEqual((row["turns"], row["steps"], row["bound_percent"]), (28, 448, 1.0))
        self.assertEqual((calls, row["chances"]), (28 * 16, [0.5] * 7))
        self.assertAlmostEqual(row["slowdown_percent"], 0)
        with trained((5.0,)) as (_, lull, side):
            (found,) = run("governed", "--steps=384", "--task=step:sleeps")
            self.assertEqual((lull.harvest.call_args.kwargs["tasks"], side.submit.call_count), ([], 1))

    def test_what_a_bound_costs_is_of_scopes_without(self):
        with trained() as (_, lull, side):
            ((row,),) = (each["rows"] for each in run("unreached", "--supposed=0.005"))
        bounds = [call.kwargs["max_slowdown"] for call in lull.harvest.call_args_list]
        self.assertEqual(bounds, [0, 0.02, 0])
        self.assertEqual(side.step.call_count, 2 * (unreached.LEARNING + unreached.FREE) + 960)
        self.assertEqual((row["items_free"], row["items_behind"]), ([700 / 96] * 2, 700 / 768))
        self.assertAlmostEqual(row["kept"], 1400 / 960 / (700 / 96))

    def test_reports_are_asked_for_in_every_other_scope(self):
        with trained() as (_, lull, side):
            (found,) = run("reporting", "--pairs=4", "--groups=3")
            self.assertEqual((found["rows"][0]["pairs"], len(found["rows"][0]["gpu"])), (4, 4))
            asked = [call.kwargs["report"] is not None for call in lull.harvest.call_args_list[-8:]]
            self.assertEqual(asked, [False, True, True, False] * 2)

    def test_memory_counts_what_failed_and_who_made_way(self):
        with (
            trained() as (torch, lull, side),
            mock.patch.object(memory, "model", lambda _: (None, (mock.MagicMock(),))),
        ):
            torch.cuda.mem_get_info.return_value = (64 << 30, 80 << 30)
            torch.OutOfMemoryError = type("OutOfMemoryError", (Exception,), {})
            torch.empty.side_effect = itertools.cycle([mock.MagicMock(), torch.OutOfMemoryError()])
            job = side.submit.return_value
            job.wait.return_value, job.outputs.return_value = True, []
            states = itertools.cycle(["placed", "evicted", "evicted"])
            type(job).state = mock.PropertyMock(side_effect=lambda: next(states))
            with mock.patch("time.monotonic", itertools.count(step=0.1).__next__):
                (found,) = run("memory", "--events=9", "--hook")
        self.assertEqual((found["events"], found["evictions"], found["is_same"]), (9, 3, 1))
        self.assertGreater(found["out_of_memory"], 0)
        self.assertAlmostEqual(found["min_free_gigabytes"], (64 << 30) / 1e9)
        lull.Tuning.assert_called_with(hook_allocator=True)

    def test_each_row_of_a_comparison_is_measured(self):
        ours = (
            "nothing",
            "lull",
            "lull_without_hint",
            "lull_functor",
            "low_priority",
            "host_gated_segment",
            "green_split",
        )
        with trained() as (torch, lull, side), mock.patch("lab.compare.rows.Library") as library:
            self.enterContext(mock.patch.object(models, "vision", lambda _: (mock.MagicMock(), mock.MagicMock())))
            torch.cuda.mem_get_info.return_value = (64 << 30, 80 << 30)
            made = library.return_value
            made.green_stream.return_value.__enter__.return_value = (1, 32)
            made.pieces.return_value.__enter__.return_value = mock.MagicMock(count=2, times_ms=[0.5, 0.25])
            runner = made.runner.return_value.__enter__.return_value
            runner.steps.side_effect, runner.drains_us.return_value = itertools.count(step=4), [5.0, 6.0]
            found = run("compare", f"--rows={','.join((*ours, 'mps'))}", "--rounds=2", "--seconds=0", "--limit=60")
        rows = {row["row"]: row for row in found if "scope" not in row}
        self.assertEqual(list(rows), [*ours, "mps"])
        self.assertEqual([row.get("scopes_run") for row in rows.values()], [2] * 7 + [None])
        self.assertIn("run this program with --server mps", rows["mps"]["not_run"])
        self.assertEqual(rows["host_gated_segment"]["drain_us"]["count"], 4)
        self.assertEqual(
            (rows["green_split"]["no_drain"], rows["lull"]["drain_bound_us"]["count"]),
            ("does not stop at the close", 200),
        )
        self.assertGreater(rows["lull_functor"]["harvest"], 0)

    def test_the_perceptrons_are_timed_in_pairs(self):
        with tempfile.TemporaryDirectory() as folder, trained((480.0,)) as (torch, _, __):
            program = pathlib.Path(folder, "bin/bench/mlp_step")
            program.parent.mkdir(parents=True)
            program.write_text(
                f"#!{sys.executable}\nimport sys\n"
                'if len(sys.argv) == 1: print(\'{"what": "empty", "items": 4, "us": 2, "us_low": 1, "us_high": 3}\')\n'
                'for _ in sys.stdin if sys.argv[1:] else (): print(\'{"step_us": 500, "last_loss": 2}\', flush=True)\n'
            )
            program.chmod(0o755)
            torch.stack.return_value.__len__.return_value = 64
            torch.compile.side_effect = RuntimeError("no compiler")
            torch.zeros.return_value.mean.return_value.item.return_value = 3
            (found,) = run("mlp", f"--build={folder}", "--pairs=6", "--sizes=256x64,32x512")
            (gone,) = run("mlp", f"--build={folder}/none", "--pairs=6", "--sizes=256x64")
        step, other, empty = found["rows"]
        self.assertEqual((step["what"], step["hidden"], step["batch"], other["batch"]), ("step", 256, 64, 512))
        self.assertEqual((step["first"]["lull_step_us"], step["first"]["torch_by_lull"]), (500, 2))
        self.assertEqual((step["first"]["lull_last_loss"], step["first"]["torch_last_loss"]), (2, 3))
        self.assertEqual(step["interval"]["second"]["torch_step_us"], [1000, 1000])
        self.assertIn("no compiler", step["not_run"]["compiled"])
        self.assertEqual((empty["items"], empty["interval"]["first"]), (4, {"us": [1, 3]}))
        self.assertIn("No such file", gone["rows"][0]["first"]["not_run"])
        self.assertIn("No such file", gone["rows"][1]["first"]["not_run"])


if __name__ == "__main__":
    unittest.main()
