# SPDX-License-Identifier: Apache-2.0
"""torch_lightning_test.py [lightning.pytorch|pytorch_lightning|both]: lull.lightning with real Lightning, on CPU
threads: the sites of a fit and how many bubbles they have, weights that are bit-equal with Lull and without, and a
trainer that is as before after each fit. Without an argument all of them, each in a process. Exit code 77: there is no
Lightning."""

import importlib
import importlib.util
import logging
import pickle
import subprocess
import sys
import tempfile
import unittest
import warnings
from unittest import mock

SKIPPED = 77
PACKAGES = ("lightning.pytorch", "pytorch_lightning")
EPOCHS = 2

lightning = package = None  # set by main


def modules():
    """torch is there only where this is called."""
    import lull
    import lull.lightning
    import stalled_trainers
    import torch

    return lull, stalled_trainers, torch


class Fits(unittest.TestCase):
    def setUp(self):
        self.lull, self.shared, self.torch = modules()
        self.stream = self.lull.ThreadsStream()
        self.addCleanup(self.stream.close)
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def module(self, fails_at=None, validated=False):
        torch, stall, stream = self.torch, self.shared.stall, self.stream

        class Module(lightning.LightningModule):
            def __init__(self):
                super().__init__()
                torch.manual_seed(3)
                self.line = torch.nn.Linear(4, 1)

            def training_step(self, batch, index):
                if self.global_step == fails_at:
                    raise ZeroDivisionError("a step")
                return self.loss(batch)

            def loss(self, batch):
                return torch.nn.functional.mse_loss(self.line(batch["inputs"]).squeeze(-1), batch["labels"])

            def on_save_checkpoint(self, checkpoint):
                stall(stream)

            def configure_optimizers(self):
                return torch.optim.SGD(self.parameters(), 0.05, momentum=0.9)

        class Validated(Module):
            def validation_step(self, batch, index):
                self.log("loss", self.loss(batch))

        return Validated() if validated else Module()

    def loader(self, rows=None, **options):
        rows = self.shared.SleepingRows(stream=self.stream) if rows is None else rows
        shuffled = {} if isinstance(rows, self.torch.utils.data.IterableDataset) else {"shuffle": True}
        return self.torch.utils.data.DataLoader(rows, batch_size=self.shared.BATCH, **shuffled, **options)

    def trainer(self, *callbacks, **options):
        saving = lightning.callbacks.ModelCheckpoint(self.folder, every_n_train_steps=3, save_top_k=-1)
        given = {"max_epochs": EPOCHS, "accelerator": "cpu", "devices": 1, "logger": False}
        given |= {"enable_progress_bar": False, "enable_model_summary": False, "default_root_dir": self.folder}
        return lightning.Trainer(**(given | {"callbacks": [*callbacks, saving]} | options))

    def fit(self, trainer, module, *loaders):
        """Returns the weights."""
        self.torch.manual_seed(11)
        trainer.fit(module, *(loaders or (self.loader(),)))
        return [each.detach().clone() for each in module.parameters()]

    def assert_equal(self, weights, wanted):
        self.assertTrue(all(map(self.torch.equal, weights, wanted)))

    def stalls(self):
        return self.lull.lightning.stalls(self.stream)

    def changed(self, trainer):
        """Which attributes of the trainer's objects are functions of Lull's."""
        owners = trainer, trainer.profiler, trainer.strategy, trainer.fit_loop, trainer.fit_loop.epoch_loop
        return [
            name
            for owner in owners
            for name, value in vars(owner).items()
            if getattr(value, "__globals__", {}).get("__name__", "").startswith("lull.")
        ]

    def expected(self, fits=1):
        steps = EPOCHS * self.shared.BATCHES
        return {"data": fits * steps, "checkpoint": fits * steps // 3}

    def test_a_fit_has_its_bubbles_and_its_bits(self):
        plain = self.fit(self.trainer(), self.module())
        for tasks in (None, ["compute:items=100000000"]):
            inside = []
            looking = lightning.callbacks.LambdaCallback(
                on_train_start=lambda trainer, _, inside=inside: inside.extend(self.changed(trainer))
            )
            trainer = self.trainer(self.stalls(), looking)
            with self.subTest(tasks=tasks), self.shared.session(tasks) as found:
                self.assert_equal(self.fit(trainer, self.module()), plain)
            self.assertEqual(sorted(inside), ["save_checkpoint", "start", "stop"])
            row_ms, steps = 1e3 * self.shared.SLEEP_S, EPOCHS * self.shared.BATCHES
            least = {"data": EPOCHS * self.shared.ROWS * row_ms, "checkpoint": steps // 3 * row_ms}
            self.shared.check(self, found, self.expected(), least if tasks is None else {})
            self.assertEqual(found.counts["launches"] > 0, tasks is not None)
            self.assertEqual(self.changed(trainer), [])

    def test_without_a_session_it_is_as_without(self):
        trainer = self.trainer(self.stalls())
        self.assert_equal(self.fit(trainer, self.module()), self.fit(self.trainer(), self.module()))
        self.assertEqual(self.changed(trainer), [])

    def test_two_fits_in_a_row_and_a_session_for_the_second_alone(self):
        trainer, once = self.trainer(self.stalls()), self.stalls()
        with self.shared.session() as found:
            self.fit(trainer, self.module())
            self.fit(self.trainer(once), self.module())
        self.shared.check(self, found, self.expected(2))
        self.fit(self.trainer(once), self.module())
        with self.shared.session() as found:
            self.fit(self.trainer(once), self.module())
        self.shared.check(self, found, self.expected())

    def test_one_trainer_goes_on(self):
        trainer, module = self.trainer(self.stalls()), self.module()
        with self.shared.session() as found:
            self.fit(trainer, module)
            trainer.fit_loop.max_epochs = 2 * EPOCHS
            self.fit(trainer, module)
            trainer.save_checkpoint(f"{self.folder}/by_hand.ckpt")  # outside a fit
        self.shared.check(self, found, self.expected(2))

    def test_what_a_step_raises_leaves_nothing(self):
        trainer = self.trainer(self.stalls())
        with self.shared.session() as found:
            self.assertRaises(ZeroDivisionError, self.fit, trainer, self.module(fails_at=4))
            self.assertEqual(self.changed(trainer), [])
            with self.lull.bubble("after", self.stream):
                pass
        self.shared.check(self, found, {"data": 5, "checkpoint": 1, "after": 1})
        with self.shared.session() as found:
            self.fit(trainer, self.module())
        self.assertGreater(found.sites["data"][0], 0)

    def test_what_a_loader_raises_leaves_nothing(self):
        trainer = self.trainer(self.stalls())
        with self.shared.session() as found:
            rows = self.shared.SleepingRows(failing=0)
            self.assertRaises(ZeroDivisionError, self.fit, trainer, self.module(), self.loader(rows))
            with self.lull.bubble("after", self.stream):
                pass
        self.assertEqual((found.counts["nested"], found.sites["after"][0]), (0, 1))
        self.assertEqual(self.changed(trainer), [])

    def test_what_writing_raises_leaves_nothing(self):
        class Broken(lightning.plugins.io.TorchCheckpointIO):
            def save_checkpoint(self, *_, **__):
                raise OSError("the disk is full")

        trainer = self.trainer(self.stalls(), plugins=[Broken()])
        with self.shared.session() as found:
            self.assertRaisesRegex(OSError, "disk is full", self.fit, trainer, self.module())
        self.shared.check(self, found, {"data": 3, "checkpoint": 1})
        self.assertEqual(self.changed(trainer), [])

    def test_rows_without_a_length_and_workers(self):
        for loader in (
            lambda: self.loader(self.shared.RowsWithoutLength()),
            lambda: self.loader(self.shared.SleepingRows(), num_workers=1, multiprocessing_context="fork"),
        ):
            plain = self.fit(self.trainer(), self.module(), loader())
            with self.subTest(), self.shared.session() as found:
                self.assert_equal(self.fit(self.trainer(self.stalls()), self.module(), loader()), plain)
            self.assertEqual(found.counts["opened"], sum(count for count, _ in found.sites.values()))
            self.assertGreaterEqual(found.sites["data"][0], EPOCHS * self.shared.BATCHES - 1)

    def test_evaluation_where_the_module_is_on_the_cpu(self):
        plain = self.fit(self.trainer(), self.module(validated=True), self.loader(), self.loader())
        with self.shared.session() as found:
            trainer = self.trainer(self.stalls(), num_sanity_val_steps=1)
            given = self.module(validated=True), self.loader(), self.loader()
            self.assert_equal(self.fit(trainer, *given), plain)
        self.shared.check(
            self,
            found,
            {**self.expected(), "evaluation": 1 + EPOCHS},
            {"evaluation": 1e3 * EPOCHS * self.shared.ROWS * self.shared.SLEEP_S},
        )

    def test_the_programs_own_profiler_hears_all(self):
        heard = []

        class Own(lightning.profilers.Profiler):
            def start(self, action_name):
                heard.append(("start", action_name))

            def stop(self, action_name):
                heard.append(("stop", action_name))

        self.fit(self.trainer(profiler=Own()), self.module())
        plain, heard[:] = list(heard), []
        with self.shared.session() as found:
            self.fit(self.trainer(self.stalls(), profiler=Own()), self.module())
        self.shared.check(self, found, self.expected())
        self.assertEqual([each for each in heard if "Stalls" not in each[1]], plain)

    def test_without_a_gpu_and_a_stream_there_is_nothing_to_place(self):
        trainer = self.trainer(self.lull.lightning.stalls())
        with self.shared.session() as found:
            self.fit(trainer, self.module())
        self.assertEqual((found.sites, found.counts["opened"]), ({}, 0))

    def test_a_lightning_that_tells_its_profiler_of_no_fetch_is_told(self):
        trainer = self.trainer(self.stalls())
        loop = type(trainer.fit_loop.epoch_loop)
        silent = {"_on_before_fetch": lambda _: None, "_on_after_fetch": lambda _: None}
        logged = self.assertLogs("lull", logging.WARNING)
        with mock.patch.multiple(loop, **silent), self.shared.session() as found, logged as told:
            self.fit(trainer, self.module())
        self.assertIn("no fetch of a batch was seen", "\n".join(told.output))
        self.assertEqual(list(found.sites), ["checkpoint"])

    def test_what_is_no_trainer_is_refused(self):
        with self.assertRaisesRegex(self.lull.Error, "object has no profiler, save_checkpoint: .* 2.0 or later"):
            self.stalls().setup(object(), None, "fit")

    def test_it_goes_to_another_process(self):
        again = pickle.loads(pickle.dumps(self.lull.lightning.stalls()))
        self.assertIsInstance(again, lightning.Callback)


def main():
    global lightning, package
    try:
        import torch  # noqa: F401
    except ImportError as why:
        print(f"not run: {why}")
        sys.exit(SKIPPED)
    found = [name for name in PACKAGES if importlib.util.find_spec(name.partition(".")[0]) is not None]
    if not found:
        print("not run: neither lightning nor pytorch_lightning is installed")
        sys.exit(SKIPPED)
    if len(sys.argv) == 1:
        for asked in (*found, *(["both"] if len(found) == 2 else [])):
            print(asked, flush=True)
            if subprocess.run([sys.executable, __file__, asked], check=False, timeout=280).returncode != 0:
                sys.exit(1)
        return
    package = sys.argv.pop()
    for name in PACKAGES if package == "both" else (package,):
        lightning = importlib.import_module(name)
        logging.getLogger(name).setLevel(logging.ERROR)
    for name in ("plugins.io", "profilers"):
        importlib.import_module(f"{lightning.__name__}.{name}")
    warnings.simplefilter("ignore")
    unittest.main()


if __name__ == "__main__":
    main()
