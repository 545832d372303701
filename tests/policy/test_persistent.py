import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from metamixup.mixing import Pairs, soft_labels
from metamixup.policy.learned import Learned
from metamixup.policy.persistent import GRANULARITIES, MOST_CELLS, Persistent


def pairs_of(classes: int, n: int = 64, seed: int = 0) -> Pairs:
    generator = torch.Generator().manual_seed(seed)
    labels = soft_labels(torch.randint(0, classes, (n,), generator=generator), classes)
    return Pairs(torch.randperm(n, generator=generator), labels)


def train(policy: Persistent, wish, steps: int = 200, classes: int = 4) -> Persistent:
    """`wish(a, b)` (B,): +1 where the meta set wants pairs of these classes blended, −1 where it does not."""
    for step in range(steps):
        pairs = pairs_of(classes, seed=step)
        lam = policy.draw(pairs, torch.Generator().manual_seed(step))
        a = pairs.labels.argmax(1)
        policy.refine(lam, 1e-3 * wish(a, a[pairs.partner]) * (lam - 0.5), pairs)
    return policy


@pytest.mark.parametrize("granularity", GRANULARITIES)
def test_begins_as_mixup_with_alpha_one(granularity):
    pairs = pairs_of(10, 4000)
    lam = Persistent(granularity).draw(pairs, torch.Generator().manual_seed(0))
    assert torch.allclose(torch.histc(lam, 10, 0, 1) / 4000, torch.tensor(0.1), atol=0.02)


@pytest.mark.parametrize("granularity", GRANULARITIES)
def test_the_width_follows_the_meta_gradient(granularity):
    pairs = pairs_of(4)
    more = train(Persistent(granularity), lambda a, b: torch.ones(64))
    less = train(Persistent(granularity), lambda a, b: -torch.ones(64))
    assert (more.log_sigma(pairs) < -1).all()
    assert (less.log_sigma(pairs) > 1).all()
    spread = [float((p.draw(pairs, torch.Generator().manual_seed(9)) - 0.5).abs().mean()) for p in (more, less)]
    assert spread[0] < 0.15
    assert spread[1] > 0.4


def test_pairs_of_the_same_class_learn_apart():
    policy = train(Persistent("same-class"), lambda a, b: torch.where(a == b, 1.0, -1.0))
    same, other = policy.common.tolist()
    assert same < -1 < 1 < other


def test_class_pairs_are_told_apart_in_either_order_and_rare_ones_stay_with_the_rest():
    def special(a, b):
        return torch.where((a + b == 1) & (a != b), 1.0, -1.0)  # classes 0 and 1

    policy = train(Persistent("class-pair"), special)

    def of(a: int, b: int) -> float:
        labels = soft_labels(torch.tensor([a, b]), 4)
        first, second = policy.log_sigma(Pairs(torch.tensor([1, 0]), labels)).tolist()
        assert first == second
        return first

    assert of(0, 1) < of(2, 3) - 0.5
    untouched = Persistent("class-pair")
    untouched.common = policy.common.clone()
    untouched.draw(pairs_of(4), torch.Generator())
    assert untouched.log_sigma(pairs_of(4)).unique().numel() <= 2


def test_the_table_is_bounded_and_whole_for_a_thousand_classes():
    policy = Persistent("class-pair")
    a, b = torch.triu_indices(1000, 1000)
    labels = soft_labels(torch.arange(1000), 1000)
    policy.draw(Pairs(torch.arange(1000), labels), torch.Generator())
    assert len(policy.own) == 500_500
    cells = b * (b + 1) // 2 + a
    assert len(cells.unique()) == 500_500
    many = Persistent("class-pair")
    many.draw(Pairs(torch.arange(3), torch.eye(3000)[-3:]), torch.Generator())
    assert len(many.own) == MOST_CELLS


def test_combined_with_the_one_step_refinement_or_alone():
    pairs, grad = pairs_of(3), torch.randn(64, generator=torch.Generator().manual_seed(1))
    alone, both = Persistent(), Persistent(one_step=True)
    lam = alone.draw(pairs, torch.Generator().manual_seed(2))
    assert torch.equal(alone.refine(lam, grad, pairs), lam)
    torch.testing.assert_close(both.refine(lam, grad, pairs), Learned().refine(lam, grad, pairs))
    assert torch.equal(alone.common, both.common)


@settings(max_examples=20, deadline=None)
@given(st.sampled_from(GRANULARITIES), st.integers(1, 30), st.integers(0, 5), st.integers(2, 9))
def test_a_saved_policy_goes_on_as_if_it_had_not_been_saved(granularity, n, steps, classes):
    def steps_of(policy: Persistent, first: int, count: int) -> None:
        for step in range(first, first + count):
            pairs = pairs_of(classes, n, step)
            lam = policy.draw(pairs, torch.Generator().manual_seed(step))
            policy.refine(lam, torch.randn(n, generator=torch.Generator().manual_seed(step)), pairs)

    whole, first, second = (Persistent(granularity) for _ in range(3))
    steps_of(whole, 0, steps + 3)
    steps_of(first, 0, steps)
    second.load_state_dict(first.state_dict())
    steps_of(first, steps, 1)  # what the saved one does later must not reach the loaded one
    steps_of(second, steps, 3)
    pairs = pairs_of(classes, n, 99)
    assert torch.equal(whole.log_sigma(pairs), second.log_sigma(pairs))


def test_a_zero_gradient_changes_nothing():
    policy, pairs = Persistent(), pairs_of(5)
    lam = policy.draw(pairs, torch.Generator().manual_seed(0))
    policy.refine(lam, torch.zeros(64), pairs)
    assert policy.log_sigma(pairs).abs().max() == 0


@pytest.mark.parametrize("wrong", [{"granularity": "pairs"}, {"step_size": 0.0}, {"pull": -1.0}, {"sigma": 0.0}])
def test_settings_that_make_no_sense_are_refused(wrong):
    with pytest.raises(ValueError, match=r"granularity is one of|needs step_size"):
        Persistent(**wrong)
