"""Everything one run is made of, as objects. Settings stop before this: settings/build/ makes it."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol

from torch import Tensor, nn
from torch.optim import Optimizer

from metamixup.engine.checkpoint import in_layout_of
from metamixup.engine.evaluate import EvaluationSet
from metamixup.engine.growth import Growth
from metamixup.engine.records.detection import detection
from metamixup.engine.schedule import Schedule
from metamixup.errors import UserError
from metamixup.meta import Stage
from metamixup.methods.ema import EMA
from metamixup.methods.guess_study import GuessStudy
from metamixup.methods.method import Method
from metamixup.methods.slow_weights import SlowWeights


class Source(Protocol):
    """Batches as a pure function of the step."""

    batch_size: int

    @property
    def steps_per_epoch(self) -> int: ...

    def batch(self, step: int, rank: int = 0, world: int = 1) -> tuple[Tensor | tuple[Tensor, ...], Tensor, Tensor]: ...


@dataclass
class Training:
    """`evaluation` sets are scored by name after each `evaluate_every`-th epoch and the last; `wrong` tells of each
    training image whether its label was made wrong on purpose, for the record alone; `smoothing` is the share of every
    label that the loss sees spread over all classes; `split` is kept with the run;
    `fingerprint` tells this data from any other; `about` goes into the summary as it stands."""

    model: nn.Module
    method: Method
    stage: Stage
    optimizer: Optimizer
    schedule: Schedule
    train: Source
    num_classes: int
    epochs: int
    steps_per_epoch: int
    seed: int
    meta: Source | None = None
    unlabelled: Source | None = None
    evaluation: tuple[EvaluationSet, ...] = ()
    study: GuessStudy | None = None
    wrong: Tensor | None = None
    clip: float | None = None
    ema: EMA | None = None
    slow: SlowWeights | None = None
    growth: Growth = field(default_factory=Growth)
    smoothing: float = 0.0
    compile: bool = False
    evaluate_every: int = 1
    checkpoint_minutes: float = 5.0
    split: dict[str, Tensor] = field(default_factory=dict)
    fingerprint: str = ""
    about: dict[str, Any] = field(default_factory=dict)

    @property
    def steps(self) -> int:
        return self.epochs * self.steps_per_epoch

    def check_shares(self, processes: int) -> None:
        """Every process must have an equal share of every batch: means over processes are then means over batches."""
        for name, source in (("train", self.train), ("meta", self.meta), ("unlabelled", self.unlabelled)):
            if processes > 1 and source is not None and source.batch_size % processes:
                raise UserError(
                    f"{processes} processes cannot share {name} batches of {source.batch_size} images equally; "
                    f"the nearest that can be shared is {max(1, source.batch_size // processes) * processes} "
                    "(batch_size, meta.batch_size, ssl.batch_size)"
                )

    def modules(self) -> Iterator[tuple[str, nn.Module]]:
        """Every network of the run, by name."""
        yield "model", self.model
        yield from ((f"method.{name}", module) for name, module in self.method.modules().items())
        if self.ema is not None:
            yield "ema", self.ema.module
        if self.slow is not None:
            yield "slow", self.slow.module

    def evaluated(self) -> tuple[str, nn.Module]:
        """The weights that are evaluated and kept: the method's choice, or the engine's moving average."""
        return ("ema", self.ema.module) if self.ema is not None else self.method.evaluated(self.model)

    def records(self) -> dict[str, float]:
        """Numbers of the epoch beyond the losses."""
        study = self.study.records() if self.study is not None else {}
        return self.method.records() | self.stage.records() | study | self._detection()

    def _detection(self) -> dict[str, float]:
        if self.wrong is None or "train" not in self.split:
            return {}
        index = self.split["train"]
        return detection(self.stage, index.to(next(self.model.parameters()).device), self.wrong[index])

    def state_dict(self) -> dict[str, Any]:
        return {
            "modules": {name: dict(module.state_dict()) for name, module in self.modules()},
            "method": self.method.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "stage": self.stage.state_dict(),
            "study": self.study.state_dict() if self.study is not None else {},
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        for name, module in self.modules():
            module.load_state_dict(state["modules"][name])
        self.method.load_state_dict(state["method"])
        self.optimizer.load_state_dict(self._in_layout(state["optimizer"]))
        self.stage.load_state_dict(state["stage"])
        if self.study is not None:
            self.study.load_state_dict(state["study"])

    def parameters(self) -> list[Tensor]:
        """As the optimizer numbers them."""
        return [p for group in self.optimizer.param_groups for p in group["params"]]

    def _in_layout(self, state: dict[str, Any]) -> dict[str, Any]:
        parameters = self.parameters()
        kept = {
            k: {n: in_layout_of(parameters[k], v) for n, v in values.items()} for k, values in state["state"].items()
        }
        return {**state, "state": kept}
