# SPDX-License-Identifier: Apache-2.0
"""wheel_test.py LIBRARY: what `pip install` makes of a built library is whole. The wheel is installed into an
environment of its own, away from the tree, and every task runs with its defaults through Python and through the
command. Skipped (77) where pip or the build backend is missing: nothing is fetched."""

import importlib.util
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import venv

ROOT = pathlib.Path(__file__).parents[3]
sys.path.insert(0, str(ROOT / "tests/apps/lull"))

import task_defaults  # noqa: E402

SKIPPED = 77
USE = """
import pathlib, sys
import task_defaults
import lull
stream = lull.ThreadsStream()
for task in task_defaults.requests(lull.tasks(), *sys.argv[1:]):
    with lull.harvest(task, executor="threads", bracket_waits=False) as side:
        while not side.jobs[0].wait(0):
            with lull.bubble("step", stream):
                stream.sleep(0.002)
            stream.synchronize()
        print(task, side.jobs[0].result())
        assert side.jobs[0].state == "finished", (task, side.jobs[0].status())
print(pathlib.Path(lull.__file__).parent)
"""


class Builder:
    """Makes wheels of the tree from built libraries, without a network."""

    def __init__(self, folder):
        self.folder = folder
        taken = ("PYTHONPATH", "PYTHONHOME", "LULL_LIBRARY", "LULL_DATA", "LULL_PREBUILT")
        self.environment = {name: value for name, value in os.environ.items() if name not in taken}

    def try_to_build(self, library):
        command = [sys.executable, "-m", "pip", "wheel", "--no-build-isolation", "--no-deps", "--no-index"]
        settings = ["-C", f"build-dir={self.folder}/build", "-w", self.folder, str(ROOT)]
        environment = {**self.environment, "LULL_PREBUILT": str(library)}
        return subprocess.run(
            command + settings, env=environment, cwd=self.folder, capture_output=True, text=True, check=False
        )

    def wheel(self, library):
        done = self.try_to_build(library)
        assert done.returncode == 0, done.stdout + done.stderr
        (made,) = pathlib.Path(self.folder).glob("lull-*-py3-none-*.whl")
        return made


class Installed:
    """An environment with one wheel in it."""

    def __init__(self, folder, wheel, environment):
        self.environment = environment
        self.bin = pathlib.Path(folder, "bin")
        venv.create(folder, with_pip=False)
        self.pip("install", "-q", "--no-index", "--no-deps", str(wheel))

    def pip(self, *arguments):
        command = [sys.executable, "-m", "pip", "--python", str(self.bin / "python"), *arguments]
        subprocess.run(command, env=self.environment, check=True)


def check_tasks(installed, folder):
    picture = ROOT / "data/chelsea.png"
    for name in ("python", "command"):
        pathlib.Path(folder, name).mkdir()
    used = subprocess.run(
        [installed.bin / "python", "-B", "-c", USE, f"{folder}/python", picture],
        env={**installed.environment, "PYTHONPATH": str(ROOT / "tests/apps/lull")},
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
    )
    assert used.returncode == 0, used.stdout + used.stderr
    package = pathlib.Path(used.stdout.splitlines()[-1])
    assert package.is_relative_to(folder), package
    task_defaults.run_program(installed.bin / "lull", f"{folder}/command", picture, installed.environment)
    return package


def check_parts(package):
    carried = ("native/liblull.so.2", "native/lull", "include/lull/host/lull_threads.h", "data/README.md", "waits.py")
    for name in carried:
        assert (package / name).is_file(), sorted(package.rglob("*"))
    for name in ("native/liblull.so.2", "native/lull"):
        needed = subprocess.run(["ldd", package / name], check=True, capture_output=True, text=True).stdout
        assert "not found" not in needed and str(ROOT) not in needed, needed


def check_refusals(builder, library):
    """A relative name is looked up from the root; what is not this library is refused with the reason."""
    header = ROOT / "host/lull.h"
    for wrong, why in (
        (header, "cannot be opened"),
        ("nowhere/liblull.so", f"there is no file {ROOT}/nowhere/liblull.so"),
    ):
        said = builder.try_to_build(wrong)
        assert said.returncode != 0 and why in " ".join((said.stdout + said.stderr).split()), said
    other = pathlib.Path(builder.folder, "other_abi.so")
    texts = "".join(f'char const* lull_{name}(void) {{ return ""; }}' for name in ("version", "error_text"))
    source = f"unsigned lull_abi(void) {{ return 7; }} {texts}"
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is not None:
        subprocess.run([compiler, "-shared", "-fPIC", "-x", "c", "-", "-o", other], input=source, text=True, check=True)
        said = builder.try_to_build(other)
        assert said.returncode != 0 and "has ABI 7, this package needs 2" in said.stdout + said.stderr, said


def check_without_program(folder, library):
    """Where no program lies beside the library the package works, and the command says why it does not."""
    alone = pathlib.Path(folder, "alone/lib/liblull.so")
    alone.parent.mkdir(parents=True)
    shutil.copy(library, alone)
    builder = Builder(f"{folder}/alone")
    installed = Installed(f"{folder}/alone/environment", builder.wheel(alone), builder.environment)
    done = subprocess.run([installed.bin / "lull", "tasks"], capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "this package has no program" in done.stderr, done


def main(library):
    for needed in ("pip", "scikit_build_core"):
        if importlib.util.find_spec(needed) is None:
            print(f"not run: there is no {needed} here to build a wheel with")
            sys.exit(SKIPPED)
    with tempfile.TemporaryDirectory() as folder:
        builder = Builder(folder)
        check_refusals(builder, library)
        wheel = builder.wheel(os.path.relpath(library, ROOT))
        installed = Installed(f"{folder}/environment", wheel, builder.environment)
        package = check_tasks(installed, folder)
        check_parts(package)
        installed.pip("uninstall", "-q", "-y", "lull")
        check_without_program(folder, library)
        assert not package.exists() and not (installed.bin / "lull").exists()


if __name__ == "__main__":
    main(*sys.argv[1:])
