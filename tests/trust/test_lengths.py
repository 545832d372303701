"""What the length of a run decides: a short one on clean labels is the one without mixing, to the last bit; a long one
blends everything, whether labels are wrong or not."""

from pathlib import Path

import pytest

from metamixup.engine.records.run_folder import RunFolder, read_lines
from metamixup.runs.run import resume
from metamixup.settings.resolve import resolve


def summary(folder: Path, method: str, epochs: int, **more: dict) -> dict:
    given = {
        **{"data": "digits", "model": "preact-resnet8-tiny", "method": method, "subset": 640, "epochs": epochs},
        **{"batch_size": 32, "meta": {"per_class": 5, "in_train": True}, "optimizer": {"schedule": "cosine"}},
        **more,
    }
    return resume(RunFolder(folder / f"{method}-{epochs}"), resolve(given), given, [])


@pytest.mark.parametrize(("epochs", "same"), [(4, True), (9, True), (20, False)])
def test_a_short_run_is_that_without_mixing(tmp_path: Path, epochs: int, same: bool):
    plain, ours = (summary(tmp_path, method, epochs)["test_nll"] for method in ("baseline", "trustmix"))
    assert (plain == ours) == same


@pytest.mark.parametrize("wrong", [0.0, 0.1])
def test_a_long_run_blends_everything(tmp_path: Path, wrong: float):
    corrupt = {"corrupt": {"kind": "replace", "share": wrong}} if wrong else {}
    summary(tmp_path, "trustmix", 25, **corrupt)
    records = read_lines(RunFolder(tmp_path / "trustmix-25").metrics)
    assert max(record["blended"] for record in records) == 1
