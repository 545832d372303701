"""One training step: batch → guesses → partners → λ (drawn, refined) → loss → optimizer. Pure in (seed, step)."""

import math
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from metamixup import world
from metamixup.engine.divergence import Diverged
from metamixup.engine.out_of_memory import naming_cheaper
from metamixup.engine.runtime import Runtime
from metamixup.engine.training import Source, Training
from metamixup.meta import learning_rates
from metamixup.methods.method import Batch, Net
from metamixup.mixing import Mixture, Pairs, smoothed, soft_cross_entropy, soft_labels
from metamixup.network import captured_outputs, find_classifier, known_classifier
from metamixup.seeding import derived_generator, derived_seed, seed_everything


@dataclass(frozen=True)
class StepResult:
    """What a step did, for the record."""

    losses: dict[str, Tensor]
    total: float
    lr: float
    pairs: Pairs
    mixture: Mixture
    images: int
    seconds: dict[str, float]


class Stepper:
    """Takes the steps of a `Training` on a `Runtime`; `net` is the model as the runtime wraps it."""

    def __init__(self, training: Training, runtime: Runtime, say: Callable[[str], None]):
        self.training, self.runtime = training, runtime
        for _, module in training.modules():
            runtime.adopt(module)
        self.net, self.optimizer = runtime.setup(training.model, training.optimizer, training.compile, say)

    def __call__(self, step: int) -> StepResult:
        started, busy = time.perf_counter(), time.process_time()
        t, lr = self.training, self._begin(step)
        batch, loaded = self._batch(step), time.perf_counter()
        batch, pairs = self._paired(batch, step)
        if t.study is not None:
            t.study.see(batch)
        refined = time.perf_counter()
        mixture, reading = self._mixture(batch, pairs, step)
        meta = time.perf_counter() - refined - reading
        with self._own_pass(batch, mixture) as logits:
            losses = t.method.loss(self.net, batch, mixture)
        total = self._descend(losses, step, lr)
        if len(logits) == 1:
            t.stage.witness(logits[0], pairs, mixture)
        self._agree_on_buffers()
        t.method.after_step(t.model, batch)
        for average in (t.slow, t.ema):
            if average is not None:
                average.update(t.model, step)
        ended = time.perf_counter()
        seconds = {"total": ended - started, "loader": loaded - started + reading, "meta": meta}
        seconds["cpu"] = time.process_time() - busy
        return StepResult(losses, total, lr, pairs, t.method.recorded(mixture), len(batch.x), seconds)

    def look(self, step: int) -> tuple[Batch, Mixture]:
        """The batch and the mixture that a step would train on, and no more: for studies of trained networks."""
        self._begin(step)
        batch, pairs = self._paired(self._batch(step), step)
        return batch, self._mixture(batch, pairs, step)[0]

    def _begin(self, step: int) -> float:
        """The learning rate of the step; dropout too is a function of the step."""
        t = self.training
        seed_everything(derived_seed(t.seed, "step", step, self.runtime.rank))
        t.model.train()
        rate = t.schedule.apply(t.optimizer, step)
        t.stage.see(rate)
        return rate

    def _paired(self, batch: Batch, step: int) -> tuple[Batch, Pairs]:
        """With partners and guesses; policies see labels as they are, losses see them smoothed."""
        t = self.training
        with torch.no_grad():
            batch = t.method.prepare(t.model, batch, derived_generator(t.seed, "prepare", step))
        pairs = t.method.pairs(batch, derived_generator(t.seed, "partners", step))
        return replace(batch, y=smoothed(batch.y, t.smoothing)), pairs

    def _batch(self, step: int) -> Batch:
        t = self.training
        (x,), y, index = self._read(t.train, step)
        epoch, progress = step // t.steps_per_epoch, step / t.steps
        batch = Batch(x, soft_labels(y, t.num_classes, x.dtype), index, epoch=epoch, step=step, progress=progress)
        if t.unlabelled is None or not t.method.unlabelled:
            return batch
        views, _, u_index = self._read(t.unlabelled, step)  # its labels stay hidden
        others = torch.cat(views[1:]) if len(views) > 1 else None
        return replace(batch, u=views[0], u2=others, u_index=u_index)

    def _read(self, source: Source, step: int) -> tuple[tuple[Tensor, ...], Tensor, Tensor]:
        r = self.runtime
        x, y, index = source.batch(step, r.rank, r.world)
        views = (self.training.growth(view, step) for view in (x if isinstance(x, tuple) else (x,)))
        return tuple(map(r.to_device, views)), y.to(r.device), index.to(r.device)

    def _mixture(self, batch: Batch, pairs: Pairs, step: int) -> tuple[Mixture, float]:
        """The mixture of the step, and the seconds spent reading the meta batch."""
        t = self.training
        generator = derived_generator(t.seed, "policy", step)
        started, reading, eta = time.perf_counter(), 0.0, {}
        if t.stage.due:
            eta = learning_rates(t.model, t.optimizer)
            if t.meta is None and t.stage.needs_meta:
                raise ValueError("a learned policy needs a meta set")
        if t.stage.meta_due and t.meta is not None:
            (x, *_), y, index = self._read(t.meta, step)
            labels = soft_labels(y, t.num_classes, x.dtype)
            pairs = replace(pairs, meta_index=index, meta_labels=labels)
            reading = time.perf_counter() - started

        def loss(net: Net, mixture: Mixture) -> Tensor:
            if mixture.picked:
                return t.method.plain_loss(net, batch.of(mixture.partner))
            return torch.stack(list(t.method.loss(net, batch, mixture).values())).sum()

        def meta_loss(net: Net) -> Tensor:
            return soft_cross_entropy(net(x), labels)

        with self.runtime.autocast(), naming_cheaper(t.stage.estimator):
            mixture = t.stage(t.model, loss, meta_loss, pairs, eta, generator)
        if mixture.own_labels is not None:
            given, guessed = mixture.own_labels.tensor_split([len(batch.y)])
            mixture = replace(mixture, own_labels=torch.cat([smoothed(given, t.smoothing), guessed]))
        return mixture, reading

    def _own_pass(self, batch: Batch, mixture: Mixture) -> AbstractContextManager[list[Tensor]]:
        """What the classifier puts out meanwhile, for a stage that learns from it. (With unlabelled data a batch has
        two blocks, and the guesses of one are the network's own.)"""
        t = self.training
        if not t.stage.listens or t.method.unlabelled:
            return nullcontext([])
        # Known since the stage's first look, but not where a run is gone on with between two looks.
        find_classifier(t.model, lambda net: torch.stack(list(t.method.loss(net, batch, mixture).values())).sum())
        classifier = known_classifier(t.model)
        return nullcontext([]) if classifier is None else captured_outputs(classifier)

    def _descend(self, losses: dict[str, Tensor], step: int, lr: float) -> float:
        loss = torch.stack(list(losses.values())).sum()
        value = float(world.mean(loss.detach()))  # of all processes, so that all stop at a loss that is not finite
        if not math.isfinite(value):
            raise Diverged(f"the loss became {value}", step, lr)
        self.optimizer.zero_grad(set_to_none=True)
        self.runtime.backward(loss)
        self._average_gradients()
        if self.training.clip is not None:
            self.runtime.clip(self.training.model, self.optimizer, self.training.clip)
        self.optimizer.step()
        return value

    def _average_gradients(self) -> None:
        """Of the method's own networks: the model's are averaged while they are computed."""
        own = {
            f"{name}.{key}": p.grad
            for name, module in self.training.method.modules().items()
            for key, p in module.named_parameters()
            if p.grad is not None
        }
        for name, mean in world.mean_all(own).items() if world.size() > 1 else ():
            own[name].copy_(mean)

    def _agree_on_buffers(self) -> None:
        """BatchNorm's running statistics become the mean over the processes, each of which sees its share only."""
        if world.size() == 1:
            return
        modules = {"": self.training.model, **self.training.method.modules()}
        own = {f"{n}.{k}": b for n, m in modules.items() for k, b in m.named_buffers() if b.is_floating_point()}
        for name, mean in world.mean_all(own).items():
            own[name].copy_(mean)
