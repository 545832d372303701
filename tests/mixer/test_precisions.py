"""Models of any floating type in a user's own loop, with the default policy and with one that learns by gradients."""

import pytest
import torch
from torch import nn
from torch.nn.functional import cross_entropy

from metamixup import MetaMixUp

KINDS = {
    "default": {},
    "no index": {},
    "no meta set": {"meta": None},
    "exact": {"policy": "learned", "estimator": "exact"},
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16, torch.float16])
def test_a_loop_of_ones_own_learns(dtype, kind):
    torch.manual_seed(0)
    y = torch.arange(90) % 3
    x = (torch.randn(90, 8) + 4 * y[:, None]).to(dtype)
    model = nn.Sequential(nn.Linear(8, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, 3)).to(dtype)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    mixer = MetaMixUp(model, 3, lr=optimizer, **{"meta": (x[60:], y[60:]), **KINDS[kind]})
    for step in range(30):
        index = torch.arange(step * 20, step * 20 + 20) % 60
        mixed = mixer(x[index], y[index], *([] if kind == "no index" else [index]))
        assert (mixed.x.dtype, mixed.y.dtype) == (dtype, dtype)
        optimizer.zero_grad()
        cross_entropy(model(mixed.x), mixed.y).backward()
        optimizer.step()
    assert all(parameter.isfinite().all() for parameter in model.parameters())
    assert (model.eval()(x).argmax(1) == y).float().mean() > 0.6  # a third by chance


@pytest.mark.parametrize("classes", [3, 200])
def test_a_loop_whose_numbers_are_double_by_default_learns(classes):
    torch.set_default_dtype(torch.float64)
    try:
        x, y = torch.randn(60, 5), torch.arange(60) % classes
        model = nn.Linear(5, classes)
        mixer = MetaMixUp(model, classes, meta=(x[:20], y[:20]), lr=0.1)
        for _ in range(40):
            mixed = mixer(x, y, range(60))
            assert cross_entropy(model(mixed.x), mixed.y).dtype == torch.float64
        assert mixer.stage.labels.division.fit is not None
        MetaMixUp(model, classes, lr=0.1).load_state_dict(mixer.state_dict())
    finally:
        torch.set_default_dtype(torch.float32)
