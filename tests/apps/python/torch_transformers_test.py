# SPDX-License-Identifier: Apache-2.0
"""lull.transformers with the real Trainer, on CPU threads: the sites of a training and how many bubbles they have,
weights that are bit-equal with Lull and without, and a trainer that is as before. Exit code 77: there is no
transformers, or not what its Trainer needs."""

import os
import pathlib
import sys
import tempfile
import unittest

SKIPPED = 77
EPOCHS = 2
os.environ.update(HF_HUB_OFFLINE="1", TOKENIZERS_PARALLELISM="false")

try:
    import torch
    import transformers
    from transformers import trainer as _needs_accelerate  # noqa: F401

    transformers.TrainingArguments(output_dir=tempfile.gettempdir(), use_cpu=True).device  # noqa: B018
except ImportError as why:
    print(f"not run: {why}")
    sys.exit(SKIPPED)

import lull
import lull.transformers
import stalled_trainers as shared

STEPS = EPOCHS * shared.BATCHES
IS_4 = transformers.__version__.startswith("4.")
FETCHES = STEPS + IS_4  # 4.46 fetches once more, after the last batch


class Model(torch.nn.Module):
    def __init__(self, fails_at=None):
        super().__init__()
        torch.manual_seed(3)
        self.line, self.calls, self.fails_at = torch.nn.Linear(4, 1), 0, fails_at

    def forward(self, inputs, labels=None):
        self.calls += 1
        if self.calls == self.fails_at:
            raise ZeroDivisionError("a step")
        found = self.line(inputs).squeeze(-1)
        return {"loss": torch.nn.functional.mse_loss(found, labels), "logits": found}


