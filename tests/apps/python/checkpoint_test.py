# SPDX-License-Identifier: Apache-2.0
"""Tasks that are saved while a training goes on: one that is killed and started again ends with the same results.

checkpoint_test.py FOLDER RESULT: such a training, to the end of its side work."""

import pathlib
import random
import signal
import struct
import subprocess
import sys
import tempfile
import unittest
import zlib

import lull

EVERY_S = 0.01


def write_png(path, seed, width=200, height=150):
    """Noise, in RGB."""

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    noise = random.Random(seed)
    rows = b"".join(b"\0" + noise.randbytes(3 * width) for _ in range(height))
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    path.write_bytes(
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")
    )


def train(folder, result):
    """Two tasks of one name, and a step after the other."""
    stream = lull.ThreadsStream()
    tasks = [
        f"mlp:hidden=64,epochs=50,losses={result}",
        f"mlp:hidden=32,epochs=50,seed=2,losses={result}.second",
    ]
    with lull.harvest(
        tasks, executor="threads", bracket_waits=False, checkpoint=folder, tuning=lull.Tuning(checkpoint_every=EVERY_S)
    ) as side:
        print([job.status()["items"] for job in side.jobs], flush=True)
        while any(job.state not in ("finished", "failed") for job in side.jobs):
            with lull.bubble("step", stream):
                stream.sleep(0.001)
            stream.synchronize()
    stream.close()


class Checkpoints(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="lull-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def training(self, result, seconds=None):
        """What it printed; it is killed after so many seconds."""
        command = [sys.executable, __file__, str(self.folder / "saved"), str(self.folder / result)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as program:
            try:
                said, _ = program.communicate(timeout=seconds or 200)
            except subprocess.TimeoutExpired:
                program.kill()
                said, _ = program.communicate()
                self.assertIsNotNone(seconds, "a training without a limit did not end")
            self.assertIn(program.returncode, (0, -signal.SIGKILL))
            return said, program.returncode == 0

    def test_a_training_that_is_killed_goes_on_with_the_same_results(self):
        said, is_over = self.training("whole.csv")
        self.assertEqual((said, is_over), ("[0, 0]\n", True))
        self.assertEqual(list((self.folder / "saved").iterdir()), [])  # all is written
        chosen = random.Random(1)
        kills, resumed, is_over = 0, 0, False
        while not is_over:
            said, is_over = self.training("killed.csv", None if kills == 12 else 0.2 + chosen.random() / 2)
            kills += not is_over
            resumed += said not in ("", "[0, 0]\n")
        self.assertGreater(resumed, 1)
        for name in ("", ".second"):
            texts = [(self.folder / f"{result}.csv{name}").read_bytes() for result in ("whole", "killed")]
            self.assertEqual(*texts)

    def test_what_a_job_is_saved_as_does_not_depend_on_how_soon_one_before_it_ends(self):
        stream = lull.ThreadsStream()
        self.addCleanup(stream.close)
        saved = self.folder / "saved"
        with lull.harvest(
            "compute:items=64,rounds=1", executor="threads", bracket_waits=False, checkpoint=saved
        ) as side:
            while side.jobs[0].state != "finished":
                with lull.bubble("step", stream):
                    stream.sleep(0.001)
                stream.synchronize()
            side.jobs[0].wait()
            side.submit("compute:items=65,rounds=100000")
        self.assertEqual([each.name for each in saved.iterdir()], ["compute-2.safetensors"])

    def test_the_end_of_the_scope_saves_and_another_takes_up(self):
        stream = lull.ThreadsStream()
        self.addCleanup(stream.close)
        reached = 0
        for _ in range(2):
            with lull.harvest(
                "compute:items=64,rounds=100000",
                executor="threads",
                bracket_waits=False,
                checkpoint=self.folder / "saved",
            ) as side:
                job = side.jobs[0]
                self.assertGreaterEqual(job.status()["phases"], reached)
                reached = job.status()["phases"] + 3
                while job.status()["phases"] < reached:
                    with lull.bubble("step", stream):
                        stream.sleep(0.001)
                    stream.synchronize()
            self.assertEqual([each.name for each in (self.folder / "saved").iterdir()], ["compute.safetensors"])
        with (
            self.assertRaisesRegex(lull.Error, "compute.safetensors"),
            lull.harvest("compute:items=65", executor="threads", bracket_waits=False, checkpoint=self.folder / "saved"),
        ):
            pass

    def test_a_task_that_is_fed_from_files_goes_on_with_those_that_are_left(self):
        stream = lull.ThreadsStream()
        self.addCleanup(stream.close)
        (self.folder / "in").mkdir()
        for number in range(40):
            write_png(self.folder / "in" / f"{number}.png", number)
        done = {}
        for result, enough in (("whole", 41), ("stopped", 5), ("stopped", 41)):
            with lull.harvest(
                f"images:in={self.folder}/in,out={self.folder}/{result}",
                executor="threads",
                bracket_waits=False,
                checkpoint=self.folder / "saved",
                tuning=lull.Tuning(checkpoint_every=EVERY_S),
            ) as side:
                written = self.folder / result
                while side.jobs[0].state != "finished" and len(list(written.glob("*.png"))) < enough:
                    with lull.bubble("step", stream):
                        stream.sleep(0.001)
                    stream.synchronize()
                done.setdefault(result, []).append(side.jobs[0].status()["items"])
            left = [each.name for each in (self.folder / "saved").iterdir()]
            self.assertEqual(left, ["images.manifest"] if enough == 5 else [])
        self.assertLess(done["stopped"][1], done["whole"][0])  # it did not begin again
        for one in (self.folder / "whole").iterdir():
            self.assertEqual(one.read_bytes(), (self.folder / "stopped" / one.name).read_bytes())
        self.assertEqual(len(list((self.folder / "stopped").iterdir())), 40)

    def test_a_folder_without_a_name_is_refused(self):
        with (
            self.assertRaisesRegex(lull.Error, "checkpoint is empty"),
            lull.harvest(executor="threads", bracket_waits=False, checkpoint=""),
        ):
            pass

    def test_times_that_are_none_are_refused(self):
        for seconds in (-1, float("nan")):
            with (
                self.assertRaises(lull.Error),
                lull.harvest(
                    executor="threads",
                    bracket_waits=False,
                    checkpoint=self.folder,
                    tuning=lull.Tuning(checkpoint_every=seconds),
                ),
            ):
                pass


if __name__ == "__main__":
    if len(sys.argv) == 3:
        train(*sys.argv[1:])
    else:
        unittest.main()
