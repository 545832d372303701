import pytest
import torch
from sklearn.metrics import roc_auc_score

from metamixup.engine.records.detection import auroc, detection
from metamixup.engine.records.run_folder import RunFolder, read_lines
from metamixup.meta import MetaStage, Stage
from metamixup.policy import Beta
from metamixup.runs.run import begin
from metamixup.settings.resolve import resolve


class Trusting(Stage):
    def trust_of(self, index):
        return torch.tensor([0.9, 0.2, 0.9, 0.4])[index]


@pytest.mark.parametrize("ties", [1, 5, 1000])
def test_the_area_is_that_of_scikit_learn(ties):
    generator = torch.Generator().manual_seed(0)
    score = torch.randint(ties, (400,), generator=generator) / ties
    positive = torch.rand(400, generator=generator) < 0.2 + 0.5 * score
    assert auroc(score, positive) == pytest.approx(roc_auc_score(positive, score), abs=1e-12)


def test_wrong_labels_are_told_from_right_ones():
    wrong = torch.tensor([False, True, False, False])
    told = detection(Trusting(), torch.arange(4), wrong)
    assert told == {"trust_auroc": 1.0, "trust_right": 0.7333, "trust_wrong": 0.2}
    assert detection(Trusting(), torch.tensor([0, 1]), torch.tensor([True, False]))["trust_auroc"] == 0.0


def test_nothing_is_told_without_trust_or_without_wrong_labels():
    wrong = torch.tensor([False, True])
    assert detection(MetaStage(Beta()), torch.arange(2), wrong) == {}
    assert detection(Trusting(), torch.arange(2), ~wrong[:1].expand(2)) == {}
    assert detection(Trusting(), torch.arange(2), torch.zeros(2, dtype=torch.bool)) == {}


@pytest.mark.parametrize(("method", "told"), [("trustmix", True), ("mixup", False)])
def test_every_epoch_of_a_run_tells_it(method, told, tmp_path):
    small = {"subset": 300, "epochs": 12, "batch_size": 30, "evaluate_every": 12, "meta.per_class": 5}
    wrong = {"corrupt.kind": "replace", "corrupt.share": 0.4}
    begin(
        RunFolder(tmp_path / "run"), resolve({"data": "digits", "model": "cnn-bn", "method": method, **small, **wrong})
    )
    areas = [line.get("trust_auroc") for line in read_lines(RunFolder(tmp_path / "run").metrics)]
    assert len(areas) == 12
    if told:
        assert areas[0] == 0.5  # labels are not judged from the first step on
        assert areas[-1] > 0.7
    else:
        assert areas == [None] * 12
