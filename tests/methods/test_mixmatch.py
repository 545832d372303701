import copy

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st
from toys import batch, generator, net, step, trained

from metamixup.methods.mixmatch import MixMatch, folded, interleaved
from metamixup.methods.ramp import Ramp
from metamixup.mixing import Mixture


def plain_interleave(groups: list[list], batch_size: int) -> list[list]:
    """The authors' recipe on plain lists of one length."""
    count = len(groups)
    sizes = [batch_size // count] * count
    for k in range(batch_size - sum(sizes)):
        sizes[-k - 1] += 1
    cuts = [sum(sizes[:k]) for k in range(count + 1)]
    parts = [[group[cuts[p] : cuts[p + 1]] for p in range(count)] for group in groups]
    for i in range(1, count):
        parts[0][i], parts[i][i] = parts[i][i], parts[0][i]
    return [[sample for part in group for sample in part] for group in parts]


@given(st.integers(1, 20), st.integers(1, 4))
def test_interleaving_equals_a_plain_reference(size, views):
    numbers = list(range(size * (views + 1)))
    groups = [numbers[k * size : (k + 1) * size] for k in range(views + 1)]
    assert [g.tolist() for g in interleaved([size] * (views + 1))] == plain_interleave(groups, size)


@given(st.lists(st.integers(1, 12), min_size=2, max_size=4))
def test_interleaving_of_any_sizes_loses_nobody(sizes):
    assert sorted(torch.cat(interleaved(sizes)).tolist()) == list(range(sum(sizes)))


@pytest.mark.parametrize("views", [1, 2, 3])
def test_guesses_equal_a_slow_reference(views):
    model, data = trained(), batch(unlabelled=5, views=views)
    guesses = MixMatch(augmentations=views).prepare(model, data, generator()).guesses
    augmented = [data.u] if views == 1 else [data.u, *data.u2.split(5)]
    predictions = [copy.deepcopy(model)(view).softmax(1).detach() for view in augmented]
    for i in range(5):
        mean = [sum(float(p[i, c]) for p in predictions) / views for c in range(3)]
        powered = [m ** (1 / 0.5) for m in mean]
        expected = torch.tensor([v / sum(powered) for v in powered])
        torch.testing.assert_close(guesses[i], expected, rtol=1e-4, atol=1e-6)


def test_loss_equals_a_plain_reference_without_batchnorm():
    """Without BatchNorm no sample sees another, so interleaving must not show."""
    weight = torch.randn(16, 3, generator=generator())

    def linear(x):
        return x.flatten(1) @ weight

    method = MixMatch(weight=75, ramp=Ramp("linear", 100))
    data, mixture = step(method, net(), batch(labelled=4, unlabelled=7, step=25))
    terms = method.loss(linear, data, mixture)
    x = torch.cat([data.x, data.u, data.u2])
    y = torch.cat([data.y, data.guesses, data.guesses])
    supervised, distance = 0.0, 0.0
    for i, (j, lam) in enumerate(zip(mixture.partner.tolist(), mixture.lam.tolist(), strict=True)):
        lam = max(lam, 1 - lam)
        logits = linear((lam * x[i] + (1 - lam) * x[j])[None])[0]
        target = lam * y[i] + (1 - lam) * y[j]
        if i < 4:
            supervised += -(target * F.log_softmax(logits, 0)).sum() / 4
        else:
            distance += (logits.softmax(0) - target).square().sum() / (14 * 3)
    torch.testing.assert_close(terms["supervised"], supervised)
    torch.testing.assert_close(terms["consistency"], 0.25 * 75 * distance)


def test_partners_come_from_the_whole_union():
    data = MixMatch().prepare(net(), batch(labelled=6, unlabelled=8), generator())
    partner = MixMatch().pairs(data, generator()).partner
    assert sorted(partner.tolist()) == list(range(22))
    assert any(p >= 6 for p in partner[:6].tolist())


def test_running_statistics_learn_from_the_first_pass_only():
    model, method = net(), MixMatch()
    data, mixture = step(method, model, batch())
    seen = []
    model.register_forward_pre_hook(lambda module, inputs: seen.append(inputs[0]))
    method.loss(model, data, mixture)
    assert len(seen) == 3
    assert int(model[1].num_batches_tracked) == 1
    reference = net()
    reference(seen[0])
    assert torch.equal(model[1].running_mean, reference[1].running_mean)


def test_a_folded_blend_is_nearer_to_its_first_sample_and_keeps_its_gradient():
    lam = torch.tensor([0.0, 0.2, 0.5, 0.9, 1.0], requires_grad=True)
    result = folded(Mixture(lam, torch.arange(5))).lam
    torch.testing.assert_close(result, torch.tensor([1.0, 0.8, 0.5, 0.9, 1.0]))
    result.sum().backward()
    assert lam.grad[[0, 1, 3, 4]].tolist() == [-1, -1, 1, 1]


def test_the_average_is_evaluated():
    model, method = net(), MixMatch()
    method.setup(model)
    assert method.evaluated(model) == ("ema", method.modules()["ema"])


@pytest.mark.parametrize(("bad", "message"), [({"augmentations": 0}, "K ≥ 1"), ({"temperature": 0.0}, "temperature")])
def test_bad_settings_are_refused(bad, message):
    with pytest.raises(ValueError, match=message):
        MixMatch(**bad)
