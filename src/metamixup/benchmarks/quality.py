"""What each estimator's direction is worth: the realised decrease of the meta loss after the virtual step, with λ moved
by one normalised logit step, on the meta batch and on held-out images, early and later in training."""

from collections.abc import Callable, Iterable, Iterator

import torch
from torch import Tensor, nn
from torch.optim import SGD

from metamixup import data
from metamixup.meta import Estimator, Exact, FiniteDifference, Head, MetaStage, learning_rates
from metamixup.meta.lookahead import ahead, gradient, trainable
from metamixup.mixing import Mixture, Pairs, draw_partners, soft_cross_entropy, soft_labels
from metamixup.models import build
from metamixup.network import Net, leaving_no_trace, network
from metamixup.policy import Beta, Learned
from metamixup.seeding import derived_generator

STAGES = {"early": 30, "later": 240}  # steps before the first measured batch
BATCH = 100


class Direction(Learned):
    """Keeps the drawn λ and the gradient that the estimator found."""

    def __init__(self, lam: Tensor):
        super().__init__()
        self.lam, self.grad = lam, torch.zeros_like(lam)

    def draw(self, pairs: Pairs, generator: torch.Generator) -> Tensor:
        return self.lam

    def refine(self, lam: Tensor, grad: Tensor, pairs: Pairs) -> Tensor:
        self.grad = grad
        return super().refine(lam, grad, pairs)


class Less:
    """Not an estimator: away from λ = ½, the direction that every measured gain is to beat."""

    def __call__(self, model: nn.Module, loss: object, meta_loss: object, mixture: Mixture, eta: object) -> Tensor:
        return 0.5 - mixture.lam


def estimators() -> dict[str, Estimator]:
    return {
        "exact": Exact(),
        "exact, no look-ahead": Exact(lookahead=False),
        "finite_difference": FiniteDifference(),
        "head": Head(),
        "head-early": Head(blend="early"),
        "head-features": Head(blend="features"),
        "head-plain": Head.plain(),
        "less mixing": Less(),
    }


class Task:
    """The embedded digits and a small network with batch norm, trained by MixUp between measurements."""

    def __init__(self, seed: int = 0):
        found = data.load("digits")
        x = (found.train.images.float() - 128) / 128
        self.x, self.y = x, soft_labels(found.train.labels, found.num_classes)
        order = torch.randperm(len(x), generator=derived_generator(seed, "split"))
        self.train, self.meta, self.held_out = order[:700], order[700:1000], order[1000:]
        torch.manual_seed(seed)
        self.model = build("cnn-bn", found.num_classes, x.shape[1], (x.shape[2], x.shape[3]))
        self.optimizer = SGD(self.model.parameters(), 0.1, 0.9, weight_decay=1e-4)
        self.seed, self.step = seed, 0

    def batches(self) -> tuple[Tensor, Tensor, Tensor]:
        """Rows of a training batch, their partners, and rows of a meta batch of half the size."""
        generator = derived_generator(self.seed, "batch", self.step)
        rows = self.train[torch.randperm(len(self.train), generator=generator)[:BATCH]]
        meta = self.meta[torch.randperm(len(self.meta), generator=generator)[: BATCH // 2]]
        return rows, draw_partners([BATCH], generator), meta

    def advance(self) -> None:
        rows, partner, _ = self.batches()
        lam = Beta(1.0).draw(Pairs(partner, self.y[rows]), derived_generator(self.seed, "lam", self.step))
        mixture = Mixture(lam, partner)
        loss = soft_cross_entropy(self.model(mixture.inputs(self.x[rows])), mixture.labels(self.y[rows]))
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.step += 1

    def loss_on(self, rows: Tensor) -> Callable[[Net], Tensor]:
        return lambda net: soft_cross_entropy(net(self.x[rows]), self.y[rows])


def decreases(task: Task, tried: dict[str, Estimator]) -> Iterator[tuple[str, float, float, float]]:
    """(name, cosine with the first, decrease on the meta batch, on held-out images) at the task's present step."""
    rows, partner, meta = task.batches()
    eta = learning_rates(task.model, task.optimizer)
    lam = torch.rand(BATCH, generator=derived_generator(task.seed, "tried", task.step))
    judges = task.loss_on(meta), task.loss_on(task.held_out)

    def loss(net: Net, mixture: Mixture) -> Tensor:
        return soft_cross_entropy(net(mixture.inputs(task.x[rows])), mixture.labels(task.y[rows]))

    def after(lam: Tensor) -> list[float]:
        with leaving_no_trace(task.model):
            theta = trainable(task.model, eta)
            at = ahead(theta, gradient(loss(network(task.model, theta), Mixture(lam, partner)), theta), eta)
            with torch.no_grad():
                return [float(judge(network(task.model, at))) for judge in judges]

    before, truth = after(lam), None
    for name, estimator in tried.items():
        policy = Direction(lam)
        stage = MetaStage(policy, estimator)
        mixture = stage(task.model, loss, judges[0], Pairs(partner, task.y[rows]), eta, torch.Generator())
        truth = policy.grad if truth is None else truth
        cosine = float(torch.cosine_similarity(policy.grad, truth, dim=0))
        on_meta, held_out = (a - b for a, b in zip(before, after(mixture.lam), strict=True))
        yield name, cosine, on_meta, held_out


def measure(batches: int = 24, seeds: Iterable[int] = (0, 1, 2)) -> dict[str, dict[str, dict[str, float]]]:
    """{stage: {estimator: {"cosine", "meta", "held_out"}}}, means over seeds and consecutive steps of training."""
    seen: dict[str, list[tuple[str, float, float, float]]] = {stage: [] for stage in STAGES}
    for seed in seeds:
        task, tried = Task(seed), estimators()
        for stage, steps in STAGES.items():
            while task.step < steps:
                task.advance()
            for _ in range(batches):
                seen[stage] += list(decreases(task, tried))
                task.advance()
    return {stage: _means(rows) for stage, rows in seen.items()}


def _means(rows: list[tuple[str, float, float, float]]) -> dict[str, dict[str, float]]:
    names = dict.fromkeys(name for name, *_ in rows)
    table = {name: torch.tensor([row[1:] for row in rows if row[0] == name]).mean(0).tolist() for name in names}
    return {
        name: {k: round(v, 5) for k, v in zip(("cosine", "meta", "held_out"), row, strict=True)}
        for name, row in table.items()
    }
