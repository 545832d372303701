"""Fits of many q at once, against those of trust/division.py one by one."""

from dataclasses import replace

import pytest
import torch

from metamixup.audit.mistakes import SortedLabels, even_mistakes, label_likelihoods, learn_confusions, true_and_given
from metamixup.trust import division

CLASSES, LEAN = 4, 10.0


@pytest.fixture
def given() -> SortedLabels:
    """Of class 2 there is no label."""
    random = torch.Generator().manual_seed(0)
    labels = torch.tensor([0, 1, 3])[torch.randint(3, (400,), generator=random)].sort().values
    return SortedLabels(labels, CLASSES, torch.ones(1, 400))


@pytest.fixture
def q(given: SortedLabels) -> torch.Tensor:
    """Three networks, each surer than the last."""
    random = torch.Generator().manual_seed(1)
    truth = torch.where(torch.rand(400, generator=random) < 0.2, (given.labels + 1) % CLASSES, given.labels)
    logits = 2 * torch.nn.functional.one_hot(truth, CLASSES) + torch.randn(400, CLASSES, generator=random)
    sharp = torch.tensor([0.7, 1.0, 1.5])[:, None, None]
    return (sharp * logits.T).softmax(1)


def test_fits_at_once_are_those_of_the_policy_one_by_one(q, given, monkeypatch):
    monkeypatch.setattr("metamixup.audit.mistakes.STEADY", 0.0)
    monkeypatch.setattr("metamixup.audit.mistakes.ROUNDS", 500)
    shares, confusions = even_mistakes(q, given), learn_confusions(q, given, torch.full((3,), LEAN))
    for one, share, confusion in zip(q.mT.double(), shares, confusions, strict=True):
        assert float(share) == pytest.approx(division.even_mistakes(one, given.labels, 0.2, 500), rel=0.01)
        alike = division.evenly(float(share), CLASSES, one)
        slow = division.learn_confusion(one, given.labels, alike, LEAN / division.LEAN * alike, 500)
        assert torch.allclose(confusion.double(), slow, atol=0.001)


def test_a_sample_of_weight_two_counts_as_two_samples(q, given):
    q, times, lean = q[0], torch.arange(400) % 3, torch.tensor([LEAN])
    weighted = replace(given, weights=times[None].float())
    index = torch.arange(400).repeat_interleave(times)
    repeated = q[:, index], SortedLabels(given.labels[index], CLASSES, torch.ones(1, len(index)))
    confusion = learn_confusions(q, weighted, lean)
    assert torch.allclose(confusion, learn_confusions(*repeated, lean), atol=1e-5)
    counts = true_and_given(q, weighted, confusion)
    assert torch.allclose(counts, true_and_given(*repeated, confusion), rtol=1e-4, atol=1e-4)
    assert float(counts.sum()) == pytest.approx(len(index), rel=1e-5)


def test_the_likelihood_of_a_label_is_that_of_all_ways_to_it(q, given):
    confusions = torch.rand(3, CLASSES, CLASSES, generator=torch.Generator().manual_seed(2)).softmax(2)
    ways = (q * confusions[:, :, given.labels]).sum(1)
    assert torch.allclose(label_likelihoods(q, given, confusions), ways.double().log(), atol=1e-5)
