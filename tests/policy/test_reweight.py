import torch
from torch import nn

from metamixup.meta import Exact, Head, MetaStage, learning_rates
from metamixup.methods.method import Batch
from metamixup.methods.supervised import Reweighted
from metamixup.mixing import soft_cross_entropy, soft_labels
from metamixup.policy.reweight import Reweight


def weights(estimator, wrong: int = 16, n: int = 48) -> torch.Tensor:
    """The weights of a batch whose first labels are wrong, on a briefly trained network."""
    torch.manual_seed(0)
    centres = 2 * torch.randn(3, 8)
    truth = torch.arange(n) % 3
    x, x_meta = (centres[truth] + torch.randn(n, 8) for _ in range(2))
    given = truth.clone()
    given[:wrong] = (given[:wrong] + 1) % 3
    model = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 3))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.2)
    for _ in range(20):
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x_meta), truth).backward()
        optimizer.step()
    method, batch = Reweighted(), Batch(x, soft_labels(given, 3))
    generator = torch.Generator().manual_seed(0)
    return MetaStage(Reweight(), estimator)(
        model,
        lambda net, mixture: method.loss(net, batch, mixture)["supervised"],
        lambda net: soft_cross_entropy(net(x_meta), soft_labels(truth, 3)),
        method.pairs(batch, generator),
        learning_rates(model, 0.2),
        generator,
    ).lam


def test_wrong_labels_lose_their_weight():
    for estimator in (Exact(lookahead=False), Head(lookahead=False)):
        w = weights(estimator)
        assert abs(float(w.sum()) - 1) < 1e-5
        assert bool((w >= 0).all())
        assert float(w[:16].sum()) < 0.1


def test_no_helpful_sample_means_uniform_weights():
    grad = torch.ones(4)
    assert torch.equal(Reweight().refine(torch.full((4,), 0.25), grad, None), torch.full((4,), 0.25))
