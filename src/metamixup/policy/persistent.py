"""A distribution of λ whose width is learned across steps by the meta-gradient, so that α needs no tuning.

λ = sigmoid(σ·ε) with ε logistic: σ = 1 is U(0, 1), a small σ blends every pair half and half, a large one hardly any.
log σ is one number for the whole data set, one each for pairs of the same class and of two classes, or one for each
pair of classes, pulled towards the common value so that pairs seen rarely stay near it. Nothing is learned between
refinements, and λ then costs what a draw from a table costs.
"""

from typing import Any

import torch
from torch import Tensor

from metamixup import world
from metamixup.mixing import Pairs
from metamixup.policy.learned import Learned
from metamixup.policy.policy import Policy

GRANULARITIES = ("data", "same-class", "class-pair")
MOST_CELLS = 2**19  # every pair of 1,000 classes has a cell of its own; beyond, cells are shared
WIDEST = 4.0  # |log σ| at most: λ is then 0 or 1, or ½, for all purposes
BETAS = (0.9, 0.99)


class Adam:
    """Adam for a few numbers, as plain tensors: what a checkpoint needs and no more."""

    def __init__(self, size: int, lr: float):
        self.lr, self.count = lr, 0
        self.mean, self.square = torch.zeros(size), torch.zeros(size)

    def step(self, grad: Tensor) -> Tensor:
        """The change that this gradient asks for."""
        self.count += 1
        first, second = BETAS
        self.mean = first * self.mean + (1 - first) * grad
        self.square = second * self.square + (1 - second) * grad.square()
        mean, square = self.mean / (1 - first**self.count), self.square / (1 - second**self.count)
        return -self.lr * mean / (square.sqrt() + 1e-12)

    def state_dict(self) -> dict[str, Any]:
        return {"count": self.count, "mean": self.mean, "square": self.square}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.count, self.mean, self.square = int(state["count"]), state["mean"].clone(), state["square"].clone()


class Persistent(Policy):
    """λ from a distribution that is learned over the run.

    granularity: what has a width of its own: "data", "same-class" or "class-pair";
    step_size: Adam's;
    pull: how strongly a class pair is drawn towards the common width;
    sigma: the first width;
    one_step: refine the drawn λ besides, as Algorithm 1 does.
    """

    learned = True

    def __init__(
        self,
        granularity: str = "class-pair",
        step_size: float = 0.05,
        pull: float = 0.5,
        sigma: float = 1.0,
        one_step: bool = False,
    ):
        if granularity not in GRANULARITIES:
            raise ValueError(f"granularity is one of {', '.join(GRANULARITIES)}, not {granularity!r}")
        if step_size <= 0 or pull < 0 or sigma <= 0:
            raise ValueError("a persistent policy needs step_size > 0, pull ≥ 0 and sigma > 0")
        self.granularity, self.step_size, self.pull = granularity, step_size, pull
        self.one_step = Learned() if one_step else None
        self.by_class = granularity != "data"
        self.common = torch.full((1 if granularity == "data" else 2,), sigma).log()  # (same class, two classes)
        self.adam = Adam(len(self.common), step_size)
        self.own = torch.zeros(0)  # (cells,) what each class pair adds to the common value
        self.scale = 0.0  # running mean square of a pair's gradient

    def draw(self, pairs: Pairs, generator: torch.Generator) -> Tensor:
        uniform = pairs.drawn(lambda n: torch.rand(n, generator=generator)).clamp(1e-6, 1 - 1e-6)
        return torch.sigmoid(self.log_sigma(pairs).exp() * torch.logit(uniform))

    def log_sigma(self, pairs: Pairs) -> Tensor:
        """(B,) on the CPU, where the policy lives."""
        group, cell = self._cells(pairs)
        value = self.common[group]
        return (value if cell is None else value + self.own[cell]).clamp(-WIDEST, WIDEST)

    def refine(self, lam: Tensor, grad: Tensor, pairs: Pairs) -> Tensor:
        exact = torch.promote_types(lam.dtype, torch.float32)
        self.common, self.own = self.common.to(exact), self.own.to(exact)
        self._learn(lam.detach().cpu().to(exact), grad.detach().cpu().to(exact), pairs)
        return lam if self.one_step is None else self.one_step.refine(lam, grad, pairs)

    def _learn(self, lam: Tensor, grad: Tensor, pairs: Pairs) -> None:
        group, cell = self._cells(pairs)
        inner = lam.clamp(1e-6, 1 - 1e-6)
        slope = grad * inner * (1 - inner) * torch.logit(inner)  # ∂λ/∂log σ = λ(1−λ)·σε, and σε is λ's logit
        # Every process learns from the pairs of all, so that the policy stays alike in all of them.
        slope, group = world.gathered(slope), world.gathered(group)
        self.common += self.adam.step(torch.zeros_like(self.common).index_add_(0, group, slope))
        self.common.clamp_(-WIDEST, WIDEST)
        if cell is not None:
            self._learn_own(slope, world.gathered(cell))

    def _learn_own(self, slope: Tensor, cell: Tensor) -> None:
        """A step on the mean slope of each pair in the batch, in units of a single pair's, against the pull."""
        square = float(slope.square().mean())
        self.scale += (square - self.scale) * (0.05 if self.scale else 1.0)
        if self.scale == 0:
            return
        seen, row = cell.unique(return_inverse=True)
        sums = slope.new_zeros(len(seen)).index_add_(0, row, slope / self.scale**0.5)
        mean = sums / torch.bincount(row, minlength=len(seen))
        self.own[seen] -= self.step_size * (mean + self.pull * self.own[seen])

    def _cells(self, pairs: Pairs) -> tuple[Tensor, Tensor | None]:
        """For each pair the group whose common value it has, and its cell of the table of class pairs. (B,), (B,)"""
        if self.granularity == "data":
            return torch.zeros(len(pairs.partner), dtype=torch.long), None
        classes = pairs.labels.argmax(1).cpu()
        a, b = classes[: len(pairs.partner)], classes[pairs.partner.cpu()]
        group = (a != b).long()
        if self.granularity == "same-class":
            return group, None
        high, low = torch.maximum(a, b), torch.minimum(a, b)
        self._make_room(pairs.labels.shape[1])
        return group, (high * (high + 1) // 2 + low) % len(self.own)

    def _make_room(self, classes: int) -> None:
        if not len(self.own):
            self.own = torch.zeros(min(classes * (classes + 1) // 2, MOST_CELLS))

    def state_dict(self) -> dict[str, Any]:
        numbers = {"common": self.common, "own": self.own, "scale": self.scale}
        return {**numbers, "adam": self.adam.state_dict()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.common, self.own, self.scale = state["common"].clone(), state["own"].clone(), float(state["scale"])
        self.adam.load_state_dict(state["adam"])
