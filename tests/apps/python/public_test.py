# SPDX-License-Identifier: Apache-2.0
"""What the package shows: its version, and types for all that a program may call."""

import inspect
import pathlib
import re
import unittest

import lull
from lull import binding

ROOT = pathlib.Path(__file__).parents[3]


def calls_of(thing):
    """A public function, or the methods that a class defines itself."""
    if not inspect.isclass(thing):
        yield thing.__name__, thing
        return
    for name, member in vars(thing).items():
        called = member.fget if isinstance(member, property) else member
        if inspect.isfunction(called) and (not name.startswith("_") or name in ("__init__", "__enter__", "__exit__")):
            yield f"{thing.__name__}.{name}", called


class Public(unittest.TestCase):
    def test_the_version_is_that_of_the_build_and_of_the_library(self):
        build = (ROOT / "CMakeLists.txt").read_text(encoding="utf-8")
        self.assertEqual(lull.__version__, re.search(r"project\(lull VERSION ([0-9.]+)", build).group(1))
        self.assertEqual(lull.__version__, binding.load().lull_version().decode())

    def test_all_that_a_program_may_call_has_types(self):
        self.assertTrue(pathlib.Path(lull.__file__).with_name("py.typed").is_file())
        untyped, seen = [], 0
        for name in lull.__all__:
            thing = getattr(lull, name)
            if isinstance(thing, str):
                continue
            for call, function in calls_of(thing):
                seen += 1
                signature = inspect.signature(function)
                kinds = [each.annotation for each in signature.parameters.values() if each.name != "self"]
                if inspect.Signature.empty in (*kinds, signature.return_annotation):
                    untyped.append(call)
        self.assertEqual(untyped, [])
        self.assertGreater(seen, 40)


if __name__ == "__main__":
    unittest.main()
