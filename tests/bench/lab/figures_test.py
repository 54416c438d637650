# SPDX-License-Identifier: Apache-2.0
"""figures_test.py: what the laboratory makes of samples, scopes, reports and results."""

import unittest

from stand_ins import CLOSED, CUT, ROOT

from lab.numbers import quantiles, student_t975
from lab.reports import closed_pieces, harvested_between
from lab.treatment import over_scopes


def scope(percent, **more):
    return {"row": "r", "slowdown_percent": percent, "step_ms_none": 100.0, "step_ms_worker": 100.0 + percent, **more}


class figures(unittest.TestCase):
    def test_quantiles_are_values_that_were_measured(self):
        self.assertIsNone(quantiles([]))
        self.assertEqual(quantiles([3.0]), {"p50": 3.0, "p99": 3.0, "max": 3.0, "count": 1})
        self.assertEqual(quantiles(list(range(1, 201))), {"p50": 100, "p99": 198, "max": 200, "count": 200})

    def test_an_interval_of_few_scopes_is_as_wide_as_students(self):
        for degrees, expected in ((1, 12.706), (2, 4.303), (3, 3.182), (4, 2.776), (10, 2.228)):
            self.assertAlmostEqual(student_t975(degrees) / expected, 1, delta=1e-4 if degrees < 3 else 0.01)

    def test_lease_exits_are_told_only_where_every_scope_counted_them(self):
        self.assertNotIn("lease_exits", over_scopes([scope(1), scope(2, lease_exits=3)]))
        self.assertEqual(over_scopes([scope(1, lease_exits=1), scope(2, lease_exits=3)])["lease_exits"], 4)

    def test_what_two_reports_say_is_of_the_bubbles_between_them(self):
        def report(bubbles, items, leases):
            work = {"items": items, "lease_exits": leases}
            sites = [
                {"site": "a", "bubbles": bubbles, "side_work": work},
                {"site": "b", "bubbles": 1, "side_work": None},
            ]
            return {"gates": [{"sites": [*sites, {"site": "alone", "bubbles": 9, "side_work": work}]}]}

        between = harvested_between(report(10, 100, 1), report(30, 500, 4))
        self.assertEqual(between, {"bubbles_told": 20, "items": 400, "lease_exits": 3})

    def test_what_a_graphs_result_says_of_closes(self):
        times = {"p50": 1.5, "p99": 450.0, "max": 450.0}
        self.assertEqual(closed_pieces(f"{CUT}\n{CLOSED}\n"), {"count": 100, **times})
        self.assertEqual(closed_pieces(f"{CUT}\nno bubble closed while it ran\n"), {"count": 0})
        for other in ("", CUT, f"{CUT}\nmany bubbles closed\n"):
            with self.subTest(other), self.assertRaisesRegex(ValueError, "does not say"):
                closed_pieces(other)
        told = (ROOT / "tests/host/cuda_graph/graph_order_test.cpp").read_text()
        self.assertIn(CLOSED, told.replace('"\n            "', ""))  # as the library says it


if __name__ == "__main__":
    unittest.main()
