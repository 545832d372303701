from types import SimpleNamespace

import torch

from metamixup.audit.images import Labelled
from metamixup.audit.run import judged_by_policy
from metamixup.trust import Trust
from metamixup.trust.memory import WIDE, folded


def judged(classes: int):
    """What the audit reads from a run of so many classes, of which every fourth label is wrong."""
    stage, truth = Trust(), torch.arange(4 * classes) % classes
    labels = torch.where(torch.arange(len(truth)) % 4 == 0, (truth + 1) % classes, truth)
    log_p = torch.nn.functional.one_hot(truth, classes).float().mul(20).log_softmax(1)
    stage.labels.samples.learn(torch.arange(len(truth)), folded(log_p), labels % WIDE)
    stage.labels.division.learn(*stage.labels.samples.known)
    return judged_by_policy(*as_a_run(stage, labels, classes))


def as_a_run(stage: Trust, labels: torch.Tensor, classes: int):
    count = len(labels)
    training, split = SimpleNamespace(stage=stage), SimpleNamespace(train=torch.arange(count))
    names, images = [str(k) for k in range(count)], torch.zeros(count, 1, 2, 2)
    found = Labelled("x", names, images, labels, tuple(names[:classes]), (0.0,), (1.0,), flips=False)
    return SimpleNamespace(training=training, whole=True, split=split), found


def test_a_policy_judges_as_many_classes_as_it_tells_apart():
    found = judged(WIDE)
    assert found is not None
    assert (found.wrong > 0.5).nonzero()[:, 0].tolist() == list(range(0, 4 * WIDE, 4))
    assert judged(WIDE + 1) is None


def test_labels_of_which_the_network_is_sure_are_ordered_by_what_it_said():
    """It knew all of them by heart, one less surely than the others."""
    stage, labels = Trust(), torch.arange(40) % 4
    log_p = torch.nn.functional.one_hot(labels, 4).float().mul(20)
    log_p[25, 3] = 12.0
    stage.labels.samples.learn(torch.arange(40), folded(log_p.log_softmax(1)), labels)
    stage.labels.division.learn(*stage.labels.samples.known)
    judgement = judged_by_policy(*as_a_run(stage, labels, 4))
    assert judgement is not None
    assert int(judgement.wrong.argmax()) == 25
    assert int(judgement.likely(labels)[25]) == 3
    assert judgement.share < 0.001
