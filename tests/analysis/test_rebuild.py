import shutil

import numpy as np
import pytest
import torch
from analysis.conftest import train

from metamixup.analysis.rebuild import rebuild
from metamixup.engine.records.run_folder import RunFolder
from metamixup.errors import UserError
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


@pytest.mark.parametrize("count", [80, 60])
def test_data_that_has_changed_since_is_told(tmp_path, count):
    """A run knows images by their position: other images at the same ones would be taken for its own."""
    random, file = np.random.default_rng(0), tmp_path / "data.npz"

    def write(images: int) -> None:
        x, y = random.integers(0, 256, (images, 8, 8), dtype=np.uint8), np.arange(images) % 2
        np.savez(file, x_train=x, y_train=y, x_test=x[:10], y_test=y[:10])

    write(80)
    path = train(tmp_path / "run", epochs=1, method="mixup", data=str(file), subset=None)
    assert rebuild(path).whole
    write(count)
    with pytest.raises(UserError, match="data has changed"):
        rebuild(path)
    shutil.rmtree(RunFolder(path).checkpoints)  # now only positions beyond the last image tell
    if count < 80:
        with pytest.raises(UserError, match="data has changed"):
            rebuild(path)
