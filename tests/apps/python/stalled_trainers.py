# SPDX-License-Identifier: Apache-2.0
"""What tests of bubbles in trainers of other packages share: rows that take time to load, a session on CPU threads,
and what its report says of each site."""

import contextlib
import io
import json
import time
import types

import lull
import torch

SLEEP_S = 0.004  # a row's
ROWS = 12
BATCH = 2
BATCHES = ROWS // BATCH


def stall(stream):
    """Takes SLEEP_S after what the stream was given is done."""
    if stream is not None:
        stream.synchronize()
    time.sleep(SLEEP_S)


class SleepingRows(torch.utils.data.Dataset):
    """Each row takes SLEEP_S to load. `failing`: that row cannot be loaded. `stream`: its bubble is open before the
    row's time begins, however late the stream's thread is, so bubbles are at least as long as that time."""

    def __init__(self, failing=None, stream=None):
        generator = torch.Generator().manual_seed(7)
        self.inputs = torch.randn(ROWS, 4, generator=generator)
        self.failing, self.stream = failing, stream

    def __len__(self):
        return ROWS

    def __getitem__(self, row):
        stall(self.stream)
        if row == self.failing:
            raise ZeroDivisionError(f"row {row}")
        return {"inputs": self.inputs[row], "labels": self.inputs[row].sum()}


class RowsWithoutLength(torch.utils.data.IterableDataset):
    def __iter__(self):
        rows = SleepingRows()
        return (rows[row] for row in range(ROWS))


@contextlib.contextmanager
def session(tasks=None):
    """Observes, or harvests with these tasks. Gives what `sites` and `counts` hold at its end."""
    found = types.SimpleNamespace(sites={}, counts={})
    given = {"executor": "threads", "bracket_waits": False}
    scope = lull.observe(**given) if tasks is None else lull.harvest(tasks, **given)
    with contextlib.redirect_stderr(io.StringIO()), scope as side:  # the report
        try:
            yield found
        finally:
            found.counts = side.counts()
            found.sites = sites_of(side)


def sites_of(side):
    """Site → how many bubbles, how many milliseconds together. Waits until the report has all of them."""
    limit, sites = time.monotonic() + 20, {}
    while time.monotonic() < limit:
        gates = json.loads(side.report("json"))["gates"]
        sites = {
            site["site"]: (site["bubbles"] + site["unknown_length"], site["total_ms"])
            for gate in gates
            for site in gate["sites"]
        }
        if sum(bubbles for bubbles, _ in sites.values()) == side.counts()["opened"]:
            break
        time.sleep(0.002)
    return sites


def check(test, found, bubbles, least_ms=None):
    """The report has these sites with so many bubbles, none inside another, and each site's took so long together."""
    test.assertEqual({site: count for site, (count, _) in found.sites.items()}, bubbles)
    test.assertEqual((found.counts["nested"], found.counts["unmatched"]), (0, 0))
    for site, milliseconds in (least_ms or {}).items():
        test.assertGreaterEqual(found.sites[site][1], milliseconds, site)
        test.assertLess(found.sites[site][1], 60_000, site)
