"""A class that the policy gave up is named."""

import torch

from metamixup.runs import lost_classes
from metamixup.trust import Suspect, Trust


def test_a_class_most_of_whose_labels_were_taken_for_wrong_is_named(monkeypatch):
    stage, labels = Trust(), torch.tensor([0] * 6 + [1] * 4 + [2] * 4)
    stage.labels.samples.learn(torch.arange(14), torch.full((14, 3), 1 / 3).log(), labels)
    assert lost_classes.lost_classes(stage, ["car", "ship", "truck"]) == []
    wrong = [Suspect(k, int(labels[k]), 0, 0.9) for k in (0, 6, 7, 8, 10, 11)]  # 1 car, 3 ships, 2 trucks
    monkeypatch.setattr(stage.labels, "taken_for_wrong", lambda: wrong)
    (told,) = lost_classes.lost_classes(stage, ["car", "ship", "truck"])
    assert told.startswith("the policy took most labels of 'ship' (3 of 4) for wrong;")
