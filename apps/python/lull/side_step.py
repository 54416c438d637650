# SPDX-License-Identifier: Apache-2.0
"""A PyTorch step as side work: captured once, then run in bubbles without the host."""

from __future__ import annotations

import contextlib
import functools
import os
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from .binding import Error, Status, log
from .captured_step import Captured, SideStep
from .job import FINAL, GraphJob, refuse_graph
from .later_signals import later_signals
from .step_advice import forget_frames
from .step_feeder import Feeder
from .step_outputs import Outputs


_EVER_S = 1e9  # a wait without an end

_left_alone: list[Any] = []  # whose jobs were not seen to be over: a segment may still run on their memory


def side_step(
    step: Callable[[], Any],
    *,
    steps: int,
    inputs: Sequence[Any] = (),
    feed: Iterable[Sequence[Any]] | None = None,
    state: Sequence[Any] = (),
    segment: float = 1e-4,
    node_limit: float | None = None,
    warm_ups: int = 3,
    checkpoint: str | os.PathLike[str] | None = None,
    every: int = 0,
    seed: int | None = None,
    hint: bool = True,
) -> SideStep:
    """A PyTorch step as side work::

        job = side.submit(lull.side_step(step, steps=1000, inputs=(x, y), feed=batches, state=(model, optimizer)))

    `step()` computes on tensors of the device that stay where they are, reads nothing back, and returns a tensor, a
    sequence of tensors, or None; `job.outputs()` gives what it returned. It is run `warm_ups` times, at least twice,
    and once more while it is captured and tried; what it changed of `state` (modules, optimizers, tensors), and of
    gradients, is then put back, so none of these runs counts. Of an optimizer that is the tensors in its state and its
    groups; one that changes numbers of Python there is refused. The step runs once more with the submission, as its
    first. A submission that fails puts `state` back, and an optimizer is without what it made meanwhile. One step is
    captured at a time; meanwhile no other thread may draw random numbers on the device.

    `inputs` are tensors that `feed` fills: each batch has as many, of the same shapes, and of types that convert
    safely. A thread takes all batches, ahead, and closes a generator at the end; it takes the interpreter's lock for
    that. A batch may be on the device if it is computed on the stream that is current at its yield, or that stream
    waits for it. A DataLoader without a generator gets its own. Where `feed` ends the job is
    cancelled, when the last batch's step is over. A job that ends early leaves `state` in the middle of a step; a
    checkpoint never does.

    Random numbers advance from step to step as in ordinary replays, from a generator of the step's own; the program's
    own stay as they are. `seed`: of these; None: drawn from the program's seed and the number of side steps before.

    `checkpoint`: a file that holds `state` and the number of steps done, written every `every` steps and at the end;
    where it is there, the job goes on from it, and `feed` is given from that step on. Each rank of a process group has
    its own: step.pt → step.rank3.pt. It needs as much pinned host memory as `state` takes. Without a file `every`
    keeps the same on the host, for `state_dict` and `load_state_dict` of what this returns: so it is saved with the
    trainer.

    The step's memory is the runtime's, within its `memory_limit_bytes`, and is given back when the job is over, but for
    what the step made for good, such as the optimizer's state: that stays until the program drops it. It may give way
    to the trainer (`reserve_bytes`, `give_back`): look at what the step made, such as gradients or the optimizer's
    state, when the job is over or paused, or between `job.hold` and `job.let_go`. Parameters are the program's, and
    stay.

    `segment`: about the seconds that a bubble which closes waits for, but for longer kernels. `node_limit`: a step is
    refused if a kernel takes more seconds twice; None: 0.002, or `segment` if that is more. `hint`: whether the job
    goes by how long bubbles were lately, or looks at the gate alone.

    The learning rate of an optimizer must be a tensor if it changes; use `capturable=True`."""
    refuse_graph(steps, segment, node_limit)
    if warm_ups < 1:
        raise Error(f"warm_ups is {warm_ups}: it must be 1 or more, since libraries prepare themselves in the first")
    if (feed is None) != (not inputs):
        raise Error("inputs and feed belong together: inputs are the tensors, feed is what fills them")
    for name, is_asked in (("a checkpoint", checkpoint is not None), ("every", every)):
        if is_asked and not state:
            raise Error(f"{name} needs state: the modules, optimizers and tensors that the step changes")
    if every < 0:
        raise Error(f"every is {every}: it must be 0 or more")
    return SideStep(
        step, steps, tuple(inputs), feed, tuple(state), segment, node_limit, warm_ups, checkpoint, every, seed, hint
    )


