# SPDX-License-Identifier: Apache-2.0
"""The file of a side step, with a stand-in for torch that writes with pickle."""

import contextlib
import os
import pathlib
import pickle
import tempfile
import types
import unittest
from unittest import mock

import lull
from lull.ranks import own_file
from lull.step_checkpoint import Checkpoint


class Tensor:
    def __init__(self, value, dtype="float32"):
        self.value, self.dtype, self.shape = value, dtype, (1,)

    def copy_(self, other, non_blocking=False):
        self.value = other.value

    def clone(self):
        return Tensor(self.value, self.dtype)


def standing_in(rank=0, ranks=1):
    def load(path, map_location, weights_only, mmap=False):
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
        checkpoint.copy(state, steps, 11)
        checkpoint.write()
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
            checkpoint.copy([Tensor(7), Tensor(8)], 40, 11)
            checkpoint.write()
        self.assertEqual((self.files(), self.path.read_bytes()), (["step.pt"], before))

    def test_is_each_ranks_own(self):
        for rank in range(2):
            self.torch = standing_in(rank, ranks=2)
            self.saved(value=rank)
        self.assertEqual(self.files(), ["step.rank0.pt", "step.rank1.pt"])

    def of_rank(self, rank, ranks):
        return Checkpoint(standing_in(rank, ranks), self.path)

    def save_as(self, ranks):
        for rank in range(ranks):
            self.torch = standing_in(rank, ranks)
            self.saved()

    def test_of_another_number_of_ranks_is_refused(self):
        for before, now, rank, words in (
            (4, 2, 1, "step.rank1.pt was saved by 4 ranks, and this is 2 ranks"),
            (2, 4, 1, "step.rank1.pt was saved by 2 ranks, and this is 4 ranks"),
            (2, 4, 3, "step.rank0.pt was saved by 2 ranks, and this is 4 ranks"),
            (2, 1, 0, "step.rank0.pt was saved by 2 ranks, and this is one process: go on with as many, delete it"),
            (1, 2, 1, "step.pt was saved by one process, and this is 2 ranks"),
        ):
            with self.subTest(before=before, now=now):
                self.save_as(before)
                with self.assertRaisesRegex(lull.Error, words):
                    self.of_rank(rank, now)
                for each in self.folder.iterdir():
                    each.unlink()

    def test_of_as_many_ranks_is_read_and_one_that_has_none_begins(self):
        self.save_as(3)
        (self.folder / "step.rank2.pt").unlink()
        self.assertEqual([self.of_rank(rank, 3).steps for rank in range(3)], [20, 20, 0])

    def test_that_does_not_say_of_how_many_ranks_is_read(self):
        self.path.write_bytes(pickle.dumps({"lull": "side_step/1", "steps": 3, "seed": 1, "state": []}))
        self.assertEqual(self.of_rank(0, 1).steps, 3)
        self.path.with_name("step.rank1.pt").write_bytes(b"something else")
        self.assertEqual(self.of_rank(0, 1).steps, 3)

    def test_is_each_ranks_own_before_there_is_a_process_group(self):
        for told in (
            {"RANK": "1", "WORLD_SIZE": "4"},
            {"OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_SIZE": "4"},
        ):
            with mock.patch.dict(os.environ, told):
                for ranks in (1, 4):  # its process group is not there yet, and is
                    self.assertEqual(own_file(self.path, standing_in(1, ranks)).name, "step.rank1.pt")
                self.assertEqual(own_file(self.path, None).name, "step.rank1.pt")
        for told in ({"RANK": "4", "WORLD_SIZE": "4"}, {"RANK": "0"}, {"RANK": "", "WORLD_SIZE": "x"}):
            with mock.patch.dict(os.environ, told):
                self.assertEqual(own_file(self.path, standing_in()).name, "step.pt")


class AStateDict(unittest.TestCase):
    """Of a step that is saved with the trainer."""

    def asked(self, **options):
        return lull.side_step(lambda: None, steps=50, state=[object()], **options)

    def run_it(self, asked, steps, value):
        """As a submission and its job do."""
        checkpoint = Checkpoint(standing_in(), asked.checkpoint, asked.taken)
        state = [Tensor(value), Tensor(value + 1)]
        checkpoint.prepare(state)
        done = checkpoint.steps
        checkpoint.copy(state, done, 11)
        asked.kept, asked.taken = checkpoint, None
        checkpoint.copy([Tensor(each.value + steps) for each in state], done + steps, 11)
        return state

    def values(self, found):
        return found["steps"], found["seed"], [each.value for each in found["state"]]

    def test_goes_on_where_it_was(self):
        first = self.asked(every=5)
        self.assertEqual(first.state_dict()["steps"], 0)
        self.run_it(first, 10, 3)
        saved = first.state_dict()
        self.assertEqual(self.values(saved), (10, 11, [13, 14]))
        first.kept.copy([Tensor(0), Tensor(0)], 20, 11)  # while the trainer writes what it was given
        self.assertEqual(self.values(saved), (10, 11, [13, 14]))
        again = self.asked(every=5)
        again.load_state_dict(saved)
        self.assertEqual(self.values(again.state_dict()), (10, 11, [13, 14]))  # also where Lull is off
        self.run_it(again, 5, 100)
        self.assertEqual(self.values(again.state_dict()), (15, 11, [18, 19]))

    def test_of_no_step_begins_with_the_programs_state(self):
        saved, again = self.asked(every=5, seed=3).state_dict(), self.asked(every=5)
        again.load_state_dict(saved)
        state = self.run_it(again, 5, 100)
        self.assertEqual(([each.value for each in state], again.state_dict()["steps"]), ([100, 101], 5))

    def test_is_refused_where_nothing_is_kept(self):
        with self.assertRaisesRegex(lull.Error, "no state of this step is kept between its runs: give `every`"):
            self.asked().state_dict()

    def test_that_is_none_is_not_loaded(self):
        for wrong in (None, {}, {"lull": "side_step/1", "steps": "5"}):
            with self.assertRaisesRegex(lull.Error, "not what state_dict"):
                self.asked(every=5).load_state_dict(wrong)
        saved = self.asked(every=5).state_dict()
        with self.assertRaisesRegex(lull.Error, "goes on from its checkpoint, step.pt"):
            self.asked(checkpoint="step.pt").load_state_dict(saved)
        with self.assertRaisesRegex(lull.Error, "no state to load into"):
            lull.side_step(lambda: None, steps=50).load_state_dict(saved)


if __name__ == "__main__":
    unittest.main()
