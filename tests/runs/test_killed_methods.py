"""Every method that learns from labels alone goes on after a kill as if it had not been killed."""

import pytest
from toy_runs import assert_a_kill_changes_nothing

from metamixup.settings.methods import METHODS
from metamixup.settings.resolve import resolve
from metamixup.settings.semi_supervised import SEMI_SUPERVISED

TINY = {
    **{"data": "digits", "model": "preact-resnet8-tiny", "epochs": 4, "batch_size": 32, "subset": 96, "threads": 1},
    **{"meta.per_class": 2, "meta.in_train": True, "evaluate_every": 4},
    **{"corrupt.kind": "replace", "corrupt.share": 0.2},
}


@pytest.mark.parametrize("method", [name for name in METHODS if name not in SEMI_SUPERVISED])
def test_a_killed_run_ends_as_if_it_had_not_been(tmp_path, method):
    assert_a_kill_changes_nothing(resolve({**TINY, "method": method}), 8, tmp_path)
