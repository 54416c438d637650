# SPDX-License-Identifier: Apache-2.0
"""Every check of the tree goes red on a small tree that breaks it, and stays green on one that does not."""

import json
import pathlib
import sys
import tempfile
import unittest

import commands
import device_code
import documents
import includes
import names
import needed
import plots
import site_links
import traces
import write_figures

LICENCE = "// SPDX-License-Identifier: Apache-2.0\n"
HEADER = LICENCE + "#pragma once\n"
GOOD = {
    "device/gate.hpp": HEADER + "#include <cstdint>\n",
    "device/world.cuh": HEADER + "#include <cuda/atomic>\n__device__ int a;  // my__comment, __ldg\n",
    "device/team.hpp": HEADER + "#if defined(__CUDACC__)\n#include <lull/device/world.cuh>\n#endif\n",
    "host/runtime.hpp": HEADER + "#include <lull/device/gate.hpp>\n",
    "host/executor.hpp": HEADER,
    "host/detail/gate/gate.hpp": HEADER + "#include <lull/host/runtime.hpp>\n",
    "apps/lull/report/report.hpp": HEADER + "#include <lull/host/detail/gate/gate.hpp>\n",
    "host/threads/executor.hpp": HEADER + "#include <lull/host/executor.hpp>\n",
    "graph/csr.hpp": HEADER + "#include <lull/host/executor.hpp>\n",
    "tests/graph/csr_test.cpp": LICENCE + "#include <gtest/gtest.h>\n#include <lull/graph/csr.hpp>\n",
    "graph/CMakeLists.txt": "# SPDX-License-Identifier: Apache-2.0\n# never -lcuda\n",
}


