"""What trust does to a blend: whom a sample is paired with, which side gets the larger share, and how much counts."""

import torch
from torch import Tensor
from torch.nn.functional import one_hot

from metamixup.mixing import Mixture, Pairs
from metamixup.trust.memory import WIDE


def blend(lam: Tensor, trust: Tensor, pairs: Pairs, generator: torch.Generator) -> Mixture:
    """λ_i : 1 − λ_i becomes λ_i·t_i : (1 − λ_i)·t_j. Where all trust is 1, this is MixUp. lam, trust: (B,).

    Where the method folds λ, the first side keeps at least a half: the fold would hand it back what trust took.
    """
    partner = replace_distrusted(pairs, trust, generator)
    lam = favour_trusted(lam, trust, trust[partner], pairs, generator)
    first, second = lam * trust, (1 - lam) * trust[partner]
    lam = torch.where(first + second > 0, first / (first + second), lam)
    return Mixture(lam.clamp_min(0.5) if pairs.folded else lam, partner)


def replace_distrusted(pairs: Pairs, trust: Tensor, generator: torch.Generator) -> Tensor:
    """A partner stays with the probability of its trust; otherwise one is drawn in proportion to trust. (B,)

    Beside unlabelled samples only labelled partners are replaced, and by labelled ones: blocks keep to themselves.
    """
    partner, n = pairs.partner, len(trust) if pairs.labelled is None else pairs.labelled
    stay, quantile = pairs.drawn(lambda n: torch.rand(2, n, generator=generator)).to(partner.device)
    drawn = torch.searchsorted(trust[:n].cumsum(0), quantile * trust[:n].sum()).clamp(max=n - 1)
    return torch.where((stay < trust[partner]) | (partner >= n), partner, drawn)


def favour_trusted(lam: Tensor, first: Tensor, second: Tensor, pairs: Pairs, generator: torch.Generator) -> Tensor:
    """The larger share falls to the first side with probability t_i / (t_i + t_j), where MixUp's coin is fair: it
    changes sides only as often as that takes. lam, first, second: (B,), the latter two the sides' trust."""
    ahead = torch.where(lam > 0.5, second - first, first - second)
    change = ahead / (first + second).clamp_min(1e-12)
    coin = pairs.drawn(lambda n: torch.rand(n, generator=generator)).to(lam.device)
    return torch.where(coin < change, 1 - lam, lam)


def with_guesses(labels: Tensor, truth: Tensor, trust: Tensor) -> Tensor:
    """t·label + (1 − t)·guess, (B, C): the guess is what is most likely if the label is wrong.

    labels, truth: (B, C), the latter P(true class | sample, label); trust: (B,).
    """
    given = one_hot(label_columns(labels), labels.shape[1]).bool()
    others = truth.masked_fill(given, 0)
    guess = others / others.sum(1, keepdim=True).clamp_min(1e-12)
    return torch.lerp(guess, labels.to(guess), trust[:, None].to(guess))


def label_columns(labels: Tensor) -> Tensor:
    """(B, C) soft labels → (B,) the columns in which they are remembered."""
    return labels.argmax(1) % WIDE
