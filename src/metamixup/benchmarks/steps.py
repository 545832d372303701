"""One training step of each kind on the same model, as functions without arguments: the rows of the benchmark."""

from collections.abc import Callable

import torch
from torch import Tensor
from torch.optim import SGD

from metamixup.engine.compiled import Compiled
from metamixup.engine.runtime import keep_memory
from metamixup.meta import Estimator, Exact, FiniteDifference, Head, MetaStage, Stage, learning_rates
from metamixup.mixing import Mixture, Pairs, draw_partners, image_size, soft_cross_entropy, soft_labels
from metamixup.models import build
from metamixup.network import Net
from metamixup.policy import Beta, Fixed, Learned, Persistent
from metamixup.trust import Trust
from metamixup.trust.evidence import Evidence

Step = Callable[[], None]
ALONE = 40  # calls of a policy in one measurement: each is short
SHAPES = {"cnn3": (1, 28, 28)}  # others take 3 × 32 × 32


class Bench:
    """Random images are as good as real ones here: no kernel's time depends on their values."""

    def __init__(self, model: str, batch: int, classes: int = 10):
        keep_memory()
        torch.manual_seed(0)
        shape = SHAPES.get(model, (3, 32, 32))
        self.batch = batch
        self.model = build(model, classes, shape[0], shape[1:]).to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        self.optimizer = SGD(self.model.parameters(), 0.01, 0.9, weight_decay=1e-4)
        self.x, self.x_meta = (torch.randn(batch, *shape).to(memory_format=torch.channels_last) for _ in range(2))
        self.y, self.y_meta = (soft_labels(torch.randint(0, classes, (batch,)), classes) for _ in range(2))
        self.index = torch.arange(batch)
        self.generator = torch.Generator().manual_seed(0)

    def pairs(self, meta: int) -> Pairs:
        partner, size = draw_partners([self.batch], self.generator), image_size(self.x)
        return Pairs(partner, self.y, self.index, self.index[:meta], self.y_meta[:meta], image_size=size)

    def loss(self, net: Net, mixture: Mixture) -> Tensor:
        return soft_cross_entropy(net(mixture.inputs(self.x)), mixture.labels(self.y))

    def descend(self, loss: Tensor) -> None:
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()

    def plain(self) -> None:
        self.descend(soft_cross_entropy(self.model(self.x), self.y))

    def mixture(self, stage: Stage, meta: int = 0) -> Callable[[], Mixture]:
        """The stage of a step alone, with a meta batch of this size."""

        def meta_loss(net: Net) -> Tensor:
            return soft_cross_entropy(net(self.x_meta[:meta]), self.y_meta[:meta])

        def run() -> Mixture:
            eta = learning_rates(self.model, self.optimizer) if stage.due else {}
            return stage(self.model, self.loss, meta_loss, self.pairs(meta), eta, self.generator)

        return run

    def step(self, stage: Stage, meta: int = 0) -> Step:
        found = self.mixture(stage, meta)

        def run() -> None:
            mixture = found()
            logits = self.model(mixture.inputs(self.x))
            self.descend(soft_cross_entropy(logits, mixture.labels(self.y)))
            if stage.listens:
                stage.witness(logits.detach(), self.pairs(0), mixture)

        return run

    def learned(self, estimator: Estimator, meta: int) -> Step:
        return self.step(MetaStage(Learned(), estimator), meta)

    def compiled(self, say: Callable[[str], None]) -> Step:
        """The plain step as `metamixup train --compile` takes it."""
        net = Compiled(self.model, say)
        return lambda: self.descend(soft_cross_entropy(net(self.x), self.y))

    def several(self, step: Callable[[], object], count: int) -> Step:
        """`count` steps in one measurement: the mean of a policy that learns on some of them."""

        def run() -> None:
            for _ in range(count):
                step()

        return run

    def rows(self) -> dict[str, tuple[Step, int]]:
        """Each row's step, and how many steps one call of it takes. All but exact and its peers see half the meta
        batch, the default what it asks for; those see the whole, as in the paper."""
        half, trust = max(2, self.batch // 2), Trust()
        return {
            "plain": (self.plain, 1),
            "no mixing": (self.step(MetaStage(Fixed(1.0))), 1),
            "mixup": (self.step(MetaStage(Beta(1.0))), 1),
            "head": (self.learned(Head(), half), 1),
            "head-early": (self.learned(Head(blend="early"), half), 1),
            "head-features": (self.learned(Head(blend="features"), half), 1),
            "head-plain": (self.learned(Head.plain(), half), 1),
            "finite_difference": (self.learned(FiniteDifference(), self.batch), 1),
            "exact": (self.learned(Exact(), self.batch), 1),
            "default": (self.several(self.step(trust, trust.meta_batch(self.batch)), trust.every), trust.every),
        }

    def policies_alone(self) -> dict[str, tuple[Step, int]]:
        """What a policy does by itself: no network is called, and gradients cost nothing."""
        half = max(2, self.batch // 2)
        stages = {
            "trust alone": self.mixture(FreeTrust(self.batch, half, self.y.shape[1]), half),
            "persistent alone": self.mixture(MetaStage(Persistent(), Free(self.batch)), half),
        }
        return {name: (self.several(stage, ALONE), ALONE) for name, stage in stages.items()}

    def policies_in_steps(self) -> dict[str, tuple[Step, int]]:
        """The same within training steps, for the memory that they need together."""
        half = max(2, self.batch // 2)
        return {
            "with trust": (self.step(FreeTrust(self.batch, half, self.y.shape[1], every=1), half), 1),
            "with persistent": (self.step(MetaStage(Persistent(), Free(self.batch)), half), 1),
        }


class Free:
    """Not an estimator: some ∇λ, drawn once."""

    def __init__(self, size: int):
        self.grad = torch.randn(size)

    def __call__(self, model: object, loss: object, meta_loss: object, mixture: Mixture, eta: object) -> Tensor:
        return self.grad


class FreeTrust(Trust):
    """Trust with evidence that costs nothing: drawn once, for the batch and for the meta batch."""

    listens = False

    def __init__(self, batch: int, meta: int, classes: int, every: int = Trust.every):
        super().__init__()
        self.pace(every)
        self.found = [Evidence(torch.randn(n), torch.randn(n, classes).log_softmax(1)) for n in (batch, meta)]

    def evidence(self, *given: object) -> tuple[Evidence, Evidence]:
        return self.found[0], self.found[1]
