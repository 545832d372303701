import torch
from analysis.conftest import train

from metamixup.analysis.rebuild import rebuild
from metamixup.engine.records.run_folder import RunFolder
from metamixup.runs.saved import read_split


def test_a_study_sees_the_wrong_labels_that_the_run_saw(tmp_path):
    clean = rebuild(train(tmp_path / "clean", epochs=1, method="mixup"))
    noisy = rebuild(train(tmp_path / "noisy", epochs=1, method="mixup", corrupt__kind="replace", corrupt__share=0.5))
    assert torch.equal(clean.split.train, noisy.split.train)
    index = noisy.split.train[~torch.isin(noisy.split.train, noisy.split.meta)]  # meta labels stay right
    wrong = noisy.found.train.labels[index] != clean.found.train.labels[index]
    assert abs(float(wrong.float().mean()) - 0.5) < 0.1
    assert torch.equal(noisy.found.train.labels[noisy.split.meta], clean.found.train.labels[clean.split.meta])


def test_a_study_sees_no_image_that_a_long_tailed_run_never_had(tmp_path):
    path = train(tmp_path / "tail", epochs=1, method="mixup", corrupt__kind="long-tail", corrupt__ratio=10.0)
    run, stored = rebuild(path), read_split(RunFolder(path))
    assert torch.equal(run.split.train, stored["train"])
    assert len(run.split.train) == run.records.summary["images"]["train"] < 220
