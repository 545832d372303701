"""The training loop: steps, epochs, records and checkpoints. A run that was killed goes on as if it had not been."""

import time
from collections.abc import Callable, Sequence
from typing import Any

import safetensors.torch

from metamixup import world
from metamixup.engine import checkpoint
from metamixup.engine.evaluate import evaluate
from metamixup.engine.interrupt import Interrupt, Interrupted, listening
from metamixup.engine.records.epoch import EpochRecord
from metamixup.engine.records.monitor import Monitor
from metamixup.engine.records.progress import Listener
from metamixup.engine.records.run_folder import RunFolder, append_line, cut_back
from metamixup.engine.records.summary import summarise
from metamixup.engine.runtime import Runtime
from metamixup.engine.step import Diverged, Stepper
from metamixup.engine.training import Training
from metamixup.errors import UserError
from metamixup.storage import write_atomically


def train(
    training: Training,
    folder: RunFolder,
    runtime: Runtime,
    listeners: Sequence[Listener] = (),
    interrupt: Interrupt | None = None,
    before_summary: Callable[[], None] = lambda: None,
) -> dict[str, Any]:
    """Train to the end, from the newest good checkpoint if there is one, and return the summary.

    Raises Interrupted after a signal and Diverged when the loss is no longer finite. The caller holds the folder's
    lock and has written its config; one that listens to signals already hands its `interrupt` over. `before_summary`
    is called at the end, just before summary.json, which marks a finished run, is written.
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
        before_summary: Callable[[], None],
    ):
        self.training, self.folder, self.runtime, self.listeners = training, folder, runtime, listeners
        self.before_summary = before_summary
        self.stepper = Stepper(training, runtime, self.say)
        self.record = EpochRecord(training.num_classes, training.wrong)
        self.step, self.lr = 0, 0.0
        self.monitor = Monitor()
        self.saved: str | None = None
        self.mark = time.perf_counter()

    def run(self, interrupt: Interrupt) -> dict[str, Any]:
        self.restore()
        self.lap()
        t = self.training
        for listener in self.listeners:
            listener.started(t.epochs, t.steps_per_epoch, self.step)
        try:
            self.train_on(interrupt)
        except Diverged as error:
            error.add_note(f"last good checkpoint: {self.saved or 'none yet'}; a lower learning rate may help (--lr)")
            raise
        finally:
            for listener in self.listeners:
                listener.stopped()
        return self.finish()

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
        t.method.after_epoch(epoch - 1)
        tested = self.evaluation() if epoch % t.evaluate_every == 0 or epoch == t.epochs else {}
        self.record.seconds["wall"] += self.lap()
        self.collect()
        head = {"epoch": epoch, "step": self.step, "lr": self.lr}
        line = {**head, **self.record.line(), **t.records(), **tested}
        lambdas = {"epoch": epoch, "step": self.step, **self.record.lambdas.line(), **self.record.extremes.line()}
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

    def save(self) -> None:
        if not all(bool(p.isfinite().all()) for p in self.training.model.parameters()):
            raise Diverged("a weight is no longer finite", self.step, self.lr)
        self.collect()
        if not world.leads():
            return
        state = {
            "training": self.training.state_dict(),
            "recorder": self.record.state_dict(),
            "lr": self.lr,
            "data": self.training.fingerprint,
        }
        try:
            self.saved = str(checkpoint.save(self.folder.checkpoints, self.step, state))
        except OSError as error:
            self.say(f"no checkpoint at step {self.step} ({error.strerror}); {self.saved or 'none'} serves meanwhile")

    def restore(self) -> None:
        found = checkpoint.read_by_leader(self._newest)
        self.step = found.step if found else 0
        if found is not None:
            self._load(found)
        if world.leads():
            cut_back(self.folder.metrics, self.step)
            cut_back(self.folder.lambdas, self.step)

    def _newest(self) -> checkpoint.Checkpoint | None:
        found, damaged = checkpoint.newest(self.folder.checkpoints)
        if damaged and found is None:
            raise UserError(
                f"{damaged[0]}: damaged, and no other checkpoint is left; "
                f"remove {self.folder.checkpoints} to train this run from the start"
            )
        if damaged and found is not None:
            self.say(f"{damaged[0].name} is damaged; going on from {found.path.name}")
        return found

    def _load(self, found: checkpoint.Checkpoint) -> None:
        if found.state.get("data", self.training.fingerprint) != self.training.fingerprint:
            raise UserError(
                f"the data is not what this run began with ({found.path} has another fingerprint); "
                "put the files back, or train anew in another --out"
            )
        try:
            self.training.load_state_dict(found.state["training"])
            self.record.load_state_dict(found.state["recorder"], self.runtime.device)
        except (KeyError, RuntimeError, ValueError) as error:
            reason = str(error).splitlines()[0]
            raise UserError(f"{found.path}: does not fit this run ({reason}); was config.toml changed?") from error
        self.lr, self.saved = found.state["lr"], str(found.path)
        self.say(f"going on from step {self.step} of {self.training.steps}")

    def finish(self) -> dict[str, Any]:
        name, model = self.training.evaluated()
        weights = {key: value.detach().cpu().contiguous().clone() for key, value in model.state_dict().items()}
        if world.leads():
            write_atomically(self.folder.model, safetensors.torch.save(weights, metadata={"weights": name}))
        self.before_summary()

        def write() -> dict[str, Any]:
            summary = summarise(self.training, name, cut_back(self.folder.metrics, self.step))
            self.folder.write_summary(summary)
            return summary

        return world.agreed(write)

    def say(self, text: str) -> None:
        for listener in self.listeners:
            listener.say(text)
