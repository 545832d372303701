"""The training loop: steps, epochs, records and checkpoints. A run that was killed goes on as if it had not been."""

import time
from collections.abc import Callable, Sequence
from typing import Any

import safetensors.torch

from metamixup import world
from metamixup.engine import checkpoint
from metamixup.engine.divergence import Diverged, finite_tensors, first_lost
from metamixup.engine.evaluate import evaluate
from metamixup.engine.interrupt import Interrupt, Interrupted, listening
from metamixup.engine.records.epoch import EpochRecord
from metamixup.engine.records.monitor import Monitor
from metamixup.engine.records.progress import Listener
from metamixup.engine.records.run_folder import RunFolder, append_line, cut_back
from metamixup.engine.records.summary import is_epoch_line, summarise
from metamixup.engine.run_state import find_checkpoint, load_state, run_state
from metamixup.engine.runtime import Runtime
from metamixup.engine.step import Stepper
from metamixup.engine.training import Training
from metamixup.storage import write_atomically


def train(
    training: Training,
    folder: RunFolder,
    runtime: Runtime,
    listeners: Sequence[Listener] = (),
    interrupt: Interrupt | None = None,
    before_summary: Callable[[], dict[str, Any]] = dict,
) -> dict[str, Any]:
    """Train to the end, from the newest good checkpoint if there is one, and return the summary.

    Raises Interrupted after a signal and Diverged when the loss is no longer finite. The caller holds the folder's
    lock and has written its config; one that listens to signals already hands its `interrupt` over. `before_summary`
    is called at the end, just before summary.json, which marks a finished run, is written; what it returns goes there,
    `remarks` beside the others.
    """
    loop = Loop(training, folder, runtime, listeners, before_summary)
    if interrupt is not None:
        return loop.run(interrupt)
    with listening() as own:
        return loop.run(own)


