"""The promise to whoever has little time: a short run on clean labels is the one without mixing, to the last bit."""

from pathlib import Path

import pytest

from metamixup.engine.records.run_folder import RunFolder
from metamixup.runs.run import resume
from metamixup.settings.resolve import resolve


def summary(folder: Path, method: str, epochs: int) -> dict:
    given = {
        **{"data": "digits", "model": "preact-resnet8-tiny", "method": method, "subset": 640, "epochs": epochs},
        **{"batch_size": 32, "meta": {"per_class": 5, "in_train": True}, "optimizer": {"schedule": "cosine"}},
    }
    return resume(RunFolder(folder / f"{method}-{epochs}"), resolve(given), given, [])


@pytest.mark.parametrize(("epochs", "same"), [(4, True), (9, True), (20, False)])
def test_a_short_run_is_that_without_mixing(tmp_path: Path, epochs: int, same: bool):
    plain, ours = (summary(tmp_path, method, epochs)["test_nll"] for method in ("baseline", "trustmix"))
    assert (plain == ours) == same