class Trainings(unittest.TestCase):
    def setUp(self):
        self.stream = lull.ThreadsStream()
        self.addCleanup(self.stream.close)
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def trainer(self, model=None, rows=None, kind=transformers.Trainer, **options):
        given = {"output_dir": self.folder, "use_cpu": True, "num_train_epochs": EPOCHS, "seed": 11}
        given |= {"per_device_train_batch_size": shared.BATCH, "save_strategy": "steps", "save_steps": 3}
        given |= {"report_to": "none", "disable_tqdm": True, "logging_strategy": "no", "learning_rate": 0.05}
        rows = shared.SleepingRows(stream=self.stream) if rows is None else rows
        arguments = transformers.TrainingArguments(**(given | options))
        given = {"args": arguments, "train_dataset": rows, "eval_dataset": rows}
        trainer = kind(model=Model() if model is None else model, **given)
        trainer.remove_callback(transformers.PrinterCallback)
        return trainer

    def train(self, trainer, *scopes, **options):
        with lull.transformers.stalls(trainer, *scopes):
            trainer.train(**options)
        return self.weights(trainer)

    def weights(self, trainer):
        return [each.detach().clone() for each in trainer.model.parameters()]

    def plain(self, **options):
        trainer = self.trainer(**options)
        trainer.train()
        return self.weights(trainer)

    def assert_equal(self, weights, wanted):
        self.assertTrue(all(map(torch.equal, weights, wanted)))

    def changed(self, trainer):
        return sorted(vars(trainer).keys() & set(lull.transformers._METHODS))

    def test_a_training_has_its_bubbles_and_its_bits(self):
        class Slow(transformers.Trainer):
            def save_model(inner, *given, **more):
                shared.stall(self.stream)
                super(Slow, inner).save_model(*given, **more)

        plain, row_ms = self.plain(), 1e3 * shared.SLEEP_S
        least = {"data": EPOCHS * shared.ROWS * row_ms, "checkpoint": STEPS // 3 * row_ms}
        for tasks in (None, ["compute:items=100000000"]):
            trainer = self.trainer(kind=Slow)
            with self.subTest(tasks=tasks), shared.session(tasks) as found:
                self.assert_equal(self.train(trainer, self.stream), plain)
            shared.check(self, found, {"data": FETCHES, "checkpoint": STEPS // 3}, least if tasks is None else {})
            self.assertEqual(found.counts["launches"] > 0, tasks is not None)
            self.assertEqual(self.changed(trainer), [])

    def test_the_methods_are_changed_inside_alone(self):
        trainer = self.trainer()
        with lull.transformers.stalls(trainer, self.stream):
            self.assertEqual(self.changed(trainer), sorted(lull.transformers._METHODS))
        self.assertEqual(self.changed(trainer), [])

    def test_without_a_session_it_is_as_without(self):
        self.assert_equal(self.train(self.trainer(), self.stream), self.plain())

    def test_two_trainings_in_a_row(self):
        trainer, bubbles = self.trainer(), {"data": FETCHES, "checkpoint": STEPS // 3}
        self.train(trainer, self.stream)
        for _ in range(2):
            with shared.session() as found:
                self.train(trainer, self.stream)
            shared.check(self, found, bubbles)
        with shared.session() as found:
            trainer.train()  # outside the scope
        self.assertEqual(found.sites, {})

    def test_a_session_inside_the_scope(self):
        trainer = self.trainer()
        with lull.transformers.stalls(trainer, self.stream):
            trainer.train()
            with shared.session() as found:
                trainer.train()
        shared.check(self, found, {"data": FETCHES, "checkpoint": STEPS // 3})

    def test_what_is_raised_leaves_nothing(self):
        class Full(transformers.Trainer):
            def _save_checkpoint(self, *given, **more):
                raise OSError("the disk is full")

        for error, trainer, bubbles in (
            (ZeroDivisionError, self.trainer(Model(fails_at=5)), {"data": 5, "checkpoint": 1, "after": 1}),
            (ZeroDivisionError, self.trainer(rows=shared.SleepingRows(failing=0)), None),
            (OSError, self.trainer(kind=Full), {"data": 3, "checkpoint": 1, "after": 1}),
        ):
            with self.subTest(error=error, bubbles=bubbles), shared.session() as found:
                self.assertRaises(error, self.train, trainer, self.stream)
                self.assertEqual(self.changed(trainer), [])
                with lull.bubble("after", self.stream):
                    pass
            shared.check(self, found, bubbles or {site: count for site, (count, _) in found.sites.items()})
            self.assertEqual(found.sites["after"][0], 1)

    def test_accumulated_gradients_and_workers_and_rows_without_a_length(self):
        for options in (
            {"gradient_accumulation_steps": 2},
            {"dataloader_num_workers": 1, "rows": shared.SleepingRows()},
            {"rows": shared.RowsWithoutLength(), "max_steps": shared.BATCHES},
        ):
            plain = self.plain(**options)
            with self.subTest(**options), shared.session() as found:
                self.assert_equal(self.train(self.trainer(**options), self.stream), plain)
            batches = options.get("max_steps", STEPS)
            self.assertIn(found.sites["data"][0], (batches, batches + IS_4))
            self.assertEqual(found.counts["nested"], 0)

    def test_evaluation_on_the_cpu(self):
        plain = self.plain(eval_strategy="epoch")
        with shared.session() as found:
            self.assert_equal(self.train(self.trainer(eval_strategy="epoch"), self.stream), plain)
        least = {"evaluation": 1e3 * EPOCHS * shared.ROWS * shared.SLEEP_S}
        shared.check(self, found, {"data": FETCHES, "checkpoint": STEPS // 3, "evaluation": EPOCHS}, least)

    @unittest.skipIf(IS_4, "that Trainer's torch.load refuses its own checkpoint with a torch since 2.6")
    def test_a_training_that_goes_on_from_a_checkpoint(self):
        plain = self.plain()
        saved = str(pathlib.Path(self.folder, "checkpoint-9"))
        with shared.session() as found:
            self.assert_equal(self.train(self.trainer(), self.stream, resume_from_checkpoint=saved), plain)
        shared.check(self, found, {"data": STEPS - 9, "checkpoint": 1})

    def test_a_trainer_of_the_programs_own(self):
        class Own(transformers.Trainer):
            def get_batch_samples(self, *given, **more):
                self.fetches = getattr(self, "fetches", 0) + 1
                return super().get_batch_samples(*given, **more)

        trainer = self.trainer(kind=Own)
        with shared.session() as found:
            self.assert_equal(self.train(trainer, self.stream), self.plain())
        shared.check(self, found, {"data": FETCHES, "checkpoint": STEPS // 3})
        self.assertGreaterEqual(trainer.fetches, STEPS)

    def test_without_a_gpu_and_a_stream_there_is_nothing_to_place(self):
        with shared.session() as found:
            self.train(self.trainer())
        self.assertEqual((found.sites, found.counts["opened"]), ({}, 0))

    def test_what_is_no_trainer_is_refused(self):
        refused = self.assertRaisesRegex(lull.Error, "object has no get_batch_samples, .*4.46 or later")
        with refused, lull.transformers.stalls(object()):
            self.fail("it was entered")


if __name__ == "__main__":
    unittest.main()
