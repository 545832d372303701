"""Processes that share a batch do what one process does with the whole of it."""

import os
from dataclasses import replace

import pytest
import torch
from engine.toy_runs import CLASSES
from ranks import together
from torch import nn

from metamixup import world
from metamixup.engine.checkpoint import unpack
from metamixup.engine.evaluate import EvaluationSet, predict
from metamixup.engine.launch import PARENT, launch, starter
from metamixup.engine.loop import train
from metamixup.engine.records.run_folder import RunFolder
from metamixup.engine.runtime import Runtime
from metamixup.engine.schedule import Schedule
from metamixup.engine.step import Stepper
from metamixup.engine.training import Training
from metamixup.errors import UserError
from metamixup.meta import Exact, FiniteDifference, Head, MetaStage
from metamixup.methods.pseudo_label import PseudoLabel
from metamixup.methods.supervised import Supervised
from metamixup.mixing import draw_partners
from metamixup.policy import Beta, Learned, Persistent
from metamixup.seeding import derived_generator, derived_seed
from metamixup.trust import Trust

BATCH, STEPS = 12, 20


class Points:
    steps_per_epoch, batch_size = 10, BATCH

    def __init__(self, name: str):
        self.name = name

    def batch(self, step: int, rank: int = 0, world: int = 1):
        generator = derived_generator(0, self.name, step)
        index = torch.randperm(40, generator=generator)[:BATCH]
        y = index % CLASSES
        x = torch.randn(BATCH, 4, generator=generator) + y[:, None]
        own = slice(BATCH * rank // world, BATCH * (rank + 1) // world)
        return x[own], y[own], index[own]


class InParts(Supervised):
    """The partners of two processes, drawn by one."""

    def pairs(self, batch, generator):
        pairs = super().pairs(batch, generator)
        twin = torch.Generator().set_state(self.before)
        return pairs if world.size() > 1 else replace(pairs, partner=draw_partners([len(batch.x)], twin, parts=2))

    def prepare(self, model, batch, generator):
        self.before = derived_generator(0, "partners", batch.step).get_state()
        return batch


class UnlabelledInParts(PseudoLabel):
    def pairs(self, batch, generator):
        twin = torch.Generator().set_state(generator.get_state())
        pairs = super().pairs(batch, generator)
        sizes = [len(batch.x), len(batch.u)]
        return pairs if world.size() > 1 else replace(pairs, partner=draw_partners(sizes, twin, parts=2))


CASES = {
    "exact": lambda: (InParts(), MetaStage(Learned(), Exact())),
    "exact, raw": lambda: (InParts(), MetaStage(Learned.paper(), Exact())),
    "head": lambda: (InParts(), MetaStage(Learned(), Head())),
    "head, plain": lambda: (InParts(), MetaStage(Learned(), Head.plain())),
    "finite difference": lambda: (InParts(), MetaStage(Learned(), FiniteDifference())),
    "persistent, exact": lambda: (InParts(), MetaStage(Persistent(), Exact())),
    "persistent, head": lambda: (InParts(), MetaStage(Persistent("same-class", one_step=True), Head())),
    "mixup": lambda: (InParts(), MetaStage(Beta())),
    "pseudo-label": lambda: (UnlabelledInParts(0.4), MetaStage(Learned(), Head())),
}


def training(method, stage, **more) -> Training:
    torch.manual_seed(derived_seed(0, "model"))
    model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, CLASSES))
    return Training(
        model=model,
        method=method,
        stage=stage,
        optimizer=torch.optim.SGD(model.parameters(), 0.1, momentum=0.9),
        schedule=Schedule(STEPS),
        train=Points("train"),
        meta=Points("meta"),
        unlabelled=Points("unlabelled") if method.unlabelled else None,
        num_classes=CLASSES,
        epochs=2,
        steps_per_epoch=10,
        seed=0,
        **more,
    )