def _submitted(submit: Callable[[], GraphJob], begin_again: Callable[[], None]) -> GraphJob:
    """Twice, where a kernel took too long: that may have been chance."""
    try:
        return submit()
    except Error as why:
        if why.status != Status.ERROR_SLOW_NODE:
            raise
        log.info("the step is put back and submitted once more: %s", why)
    begin_again()
    return submit()


class StepJob(GraphJob):
    """The job of a side step. Its rounds are steps."""

    def __init__(
        self,
        submit_graph: Callable[..., GraphJob],
        lend_stream: Callable[[], Any],
        asked: SideStep,
        device: int,
        priority: int,
        name: str | None,
        keep: Callable[[StepJob], object],
    ) -> None:
        """`keep` has the job before a signal handler can raise anything."""
        captured, feeder, is_kept = Captured(asked, device, lend_stream), None, False
        try:
            feeder = Feeder(captured, asked, self)
            feeder.give_first()
            rest = {each: getattr(asked, each) for each in ("segment", "node_limit", "hint")}
            rest |= {"name": name or getattr(asked.step, "__name__", "step"), "memory": captured.memory}
            rest |= {"steps": asked.steps - captured.done, "is_fed": True, "priority": priority}
            submit = functools.partial(submit_graph, captured.graph.raw_cuda_graph(), **rest)
            with later_signals():
                made = _submitted(submit, captured.begin)
                captured.submitted()
                super().__init__(made._live(), made.task)
                self._feeder = feeder
                self._has_left = False  # the job is over, and no block works on its memory
                feeder.serve()
                keep(self)
                is_kept = True
        except BaseException as why:
            if is_kept:  # a handler's: the job goes on
                raise
            forget_frames(why)
            if feeder is not None:
                feeder.abandon()
            captured.undo()
            raise

    def status(self) -> dict[str, Any]:
        """As of any job. It has finished when its last outputs are taken and its checkpoint is written; one that its
        feed, its outputs or its checkpoint ended has failed."""
        now = super().status()
        if now["state"] == "finished" and self._handle is not None and self._feeder.is_alive():
            now["state"] = "placed"
        if now["state"] in FINAL and self._feeder.error is not None:
            now["state"] = "failed"
        return now

    def outputs(self) -> Outputs:
        """Iterates over what the steps returned that are over and were not asked for before, in order, on the host: a
        list of tensors a step. The latest 65,536 steps are kept, or those of 1 GiB; older ones are dropped. Raises
        Error, when there is nothing left to give, where `feed` raised, a step returned NaN as a single number, or a
        checkpoint could not be written."""
        found = Outputs(self._feeder)
        if not len(found):
            self._feeder.raise_error()
        return found

    def wait(self, seconds: float | None = None) -> bool:
        """True when the job is over, its last outputs are taken and its checkpoint is written; None: the time has no
        end. Raises Error then for what `outputs` raises it for."""
        if not self._is_over(seconds):
            return False
        self._feeder.raise_error()
        return True

    def _is_over(self, seconds):
        deadline = time.monotonic() + (_EVER_S if seconds is None else seconds)
        self._has_left = super().wait(seconds)
        if not self._has_left:
            return False
        if super().status()["state"] != "finished":
            self._feeder.stop()
        if not self._feeder.has_ended(deadline):
            return False
        self._feeder.release()
        return True

    def _cancel_unfinished(self):
        with contextlib.suppress(Error):
            if super().status()["state"] not in FINAL:
                self._feeder.stop()
        super()._cancel_unfinished()

    def _end(self, deadline):
        super()._end(deadline)
        if self._feeder.end() and self._has_left:
            self._feeder.release()
        else:
            _left_alone.append(self._feeder)
