"""The sums of one epoch that become its line of metrics.jsonl. They are part of a checkpoint."""

from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from metamixup import world
from metamixup.engine.records.blends import Extremes, joined
from metamixup.engine.records.lambdas import Lambdas
from metamixup.engine.step import StepResult

COUNTED_TOGETHER = 32  # steps whose λ are counted at once: one by one they would cost several percent of a small step


class EpochRecord:
    def __init__(self, num_classes: int, wrong: Tensor | None = None):
        """wrong: (N,) which labels are known to be wrong, if that is to be studied."""
        self.lambdas, self.extremes, self.wrong = Lambdas(num_classes), Extremes(), wrong
        self.reset()

    def reset(self) -> None:
        self.steps = self.images = 0
        self.wrong_weight = 0.0
        self.losses: dict[str, Tensor] = {}
        self.pending: list[StepResult] = []
        self.seconds = {"wall": 0.0, "total": 0.0, "loader": 0.0, "meta": 0.0, "cpu": 0.0}
        self.lambdas.reset()
        self.extremes.reset()

    def step(self, result: StepResult) -> None:
        for name, value in result.losses.items():
            before = self.losses.get(name, 0.0)
            self.losses[name] = value.detach().double() + before
        self.pending.append(replace(result, losses={}))
        if len(self.pending) >= COUNTED_TOGETHER:
            self.count_pending()
        if self.wrong is not None and result.pairs.index is not None:
            index, lam = result.pairs.index.cpu(), result.mixture.lam.cpu()
            wrong = torch.where(index < 0, 0.0, self.wrong[index].float())
            self.wrong_weight += float((lam * wrong + (1 - lam) * wrong[result.mixture.partner.cpu()]).sum())
        self.steps += 1
        self.images += result.images
        for part, seconds in result.seconds.items():
            self.seconds[part] += seconds

    def count_pending(self) -> None:
        """Count the λ of the steps since the last call."""
        if self.pending:
            blends = joined(self.pending)
            self.lambdas.add(blends.lam, blends.labels, blends.partner)
            self.extremes.add(blends)
            self.pending = []

    def collect(self) -> None:
        """What all processes have summed up goes to the one that leads; time is their mean."""
        if world.size() == 1:
            return
        self.count_pending()
        counts = torch.tensor([self.steps, self.images, self.wrong_weight], dtype=torch.float64)
        steps, images, self.wrong_weight = world.total(counts).tolist()
        self.steps, self.images = int(steps), int(images)
        self.losses = {name: world.total(value) for name, value in self.losses.items()}
        seconds = world.mean(torch.tensor(list(self.seconds.values()), dtype=torch.float64))
        self.seconds = dict(zip(self.seconds, seconds.tolist(), strict=True))
        self.lambdas.collect()
        self.extremes.collect()
        self._leave_to_leader()

    def _leave_to_leader(self) -> None:
        if not world.leads():
            self.steps = self.images = 0
            self.wrong_weight = 0.0
            self.losses = {name: torch.zeros_like(value) for name, value in self.losses.items()}
            self.lambdas.reset()
            self.extremes.reset()

    def line(self) -> dict[str, Any]:
        """Losses are means over the epoch. `seconds` is all of its time, `train_seconds` that of its steps alone, of
        which the shares are."""
        self.count_pending()
        total = max(self.seconds["total"], 1e-9)
        return {
            "losses": {name: float(value) / max(1, self.steps) for name, value in self.losses.items()},
            **self.lambdas.summary(),
            **({} if self.wrong is None else {"wrong_weight": round(self.wrong_weight / max(1, self.images), 5)}),
            "seconds": round(self.seconds["wall"], 3),
            "train_seconds": round(self.seconds["total"], 3),
            "cpu_seconds": round(self.seconds["cpu"], 3),
            "images_per_second": round(self.images / total, 1),
            "loader_share": round(self.seconds["loader"] / total, 4),
            "meta_share": round(self.seconds["meta"] / total, 4),
        }

    def state_dict(self) -> dict[str, Any]:
        self.count_pending()
        return {
            "steps": self.steps,
            "images": self.images,
            "wrong_weight": self.wrong_weight,
            "losses": {name: value.clone() for name, value in self.losses.items()},
            "seconds": dict(self.seconds),
            "lambdas": self.lambdas.state_dict(),
            "extremes": self.extremes.state_dict(),
        }

    def load_state_dict(self, state: dict[str, Any], device: torch.device) -> None:
        self.steps, self.images, self.seconds = state["steps"], state["images"], dict(state["seconds"])
        self.wrong_weight = state["wrong_weight"]
        self.losses = {name: value.to(device) for name, value in state["losses"].items()}
        self.lambdas.load_state_dict(state["lambdas"])
        self.extremes.load_state_dict(state["extremes"])
        self._leave_to_leader()
