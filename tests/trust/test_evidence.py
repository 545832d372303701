import pytest
import torch
from meta.networks import Problem, relative_error, smooth_net
from torch import nn
from torch.nn.functional import normalize

from metamixup.errors import UserError
from metamixup.meta import Exact
from metamixup.mixing import Mixture, soft_cross_entropy
from metamixup.trust.evidence import find_evidence


def test_equals_the_exact_gradient_in_sample_weights_of_a_centred_head():
    """The closed form against the exact estimator on a classifier that is given centred features."""
    torch.manual_seed(0)
    problem = Problem(n=6, m=8, shape=(5,))
    body, head = nn.Linear(5, 4), nn.Linear(4, 3, bias=False)
    model = nn.Sequential(body, nn.Tanh(), head).double()
    batch, meta = find_evidence(model, problem.loss, problem.meta_loss, Mixture.unblended(problem.lam), 3)
    assert (batch.gain.shape, batch.log_p.shape) == ((6,), (6, 3))
    assert (meta.gain.shape, meta.log_p.shape) == ((8,), (8, 3))

    features = model[:2]

    for half in (0, 1):  # even rows are judged by the odd meta images, odd ones by the even
        meta_x, meta_y = problem.x_meta[1 - half :: 2], problem.y_meta[1 - half :: 2]
        mean = features(problem.x_meta).mean(0, keepdim=True).detach()

        def loss(net, weighted):
            h = features(problem.x).detach()
            logits = net(h).detach() + net(h - h.mean(0)) - net(h - h.mean(0)).detach()
            return (weighted.lam * soft_cross_entropy(logits, problem.y, reduction="none")).sum()

        def meta_loss(net, meta_x=meta_x, meta_y=meta_y, mean=mean):
            h = features(meta_x).detach()
            logits = net(h).detach() + net(h - mean) - net(h - mean).detach()
            return soft_cross_entropy(logits, meta_y)

        weights = Mixture.unblended(problem.lam)
        expected = Exact(lookahead=False)(head, loss, meta_loss, weights, {"weight": 1.0})
        assert relative_error(-batch.gain[half::2].double(), expected[half::2]) < 1e-4
    assert relative_error(batch.log_p.double(), model(problem.x).log_softmax(1).detach()) < 1e-4


def test_without_a_meta_set_the_network_speaks_alone():
    model, problem = smooth_net(), Problem()
    batch, meta = find_evidence(model, problem.loss, None, Mixture.unblended(problem.lam), 3)
    assert meta is None
    assert not bool(batch.gain.any())
    assert torch.equal(
        batch.log_p, find_evidence(model, problem.loss, problem.meta_loss, Mixture.unblended(problem.lam), 3)[0].log_p
    )


class Cosine(nn.Module):
    """Ends in no linear layer, though it has one."""

    def __init__(self, wide: int = 4):
        super().__init__()
        self.body, self.weight = nn.Linear(5, wide), nn.Parameter(torch.randn(3, wide))

    def forward(self, x):
        return normalize(self.body(x), dim=1) @ normalize(self.weight, dim=1).T


@pytest.mark.parametrize("wide", [4, 3])
def test_a_model_without_a_linear_head_is_judged_by_its_logits_which_is_said_once(wide):
    torch.manual_seed(0)
    model, problem = Cosine(wide).double(), Problem(n=6, m=8, shape=(5,))
    with pytest.warns(UserWarning, match="rarer than in the meta set are not weighted up"):
        batch, meta = find_evidence(model, problem.loss, problem.meta_loss, Mixture.unblended(problem.lam), 3)
    find_evidence(model, problem.loss, problem.meta_loss, Mixture.unblended(problem.lam), 3)
    for found, x in ((batch, problem.x), (meta, problem.x_meta)):
        assert torch.equal(found.log_p, model(x).float().log_softmax(1).detach())
        assert not bool(found.gain.any())
    find_evidence(Cosine(wide).double(), problem.loss, None, Mixture.unblended(problem.lam), 3)  # says nothing


def test_a_linear_layer_of_every_token_is_no_head():
    class Pooled(nn.Sequential):
        def forward(self, x):
            return super().forward(x).mean(1)

    model, problem = Pooled(nn.Linear(5, 3)).double(), Problem(n=6, m=8, shape=(7, 5))
    batch, _ = find_evidence(model, problem.loss, None, Mixture.unblended(problem.lam), 3)
    assert torch.equal(batch.log_p, model(problem.x).float().log_softmax(1).detach())


def test_a_method_that_classifies_more_than_the_batch_is_refused():
    """As one with unlabelled images does, whose rows would be taken for the batch's own."""
    model, problem = smooth_net(), Problem()

    def beside_others(net, mixture):
        return soft_cross_entropy(net(torch.cat([problem.x, problem.x])), torch.cat([problem.y, problem.y]))

    with pytest.raises(UserError, match="classify the batch once"):
        find_evidence(model, beside_others, None, Mixture.unblended(problem.lam), 3)


def test_a_method_that_classifies_twice_is_refused():
    model, problem = smooth_net(), Problem()
    with pytest.raises(UserError, match="classify the batch once"):
        find_evidence(
            model,
            lambda net, m: problem.loss(net, m) + problem.loss(net, m),
            problem.meta_loss,
            Mixture.unblended(problem.lam),
            3,
        )


def test_the_model_is_left_as_it_was():
    model, problem = smooth_net(dropout=0.3), Problem()
    before = {k: v.clone() for k, v in model.state_dict().items()}
    state = torch.get_rng_state()
    find_evidence(model, problem.loss, problem.meta_loss, Mixture.unblended(problem.lam), 3)
    assert all(torch.equal(before[k], v) for k, v in model.state_dict().items())
    assert all(p.grad is None for p in model.parameters())
    assert torch.equal(state, torch.get_rng_state())
    assert not any(m._forward_hooks for m in model.modules())
