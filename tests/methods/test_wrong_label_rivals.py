import pytest
import torch
from torch import nn
from torch.nn.functional import cross_entropy, one_hot

from metamixup.methods.bootstrapping import Bootstrapping, fit_betas, wrong_by
from metamixup.methods.elr import ELR
from metamixup.methods.gce import GCE
from metamixup.methods.method import Batch
from metamixup.mixing import Mixture


def a_batch(n=6, progress=0.0):
    torch.manual_seed(0)
    labels = one_hot(torch.arange(n) % 3, 3).float()
    return Batch(torch.randn(n, 4), labels, torch.arange(n) + 2, progress=progress)


ALONE = Mixture(torch.ones(6), torch.arange(6))


def test_gce_lies_between_cross_entropy_and_absolute_error():
    net, batch = nn.Linear(4, 3), a_batch()
    p = (net(batch.x).softmax(1) * batch.y).sum(1)
    absolute = GCE(1.0).loss(net, batch, ALONE)["supervised"]
    torch.testing.assert_close(absolute, (1 - p).mean())
    nearly = GCE(1e-4).loss(net, batch, ALONE)["supervised"]
    torch.testing.assert_close(nearly, cross_entropy(net(batch.x), batch.y), atol=1e-3, rtol=1e-3)


def test_elr_remembers_predictions_and_holds_the_network_to_them():
    method, net, batch = ELR(weight=2.0, memory=0.5), nn.Linear(4, 3), a_batch()
    p = net(batch.x).softmax(1).detach()
    once = method.prepare(net, batch, torch.Generator())
    torch.testing.assert_close(once.guesses, 0.5 * p)
    twice = method.prepare(net, batch, torch.Generator())
    torch.testing.assert_close(twice.guesses, 0.75 * p)
    terms = method.loss(net, twice, ALONE)
    torch.testing.assert_close(terms["early"], 2 * (1 - (0.75 * p * p).sum(1)).log().mean())
    other = ELR()
    other.load_state_dict(method.state_dict())
    assert torch.equal(other.memory, method.memory)


def test_two_beta_distributions_tell_low_losses_from_high():
    generator = torch.Generator().manual_seed(0)
    low, high = 0.3 * torch.rand(600, generator=generator), 1 - 0.4 * torch.rand(400, generator=generator)
    betas = fit_betas(torch.cat([low, high]).clamp(1e-4, 1 - 1e-4))
    assert float(betas[1, 2]) == pytest.approx(0.4, abs=0.1)
    assert float(wrong_by(betas, low.clamp_min(1e-4)).mean()) < 0.1
    assert float(wrong_by(betas, high.clamp_max(1 - 1e-4)).mean()) > 0.9


def test_bootstrapping_puts_answers_in_the_place_of_labels_with_high_losses():
    method, net = Bootstrapping(start=0.2), nn.Linear(4, 3)
    batch = a_batch(progress=0.1)
    assert torch.equal(method.prepare(net, batch, torch.Generator()).y, batch.y)
    method.after_epoch(0)
    late = a_batch(progress=0.5)
    changed = method.prepare(net, late, torch.Generator()).y
    answers = one_hot(net(late.x).argmax(1), 3).float()
    torch.testing.assert_close(changed.sum(1), torch.ones(6))
    moved = (changed - late.y).abs().sum(1) > 1e-4
    assert bool(moved.any())
    assert bool(((changed - late.y) * (answers - late.y) >= -1e-6).all()), "towards the answers only"
    other = Bootstrapping()
    other.load_state_dict(method.state_dict())
    assert torch.equal(other.betas, method.betas)
