"""What every stage does with steps that it must not learn from."""

import copy
from threading import Thread

import pytest
import torch
from torch import nn
from torch.nn.functional import cross_entropy

from metamixup import MetaMixUp
from metamixup.errors import UserError
from metamixup.meta import Exact, FiniteDifference, Head, MetaStage, learning_rates
from metamixup.policy import Learned, Persistent
from metamixup.trust import Trust

STAGES = {
    "trust": Trust,
    "exact": lambda: MetaStage(Learned(), Exact()),
    "head": lambda: MetaStage(Learned(), Head()),
    "finite difference": lambda: MetaStage(Learned(), FiniteDifference()),
    "persistent": lambda: MetaStage(Persistent(), Head()),
}


def flat(state: dict) -> list[torch.Tensor]:
    """All tensors of a state, wherever they lie, but for which samples came up: bad ones did too."""
    found = []
    for value in (value for name, value in state.items() if name != "epoch"):
        found += flat(value) if isinstance(value, dict) else [value] if isinstance(value, torch.Tensor) else []
    return found


@pytest.mark.parametrize("name", STAGES)
@pytest.mark.parametrize("where", ["batch", "meta"])
def test_a_batch_that_is_not_finite_leaves_nothing_behind(name, where):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 3))
    stage = STAGES[name]()
    mixer = MetaMixUp(model, 3, policy=stage, every=1)
    x, y, index = torch.randn(12, 4), torch.arange(12) % 3, torch.arange(12)
    mixer(x, y, x, y, lr=0.1, index=index, meta_index=index)
    before = copy.deepcopy(stage.state_dict())
    bad = x.clone()
    bad[3] = float("nan")
    given = (bad, y, x, y) if where == "batch" else (x, y, bad, y)
    assert torch.isfinite(mixer(*given, lr=0.1, index=index, meta_index=index).lam).all()
    after = stage.state_dict()
    assert stage.ignored == after["ignored"] == 1
    assert all(torch.equal(a, b) for a, b in zip(flat(before), flat(after), strict=True))
    mixed = mixer(x, y, x, y, lr=0.1, index=index, meta_index=index)
    assert torch.isfinite(mixed.lam).all()
    assert stage.ignored == 1


@pytest.mark.parametrize("kind", [torch.float64, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("name", STAGES)
def test_models_of_other_types_are_served(name, kind):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 3)).to(kind)
    mixer = MetaMixUp(model, 3, policy=STAGES[name](), every=1)
    x, y, index = torch.randn(12, 4, dtype=kind), torch.arange(12) % 3, torch.arange(12)
    for _ in range(10):
        mixed = mixer(x, y, x, y, lr=0.1, index=index, meta_index=index)
        assert mixed.x.dtype == mixed.y.dtype == kind
        assert torch.isfinite(mixed.lam).all()
    cross_entropy(model(mixed.x), mixed.y).backward()
    assert model[0].weight.grad.isfinite().all()
    assert mixer.stage.ignored == 0


def test_two_threads_on_one_model_leave_it_whole():
    model = nn.Sequential(nn.Linear(4, 64), nn.Tanh(), nn.Linear(64, 3))
    names, before = [n for n, _ in model.named_parameters()], [p.clone() for p in model.parameters()]
    x, y = torch.randn(64, 4), torch.arange(64) % 3

    def work():
        mixer = MetaMixUp(model, 3, policy=Learned(), estimator="exact")
        for _ in range(30):
            mixer(x, y, x, y, lr=0.1)

    threads = [Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [n for n, _ in model.named_parameters()] == names
    assert all(torch.equal(a, b) for a, b in zip(before, model.parameters(), strict=True))


@pytest.mark.parametrize("lr", [float("inf"), float("nan"), -0.1])
def test_learning_rates_that_make_no_sense_are_refused(lr):
    with pytest.raises(UserError, match="finite and at least 0"):
        learning_rates(nn.Linear(2, 2), lr)


def test_an_optimizer_of_another_model_is_refused():
    other = torch.optim.SGD(nn.Linear(2, 2).parameters(), lr=0.1)
    with pytest.raises(UserError, match="no parameter of this model"):
        learning_rates(nn.Linear(2, 2), other)


@pytest.mark.parametrize("every", [0, -1])
def test_a_pace_that_makes_no_sense_is_refused(every):
    with pytest.raises(UserError, match="every"):
        MetaMixUp(nn.Linear(2, 2), 2, every=every)
