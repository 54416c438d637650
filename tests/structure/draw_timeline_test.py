# SPDX-License-Identifier: Apache-2.0
"""draw_timeline_test.py ROOT: scripts/draw_timeline.py on a trace of three iterations."""

import pathlib
import sys
import unittest
import xml.etree.ElementTree as ET

ROOT = pathlib.Path(sys.argv.pop() if len(sys.argv) > 1 else pathlib.Path(__file__).parents[2]).resolve()
sys.path.insert(0, str(ROOT / "scripts"))
sys.dont_write_bytecode = True
import draw_timeline  # noqa: E402

TRACKS = ("alone", "with side work")
SVG = "{http://www.w3.org/2000/svg}"


def trace(workers, iteration_us=(900.0, 1000.0, 5000.0)):
    """Both kinds alike: training in the first half of an iteration, a bubble in the second, workers inside it."""
    names = [f"{who}: {what}" for who in TRACKS for what in ("iterations", "training", "bubbles")]
    names.append("with side work: workers")
    events = [{"tid": tid, "ph": "M", "name": "thread_name", "args": {"name": name}} for tid, name in enumerate(names)]

    def add(track, name, begin, length):
        events.append({"tid": names.index(track), "ph": "X", "name": name, "ts": begin, "dur": length})

    for who in TRACKS:
        begin = 0.0
        for length in iteration_us:
            half = length / 2
            add(f"{who}: iterations", "iteration", begin, length)
            add(f"{who}: training", "forward 1", begin, half)
            add(f"{who}: bubbles", "first backward", begin + half, half)
            for at, name in enumerate(workers if who == TRACKS[1] else ()):
                add("with side work: workers", name, begin + half + at * half / len(workers), half / len(workers))
            begin += length
    return {"traceEvents": events}


def report(slowdown_pct, ci95_pct):
    training = {"slowdown_pct": slowdown_pct, "ci95_pct": ci95_pct}
    return {"time": "cpu", "executor": "threads", "machine": {"gpu": None}, "training": training}


class timelines(unittest.TestCase):
    def drawn(self, workers=("pagerank",), slowdown=(0.5, [-0.1, 1.1]), **shape):
        return ET.fromstring(draw_timeline.draw(draw_timeline.chosen(trace(workers, **shape), report(*slowdown))))

    def texts(self, picture):
        return [each.text for each in picture.iter(f"{SVG}text")]

    def test_a_slowdown_is_told_where_the_interval_shows_one(self):
        for slowdown, words in (
            ((0.5, [-0.1, 1.1]), "no measurable slowdown of training (95 % interval -0.1 to +1.1 %)"),
            ((2.5, [1.5, 3.5]), "training took 2.5 % longer (95 % interval +1.5 to +3.5 %)"),
            ((-2.5, [-3.5, -1.5]), "training took 2.5 % less (95 % interval -3.5 to -1.5 %)"),
            ((2.5, None), "training +2.5 %"),
        ):
            texts = self.texts(self.drawn(slowdown=slowdown))
            self.assertIn(f"{words}; times of CPU threads", texts)
            self.assertIn("the one of median use of its idle time, 100%", texts[0])

    def test_a_gpu_is_told_by_its_name(self):
        on_gpu = {**report(2.5, None), "time": "gpu", "machine": {"gpu": {"name": "NVIDIA H200", "clocks": {}}}}
        self.assertEqual(draw_timeline.chosen(trace(("pagerank",)), on_gpu)["clock"], "NVIDIA H200")

    def test_the_median_iteration_is_drawn(self):
        last_tick = [text for text in self.texts(self.drawn()) if text.endswith((" ms", " µs"))][-1]
        self.assertEqual(last_tick, "1 ms")

    def test_the_iteration_with_the_median_use_of_its_idle_time_is_drawn(self):
        windows = [{"ts": 1000.0 * at, "dur": 900.0 + at} for at in range(5)]
        bubbles = [{"ts": one["ts"], "dur": 500.0, "name": "idle"} for one in windows]
        used = (500.0, 0.0, 300.0, 100.0, 400.0)
        workers = [{"ts": one["ts"], "dur": length, "name": "work"} for one, length in zip(windows, used)]
        shares = [draw_timeline.used_share(window, bubbles, workers) for window in windows]
        self.assertEqual(shares, [length / 500.0 for length in used])
        self.assertEqual(draw_timeline.median_iteration(windows, shares), 2)

    def test_each_task_has_a_colour_and_a_name(self):
        picture = self.drawn(workers=("pagerank", "mlp", "pagerank"))
        work = [each for each in picture.iter(f"{SVG}rect") if each.get("fill") in draw_timeline.TASKS[:2]]
        self.assertEqual(len(work), 3 + 2)  # bars, and the legend
        self.assertEqual(len({each.get("fill") for each in work}), 2)
        self.assertLess({"pagerank", "mlp", "forward", "backward", "idle"}, set(self.texts(picture)))

    def test_numbers_on_the_axis_keep_apart(self):
        for length in (30.0, 999.0, 1000.0, 1001.0, 123456.0, 4e6):
            picture = self.drawn(iteration_us=(length,))
            ticks = [float(each.get("x")) for each in picture.iter(f"{SVG}text") if each.get("text-anchor") == "middle"]
            self.assertGreaterEqual(len(ticks), 3, length)
            self.assertGreater(min(after - before for before, after in zip(ticks, ticks[1:])), 60, length)

    def test_a_trace_without_iterations_is_refused(self):
        with self.assertRaisesRegex(ValueError, "no iteration"):
            self.drawn(iteration_us=())


if __name__ == "__main__":
    unittest.main()
