import pytest
import torch

from metamixup.mixing import Pairs
from metamixup.trust.blend import blend, favour_trusted, replace_distrusted


def test_a_distrusted_partner_is_replaced_by_a_trusted_one():
    trust = torch.tensor([1.0, 0.0, 1.0, 0.0])
    partner = replace_distrusted(
        Pairs(torch.tensor([1, 0, 3, 2]), torch.eye(4)), trust, torch.Generator().manual_seed(0)
    )
    assert bool((trust[partner] == 1).all())
    assert partner[1] == 0, "a trusted partner stays"
    nobody = replace_distrusted(
        Pairs(torch.tensor([1, 0]), torch.eye(2)), torch.zeros(2), torch.Generator().manual_seed(0)
    )
    assert bool(((nobody >= 0) & (nobody < 2)).all())


@pytest.mark.parametrize(("first", "second"), [(1.0, 1.0), (0.2, 0.6), (0.9, 0.1), (0.0, 0.5), (0.0, 0.0)])
def test_the_larger_share_falls_to_a_side_in_proportion_to_its_trust(first: float, second: float):
    n = 20_000
    pairs = Pairs(torch.arange(n), torch.zeros(n, 3))
    generator = torch.Generator().manual_seed(3)
    lam = torch.rand(n, generator=generator)
    ours = favour_trusted(lam, torch.full((n,), first), torch.full((n,), second), pairs, generator)
    expected = first / (first + second) if first + second else 0.5
    assert float((ours > 0.5).float().mean()) == pytest.approx(expected, abs=0.02)
    assert torch.equal(torch.maximum(ours, 1 - ours), torch.maximum(lam, 1 - lam)), "only the sides change"
    if first == second:
        assert torch.equal(ours, lam)


def test_beside_unlabelled_samples_a_labelled_partner_is_replaced_by_a_labelled_one():
    trust = torch.tensor([1.0, 0.0, 0.0, 0.5, 0.5])
    pairs = Pairs(torch.tensor([1, 2, 0, 4, 3]), torch.eye(5), labelled=3)
    for seed in range(20):
        partner = replace_distrusted(pairs, trust, torch.Generator().manual_seed(seed))
        assert partner.tolist() == [0, 0, 0, 4, 3]


def test_where_the_method_folds_a_distrusted_sample_has_at_most_a_half():
    lam, trust = torch.tensor([0.9, 0.6, 0.7, 1.0]), torch.tensor([1.0, 1.0, 0.1, 1.0])
    pairs = Pairs(torch.tensor([1, 0, 0, 1]), torch.eye(4), folded=True)
    mixture = blend(lam, trust, pairs, torch.Generator().manual_seed(0))
    assert mixture.lam.tolist() == pytest.approx([0.9, 0.6, 0.5, 1.0])
