# SPDX-License-Identifier: Apache-2.0
"""missing_members.py ROOT INCLUDE CXX: a side task that lacks a member is refused by one message, which names the
member and its signature. INCLUDE is where <lull/…> is found."""

import pathlib
import subprocess
import sys
import unittest

ROOT, INCLUDE, CXX = (sys.argv.pop(1) for _ in range(3))

MEMBERS = {
    "shape": "static constexpr lull::team_shape shape{.threads = 64, .steps = 2};",
    "data": "std::uint64_t* out;",
    "extent": "LULL_HD std::uint64_t extent(lull::position at, std::uint64_t) const noexcept { "
    "return at.round == 0 ? 10 : lull::finished; }",
    "call": "LULL_HD void operator()(lull::chunk c, auto const& team) const noexcept { "
    "if (team.rank() == 0) out[c.begin] = 1; }",
    "advance": "LULL_HD void advance(lull::position, auto const& team) const noexcept { "
    "if (team.rank() == 0) out[0] = 2; }",
}
ASSERTION = "static_assert(lull::is_side_task<broken>());\n"

EXTENT = "std::uint64_t extent(lull::position at, std::uint64_t fed) const noexcept"
CALL = "void operator()(lull::chunk c, auto const& team) const noexcept"
ADVANCE = "void advance(lull::position ended, auto const& team) const noexcept"
SHAPE = "static constexpr lull::team_shape shape"
IMPOSSIBLE = "threads must be a multiple of 32"


def task(**instead):
    """The source of a task with some members replaced; an empty text leaves one out."""
    members = "\n".join({**MEMBERS, **instead}.values())
    return f"#include <lull/device/side_task.hpp>\nstruct broken {{\n{members}\n}};\n"


def errors(source):
    """The messages of the compiler's errors."""
    done = subprocess.run(
        [CXX, "-std=c++20", "-fsyntax-only", "-I", INCLUDE, "-x", "c++", "-"],
        input=source,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    found = [line.split("error: ", 1)[1] for line in done.stderr.splitlines() if "error: " in line]
    return found if found or done.returncode == 0 else [done.stderr]


class missing_members(unittest.TestCase):
    def assert_names(self, expected, **instead):
        with self.subTest(instead=instead):
            found = errors(task(**instead) + ASSERTION)
            self.assertEqual(len(found), 1, found)
            self.assertIn(expected, found[0])

    def test_a_whole_task_is_accepted(self):
        self.assertEqual(errors(task() + ASSERTION), [])
        self.assertEqual(errors(task(advance="") + ASSERTION), [])

    def test_each_member_that_is_left_out_is_named_with_its_signature(self):
        self.assert_names(SHAPE, shape="")
        self.assert_names(EXTENT, extent="")
        self.assert_names(CALL, call="")

    def test_a_member_with_another_signature_is_named_too(self):
        for wrong in [
            (" const", ""),
            (" noexcept", ""),
            ("std::uint64_t extent", "int extent"),
            (", std::uint64_t)", ")"),
        ]:
            self.assert_names(EXTENT, extent=MEMBERS["extent"].replace(*wrong))
        for wrong in [
            (") const", ")"),
            (" noexcept", ""),
            ("lull::chunk c", "lull::chunk& c"),
            (", auto const& team", ""),
        ]:
            self.assert_names(
                CALL,
                call=MEMBERS["call"]
                .replace(*wrong)
                .replace("team.rank() == 0", "true" if "auto" in wrong[0] else "team.rank() == 0"),
            )
        self.assert_names(SHAPE, shape="static constexpr int shape = 3;")
        self.assert_names(SHAPE, shape="lull::team_shape shape;")

    def test_a_shape_that_no_gpu_runs_is_refused(self):
        for wrong in [
            "{.threads = 100}",
            "{.threads = 2048}",
            "{.steps = 0}",
            "{.blocks_per_sm = -1}",
            "{.threads = 1024, .blocks_per_sm = 3}",
            "{.shared_bytes = 1 << 20}",
        ]:
            self.assert_names(IMPOSSIBLE, shape=f"static constexpr lull::team_shape shape{wrong};")

    def test_an_advance_that_would_never_be_called_is_refused(self):
        for wrong in [(") const", ")"), (" noexcept", ""), ("lull::position, ", "")]:
            self.assert_names(ADVANCE, advance=MEMBERS["advance"].replace(*wrong))
        self.assert_names(ADVANCE, advance="LULL_HD void advance() const noexcept {}")
        for parameters in [
            "auto const& team, lull::position",
            "lull::chunk, auto const& team",
            "lull::position, std::uint64_t, auto const& team",
        ]:
            self.assert_names(
                ADVANCE,
                advance=f"LULL_HD void advance({parameters}) const noexcept {{ if (team.rank() == 0) out[0] = 2; }}",
            )

    def test_an_advance_whose_condition_does_not_hold_is_none(self):
        self.assertEqual(
            errors(
                task(advance=MEMBERS["advance"].replace("noexcept {", "noexcept requires(sizeof(team) == 0) {"))
                + ASSERTION
            ),
            [],
        )

    def test_what_cannot_be_copied_into_a_slot_is_refused(self):
        self.assert_names("trivially copyable", data="std::uint64_t* out; ~broken() {}")
        self.assert_names("512 bytes", data="std::uint64_t out[65];")

    def test_lull_side_task_says_it_first_where_the_assertion_is_missing(self):
        template = pathlib.Path(ROOT, "cmake", "side_task_threads.cpp.in").read_text(encoding="utf-8")
        generated = template.replace("@LULL_SIDE_TASK_INCLUDES@", "").replace("@LULL_SIDE_TASK_TYPE@", "broken")
        self.assertEqual(errors(task() + generated), [])
        self.assertIn(EXTENT, errors(task(extent="") + generated)[0])


if __name__ == "__main__":
    unittest.main()
