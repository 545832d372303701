"""Runs that train in milliseconds: a small network on points, with the real engine around it."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from metamixup.engine.evaluate import EvaluationSet
from metamixup.engine.loop import train
from metamixup.engine.records.progress import Listener
from metamixup.engine.records.run_folder import RunFolder
from metamixup.engine.runtime import Runtime
from metamixup.engine.schedule import Schedule
from metamixup.engine.training import Training
from metamixup.meta import Exact, MetaStage
from metamixup.methods.ema import EMA
from metamixup.methods.supervised import Supervised
from metamixup.policy import Beta, Learned
from metamixup.runs.run import begin, resume
from metamixup.seeding import derived_generator, derived_seed
from metamixup.settings.schema import Settings

CLASSES, STEPS = 3, 4


class Points:
    """A batch is a function of (seed, step)."""

    steps_per_epoch = STEPS

    def __init__(self, seed: int, name: str):
        self.seed, self.name = seed, name

    def batch(self, step: int, rank: int = 0, world: int = 1) -> tuple[Tensor, Tensor, Tensor]:
        generator = derived_generator(self.seed, self.name, step)
        y = torch.randint(CLASSES, (6,), generator=generator)
        return torch.randn(6, 4, generator=generator) + y[:, None], y, torch.arange(6)


def fixed_set(name: str) -> EvaluationSet:
    def batches(rank: int = 0, world: int = 1) -> Iterator[tuple[Tensor, Tensor]]:
        for step in range(2):
            x, y, _ = Points(99, name).batch(step)
            yield x, y

    return EvaluationSet(name, batches)


def toy_training(seed: int = 0, epochs: int = 3, learned: bool = True, lr: float = 0.1, **more: Any) -> Training:
    torch.manual_seed(derived_seed(seed, "model"))
    model = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Tanh(), nn.Dropout(0.2), nn.Linear(8, CLASSES))
    if more.pop("ema", False):
        more["ema"] = EMA(model, 0.9)
    return Training(
        model=model,
        method=Supervised(),
        stage=MetaStage(Learned(), Exact()) if learned else MetaStage(Beta()),
        optimizer=torch.optim.SGD(model.parameters(), lr, momentum=0.9),
        schedule=Schedule(epochs * STEPS),
        train=Points(seed, "train"),
        meta=Points(seed, "meta"),
        num_classes=CLASSES,
        epochs=epochs,
        steps_per_epoch=STEPS,
        seed=seed,
        evaluation=(fixed_set("meta"), fixed_set("test")),
        **more,
    )


class Stop(Exception):
    """Stands for a kill: nothing is saved on the way out."""


class StopAt(Listener):
    """Dies after a step; keeps what was said."""

    def __init__(self, step: int | None = None):
        self.step = step
        self.said: list[str] = []

    def stepped(self, step: int, loss: float) -> None:
        if step == self.step:
            raise Stop

    def say(self, text: str) -> None:
        self.said.append(text)


def assert_a_kill_changes_nothing(settings: Settings, step: int, out: Path) -> None:
    """Killed after this step and gone on with, a run ends with the weights of the one that was not."""
    whole, killed = RunFolder(out / "whole"), RunFolder(out / "killed")
    begin(whole, settings)
    with pytest.raises(Stop):
        begin(killed, settings, [StopAt(step)])
    resume(killed, settings, {})
    assert killed.model.read_bytes() == whole.model.read_bytes()


def run(training: Training, out: Path, listener: Listener | None = None, **more: Any) -> dict[str, Any]:
    folder = RunFolder(out)
    folder.root.mkdir(parents=True, exist_ok=True)
    return train(training, folder, Runtime(threads=1, device="cpu"), [listener or Listener()], **more)
