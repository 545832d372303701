import pytest
import torch

from metamixup.trust.balance import POWER, Balance, correlation


def learned(seen: list[float], wanted: list[float], gain: list[float]) -> Balance:
    """Each class as often as given, in one batch."""
    balance = Balance()
    labels = torch.eye(len(seen)).repeat_interleave(torch.tensor(seen).int(), 0)
    each = torch.tensor(gain)[labels.argmax(1)]
    balance.learn(labels, each, torch.eye(len(seen)).repeat_interleave(torch.tensor(wanted).int(), 0))
    return balance


def test_rare_classes_that_the_meta_gradient_asks_for_are_weighted_by_how_rare_they_are():
    balance = learned([100, 50, 2], [10, 10, 10], [0.0, 0.5, 3.0])
    assert balance.weights(1.0).tolist() == pytest.approx([0.02**POWER, 0.04**POWER, 1.0])
    assert balance.weights(0.5).tolist() == pytest.approx([0.02 ** (0.5 * POWER), 0.04 ** (0.5 * POWER), 1.0])
    assert balance.weights(0.0).tolist() == [1, 1, 1]


def test_a_gradient_of_the_other_sign_turns_the_weights_round():
    balance = learned([100, 50, 2], [10, 10, 10], [0.0, -0.5, -3.0])
    assert balance.weights(1.0).tolist() == pytest.approx([1.0, 0.5**POWER, 0.02**POWER])


def test_a_balanced_set_is_left_as_it_is():
    assert learned([40, 40, 40], [5, 5, 5], [0.1, -0.4, 2.0]).weights(1.0).tolist() == pytest.approx([1, 1, 1])


def test_classes_that_differ_as_chance_has_it_are_left_as_they_are():
    balance = learned([48, 34, 40], [5, 5, 5], [0.1, 3.0, 2.0])
    assert balance.weights(1.0).tolist() == [1, 1, 1]


def test_few_images_that_come_up_again_and_again_prove_nothing():
    """Of 30 meta images drawn at random."""
    balance, labels = Balance(), torch.eye(3).repeat(20, 1)
    gain = torch.tensor([0.0, 1.0, 2.0]).repeat(20)
    meta = torch.eye(3).repeat_interleave(torch.tensor([7, 10, 13]), 0)
    for _ in range(50):
        balance.learn(labels, gain, meta, (60, 30))
    assert balance.weights(1.0).tolist() == [1, 1, 1]


def test_a_class_that_one_side_does_not_have_is_neither_favoured_nor_shunned():
    weights = learned([100, 50, 2, 0], [10, 10, 0, 10], [0.0, 1.0, 3.0, 0.0]).weights(1.0)
    assert bool(torch.isfinite(weights).all())
    assert 0 < float(weights[2]) <= 1
    assert float(weights[2]) == pytest.approx(float(weights[3]))


def test_it_goes_on_after_a_restart():
    balance, again = learned([9, 4], [3, 3], [0.0, 1.0]), Balance()
    again.load_state_dict(balance.state_dict())
    for b in (balance, again):
        b.learn(torch.eye(2), torch.ones(2), torch.eye(2))
    assert torch.equal(again.weights(0.7), balance.weights(0.7))


def test_what_is_kept_has_one_type_from_the_first_step_on():
    """A checkpoint that has another one does not fit its run."""
    balance = Balance()
    before = balance.state_dict()["distinct"].dtype
    balance.learn(torch.eye(2), torch.ones(2), torch.eye(2), (60, 30))
    assert balance.state_dict()["distinct"].dtype == before


def test_what_is_constant_correlates_with_nothing():
    assert float(correlation(torch.ones(4), torch.arange(4.0))) == 0
    assert float(correlation(torch.ones(1), torch.ones(1))) == 0
    assert float(correlation(torch.arange(4.0), -torch.arange(4.0))) == pytest.approx(-1)


def test_it_follows_the_samples_to_another_device():
    balance = Balance()
    for device in ("cpu", "meta"):
        labels = torch.eye(3, device=device)
        balance.learn(labels, labels[0], labels)
    assert {balance.seen.device.type, balance.wanted.device.type, balance.gain.device.type} == {"meta"}
