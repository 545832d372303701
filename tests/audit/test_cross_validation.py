import torch
from torch import nn

from metamixup.audit.cross_validation import Plan, deal, neighbours, out_of_sample

PLAN = Plan(folds=3, epochs=1, steps=4)


def test_every_class_is_spread_over_all_folds():
    labels = torch.arange(90) % 3
    fold = deal(labels, 3, 0)
    for c in range(3):
        assert fold[labels == c].bincount().tolist() == [10, 10, 10]


def test_no_network_is_trained_on_what_it_judges():
    labels, events = torch.arange(30) % 3, []

    def inputs(index, random):
        events.append((random is not None, set(index.tolist())))
        return torch.randn(len(index), 2)

    found = out_of_sample(lambda: nn.Linear(2, 3), inputs, labels, 3, PLAN)
    assert found.log_p.shape == found.votes.shape == (30, 3)
    assert bool(found.log_p.isfinite().all())
    trained: set[int] = set()
    judged = []
    for training, index in events:
        if training:
            trained |= index
        else:
            assert not trained & index
            judged += sorted(index)
            trained = set()
    assert sorted(judged) == list(range(30))


def test_neighbours_vote_without_the_sample_itself():
    features = torch.cat([torch.randn(30, 4) * 0.01 + 5, torch.randn(30, 4) * 0.01 - 5])
    labels = torch.tensor([0] * 30 + [1] * 30)
    labels[0] = 1
    votes, distance = neighbours(features, labels, 2)
    assert votes[0].argmax() == 0
    assert votes[40].argmax() == 1
    assert distance.shape == (60,)