def twenty_steps() -> dict[str, dict[str, torch.Tensor]]:
    """λ of every step, (20, B), and the weights at the end, for all cases."""
    found = {}
    for name, make in CASES.items():
        run = training(*make())
        stepper = Stepper(run, Runtime(1, "64"), lambda text: None)
        done = [stepper(step) for step in range(STEPS)]
        weights = nn.utils.parameters_to_vector(run.model.parameters()).detach()
        found[name] = {"lam": torch.stack([d.mixture.lam for d in done]), "weights": weights}
        found[name]["places"] = done[0].pairs.positions if world.size() > 1 else torch.arange(len(done[0].mixture.lam))
    return found


def test_two_processes_equal_one_with_the_doubled_batch(tmp_path):
    one, pair = twenty_steps(), together(2, tmp_path, twenty_steps)
    for name in CASES:
        for each in pair:
            assert (each[name]["weights"] - one[name]["weights"]).abs().max() < 1e-9, name
            assert (each[name]["lam"] - one[name]["lam"][:, each[name]["places"]]).abs().max() < 1e-9, name
        assert torch.equal(pair[0][name]["weights"], pair[1][name]["weights"]), name


def every_second(stage):
    stage.pace(2)
    return stage


def trusting(folder):
    """A whole run with memory and BatchNorm; what every process ends with."""
    run = training(Supervised(), every_second(Trust()), evaluation=(evaluation(),))
    run.model.insert(1, nn.BatchNorm1d(8))
    folder.mkdir(exist_ok=True)
    summary = train(run, RunFolder(folder), Runtime(1))
    labels = run.stage.labels
    state = {f"model.{k}": v for k, v in run.model.state_dict().items()}
    return {**state, "log_p": labels.samples.log_p, "clean": labels.clean.log_p, "error": summary["test_error"]}


def evaluation() -> EvaluationSet:
    def batches(rank=0, world=1):
        parts = [Points("test").batch(step) for step in range(5)]
        return ((x, y) for x, y, _ in parts[5 * rank // world : 5 * (rank + 1) // world])

    return EvaluationSet("test", batches)


def test_memories_and_statistics_stay_alike_and_one_process_writes(tmp_path):
    first, second = together(2, tmp_path, trusting, tmp_path / "run")
    assert first.keys() == second.keys()
    assert all(torch.equal(torch.as_tensor(first[key]), torch.as_tensor(second[key])) for key in first)
    folder = RunFolder(tmp_path / "run")
    lines = folder.metrics.read_text().splitlines()
    assert len(lines) == 2
    assert folder.read_summary()["test_error"] == first["error"]
    newest = sorted(folder.checkpoints.iterdir())[-1]
    assert unpack(newest.read_bytes())["recorder"]["images"] == 0


def logits():
    model = nn.Linear(4, CLASSES)
    torch.nn.init.ones_(model.weight)
    torch.nn.init.zeros_(model.bias)
    return dict(zip(("logits", "labels"), predict(model, evaluation(), Runtime(1)), strict=True))


def test_sharded_evaluation_is_exact(tmp_path):
    one = logits()
    for each in together(3, tmp_path, logits):
        assert torch.equal(each["logits"], one["logits"])
        assert torch.equal(each["labels"], one["labels"])


def test_batches_that_cannot_be_shared_are_refused():
    run = training(Supervised(), MetaStage(Beta()))
    run.check_shares(3)
    with pytest.raises(UserError, match="5 processes cannot share train batches of 12 images"):
        run.check_shares(5)


@pytest.mark.parametrize(("strategy", "told"), [("fsdp", "--strategy ddp serves every method"), ("dpp", "'ddp'")])
def test_strategies_that_cannot_serve_are_told(strategy, told):
    with pytest.raises(UserError, match=told):
        launch(strategy=strategy)


def test_a_process_knows_who_started_it(monkeypatch):
    monkeypatch.delenv("TORCHELASTIC_RUN_ID", raising=False)
    assert starter() is None
    monkeypatch.setenv("TORCHELASTIC_RUN_ID", "test")
    assert starter() == os.getppid()
    monkeypatch.setenv(PARENT, "12")  # also if that one is gone already
    assert starter() == 12
