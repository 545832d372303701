"""Small networks and batches for tests of methods."""

import torch
from torch import Tensor, nn

from metamixup.methods.apl import APL
from metamixup.methods.consistency import PiModel
from metamixup.methods.mean_teacher import MeanTeacher
from metamixup.methods.method import Batch, Method
from metamixup.methods.mixmatch import MixMatch
from metamixup.methods.pseudo_label import PseudoLabel
from metamixup.methods.ramp import Ramp
from metamixup.methods.vat import VAT
from metamixup.mixing import Mixture, soft_labels
from metamixup.policy.beta import Beta

CLASSES = 3


def net(seed: int = 0, dropout: float = 0.0) -> nn.Module:
    torch.manual_seed(seed)
    return nn.Sequential(
        nn.Conv2d(1, 4, 3, padding=1),
        nn.BatchNorm2d(4),
        nn.ReLU(),
        nn.Flatten(),
        nn.Dropout(dropout),
        nn.Linear(4 * 16, CLASSES),
    )


def images(n: int, seed: int) -> tuple[Tensor, Tensor]:
    """Easy images: class c lights up row c. (n, 1, 4, 4), (n,)."""
    generator = torch.Generator().manual_seed(seed)
    y = torch.randint(0, CLASSES, (n,), generator=generator)
    x = 0.3 * torch.randn(n, 1, 4, 4, generator=generator)
    x[torch.arange(n), 0, y] += 1.0
    return x, y


def batch(labelled: int = 6, unlabelled: int = 8, views: int = 2, **changes: float) -> Batch:
    x, y = images(labelled, 1)
    u, _ = images(unlabelled, 2)
    noise = torch.randn(views - 1, *u.shape, generator=torch.Generator().manual_seed(3))
    return Batch(
        x=x,
        y=soft_labels(y, CLASSES),
        index=torch.arange(labelled),
        u=u,
        u2=(u + 0.1 * noise).flatten(0, 1) if views > 1 else None,
        u_index=100 + torch.arange(unlabelled),
        **{"progress": 1.0, "step": 50, **changes},
    )


def trained(seed: int = 0, steps: int = 60) -> nn.Module:
    model, (x, y) = net(seed), images(60, 7)
    optimizer = torch.optim.Adam(model.parameters(), 0.02)
    for _ in range(steps):
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()
    return model


def methods() -> dict[str, Method]:
    """One of each, such that every term counts on a batch of untrained guesses."""
    return {
        "pseudo-label": PseudoLabel(sigma=0.35),
        "apl": APL(sigma=0.5, drop=0.05),
        "pi-model": PiModel(),
        "mean-teacher": MeanTeacher(),
        "vat": VAT(),
        "vat-em": VAT(entropy_weight=0.1),
        "mixmatch": MixMatch(ramp=Ramp("linear", 0.5)),
    }


def generator(seed: int = 5) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def step(method: Method, model: nn.Module, data: Batch, alpha: float = 1.0) -> tuple[Batch, Mixture]:
    """What the engine does before the loss."""
    with torch.no_grad():
        data = method.prepare(model, data, generator(1))
        pairs = method.pairs(data, generator(2))
    return data, Mixture(Beta(alpha).draw(pairs, generator(3)), pairs.partner)
