import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn
from torch.nn.functional import cross_entropy

from metamixup import MetaMixUp
from metamixup.trust.stage import Trust
from metamixup.trust.transfer import FEWEST, OVERFITS, Transfer


def told(waiting: float, trained: float, spread: float = 0.0, looks: int = 20) -> Transfer:
    """After looks at ten samples that wait and at ninety others, whose gains differ by so much."""
    transfer, differing = Transfer(), torch.linspace(-1, 1, 10) * spread
    for _ in range(looks):
        transfer.learn(waiting + differing, torch.full((90,), trained), fade=1.0)
    return transfer


@given(st.floats(0.01, 5), st.floats(-2, 2))
def test_it_is_the_share_of_the_gain_that_others_have_too(trained: float, share: float):
    assert told(share * trained, trained).value == pytest.approx(share, abs=1e-6)


@pytest.mark.parametrize(
    ("share", "expected"), [(1.2, 0), (OVERFITS[0], 0), (sum(OVERFITS) / 2, 0.5), (0.5, 1), (-1, 1)]
)
def test_the_less_carries_over_the_more_surely_it_overfits(share: float, expected: float):
    assert told(0.3 * share, 0.3).overfits() == pytest.approx(expected, abs=1e-3)


def test_chance_counts_in_favour_of_what_is_learned():
    assert told(0.2, 0.3, spread=5.0, looks=2).overfits() == 0
    assert told(0.2, 0.3, spread=5.0, looks=2).overfits(surely=False) == 1
    assert told(0.2, 0.3, spread=5.0, looks=2000).overfits() == 1


def test_few_that_wait_and_trained_ones_that_gain_nothing_tell_nothing():
    assert told(0.0, 1.0, looks=(FEWEST - 1) // 10).overfits() == 0
    assert told(-1.0, 0.0).overfits() == 0
    assert told(-1.0, 0.0).value == 1


def test_a_gain_that_is_no_number_says_nothing():
    transfer = told(0.1, 0.2)
    transfer.learn(torch.tensor([math.nan, math.inf]), torch.tensor([math.nan]), fade=1.0)
    assert transfer.value == pytest.approx(0.5)


def test_old_gains_fade():
    transfer = told(1.0, 1.0)
    for _ in range(60):
        transfer.learn(torch.zeros(10), torch.ones(90), fade=0.8)
    assert transfer.value == pytest.approx(0, abs=1e-3)


def trained_on(random_labels: bool, epochs: int) -> Trust:
    """The policy of a wide network at a constant rate, on points whose labels follow from them, or do not."""
    points = torch.Generator().manual_seed(0)
    x = torch.randn(600, 8, generator=points)
    y = torch.randint(0, 3, (600,), generator=points) if random_labels else x[:, :3].argmax(1)
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 256), nn.ReLU(), nn.Linear(256, 3))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    stage = Trust(guesses=False)
    mixer = MetaMixUp(model, 3, policy=stage)
    for _ in range(epochs):
        for index in torch.randperm(600).split(50):
            mixed = mixer(x[index], y[index], lr=optimizer, index=index)
            optimizer.zero_grad()
            cross_entropy(model(mixed.x), mixed.y).backward()
            optimizer.step()
    return stage


def test_a_network_that_learns_labels_by_heart_is_told_from_one_that_learns_a_rule():
    assert trained_on(random_labels=True, epochs=20).amount.transfer.overfits() == 1
    rule = trained_on(random_labels=False, epochs=6).amount
    assert rule.transfer.value > OVERFITS[1]
    assert rule.transfer.overfits() < 0.5
