# SPDX-License-Identifier: Apache-2.0
"""side_work_test.py: what the laboratory's programs about captured steps do without a GPU: the rows of `compare`,
its options, and its talk with other processes; what `side_check` takes for a failure; and the rows of `side_host` and
`side_steps`."""

import contextlib
import io
import itertools
import os
import pathlib
import sys
import tempfile
import threading
import unittest
from unittest import mock

from stand_ins import CLOSED, CUT, ROOT, command_line, run, stand_ins

from lab import models
from lab.compare import process, rows, servers
from lab.programs import compare, side_check, side_host, side_steps

OTHER = """
import json, sys
say = lambda what: print(json.dumps(what), flush=True)
print("a library says something", flush=True)
say({"plain_ms": 2.0})
for line in sys.stdin:
    say({"started": True} if line == "start\\n" else {"steps": 7, "cpu_ms": 1.5})
"""
CONTROL = """#!/bin/sh
echo "$*:$(cat)" >> {log}
exit {status}
"""


def scope(percent, **more):
    return {"row": "r", "slowdown_percent": percent, "step_ms_none": 100.0, "step_ms_worker": 100.0 + percent, **more}


class comparisons(unittest.TestCase):
    def test_a_row_is_of_all_scopes_that_ran(self):
        scopes = [scope(1, memory_mib=10.0, harvest=0.5), scope(3, memory_mib=20.0, harvest=0.7)]
        row = compare.whole_row("r", scopes, [1.0, 2.0, 9.0])
        self.assertEqual((row["memory_mib"], row["scopes_run"], row["worst_slowdown_percent"]), (15.0, 2, 3))
        self.assertAlmostEqual(row["harvest"], 0.6)
        self.assertEqual(row["drain_us"]["max"], 9.0)
        self.assertNotIn("failed", row)
        self.assertAlmostEqual(row["slowdown_percent"], 2, places=2)

    def test_a_row_that_failed_says_why(self):
        failed = {"row": "r", "not_run": "RuntimeError: no\nGPU"}
        self.assertEqual(compare.whole_row("r", [failed], []), failed)
        later = compare.whole_row("r", [scope(1), failed], [])
        self.assertEqual((later["scopes_run"], later["failed"]), (1, failed["not_run"]))

    def test_what_a_rows_scope_costs_where_its_side_work_is_off_is_told(self):
        def row(name, *steps_ms):
            scopes = [scope(0.5) | {"step_ms_none": each, "step_ms_worker": each} for each in steps_ms]
            return compare.whole_row(name, scopes, [])

        nothing = row("nothing", 100.0, 110.0, 120.0)
        found = compare.plain_steps(row("r", 102.0, 112.2, 122.4), nothing)  # of the same rounds
        self.assertAlmostEqual(found["plain_step_percent"], 2)
        self.assertAlmostEqual(found["plain_step_percent_low"], 2)
        self.assertEqual(list(compare.plain_steps(row("r", 103.0), nothing)), ["plain_step_percent"])
        for other in (nothing, {"row": "r", "not_run": "no"}):
            self.assertEqual(compare.plain_steps(other, nothing), {})
        self.assertEqual(compare.plain_steps(row("r", 1.0), {}), {})

    def test_which_rows_a_run_has(self):
        for arguments, expected in (
            ((), list(rows.ROWS)),
            (("--rows=nothing,lull",), ["nothing", "lull"]),
        ):
            with stand_ins(), mock.patch.object(compare, "compare") as compared:
                command_line.main(["compare", "--limit=100", *arguments])
            self.assertEqual(compared.call_args.args[0].rows, expected)
        with mock.patch.object(servers, "again_under", side_effect=lambda given: given.rows):
            for arguments in (["--server=mps"], ["--xsched=/b"]):
                with self.assertRaises(SystemExit) as ended:
                    command_line.main(["compare", *arguments])
                self.assertEqual(ended.exception.code[0], "nothing")
        for wrong in (["--rows=no"], ["--server=no"], ["--rounds=0"], ["--limit=x"], ["--no=1"]):
            with self.subTest(wrong), self.assertRaises(SystemExit), contextlib.redirect_stderr(io.StringIO()):
                command_line.parse(["compare", *wrong])

    def test_drains_that_begin_when_a_close_is_seen_are_told_as_bounds(self):
        bounds = [
            {"count": 2, "p50": 30.0, "p99": 90.0, "max": 95.0},
            {"count": 3, "p50": 40.0, "p99": 50.0, "max": 60.0},
        ]
        scopes = [scope(1, drain_bound_us=bound) for bound in bounds]
        row = compare.whole_row("lull", scopes, [])
        self.assertEqual(row["drain_bound_us"], {"count": 5, "p50": 40.0, "p99": 90.0, "max": 95.0})
        none = compare.whole_row("lull", [scope(1, drain_bound_us={"count": 0})], [])
        self.assertEqual(none["drain_bound_us"], {"count": 0})

    def test_lulls_rows_measure_no_drain_from_a_close_that_was_seen_late(self):
        side = mock.MagicMock()
        side.counts.return_value = {"opened": 1}
        job = mock.MagicMock()
        job.result.return_value = f"{CUT}\n{CLOSED}\n"
        with (
            stand_ins(),
            mock.patch.multiple(
                rows,
                harvest=lambda *_, **__: contextlib.nullcontext(side),
                submitted=lambda *_, **__: job,
                report_of=lambda _: {"gates": []},
                after_sight_us=lambda _: [3.0],
                free_mib=lambda: 0.0,
            ),
        ):
            shared = mock.MagicMock()
            shared.in_bubbles.return_value = scope(1)
            found = rows.lull_step(shared)
        self.assertNotIn("drains_us", found)
        self.assertEqual((found["drain_bound_us"]["p99"], found["after_sight_us"]["max"]), (450.0, 3.0))
        self.assertEqual(found["lease_exits"], 0)

    def test_a_check_that_shows_nothing_fails(self):
        bits = {"same_bits": True, "plain_runs_have_the_same_bits": True}
        well = {"finished": True, "closed_on_a_piece": 1000, **bits}
        cases = (
            ({}, []),
            ({"closed_on_a_piece": 0}, ["0 of 1000 bubbles closed on a piece: raise --steps, or --seconds"]),
            ({"finished": False}, ["its steps did not end: raise --seconds"]),
            ({"same_bits": False}, ["the run in bubbles left other bits than plain replays"]),
            (
                {"same_bits": False, "plain_runs_have_the_same_bits": False},
                ["two plain runs differ, so the bits of the run in bubbles say nothing"],
            ),
        )
        for changed, expected in cases:
            with self.subTest(changed):
                self.assertEqual(side_check.failures({**well, **changed}, 1000), expected)
        row = {"model": "bert", **well, "closed_on_a_piece": 7}
        for wanted, failures in ((7, []), (8, ["bert: 7 of 8 bubbles closed on a piece: raise --steps, or --seconds"])):
            with stand_ins(), mock.patch.object(side_check, "check", lambda *_: row):
                self.assertEqual(side_check.measure("b", wanted, (("bert", 1),))["failures"], failures)
        with (
            stand_ins(),
            mock.patch.object(side_check, "check", lambda *_: row),
            self.assertRaises(SystemExit) as ended,
        ):
            run("side_check", "--steps=bert=1", "--closes=8")
        self.assertIn("bert: 7 of 8", ended.exception.code)

    def test_a_check_counts_closes_and_does_not_take_an_unknown_text_for_none(self):
        job = mock.MagicMock()
        with (
            stand_ins(),
            mock.patch.object(side_check, "is_over", lambda *_: False),
            mock.patch.object(side_check, "BATCH", 0),
        ):
            job.result.side_effect = [f"{CUT}\nno bubble closed while it ran\n", f"{CUT}\n{CLOSED}\n"]
            self.assertEqual(side_check.cut_at_random(mock.MagicMock(), job, 100, None, 10), 100)
            self.assertEqual(job.result.call_count, 2)
            job.result.side_effect = [f"{CUT}\n"]
            with self.assertRaisesRegex(ValueError, "does not say"):
                side_check.cut_at_random(mock.MagicMock(), job, 100, None, 10)

    def test_a_step_for_few_sms_is_captured_on_a_thread_that_knows_no_plans(self):
        threads = []
        with stand_ins() as (torch, _):
            step, optimizer, stream = lambda: threads.append(threading.get_ident()), mock.MagicMock(), mock.MagicMock()
            for few_sms in (None, stream):
                threads.clear()
                with rows.Comparison.captured(mock.MagicMock(step=step, state=(None, optimizer)), few_sms) as graph:
                    self.assertEqual(len(set(threads)), 1)
                    self.assertEqual(threads[0] == threading.get_ident(), few_sms is None)
                    self.assertEqual(len(threads), models.WARM_UPS + 1)
                    graph.capture_end.assert_called_once_with()
                multithreading = torch.autograd.set_multithreading_enabled
                multithreading.assert_called_with(False)
                graph.reset.assert_called_once_with()
                graph.reset_mock()

            def failing():
                raise RuntimeError("cuDNN has no plan")

            with self.assertRaisesRegex(RuntimeError, "no plan"), models.captured(failing, optimizer, stream, True):
                pass

    def test_a_side_step_has_no_outputs_and_no_cache_of_weights(self):
        with stand_ins() as (torch, _), mock.patch.object(models, "vision", lambda _: [mock.MagicMock()] * 2):
            step, _ = models.step_of("resnet18")
            self.assertIsNone(step())
            self.assertIs(torch.autocast.call_args.kwargs["cache_enabled"], False)
        for example in ("12_resnet", "13_bert", "14_efficientnet"):
            said = (ROOT / f"docs/examples/{example}_in_bubbles.py").read_text()
            self.assertEqual(said.count("torch.autocast("), said.count("cache_enabled=False"), example)

    def test_free_memory_is_read_when_all_that_is_given_back_is_free(self):
        with stand_ins() as (torch, _):
            cuda = torch.cuda
            cuda.mem_get_info.return_value = (3 << 20, 80 << 30)
            self.assertEqual(rows.free_mib(), 3)
            calls = ["synchronize", "empty_cache", "synchronize", "mem_get_info"]
            self.assertEqual([name for name, *_ in cuda.mock_calls], calls)
            shared = mock.MagicMock()
            with (
                mock.patch.object(rows, "free_mib", lambda: 0.0),
                mock.patch.object(rows, "harvest", side_effect=RuntimeError("Lull is off")),
                self.assertRaisesRegex(RuntimeError, "is off"),
            ):
                rows.lull_step(shared)
            shared.state[1].zero_grad.assert_called_once_with(set_to_none=True)

    def test_steps_that_are_replayed_later_keep_their_memory(self):
        with stand_ins() as (_, lull):
            job = mock.MagicMock()
            self.assertIs(models.is_over(job, 3), lull.Job.wait.return_value)
            lull.Job.wait.assert_called_once_with(job, 3)
            job.wait.assert_not_called()

    def test_what_a_step_costs_a_segment(self):
        with stand_ins() as (_, lull):
            side, job = mock.MagicMock(mode="on"), mock.MagicMock()
            side.submit.return_value, job.result.return_value = job, f"{CUT}\n{CLOSED}\n"
            lull.harvest.side_effect = lambda **_: contextlib.nullcontext(side)
            with mock.patch.multiple(
                side_steps,
                plain_ms=lambda *_: 4.0,
                in_a_bubble_ms=lambda *_: 4.1,
                in_gaps=lambda *_: 0.2,
                is_over=lambda *_: True,
            ):
                row = side_steps.alone("a", None, (), 2, models.submitted, 1, [3.5])
        self.assertAlmostEqual(row["longer_us_a_segment"][0], 50)  # of two
        self.assertAlmostEqual(row["longer_percent"][0], 2.5)
        self.assertEqual((row["segments"], row["share_in_gaps"]), (2, {"3.5 ms": 0.8}))

    def test_one_side_step_at_a_time_is_in_a_trainers_bubbles(self):
        running, seen = set(), []

        def submit(asked, name):
            job = mock.MagicMock()
            job.result.return_value = f"{CUT}\n{CLOSED}\n"
            job.rounds.side_effect = itertools.count(step=10)
            running.add(name)
            job.pause.side_effect = lambda: running.discard(name)
            job.resume.side_effect = lambda: running.add(name)
            return job

        def in_turns(*_):
            seen.append("".join(running))
            return [100.0, 101.0], [102.0, 102.0]

        with stand_ins() as (_, lull):
            side = mock.MagicMock(mode="on")
            side.submit.side_effect, side.counts.return_value = submit, {}
            lull.harvest.side_effect = lambda **_: contextlib.nullcontext(side)
            work = ({"items": 70 * at, "lease_exits": 0} for at in itertools.count())  # ten steps of seven nodes
            told = mock.MagicMock()
            told.side_effect = lambda _: {"gates": [{"sites": [{"site": "a", "bubbles": 1, "side_work": next(work)}]}]}
            trainer = mock.MagicMock(**{"return_value.idle_ms": 50})
            with (
                mock.patch.multiple(side_steps, report_of=told, in_turns=in_turns, Stage=trainer),
                mock.patch.object(side_steps, "warm_up") as pauses,
                mock.patch.multiple(side_steps, step_of=lambda _: (None, ()), plain_ms=lambda *_: 4.0),
            ):
                found = run("side_steps", "--models=a,b,c", "--scopes=3")[0]["rows"]
        self.assertEqual(seen, list("abcbcacab"))
        self.assertEqual(
            [(row["model"], len(row["scopes"]), row["reserved_groups"]) for row in found], [(x, 3, 2) for x in "abc"]
        )
        self.assertAlmostEqual(found[2]["share"], 10 * 4 / (2 * 2 * 50))
        groups = [len(call.args[0]) for call in trainer.return_value.groups.call_args_list]
        self.assertEqual((groups, pauses.call_count), (3 * [models.LEARNING_GROUPS], 9))
        self.assertAlmostEqual(found[2]["slowdown_percent"], 100 * (102 / (100 * 101) ** 0.5 - 1))
        self.assertEqual(found[0]["scopes"][0]["closed_on_a_piece"], 0)

    def test_what_side_steps_cost_the_host_is_told_in_a_row_each(self):
        host = side_host
        with stand_ins() as (torch, lull):
            side = mock.MagicMock(mode="on")
            job = side.submit.return_value
            job.result.return_value = f"{CUT}\n{CLOSED}\n"
            job.rounds.side_effect = itertools.count(step=10)
            lull.harvest.side_effect = lambda **_: contextlib.nullcontext(side)
            torch.cuda.Event.return_value.elapsed_time.side_effect = itertools.cycle([0.030, 0.031, 0.050])
            told = []
            with (
                mock.patch.multiple(host, wall_clock_wait=mock.MagicMock(), BUSY=10),
                mock.patch.multiple(host, stream_of=mock.MagicMock(), step_of=lambda _: (None, ())),
            ):
                for opened in (2 * 7 * host.BATCH, 2 * 7 * host.BATCH - 1):
                    side.counts.return_value = {"opened": opened}
                    told += run("side_host", "--turns=2", "--nodes=7", "--seconds=0.01")
        all_opened, one_passed_over = told
        self.assertEqual([row["edges_us"] for row in one_passed_over["rows"][:2]], [None, None])
        found = {row.pop("case"): row for row in all_opened["rows"]}
        names = ["burst/repeating", "burst/random", "calls", "feed/none", "feed/idle", "feed/busy"]
        self.assertEqual(list(found), names)
        for name in names[:2]:
            told = {
                of: found[name][f"{of}_us"]["count"] / host.BATCH
                for of in ("plain", "later", "cold", "edges", "functor")
            }
            self.assertEqual(told, {"plain": 4, "later": 4, "cold": 2, "edges": 4, "functor": 4})
            self.assertAlmostEqual(found[name]["product_us"], 31)
            self.assertAlmostEqual(found[name]["later_us"]["p99"], 19)
        for name in ("open_us", "close_us", "open_us_empty", "close_us_empty"):
            self.assertEqual(found["calls"][name]["count"], 2 * 2 * host.BATCH)
        self.assertEqual((found["calls"]["kernels"], found["calls"]["cut"]), (7, CUT))
        self.assertEqual((found["feed/none"]["batches_a_step"], found["feed/none"]["batch_ms"]), (0, None))
        self.assertGreater(found["feed/busy"]["batches_a_step"], 0)
        self.assertGreater(found["feed/busy"]["batch_ms"], 0)

    def test_another_process_starts_and_stops(self):
        side = process.SideProcess([sys.executable, "-u", "-c", OTHER], {})
        self.assertEqual(side.told, {"plain_ms": 2.0})
        for _ in range(2):
            side.resume()
            side.suspend()
        self.assertEqual((side.steps(), side.done["cpu_ms"]), (14, 3.0))
        side.end()
        with self.assertRaisesRegex(RuntimeError, "has ended"):
            process.SideProcess([sys.executable, "-c", "pass"], {})

    def test_the_server_of_mps_is_told_to_end_whatever_happens(self):
        with tempfile.TemporaryDirectory() as folder:
            log, control = pathlib.Path(folder, "log"), pathlib.Path(folder, "nvidia-cuda-mps-control")
            with mock.patch.dict(os.environ, {"PATH": f"{folder}:{os.environ['PATH']}"}):
                for status in (0, 1):
                    with self.subTest(status=status):
                        log.write_text("")
                        control.write_text(CONTROL.format(log=log, status=status))
                        control.chmod(0o755)
                        with self.assertRaises(RuntimeError), servers.mps_server() as environment:
                            self.assertTrue(os.path.isdir(environment["CUDA_MPS_PIPE_DIRECTORY"]))
                            raise RuntimeError("the program failed")
                        self.assertEqual(log.read_text().split("\n")[-2], ":quit -t 5")


if __name__ == "__main__":
    unittest.main()
