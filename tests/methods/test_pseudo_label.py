from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F
from toys import batch, generator, net, step, trained

from metamixup.methods.pseudo_label import PseudoLabel
from metamixup.mixing import Mixture, mix
from metamixup.policy.fixed import Fixed


def test_labels_are_the_confident_predictions_and_nothing_learns_from_them():
    model, data = trained(), batch()
    before = {name: value.clone() for name, value in model.state_dict().items()}
    prepared = PseudoLabel(sigma=0.9).prepare(model, data, generator())
    assert all(torch.equal(before[name], value) for name, value in model.state_dict().items())
    p = model(data.u).softmax(1)
    assert torch.equal(prepared.guesses.argmax(1), p.argmax(1))
    assert torch.equal(prepared.mask, (p.amax(1) > 0.9).float())
    assert torch.equal(prepared.guesses.sum(1), torch.ones(len(data.u)))


def test_loss_equals_a_plain_loop():
    model, data = net(), batch()
    method = PseudoLabel(sigma=0.4, weight=0.7)
    data, mixture = step(method, model, data)
    terms = method.loss(model, data, mixture)
    x, y = torch.cat([data.x, data.u]), torch.cat([data.y, data.guesses])
    inputs = torch.stack([mix(x[i], x[j], float(v)) for i, (j, v) in pairs_of(mixture)])
    logits, n, expected = model(inputs), len(data.x), {"supervised": 0.0, "pseudo_label": 0.0}
    for i, (j, v) in pairs_of(mixture):
        loss = -(mix(y[i], y[j], float(v)) * F.log_softmax(logits[i], 0)).sum()
        if i < n:
            expected["supervised"] += loss / n
        elif data.mask[i - n] and data.mask[j - n]:
            expected["pseudo_label"] += 0.7 * loss / len(data.u)
    for name, value in expected.items():
        torch.testing.assert_close(terms[name], value)
    assert 0 < data.mask.sum() < len(data.u)


def pairs_of(mixture: Mixture):
    return list(enumerate(zip(mixture.partner.tolist(), mixture.lam.tolist(), strict=True)))


def test_blocks_keep_to_themselves_and_have_a_coefficient_each():
    data = PseudoLabel().prepare(net(), batch(labelled=5, unlabelled=9), generator())
    pairs = PseudoLabel().pairs(data, generator())
    assert sorted(pairs.partner[:5].tolist()) == list(range(5))
    assert sorted(pairs.partner[5:].tolist()) == list(range(5, 14))


def test_without_mixing_partners_below_sigma_do_no_harm():
    method, model = PseudoLabel(sigma=0.4), net()
    data = method.prepare(model, batch(), generator())
    pairs = method.pairs(data, generator())
    loss = method.loss(model, data, Mixture(Fixed(1.0).draw(pairs, generator()), pairs.partner))["pseudo_label"]
    alone = method.loss(model, data, Mixture(torch.ones(14), torch.arange(14)))["pseudo_label"]
    assert torch.equal(loss, alone)
    assert loss > 0


def test_samples_below_sigma_get_no_gradient():
    method, model = PseudoLabel(sigma=1.0), net()
    data, mixture = step(method, model, batch())
    assert method.loss(model, data, mixture)["pseudo_label"] == 0
    u = data.u.clone().requires_grad_()
    half = replace(data, u=u, mask=torch.tensor([1.0, 1, 1, 1, 0, 0, 0, 0]))
    # no BatchNorm here: it couples the samples
    weight = torch.randn(16, 3)
    method.loss(lambda x: x.flatten(1) @ weight, half, Mixture(torch.ones(14), torch.arange(14)))[
        "pseudo_label"
    ].backward()
    assert (u.grad[4:] == 0).all()
    assert (u.grad[:4] != 0).any()


@pytest.mark.parametrize("sigma", [0.0, -0.1, 1.01])
def test_sigma_outside_its_range_is_refused(sigma):
    with pytest.raises(ValueError, match="σ_0"):
        PseudoLabel(sigma=sigma)


def test_records_show_sigma_and_ramp():
    method = PseudoLabel()
    method.prepare(net(), batch(), generator())
    assert method.records() == {"sigma": 0.95, "ramp": 1.0}
