import json

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from metamixup.engine.records.lambdas import BINS, Lambdas, read_pairs


def fill(num_classes, batches, seed=0):
    generator = torch.Generator().manual_seed(seed)
    recorded, rows = Lambdas(num_classes), []
    for n in batches:
        lam = torch.rand(n, generator=generator)
        lam[torch.rand(n, generator=generator) < 0.2] = 1.0  # the ends belong to the outer bins
        y = torch.randint(num_classes, (n,), generator=generator)
        partner = torch.randperm(n, generator=generator)
        recorded.add(lam, torch.nn.functional.one_hot(y, num_classes).float(), partner)
        rows += list(zip(lam.tolist(), y.tolist(), y[partner].tolist(), strict=True))
    return recorded, rows


@settings(max_examples=25, deadline=None)
@given(st.integers(2, 25), st.lists(st.integers(1, 40), min_size=1, max_size=4), st.integers(0, 99))
def test_tables_equal_a_count_by_hand(num_classes, batches, seed):
    recorded, rows = fill(num_classes, batches, seed)
    line = json.loads(json.dumps(recorded.line()))
    tables = read_pairs(line)
    count = np.zeros((num_classes, num_classes))
    total = np.zeros((num_classes, num_classes))
    bins = np.zeros((num_classes, num_classes, BINS))
    for lam, i, j in rows:
        count[i, j] += 1
        total[i, j] += lam
        bins[i, j, min(BINS - 1, int(np.float32(lam) * 1000) // (1000 // BINS))] += 1
    assert (tables["count"] == count).all()
    seen = count > 0
    assert np.allclose(tables["mean"][seen], (total / np.maximum(count, 1))[seen], atol=1e-4)
    assert np.isnan(tables["mean"][~seen]).all()
    assert sum(line["same"]) == sum(i == j for _, i, j in rows)
    if num_classes <= 20:
        assert (tables["histogram"] == bins).all()
    else:
        assert "histogram" not in tables


def test_the_summary_has_mean_quantiles_and_histogram():
    recorded, rows = fill(10, [500, 500])
    values = np.array([lam for lam, _, _ in rows])
    summary = recorded.summary()
    assert summary["lambda_mean"] == pytest.approx(values.mean(), abs=1e-4)
    for q, value in summary["lambda_quantiles"].items():
        assert value == pytest.approx(np.quantile(values, float(q)), abs=5e-3)
    assert sum(summary["lambda_histogram"]) == 1000
    assert Lambdas(10).summary() == {}


def test_a_thousand_classes_stay_small():
    recorded, rows = fill(1000, [256] * 20)
    line = recorded.line()
    assert len(json.dumps(line)) < 60_000
    tables = read_pairs(line)
    assert tables["count"].shape == (100, 100)
    assert tables["count"].sum() == len(rows)


def test_half_an_epoch_saved_and_restored_is_the_epoch():
    whole, _ = fill(5, [8, 8])
    first, _ = fill(5, [8])
    other = Lambdas(5)
    other.load_state_dict(first.state_dict())
    generator = torch.Generator().manual_seed(0)
    draws = [
        (
            torch.rand(8, generator=generator),
            torch.rand(8, generator=generator),
            torch.randint(5, (8,), generator=generator),
            torch.randperm(8, generator=generator),
        )
        for _ in range(2)
    ]
    lam, coin, y, partner = draws[1]
    lam[coin < 0.2] = 1.0
    other.add(lam, torch.nn.functional.one_hot(y, 5).float(), partner)
    assert other.line() == whole.line()
    assert other.summary() == whole.summary()
    other.reset()
    assert other.summary() == {}
    assert first.summary() != {}
