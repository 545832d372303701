"""A set where every blend of two classes lands on a third: who learns to mix less across them than MixUp does?"""

import pytest
import torch
from torch import Tensor, nn

from metamixup.meta import Head, MetaStage, learning_rates
from metamixup.methods.adamixup import AdaMixUp
from metamixup.methods.method import Batch, Method
from metamixup.methods.supervised import Supervised
from metamixup.mixing import soft_cross_entropy, soft_labels
from metamixup.network import find_classifier
from metamixup.policy import Beta, Learned, Policy
from metamixup.seeding import derived_generator

A, B = torch.tensor([2.0, 0.0, 0.0, 0.0]), torch.tensor([0.0, 2.0, 0.0, 0.0])


def draw(n: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """Classes 0 and 1 are two clouds, class 2 fills the line between them."""
    y = torch.randint(0, 3, (n,), generator=generator)
    between = 0.15 + 0.7 * torch.rand(n, generator=generator)
    place = torch.where(y == 2, between, (y == 0).float())[:, None]
    return place * A + (1 - place) * B + 0.25 * torch.randn(n, 4, generator=generator), y


def mixing_across(method: Method, policy: Policy, seed: int, steps: int = 240) -> float:
    """The mean amount of mixing, 4λ(1−λ), of pairs of the classes 0 and 1 in the second half of training."""
    torch.manual_seed(seed)
    model = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 3))
    find_classifier(model, lambda net: net(torch.zeros(2, 4)))
    method.setup(model)
    networks = [model, *method.modules().values()]
    optimizer = torch.optim.SGD([p for network in networks for p in network.parameters()], lr=0.3, momentum=0.9)
    stage = MetaStage(policy, Head() if policy.learned else None)
    amounts = []
    for step in range(steps):
        x, y = draw(16, derived_generator(seed, "train", step))
        x_meta, y_meta = draw(16, derived_generator(seed, "meta", step))
        batch = method.prepare(model, Batch(x, soft_labels(y, 3)), derived_generator(seed, "prepare", step))
        mixture = stage(
            model,
            lambda net, m, batch=batch: torch.stack([*method.loss(net, batch, m).values()]).sum(),
            lambda net, x=x_meta, y=y_meta: soft_cross_entropy(net(x), soft_labels(y, 3)),
            method.pairs(batch, derived_generator(seed, "pairs", step)),
            learning_rates(model, optimizer),
            derived_generator(seed, "policy", step),
        )
        optimizer.zero_grad()
        torch.stack([*method.loss(model, batch, mixture).values()]).sum().backward()
        optimizer.step()
        used = method.recorded(mixture)
        first, second = y[: len(used.lam)], y[used.partner]
        if step >= steps // 2:
            amounts.append((4 * used.lam * (1 - used.lam))[first + second == 1])
    return float(torch.cat(amounts).mean())


MIXUP = 2 / 3  # the mean of 4λ(1−λ) for λ ~ U(0, 1)


def test_mixup_mixes_across_them_as_everywhere():
    assert mixing_across(Supervised(), Beta(1.0), seed=0) == pytest.approx(MIXUP, abs=0.1)


def test_adamixup_with_its_discriminator_mixes_less_across_them():
    # Its generator cannot tell the order of a pair, so it must break a symmetry to leave [0, 1]: most seeds do.
    amounts = [mixing_across(AdaMixUp(discriminate=True), Beta(1.0), seed) for seed in range(4)]
    assert sum(amounts) / len(amounts) < MIXUP / 2
    assert max(amounts) < MIXUP + 0.05


@pytest.mark.parametrize("seed", [0, 1])
def test_learned_lam_mixes_less_across_them(seed):
    assert mixing_across(Supervised(), Learned(), seed) < 0.85 * MIXUP