class checks(unittest.TestCase):
    def findings(self, check, **changes):
        with tempfile.TemporaryDirectory() as root:
            for name, text in {**GOOD, **changes.get("files", {})}.items():
                path = pathlib.Path(root, name)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, encoding="utf-8")
            found, checked = check(root)
            self.assertGreater(checked, 0)
            return found

    def assert_red(self, check, name, text, expected, others=None):
        found = self.findings(check, files={**(others or {}), name: text})
        self.assertEqual(len(found), 1, found)
        self.assertTrue(found[0].startswith(name), found)
        self.assertIn(expected, found[0])

    def test_a_good_tree_is_green(self):
        self.assertEqual(self.findings(includes.check), [])
        self.assertEqual(self.findings(traces.check), [])

    def test_an_empty_tree_is_not_green(self):
        with tempfile.TemporaryDirectory() as root:
            self.assertEqual(includes.check(root), ([], 0))
            self.assertEqual(traces.check(root), ([], 0))

    def test_needed(self):
        entry = " 0x0001 ({}) {}: [{}]\n"
        good = entry.format("NEEDED", "Shared library", "libpng16.so.16") + entry.format(
            "RUNPATH", "Library runpath", "/opt/lib"
        )
        self.assertEqual(list(needed.faults(good, "/tree/build")), [])
        for kind, value in (
            ("NEEDED", "libcublas.so.13"),
            ("NEEDED", "libnppc.so.13"),
            ("RUNPATH", "/tree/build/lib:"),
        ):
            (fault,) = needed.faults(good + entry.format(kind, "", value), "/tree/build")
            self.assertIn(value, fault)

    def test_includes(self):
        red = [
            ("device/gate.hpp", "#include <lull/host/executor.hpp>", "may include nothing"),
            ("host/executor.hpp", "#include <lull/host/threads/executor.hpp>", "may include"),
            ("host/threads/executor.hpp", "#include <lull/host/detail/gate/gate.hpp>", "may include"),
            ("host/runtime.hpp", "#include <lull/host/detail/gate/gate.hpp>", "may include"),
            ("host/detail/gate/gate.hpp", "#include <lull/apps/lull/report/report.hpp>", "may include"),
            ("graph/csr.hpp", "#include <lull/host/detail/gate/gate.hpp>", "may include"),
            ("tasks/blur.hpp", "#include <lull/graph/csr.hpp>", "may include"),
            ("host/runtime.hpp", "#include <lull/graph/csr.hpp>", "may include"),
            ("graph/csr.hpp", "#include <lull/tests/graph/csr_test.cpp>", "may include"),
            ("graph/csr.hpp", '#include "csr_ref.hpp"', "spell it"),
            ("graph/csr.hpp", "#include <../device/gate.hpp>", "relative"),
            ("graph/csr.hpp", "  #  include <lull/graph/absent.hpp>", "no such file"),
            ("device/gate.hpp", "#include <lull/device/world.cuh>", "without nvcc"),
            ("graph/csr.hpp", "#include <cuda_runtime.h>", "CUDA's headers"),
            ("graph/csr.hpp", "#include <thrust/sort.h>", "CUDA's headers"),
            ("attic/old.hpp", "", "no entry"),
        ]
        for name, line, expected in red:
            with self.subTest(line=line, name=name):
                self.assert_red(includes.check, name, HEADER + line + "\n", expected)

    def test_a_header_that_reaches_the_toolkit(self):
        red = HEADER + "#include <lull/host/cuda/stream.hpp>\n"
        toolkit = {"host/cuda/stream.hpp": HEADER + "#include <cuda.h>\n"}
        self.assert_red(includes.check, "host/detail/gate/gate.hpp", red, "without CUDA's headers", toolkit)
        self.assertEqual(self.findings(includes.check, files={**toolkit, "host/cuda_graph/cut.hpp": red}), [])
        nvcc = HEADER + "#if defined(__CUDACC__)\n#include <cuda.h>\n#endif\n"
        self.assertEqual(
            self.findings(includes.check, files={"host/cuda/stream.hpp": nvcc, "host/detail/gate/gate.hpp": red}), []
        )

    def test_names(self):
        red = [
            ("device/gate.hpp", "int longest_gap;", "max_"),
            ("device/gate.hpp", "struct worker_site {};", "worker_params"),
            ("device/gate.hpp", "/// Each who looks at it.", "names who"),
            ("host/keeper.hpp", "", "a file of this name"),
            ("docs/1-chapter.md", "It begins anew.", "names who"),
            ("device/gate.hpp", "// the blocks of the job at hand", "names who"),
            ("device/gate.hpp", "// Who comes later need not wake it.", "names who"),
            ("device/gate.hpp", "// frees it when he has read it", "names who"),
            ("device/gate.hpp", "// a tile that is gone on with", "names who"),
            ("device/gate.hpp", "// a thread that waits so long", "names who"),
            ("docs/examples/1_first_bubble.cpp", "// n layers, one behind the other", "names who"),
            ("device/gate.hpp", "// the look behind a piece", "names who"),
            ("tests/host/gate_test.cpp", "int a;  // it is not there any more", "names who"),
            ("host/gate.hpp", "int told_as;", "report_index"),
            ("host/lull.h", "/* to load code in peace */", "names who"),
            ("host/gate.cpp", 'throw error{"the key stands twice"};', "names who"),
            ("docs/1-chapter.md", "Nobody is inside.", "names who"),
            ("docs/1-chapter.md", "It is not there any more.", "names who"),
            ("docs/1-chapter.md", "*held*: said of a slot.", "names who"),
            ("docs/1-chapter.md", "The successor is at hand.", "names who"),
            ("docs/1-chapter.md", "The kernel right behind the bubble pays.", "names who"),
            ("docs/1-chapter.md", "Behind each run all arrays are compared.", "names who"),
            ("docs/1-chapter.md", "It comes [4][p50] behind it.\n\n[p50]: results/a.json", "names who"),
            ("docs/1-chapter.md", "It would make way for another.", "names who"),
            ("docs/1-chapter.md", "So long before a close no block starts.", "names who"),
        ]
        for name, line, expected in red:
            with self.subTest(line=line, name=name):
                text = line + "\n" if name.endswith(".md") else HEADER + line + "\n"
                self.assert_red(names.check, name, text, expected)
        self.assertEqual(
            self.findings(
                names.check, files={"device/gate.hpp": HEADER + 'char const* a = "longest_gap";\nint at_most_ns;\n'}
            ),
            [],
        )
        good = 'A [burst][behind.p50], `behind:burst`\n\n[behind.p50]: results/a.json "mean p50 name=a/behind:burst"\n'
        self.assertEqual(self.findings(names.check, files={"docs/1-chapter.md": good}), [])

    def test_traces(self):
        red = [
            ("device/world.cuh", "int a = __ldg(p);", "stale"),
            ("graph/csr.hpp", "void f(int const* __restrict__ p);", "stale"),
            ("graph/csr.hpp", "void f(int const* __restrict p);", "stale"),
            ("tasks/blur.cuh", 'asm("ld.global.nc.u32 %0, [%1];" : "=r"(v) : "l"(p));', "stale"),
            ("tasks/blur.cuh", 'asm("ld.global.L1::no_allocate.nc.u32 %0, [%1];" : "=r"(v) : "l"(p));', "stale"),
            ("host/runtime.hpp", "int my__name = 1;", "reserved"),
            ("host/runtime.hpp", "#define __LULL_GUARD", "reserved"),
            ("graph/csr.hpp", "\n" * traces.LONGEST_FILE, "split it"),
            ("tests/graph/a.hpp", "while (!so()) std::this_thread::yield();", "without a limit"),
            ("tests/graph/a.hpp", "while (one < other)\n  std::this_thread::sleep_for(1ms);", "without a limit"),
            ("tests/graph/a.hpp", "goes.wait(false);", "without a limit"),
        ]
        for name, line, expected in red:
            with self.subTest(line=line[:40], name=name):
                self.assert_red(traces.check, name, HEADER + line + "\n", expected)
        self.assert_red(traces.check, "graph/csr.hpp", "#pragma once\n", "licence")
        self.assert_red(traces.check, "graph/csr.hpp", LICENCE, "#pragma once")
        build = "# SPDX-License-Identifier: Apache-2.0\ntarget_link_libraries(lull_graph PRIVATE {})\n"
        for link in ("-lcuda", "CUDA::cuda_driver"):
            self.assert_red(traces.check, "graph/CMakeLists.txt", build.format(link), "links the driver")

    def test_documents(self):
        rows = [
            {"name": "a", "first": {"drain": 4.0}, "second": {"drain": 4.4}},
            {"name": "b", "report": {"deep": {"gain": -1098.4}}},
            {"name": "c", "first": {"gaps": {"3.5 ms": 0.5}, "runs": [1.0, 2.0]}, "second": {"runs": [6.0, None]}},
        ]
        link = "[r](results/r.json)"
        good = (
            f"| 12 things | [4.2][drain] / [4.40][drain.max] \u00b5s | {link} |\n"
            f"half [0.5][gap] of [3][runs], {link}, `a[4][b]`\n"
            f"it was [\u22121,098][gain] %, see {link}, and [4][Drain] again\n"
            "<!-- from docs/examples/e.cpp -->\n```cpp\nint a;\nif (a) {\n  ++a;\n}\n```\n\n"
            '[drain]: results/r.json "mean drain name=a"\n'
            "[drain.max]: results/r.json \"max drain name='a'\"\n"
            "[gap]: results/r.json \"mean 'gaps.3.5 ms' name=c\"\n"
            '[runs]: results/r.json "mean runs name=c"\n'
            '[gain]: results/r.json "first report.deep.gain name=b"\n'
        )
        files = {
            "docs/results/r.json": json.dumps({"rows": rows}),
            "docs/examples/e.cpp": "int main() {\n  int a;\n  // [part]\n  if (a) {\n    ++a;\n  }\n  // [/part]\n}\n",
            "docs/1-chapter.md": good,
        }
        self.assertEqual(self.findings(documents.check, files=files), [])
        red = [
            ("4.2]", "4.1]", "says 4.2"),
            ("\u22121,098", "+1,098", "says -1098.4"),
            ('r.json "mean', 's.json "mean', "no record results/s.json"),
            ("mean drain name=a", "mean drain name=c", "has no drain"),
            ("half [0.5]", "half [0.6]", "says 0.5"),
            ("'gaps.3.5 ms'", "'gaps.3.5'", "has no 'gaps.3.5'"),
            ("of [3]", "of [2]", "says 3"),
            ("mean drain", "mean gain", "has no gain"),
            ("mean drain", "median drain", "median is not one of"),
            ("mean drain name=a", "drain", "does not say which value"),
            ("[runs],", "[run],", "[run] is not defined"),
            ("[runs],", "[run],", "[runs] is used nowhere"),
            ("[gain]:", "[runs]:", "[runs] is defined twice"),
            ("[3][runs]", "3", "[runs] is used nowhere"),
            ("[4.2][drain]", "4.2", "4.2: is no link"),
            ("\u00b5s |", "\u00b5s, 5 |", "5: is no link"),
            ("if (a) {", "if (!a) {", "no piece of"),
            ("  ++a;\n", "    ++a;\n", "no piece of"),
            ("docs/examples/e.cpp", "docs/examples/f.cpp", "C++ without"),
            ("<!-- from docs/examples/e.cpp -->", "", "C++ without"),
            ("see [r](results/r", "see [s](s.md), [r](results/r", "leads nowhere: s.md"),
            ("see [r](results/r", "see [s](#no-such), [r](results/r", "leads nowhere: #no-such"),
        ]
        for old, new, expected in red:
            with self.subTest(new=new):
                found = self.findings(documents.check, files={**files, "docs/1-chapter.md": good.replace(old, new, 1)})
                self.assertIn(expected, "\n".join(found))
        decision = "docs/decisions/d.md"
        told = f"3 things, of which {link.replace('results', '../results')} has [4.2][drain]\n\n"
        told += '[drain]: ../results/r.json "mean drain name=a"\n'
        self.assertEqual(self.findings(documents.check, files={**files, decision: told}), [])
        found = self.findings(documents.check, files={**files, decision: told.replace("4.2]", "4.1]")})
        self.assertIn("says 4.2", "\n".join(found))
        lines = [f"[{'a' * documents.COLUMNS}](1-chapter.md)", "| a table's row " + "is one line " * 20 + "|"]
        lines *= documents.LONGEST_DECISION // 2
        for more, expected in ((told, "61 lines"), ("measured once", "61 lines"), ("a" * 121, "62 lines")):
            found = self.findings(documents.check, files={**files, decision: "\n\n".join([*lines, more])})
            self.assertIn(expected, "\n".join(found))
        found = self.findings(documents.check, files={**files, decision: "4 ms, no record"})
        self.assertIn("of no record", "\n".join(found))
        version = "# Changelog\n\n## 1.0\n" + "- a line\n" * documents.LONGEST_VERSION
        found = self.findings(documents.check, files={**files, "CHANGELOG.md": version})
        self.assertIn("1.0: 61 lines", "\n".join(found))
        for language in ("c", "python", "cmake"):
            with self.subTest(language=language):
                chapter = good.replace("```cpp", "```" + language)
                self.assertEqual(self.findings(documents.check, files={**files, "docs/1-chapter.md": chapter}), [])
                found = self.findings(
                    documents.check, files={**files, "docs/1-chapter.md": chapter.replace("++a", "--a")}
                )
                self.assertIn("no piece of", "\n".join(found))

    def test_a_plot_shows_its_table(self):
        table = "| task | p50 | p99 |\n|---|---|---|\n"
        table += "| one & all | [1.0][a] | [4.0][b] to [5.0][b2] |\n| two | | [2.0][c] |\n"
        values = {"a": 1.0, "b": 4.0, "b2": 5.0, "c": 2.0}
        meanings = "".join(f'[{key}]: results/r.json "mean {key}"\n' for key in values)
        files = {
            "docs/results/r.json": json.dumps({"rows": [{"first": values}]}),
            "docs/1-chapter.md": f"{table}\n![Time, ms](figures/time.svg)\n\n{meanings}",
        }
        picture = plots.drawn("Time, ms", table)
        self.assertEqual(picture.count("<circle"), 2 + 4)  # the legend, and the figures
        self.assertEqual(picture.count("<rect"), 1 + 1)  # the ground, and the bar between two figures
        self.assertIn("one &amp; all", picture)
        self.assertEqual(self.findings(documents.check, files={**files, "docs/figures/time.svg": picture}), [])
        for stale in ({}, {"docs/figures/time.svg": picture.replace("two", "three")}):
            found = self.findings(documents.check, files={**files, **stale})
            self.assertIn("time.svg does not show the table", "\n".join(found))

    def test_figures_are_written_from_their_records(self):
        rows = [{"name": "a", "first": {"gain": -1098.44}, "second": {"gain": -1098.46}}]
        meaning = '\n\n[gain]: results/r.json "mean gain"\n[of]: results/r.json "max gain"\n'
        with tempfile.TemporaryDirectory() as root:
            record, page = pathlib.Path(root, "docs/results/r.json"), pathlib.Path(root, "docs/1-chapter.md")
            record.parent.mkdir(parents=True)
            record.write_text(json.dumps({"rows": rows}), encoding="utf-8")
            for before, after in (
                ("it is [+7][gain]", "it is [\u22121,098][gain]"),
                ("[7.0][gain] [8.12][OF] `[3][gain]`", "[\u22121,098.5][gain] [\u22121,098.44][OF] `[3][gain]`"),
                ("as it was: [\u22121098.4][of]", "as it was: [\u22121098.4][of]"),
                ("[7][other] and [a][gain]", "[7][other] and [a][gain]"),
            ):
                with self.subTest(before=before):
                    page.write_text(before + meaning, encoding="utf-8")
                    write_figures.main(pathlib.Path(root))
                    self.assertEqual(page.read_text(encoding="utf-8"), after + meaning)
            page.write_text("[7][gain]" + meaning.replace("gain", "loss"), encoding="utf-8")
            write_figures.main(pathlib.Path(root))
            page.write_text("[7][gain]" + meaning.replace("mean gain", "mean loss"), encoding="utf-8")
            self.assertRaises(SystemExit, write_figures.main, pathlib.Path(root))

    def test_site_links(self):
        page = '<a id="here" href="#here">{}</a> <a href="../a.html#top">a</a> <a href="https://example.org/b">b</a>'
        files = {"a.html": '<h1 id="top">a</h1>', "docs/b.html": page}
        self.assertEqual(self.findings(site_links.check, files=files), [])
        red = [
            ("#here", "#there", "no such anchor"),
            ("#top", "#bottom", "no such anchor"),
            ("../a.html", "a.html", "no file"),
            ("../a.html", "../../a.html", "no file"),
            ("../a.html", "..", "no file"),
            ("https:", "http:", "no https address"),
            ("example.org", "example", "no https address"),
            ("{}", '<img src="a.svg">', "no file"),
        ]
        for old, new, expected in red:
            with self.subTest(new=new):
                self.assert_red(site_links.check, "docs/b.html", page.replace(old, new), expected, files)

    def test_commands(self):
        helps = {"": "-h,--help", "run": "-h,--help  --task TEXT ...", "new task": "--in FOLDER"}
        tasks = {"mlp": {"epochs", "model"}}

        def check(root):
            return commands.check(root, helps, tasks)

        good = (
            "`lull --help`, `lull run`\n"
            "```\nbuild/bin/lull run --task mlp:epochs=2,model=m # --any\nlull new task mine --in d\n```\n"
        )
        self.assertEqual(self.findings(check, files={"README.md": good}), [])
        for text, expected in (
            ("`lull walk`", "no such command"),
            ("```\nlull run \\\n  --tasks mlp\n```\n", "no option --tasks"),
            ("`lull new task mine --into d`", "no option --into"),
            ("`lull run --task mlp:epochs=2,modell=m`", "no option modell"),
            ('```python\nlull.harvest(tasks=["mlp:epoch=3"])\n```\n', "no option epoch"),
        ):
            self.assert_red(check, "README.md", f"`lull run`\n{text}\n", expected)

    def test_device_code(self):
        good = b"\x7fELF\0.visible .entry first(\n.visible .entry worker(\n  ld.global.relaxed.sys.u32 %r1, [%rd1];\n"
        self.assertEqual(list(device_code.search(good, "a.o")), [])
        for load in (b"ld.global.nc.f32 %f1, [%rd1];", b"ld.global.L1::evict_last.nc.v2.f32 {%f1, %f2}, [%rd1];"):
            with self.subTest(load=load):
                found = list(device_code.search(good + load, "a.o"))
                self.assertEqual(len(found), 1, found)
                self.assertIn("a.o: worker:", found[0])
        depot = b".local .align 8 .b8 \t__local_depot0[%d];\n"
        own = (
            b".visible .entry resident_kernel(\n"
            + depot
            + b".visible .entry phase_kernel(\n"
            + depot
            + b".func helper(\n"
            + depot
        )
        self.assertEqual(list(device_code.search(own % (72, 72, 99), "a.o")), [])
        self.assertIn("local memory", "".join(device_code.search(own % (72, 48, 99), "a.o")))
        two = b"".join(
            b".visible .entry _ZN4lull6detail" + kernel + b"I" + task + b"EvNS_13worker_paramsE(\n" + depot
            for task in (b"NS_3oneE", b"NS_3twoE")
            for kernel in (b"15resident_kernel", b"12phase_kernel")
        )
        self.assertEqual(list(device_code.search(two % (8, 8, 72, 72), "a.o")), [])
        self.assertIn("two", "".join(device_code.search(two % (8, 8, 72, 48), "a.o")))
        with tempfile.TemporaryDirectory() as build:
            self.assertEqual(device_code.check(build), ([], 0))
            worker = pathlib.Path(build, "graph/CMakeFiles/lull_graph.dir/side_tasks/lull_graph/pagerank_cuda.cu.o")
            worker.parent.mkdir(parents=True)
            worker.write_bytes(good)
            self.assertEqual(device_code.check(build), ([], 2))
            worker.write_bytes(good + b"\0cudaFree\0")
            self.assertIn("cudaFree: waits", device_code.check(build)[0][0])
            worker.write_bytes(good + b"\0cudaFreeAsync\0")
            self.assertEqual(device_code.check(build), ([], 2))
            worker.write_bytes(b"\x7fELF")
            self.assertIn("no PTX", device_code.check(build)[0][0])


if __name__ == "__main__":
    sys.dont_write_bytecode = True
    unittest.main()
