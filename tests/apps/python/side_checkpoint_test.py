# SPDX-License-Identifier: Apache-2.0
"""The file of a side step, with a stand-in for torch that writes with pickle."""

import contextlib
import os
import pathlib
import pickle
import tempfile
import types
import unittest

import lull
from lull.step_checkpoint import Checkpoint


class Tensor:
    def __init__(self, value, dtype="float32"):
        self.value, self.dtype, self.shape = value, dtype, (1,)

    def copy_(self, other, non_blocking=False):
        self.value = other.value


def standing_in(rank=0, ranks=1):
    def load(path, map_location, weights_only):
        return pickle.loads(pathlib.Path(path).read_bytes())

    return types.SimpleNamespace(
        load=load,
        save=pickle.dump,
        no_grad=contextlib.nullcontext,
        cuda=types.SimpleNamespace(is_available=lambda: False),
        empty_like=lambda tensor, device, pin_memory, requires_grad: Tensor(None, tensor.dtype),
        distributed=types.SimpleNamespace(
            is_available=lambda: True,
            is_initialized=lambda: ranks > 1,
            get_world_size=lambda: ranks,
            get_rank=lambda: rank,
        ),
    )


class ACheckpoint(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.path = self.folder / "step.pt"
        self.torch = standing_in()

    def saved(self, value=5, steps=20):
        state = [Tensor(value), Tensor(value + 1)]
        checkpoint = Checkpoint(self.torch, self.path)
        checkpoint.prepare(state)
        checkpoint.save(state, steps, 11)
        return checkpoint

    def files(self):
        return sorted(each.name for each in self.folder.iterdir())

    def test_is_read_as_it_was_written(self):
        self.saved()
        checkpoint = Checkpoint(self.torch, self.path)
        state = [Tensor(0), Tensor(0)]
        checkpoint.prepare(state)
        self.assertEqual((checkpoint.steps, checkpoint.seed, [each.value for each in state]), (20, 11, [5, 6]))
        self.assertEqual(self.files(), ["step.pt"])

    def test_begins_without_a_file(self):
        checkpoint = Checkpoint(self.torch, self.path)
        state = [Tensor(3)]
        checkpoint.prepare(state)
        self.assertEqual((checkpoint.steps, checkpoint.seed, state[0].value), (0, None, 3))
        self.assertEqual(self.files(), [])

    def test_that_cannot_be_read_is_refused(self):
        self.saved()
        whole = self.path.read_bytes()
        for content in (b"", whole[: len(whole) // 2], b"\x00\x01 no such file"):
            self.path.write_bytes(content)
            with self.assertRaisesRegex(lull.Error, r"step.pt cannot be read: .+: delete it, or name another file$"):
                Checkpoint(self.torch, self.path)

    def test_of_another_program_is_refused(self):
        for content in ([1, 2], {"model": 3}, {"lull": "side_step/1"}, {"lull": "side_step/1", "steps": "20"}):
            self.path.write_bytes(pickle.dumps(content))
            with self.assertRaisesRegex(lull.Error, "no checkpoint of a side step: delete it, or name another file"):
                Checkpoint(self.torch, self.path)

    def test_of_another_step_is_refused(self):
        self.saved()
        for state in ([Tensor(0)], [Tensor(0), Tensor(0, "bfloat16")]):
            with self.assertRaisesRegex(lull.Error, "holds the state of another step"):
                Checkpoint(self.torch, self.path).prepare(state)
            self.assertEqual(state[0].value, 0)

    def test_in_a_folder_that_cannot_be_written_is_refused_at_once(self):
        with self.assertRaisesRegex(lull.Error, "step.pt cannot be written: .*No such file or directory"):
            Checkpoint(self.torch, self.folder / "missing" / "step.pt")
        if os.geteuid() != 0:  # root may write everywhere
            self.folder.chmod(0o500)
            self.addCleanup(self.folder.chmod, 0o700)
            with self.assertRaisesRegex(lull.Error, "step.pt cannot be written: .*Permission denied"):
                Checkpoint(self.torch, self.path)

    def test_that_a_full_disk_breaks_off_is_as_it_was(self):
        checkpoint = self.saved()
        before = self.path.read_bytes()

        def save(content, file):
            file.write(b"the first part")
            raise OSError(28, "No space left on device")

        self.torch.save = save
        with self.assertRaisesRegex(lull.Error, "step.pt cannot be written: .*No space left on device"):
            checkpoint.save([Tensor(7), Tensor(8)], 40, 11)
        self.assertEqual((self.files(), self.path.read_bytes()), (["step.pt"], before))

    def test_is_each_ranks_own(self):
        for rank in range(2):
            self.torch = standing_in(rank, ranks=2)
            self.saved(value=rank)
        self.assertEqual(self.files(), ["step.rank0.pt", "step.rank1.pt"])


if __name__ == "__main__":
    unittest.main()