class Loop:
    def __init__(
        self,
        training: Training,
        folder: RunFolder,
        runtime: Runtime,
        listeners: Sequence[Listener],
        before_summary: Callable[[], dict[str, Any]],
    ):
        self.training, self.folder, self.runtime, self.listeners = training, folder, runtime, listeners
        self.before_summary = before_summary
        self.stepper = Stepper(training, runtime, self.say)
        self.record = EpochRecord(training.num_classes, training.wrong)
        self.step, self.lr = 0, 0.0
        self.monitor = Monitor()
        self.finite = finite_tensors(training)
        self.saved: str | None = None
        self.mark = time.perf_counter()

    def run(self, interrupt: Interrupt) -> dict[str, Any]:
        lost = self.restore()
        self.lap()
        t = self.training
        for listener in self.listeners:
            listener.started(t.epochs, t.steps_per_epoch, self.step)
        try:
            self.make_up_for(lost)
            self.train_on(interrupt)
        except Diverged as error:
            error.add_note(f"last good checkpoint: {self.saved or 'none yet'}; a lower learning rate may help (--lr)")
            raise
        finally:
            for listener in self.listeners:
                listener.stopped()
        return self.finish()

    def make_up_for(self, lost: list[int]) -> None:
        """Of the epochs whose records were lost, only one that has just ended has the weights to be evaluated."""
        ended = lost[-1:] if lost and lost[-1] * self.training.steps_per_epoch == self.step else []
        gone = lost[: len(lost) - len(ended)]
        if gone:
            self.say(f"records were lost for good, since no checkpoint repeats their epochs: {spans(gone)}")
        if ended:
            self.say(f"the record of epoch {ended[0]} was lost; it is evaluated again")
            self.record_epoch(self.evaluation())

    def train_on(self, interrupt: Interrupt) -> None:
        t, since = self.training, time.monotonic()
        while self.step < t.steps:
            # All processes stop and save at one step, whichever of them was asked to.
            asked, late = world.any_of(interrupt.asked, time.monotonic() - since > 60 * t.checkpoint_minutes)
            if asked or late:
                self.save()
                since = time.monotonic()
            if asked:
                raise Interrupted(f"stopped at step {self.step} of {t.steps}, checkpoint {self.saved or 'none'}")
            self.take_step()
            if self.step % t.steps_per_epoch == 0:
                self.end_epoch()
                self.save()
                since = time.monotonic()

    def take_step(self) -> None:
        done = self.stepper(self.step)
        self.step, self.lr = self.step + 1, done.lr
        self.record.step(done)
        self.record.seconds["wall"] += self.lap()
        for listener in self.listeners:
            listener.stepped(self.step, done.total)

    def lap(self) -> float:
        """Seconds since the last lap: an epoch's own cover its steps, evaluation, records and checkpoints."""
        before, self.mark = self.mark, time.perf_counter()
        return self.mark - before

    def end_epoch(self) -> None:
        t, epoch = self.training, self.step // self.training.steps_per_epoch
        self.check_finite()
        t.method.after_epoch(epoch - 1)
        tested = self.evaluation() if epoch % t.evaluate_every == 0 or epoch == t.epochs else {}
        self.record.seconds["wall"] += self.lap()
        self.record_epoch(tested)

    def record_epoch(self, tested: dict[str, float]) -> None:
        """Write the lines of the epoch that has just ended; `tested` are its scores."""
        t, epoch = self.training, self.step // self.training.steps_per_epoch
        self.collect()
        head = {"epoch": epoch, "step": self.step, "lr": self.lr}
        line = {**head, **self.record.line(), **t.records(), **tested}
        lambdas = {"epoch": epoch, "step": self.step, **self.record.lambdas.line(), **self.record.extremes.line()}
        lost = world.agreed(lambda: first_lost(line))
        if lost is not None:
            raise Diverged(lost, self.step, self.lr)
        if world.leads():
            append_line(self.folder.metrics, line)
            append_line(self.folder.lambdas, lambdas)
        warning = self.monitor.see(tested) if t.stage.learned else None
        if warning is not None:
            self.say(warning)
        self.record.reset()
        for listener in self.listeners:
            listener.epoch(line, lambdas)

    def evaluation(self) -> dict[str, float]:
        """Scores of every set as `test_error`, `meta_nll`, …; and as `student_test_error`, … where the weights
        evaluated are not the ones that are trained."""
        t, (_, model) = self.training, self.training.evaluated()
        with self.runtime.autocast():
            scored = {s.name: evaluate(model, s, self.runtime) for s in t.evaluation}
            if model is not t.model:
                tests = [s for s in t.evaluation if s.name == "test"]
                scored |= {f"student_{s.name}": evaluate(t.model, s, self.runtime) for s in tests}
        return {f"{name}_{key}": round(value, 6) for name, found in scored.items() for key, value in found.items()}

    def collect(self) -> None:
        """Records are sums of all processes; all else is alike in each of them."""
        self.record.collect()
        if self.training.study is not None:
            self.training.study.collect()

    def check_finite(self) -> None:
        lost = sorted(self.finite - finite_tensors(self.training))
        if lost:
            raise Diverged(f"{lost[0]} is no longer finite", self.step, self.lr)

    def save(self) -> None:
        self.check_finite()
        self.collect()
        if not world.leads():
            return
        try:
            state = run_state(self.training, self.record, self.lr)
            self.saved = str(checkpoint.save(self.folder.checkpoints, self.step, state))
        except OSError as error:
            self.say(f"no checkpoint at step {self.step} ({error.strerror}); {self.saved or 'none'} serves meanwhile")

    def restore(self) -> list[int]:
        """Go on from a checkpoint, if there is one. Returns the epochs before it that have no record."""
        t = self.training
        found = checkpoint.read_by_leader(lambda: find_checkpoint(self.folder, t.steps_per_epoch, self.say))
        if found is not None:
            self.step, self.lr, self.saved = found.step, load_state(found, t, self.record), str(found.path)
            self.say(f"going on from step {self.step} of {t.steps}")
        return world.agreed(self._cut_back)

    def _cut_back(self) -> list[int]:
        """Records of work that is done again are dropped. Returns the epochs that lack one all the same."""
        lines = cut_back(self.folder.metrics, self.step)
        cut_back(self.folder.lambdas, self.step)
        recorded, length = {line["step"] for line in lines if is_epoch_line(line)}, self.training.steps_per_epoch
        return [epoch for epoch in range(1, self.step // length + 1) if epoch * length not in recorded]

    def finish(self) -> dict[str, Any]:
        name, model = self.training.evaluated()
        weights = {key: value.detach().cpu().contiguous().clone() for key, value in model.state_dict().items()}
        if world.leads():
            write_atomically(self.folder.model, safetensors.torch.save(weights, metadata={"weights": name}))
        more = self.before_summary()

        def write() -> dict[str, Any]:
            summary = summarise(self.training, name, cut_back(self.folder.metrics, self.step))
            summary |= more | {"remarks": summary["remarks"] + more.get("remarks", [])}
            self.folder.write_summary(summary)
            return summary

        return world.agreed(write)

    def say(self, text: str) -> None:
        for listener in self.listeners:
            listener.say(text)


def spans(numbers: list[int]) -> str:
    """[1, 2, 3, 7] → `1–3, 7`: ascending numbers, in few words also if they are hundreds."""
    firsts = [n for n in numbers if n - 1 not in numbers]
    lasts = [n for n in numbers if n + 1 not in numbers]
    return ", ".join(str(a) if a == b else f"{a}–{b}" for a, b in zip(firsts, lasts, strict=True))
