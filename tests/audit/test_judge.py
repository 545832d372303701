import pytest
import torch
from sklearn.metrics import roc_auc_score

from metamixup.audit.cross_validation import Predictions
from metamixup.audit.judge import judge

CLASSES = 5


def predictions(truth: torch.Tensor, sharp: float = 3.0) -> Predictions:
    random = torch.Generator().manual_seed(1)
    logits = sharp * torch.nn.functional.one_hot(truth, CLASSES) + torch.randn(len(truth), CLASSES, generator=random)
    even = torch.full((len(truth), CLASSES), 1 / CLASSES)
    return Predictions(logits.log_softmax(1), even, torch.ones(len(truth)))


def mislabelled(truth: torch.Tensor, share: float, neighbour: bool = False) -> torch.Tensor:
    random = torch.Generator().manual_seed(2)
    wrong = torch.rand(len(truth), generator=random) < share
    step = 1 if neighbour else torch.randint(1, CLASSES, truth.shape, generator=random)
    return torch.where(wrong, (truth + step) % CLASSES, truth)


@pytest.fixture
def truth() -> torch.Tensor:
    return torch.randint(CLASSES, (3000,), generator=torch.Generator().manual_seed(0))


@pytest.mark.parametrize("share", [0.1, 0.4])
def test_the_share_of_wrong_labels_is_found(truth, share):
    labels = mislabelled(truth, share)
    judged, real = judge(predictions(truth), labels), float((labels != truth).float().mean())
    assert judged.share == pytest.approx(real, abs=0.03)
    assert 0 <= judged.low < judged.share < judged.high
    assert roc_auc_score(labels != truth, judged.wrong) > 0.95
    found = judged.wrong > 0.5
    assert float((judged.likely(labels)[found] == truth[found]).float().mean()) > 0.8


def test_mistakes_that_prefer_a_class_are_found_better_than_by_the_prediction_alone(truth):
    labels, found = mislabelled(truth, 0.3, neighbour=True), predictions(truth, sharp=2.0)
    judged = judge(found, labels)
    plain = -found.log_p.gather(1, labels[:, None])[:, 0]
    assert roc_auc_score(labels != truth, judged.wrong) > roc_auc_score(labels != truth, plain) + 0.01


def test_hardly_any_label_is_called_wrong_where_all_are_right(truth):
    judged = judge(predictions(truth, sharp=5.0), truth)
    assert float((judged.wrong > 0.5).float().mean()) < 0.01


def test_mistakes_that_prefer_a_class_are_found_among_few_samples_too(truth):
    few = truth[:400]
    labels = mislabelled(few, 0.3, neighbour=True)
    judged, real = judge(predictions(few), labels), float((labels != few).float().mean())
    assert judged.share == pytest.approx(real, abs=0.03)


def test_fewer_samples_leave_more_open(truth):
    few, many = (judge(predictions(part), mislabelled(part, 0.2)) for part in (truth[:150], truth))
    assert few.high - few.low > 3 * (many.high - many.low)
    assert few.low < 0.2 < few.high
    assert float(few.truth.sum(1).sub(1).abs().max()) < 1e-6


def test_samples_beyond_those_that_are_searched_are_judged_alike(truth, monkeypatch):
    labels = mislabelled(truth, 0.2)
    whole = judge(predictions(truth), labels)
    monkeypatch.setattr("metamixup.audit.judge.SEARCHED", 1500)
    monkeypatch.setattr("metamixup.audit.judge.AT_ONCE", 1)
    part = judge(predictions(truth), labels)
    assert part.share == pytest.approx(whole.share, abs=0.01)
    assert float((part.wrong - whole.wrong).abs().mean()) < 0.01
