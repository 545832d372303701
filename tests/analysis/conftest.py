"""Two small trained runs that all studies of this folder share."""

import pytest
from analysis.small import SMALL

from metamixup.engine.records.run_folder import RunFolder
from metamixup.runs.run import begin
from metamixup.settings.resolve import resolve


def train(path, **changes):
    settings = resolve(SMALL | {key.replace("__", "."): value for key, value in changes.items()})
    begin(RunFolder(path), settings)
    return path


@pytest.fixture(scope="session")
def trained(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    return [train(folder / method, method=method) for method in ("mixup", "trustmix")]
