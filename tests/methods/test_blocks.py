import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from toys import batch, generator

from metamixup.methods.blocks import block_pairs, counted, joined, masked_mean
from metamixup.mixing import Mixture, draw_partners


@given(st.lists(st.tuples(st.booleans(), st.sampled_from([0.0, 0.3, 1.0])), min_size=1, max_size=12), st.integers(0, 9))
def test_a_blend_counts_if_every_sample_with_a_weight_does(samples, seed):
    mask = torch.tensor([float(m) for m, _ in samples])
    lam = torch.tensor([v for _, v in samples])
    partner = draw_partners([len(samples)], generator(seed))
    result = counted(mask, Mixture(lam, partner))
    for i, (used, weight) in enumerate(samples):
        expected = (used or weight == 0) and (bool(mask[partner[i]]) or weight == 1)
        assert bool(result[i]) == expected


def test_mean_over_ranks_is_the_mean_over_the_batch():
    values, mask = torch.rand(8), torch.tensor([1.0, 0, 0, 0, 1, 1, 1, 0])
    ranks = [masked_mean(v, m) for v, m in zip(values.chunk(2), mask.chunk(2), strict=True)]
    torch.testing.assert_close(torch.stack(ranks).mean(), masked_mean(values, mask))


def test_nothing_above_the_threshold_is_a_loss_of_zero():
    assert masked_mean(torch.rand(4), torch.zeros(4)) == 0


def test_pairs_know_labels_of_both_blocks_and_positions_of_the_labelled_one():
    data = batch(labelled=2, unlabelled=3)
    guesses = torch.full((3, 3), 1 / 3)
    data = type(data)(**{**vars(data), "guesses": guesses})
    pairs = block_pairs(data, draw_partners([2, 3], generator()))
    assert pairs.index.tolist() == [0, 1, -1, -1, -1], "unlabelled images may be numbered from 0 too"
    assert pairs.labelled == 2
    assert torch.equal(pairs.labels, torch.cat([data.y, guesses]))


def test_a_missing_block_is_named():
    with pytest.raises(ValueError, match="unlabelled samples"):
        joined(torch.zeros(1), None)
