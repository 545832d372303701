import torch

from metamixup.trust.division import Division
from metamixup.trust.memory import WIDE, PredictionMemory, folded
from metamixup.trust.suspects import most_suspicious, taken_for_wrong


def judged(times):
    """300 samples of three classes, of which the network is sure; every fourth label is wrong."""
    truth = torch.arange(300) % 3
    labels = torch.where(torch.arange(300) % 4 == 0, (truth + 1) % 3, truth)
    samples, division = PredictionMemory(0.2), Division()
    samples.learn(torch.arange(300), torch.nn.functional.one_hot(truth, 3).float().mul(4).log_softmax(1), labels)
    for _ in range(times):
        division.learn(*samples.known)
    return samples, division


def test_labels_are_taken_for_wrong_where_distrust_acts():
    samples, division = judged(times=3)
    assert division.strength > 0
    assert {suspect.index for suspect in taken_for_wrong(samples, division)} == set(range(0, 300, 4))


def test_none_are_where_it_does_not_act_though_some_look_wrong():
    samples, division = judged(times=1)  # too early: the share of wrong labels may still fall
    assert division.strength == 0
    assert most_suspicious(samples, division, 1)[0].wrong > 0.5
    assert taken_for_wrong(samples, division) == []


def test_labels_that_the_network_knows_by_heart_are_ordered_by_what_it_said():
    """It is sure of all of them, of two a little less."""
    labels = torch.arange(40) % 4
    log_p = torch.nn.functional.one_hot(labels, 4).float().mul(20)
    log_p[25, 3], log_p[10, 1] = 12.0, 11.0
    samples, division = PredictionMemory(0.2), Division()
    samples.learn(torch.arange(40), log_p.log_softmax(1), labels)
    division.learn(*samples.known)
    known, labels = samples.known
    assert len(division.posterior(known, labels).gather(1, labels[:, None]).unique()) == 1
    found = most_suspicious(samples, division, 40)
    assert [suspect.index for suspect in found[:2]] == [25, 10]
    assert found[0].wrong < 0.001
    assert [suspect.wrong for suspect in found] == sorted((suspect.wrong for suspect in found), reverse=True)


def test_no_class_is_named_where_classes_share_columns():
    labels = torch.arange(400) % 200 % WIDE
    labels[::4] = (labels[::4] + 1) % WIDE
    likely = torch.nn.functional.one_hot(torch.arange(400) % 200, 200).float().mul(20).log_softmax(1)
    samples, division = PredictionMemory(0.2), Division()
    samples.learn(torch.arange(400), folded(likely), labels)
    division.learn(*samples.known)
    found = most_suspicious(samples, division, 100)
    assert {suspect.index for suspect in found} == set(range(0, 400, 4))
    assert {(suspect.given, suspect.likely) for suspect in found} == {(None, None)}
