import numpy as np
import pytest
from scipy import stats

from metamixup.tables.cells import Cell
from metamixup.tables.entry import Difference
from metamixup.tables.recipe import Published
from metamixup.tables.table import make_table


def cell(row: str, published: Published | None = None) -> Cell:
    return Cell("digits", "cnn3", row, row.title(), {}, published, 1.0)


def summary(error: float, seconds: float = 10.0) -> dict:
    return {"test_error": error, "train_seconds": seconds, "test_error_top5": error / 10, "test_nll": 0.1}


def test_an_entry_has_the_statistics_of_its_seeds():
    mine, theirs, usual = [3.0, 2.0, 4.5], [3.5, 3.0, 4.0], [5.0, 5.0, 5.0]
    summaries = {
        **{("digits/cnn3/ours", k): summary(v, 15.0) for k, v in enumerate(mine)},
        **{("digits/cnn3/mixup", k): summary(v) for k, v in enumerate(theirs)},
        **{("digits/cnn3/baseline", k): summary(v) for k, v in enumerate(usual)},
    }
    cells = [cell("ours", Published(error=2.5, mark="‡")), cell("mixup"), cell("baseline", Published(error=5))]
    ours, mixup, baseline = make_table(cells, summaries, "mixup", "baseline")
    assert ours.seeds == (0, 1, 2)
    assert ours.errors == tuple(mine)
    assert ours.mean == pytest.approx(np.mean(mine), abs=1e-6)
    assert ours.std == pytest.approx(np.std(mine, ddof=1), abs=1e-6)
    reference = stats.ttest_rel(mine, theirs).confidence_interval(0.95)
    assert ours.difference.low == pytest.approx(reference.low, abs=1e-5)
    assert ours.difference.high == pytest.approx(reference.high, abs=1e-5)
    assert (ours.published, ours.provenance, ours.cost_ratio) == (2.5, "‡", 1.5)
    assert mixup.difference is None
    assert (baseline.provenance, baseline.cost_ratio) == ("paper", 1.0)


def test_pairs_are_made_of_common_seeds_only():
    summaries = {
        ("digits/cnn3/ours", 0): summary(1.0),
        ("digits/cnn3/ours", 1): summary(9.0),
        ("digits/cnn3/mixup", 0): summary(2.0),
    }
    ours, _ = make_table([cell("ours"), cell("mixup")], summaries, "mixup", "baseline")
    assert ours.difference == Difference(-1.0, seeds=1)
    assert ours.cost_ratio is None


def test_a_cell_that_has_not_run_is_empty_and_present():
    (entry,) = make_table([cell("ours", Published(error=1.0))], {}, "mixup", "baseline")
    assert (entry.seeds, entry.errors, entry.mean, entry.difference) == ((), (), None, None)
    assert entry.published == 1.0
