"""The sharp test that an estimator works at all: it must tell wrong labels from right ones."""

import pytest
import torch
from torch import nn
from torch.optim import SGD

from metamixup.benchmarks.quality import estimators
from metamixup.meta import MetaStage, learning_rates
from metamixup.mixing import Pairs, draw_partners, soft_cross_entropy, soft_labels
from metamixup.policy import Learned

CENTRES = 2.0 * torch.randn(4, 12, generator=torch.Generator().manual_seed(5))


def samples(n: int, generator: torch.Generator) -> tuple[torch.Tensor, torch.Tensor]:
    y = torch.randint(0, 4, (n,), generator=generator)
    return CENTRES[y] + torch.randn(n, 12, generator=generator), y


def mean_lambdas(estimator) -> tuple[float, float]:
    """The mean λ of pairs whose first label alone is wrong, and of those whose second alone is, over a short run."""
    generator = torch.Generator().manual_seed(0)
    x, true = samples(600, generator)
    x_meta, y_meta = samples(200, generator)
    noise = torch.rand(600, generator=generator) < 0.4
    given = torch.where(noise, (true + torch.randint(1, 4, (600,), generator=generator)) % 4, true)
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(12, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Linear(32, 4))
    optimizer, stage = SGD(model.parameters(), 0.1), MetaStage(Learned(step_size=2.0), estimator)
    labels, labels_meta = soft_labels(given, 4), soft_labels(y_meta, 4)
    first, second = [], []
    for step in range(60):
        rows = torch.randperm(600, generator=generator)[:100]
        meta = torch.randperm(200, generator=generator)[:50]
        pairs = Pairs(draw_partners([100], generator), labels[rows])

        def loss(net, mixture, rows=rows):
            return soft_cross_entropy(net(mixture.inputs(x[rows])), mixture.labels(labels[rows]))

        mixture = stage(
            model,
            loss,
            lambda net, meta=meta: soft_cross_entropy(net(x_meta[meta]), labels_meta[meta]),
            pairs,
            learning_rates(model, optimizer),
            generator,
        )
        optimizer.zero_grad()
        loss(model, mixture).backward()
        optimizer.step()
        a, b = noise[rows], noise[rows][mixture.partner]
        if step >= 10:
            first.append(mixture.lam[a & ~b])
            second.append(mixture.lam[~a & b])
    return float(torch.cat(first).mean()), float(torch.cat(second).mean())


ESTIMATORS = {name: estimator for name, estimator in estimators().items() if name != "less mixing"}


@pytest.mark.parametrize("name", ESTIMATORS)
def test_wrong_labels_get_less_weight(name):
    first, second = mean_lambdas(ESTIMATORS[name])
    assert first < second - 0.1
