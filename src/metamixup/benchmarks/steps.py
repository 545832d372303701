"""One training step of each kind on the same model, as functions without arguments: the rows of the benchmark."""

from collections.abc import Callable

import torch
from torch import Tensor
from torch.optim import SGD

from metamixup.engine.allocator import keep_memory
from metamixup.engine.compiled import Compiled
from metamixup.meta import Estimator, Exact, FiniteDifference, Head, MetaStage, learning_rates
from metamixup.meta.lookahead import Net
from metamixup.mixing import Mixture, Pairs, draw_partners, soft_cross_entropy, soft_labels
from metamixup.models import build
from metamixup.policy import Beta, Fixed, Learned, Persistent, Policy
from metamixup.trust import Evidence, Trust

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
        return Pairs(
            draw_partners([self.batch], self.generator), self.y, self.index, self.index[:meta], self.y_meta[:meta]
        )

    def loss(self, net: Net, mixture: Mixture) -> Tensor:
        return soft_cross_entropy(net(mixture.inputs(self.x)), mixture.labels(self.y))

    def descend(self, loss: Tensor) -> None:
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()

    def plain(self) -> None:
        self.descend(soft_cross_entropy(self.model(self.x), self.y))

    def stage(
        self, policy: Policy, estimator: Estimator | None = None, meta: int = 0, every: int = 1
    ) -> Callable[[], Mixture]:
        stage = MetaStage(policy, estimator, every)

        def meta_loss(net: Net) -> Tensor:
            return soft_cross_entropy(net(self.x_meta[:meta]), self.y_meta[:meta])

        def run() -> Mixture:
            eta = learning_rates(self.model, self.optimizer) if stage.due else {}
            return stage(self.model, self.loss, meta_loss, self.pairs(meta), eta, self.generator)

        return run

    def step(self, policy: Policy, estimator: Estimator | None = None, meta: int = 0, every: int = 1) -> Step:
        stage = self.stage(policy, estimator, meta, every)
        return lambda: self.descend(self.loss(self.model, stage()))

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
        batch; those see the whole, as in the paper."""
        half, trust = max(2, self.batch // 2), Trust()
        return {
            "plain": (self.plain, 1),
            "no mixing": (self.step(Fixed(1.0)), 1),
            "mixup": (self.step(Beta(1.0)), 1),
            "head": (self.step(Learned(), Head(), half), 1),
            "head-early": (self.step(Learned(), Head(blend="early"), half), 1),
            "head-features": (self.step(Learned(), Head(blend="features"), half), 1),
            "head-plain": (self.step(Learned(), Head.plain(), half), 1),
            "finite_difference": (self.step(Learned(), FiniteDifference(), self.batch), 1),
            "exact": (self.step(Learned(), Exact(), self.batch), 1),
            "default": (self.several(self.step(trust, Evidence(), half, trust.every), trust.every), trust.every),
        }

    def policies_alone(self) -> dict[str, tuple[Step, int]]:
        """What a policy does by itself: no network is called, and gradients cost nothing."""
        half, trust = max(2, self.batch // 2), Trust()
        stages = {
            "trust alone": self.stage(trust, Free(self.batch + half, 2), half, trust.every),
            "persistent alone": self.stage(Persistent(), Free(self.batch), half),
        }
        return {name: (self.several(stage, ALONE), ALONE) for name, stage in stages.items()}

    def policies_in_steps(self) -> dict[str, tuple[Step, int]]:
        """The same within training steps, for the memory that they need together."""
        half = max(2, self.batch // 2)
        return {
            "with trust": (self.step(Trust(), Free(self.batch + half, 2), half), 1),
            "with persistent": (self.step(Persistent(), Free(self.batch), half), 1),
        }


class Free:
    """Not an estimator: some gradient of the shape that a policy asks for, drawn once."""

    def __init__(self, *shape: int):
        self.grad = torch.randn(*shape)

    def __call__(self, model: object, loss: object, meta_loss: object, lam: Tensor, eta: object) -> Tensor:
        return self.grad
