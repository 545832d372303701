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
    stage.samples.learn(torch.arange(len(truth)), folded(log_p), labels % WIDE)
    stage.division.learn(*stage.samples.known)
    run = SimpleNamespace(
        training=SimpleNamespace(stage=stage), whole=True, split=SimpleNamespace(train=torch.arange(len(truth)))
    )
    names = [str(k) for k in range(len(truth))]
    images, named = torch.zeros(len(truth), 1, 2, 2), tuple(names[:classes])
    found = Labelled("x", names, images, labels, named, (0.0,), (1.0,), flips=False)
    return judged_by_policy(run, found)


def test_a_policy_judges_as_many_classes_as_it_tells_apart():
    found = judged(WIDE)
    assert found is not None
    assert (found.wrong > 0.5).nonzero()[:, 0].tolist() == list(range(0, 4 * WIDE, 4))
    assert judged(WIDE + 1) is None
