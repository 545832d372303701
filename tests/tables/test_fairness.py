"""All methods of a cell start from the same weights and see the same images in the same order."""

import pytest
import torch

from metamixup.settings.build import build_training
from metamixup.tables.cells import Choice, plan_cells, plan_runs
from metamixup.tables.recipe import load_recipe

STEPS = (0, 1, 18, 19, 40)  # the first epoch's begin and end, and later ones


def trainings(tmp_path, **choice):
    cells = plan_cells(load_recipe("table1"), Choice(quick=True, only=("digits/*",), **choice))
    return {run.cell.method: build_training(run.settings()) for run in plan_runs(cells, [3], tmp_path)}


@pytest.fixture
def fair(tmp_path):
    return trainings(tmp_path)


def test_every_method_sees_the_same_batches(fair):
    first = fair["baseline"]
    assert len(fair) == 11
    for training in fair.values():
        assert training.steps == first.steps
        for step in STEPS:
            mine, theirs = training.train.batch(step), first.train.batch(step)
            assert all(torch.equal(a, b) for a, b in zip(mine, theirs, strict=True))
        assert torch.equal(training.meta.index, first.meta.index)


def test_every_method_starts_from_the_same_weights(fair):
    first = fair["baseline"].model.state_dict()
    for training in fair.values():
        mine = training.model.state_dict()
        assert all(torch.equal(mine[name], first[name]) for name in first)


def test_no_method_trains_on_the_meta_images(fair):
    for training in fair.values():
        assert not set(training.train.index.tolist()) & set(training.meta.index.tolist())


def test_rivals_train_on_them_only_when_they_may(tmp_path):
    generous = trainings(tmp_path, rivals_use_meta=True, methods=("mixup", "trustmix"))
    ours, rival = generous["trustmix"], generous["mixup"]
    assert set(rival.train.index.tolist()) == set(ours.train.index.tolist()) | set(ours.meta.index.tolist())
