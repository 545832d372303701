import math

import pytest
import torch

from metamixup.trust.amount import (
    BY_HEART,
    EARLY,
    FEWEST,
    HIGH,
    LEAST,
    LONG,
    LOW,
    MOST,
    NUMBERS,
    SHORT,
    SOONEST,
    SURELY,
    TOLD_BY,
    UNSETTLED,
    UNTOLD,
    Amount,
    Look,
)
from metamixup.trust.chance import FIRST
from metamixup.trust.memory import WIDE, PredictionMemory


def losses(values: torch.Tensor, label: int = 0) -> tuple[torch.Tensor, torch.Tensor]:
    """Of samples that all have one label."""
    return values, torch.full((len(values),), label)


FOR_ONE = (torch.zeros(10), torch.ones(90))  # gains: what is learned is of single samples, or of all
FOR_ALL = (torch.ones(10), torch.ones(90))


def told(gap: float, steps: int = 60, amount: Amount | None = None, least: float = 0.0, gains=FOR_ONE) -> Amount:
    """After steps in which waiting samples had a loss this much above the others, as a log ratio. The learning rate has
    begun to fall, and the first epochs are over."""
    amount = amount or Amount()
    amount.see(0.1)
    amount.see(0.099)
    trained, waiting = losses(torch.ones(90)), losses(math.exp(gap) * torch.ones(10))
    for _ in range(steps):
        amount.learn(Look(trained, waiting, gains=gains, known=1000, met=1000, batch=100, steps=100, wrong=least))
    return amount


@pytest.mark.parametrize(
    ("gap", "expected"), [(-1.0, 0.0), (0.0, 0.0), (LOW, 0.0), ((LOW + HIGH) / 2, 0.5), (HIGH + 0.02, 1.0), (3.0, 1.0)]
)
def test_the_share_grows_with_the_gap_between_what_is_trained_on_and_what_is_not(gap: float, expected: float):
    amount = told(gap)
    assert amount.share == pytest.approx(expected, abs=0.05)
    assert amount.gap.value == pytest.approx(gap, abs=0.05)


def test_nothing_is_blended_before_enough_was_heard():
    amount = told(2.0, steps=FEWEST // 10 - 1)
    assert amount.share == 0
    assert told(2.0, 5, amount).share == 1


def test_nothing_is_learned_while_all_samples_are_new():
    amount = Amount()
    for _ in range(30):
        amount.learn(Look(losses(torch.ones(0)), losses(torch.full((10,), 5.0)), known=1000))
    assert amount.share == 0
    assert amount.gap.heard == 0


def test_losses_too_small_to_matter_show_no_gap():
    amount = Amount()
    for _ in range(30):
        amount.learn(Look(losses(torch.full((90,), 1e-5)), losses(torch.full((10,), 1e-4)), known=1000))
    assert amount.share == 0


def test_a_loss_that_is_no_number_says_nothing():
    amount = told(0.2, 20)
    amount.learn(Look(losses(torch.tensor([torch.nan, 1.0])), losses(torch.tensor([torch.inf])), known=1000))
    assert amount.gap.value == pytest.approx(0.2, abs=0.02)


def test_wrong_labels_ask_for_a_share_at_least():
    assert told(0.0, least=0.7).share == 0.7


def test_what_was_once_known_by_heart_counts_though_blends_close_the_gap():
    assert Amount().by_heart == 1  # nobody could tell
    assert told(0.03).by_heart == 0
    amount = told(0.2)
    assert amount.by_heart == 1
    assert told(0.0, amount=amount).by_heart == 1


def test_a_gap_that_began_below_zero_counts_from_there():
    """Those who wait are easier than the others by chance."""
    amount = told(-0.3)
    assert amount.by_heart == 0
    assert told(-0.1, amount=amount).by_heart == 1


def test_of_few_samples_nobody_waits_and_half_is_blended():
    amount = Amount()
    amount.learn(Look(losses(torch.ones(90)), losses(torch.full((10,), 9.0)), known=96))
    assert amount.share == UNSETTLED
    amount.see(0.1)
    amount.see(0.09)
    assert amount.share == UNTOLD
    assert not bool(amount.waits(torch.arange(96)).any())
    assert amount.by_heart == 1


def test_few_losses_do_not_make_a_gap():
    assert told(0.2, steps=4).by_heart == 0


def test_the_share_follows_the_losses_at_once():
    amount = told(0.2, 20)
    assert told(0.0, 30, amount).share == pytest.approx(0, abs=0.05)


@pytest.mark.parametrize(("count", "expected"), [(1000, MOST), (5000, 0.04), (60_000, LEAST)])
def test_a_few_samples_wait_evenly_over_their_order_and_never_again_once_trained_on(count: int, expected: float):
    amount, index = Amount(), torch.arange(count)
    amount.past = SOONEST
    before = amount.waits(index)
    amount.known = count
    after = amount.waits(index)
    assert float(after.float().mean()) == pytest.approx(expected, rel=0.1)
    tenths = torch.stack([part.float().mean() for part in after.chunk(10)])
    assert float((tenths / expected - 1).abs().max()) < 0.3
    assert not (after & ~before).any()


def test_at_most_a_quarter_is_blended_before_the_rate_falls_but_for_wrong_labels():
    amount = told(2.0)
    amount.see(0.1)
    assert amount.share == UNSETTLED
    assert told(2.0, amount=amount).share == 1
    told(2.0, 1, amount, least=0.8).see(0.1)
    assert amount.share == 0.8


def test_where_epochs_are_known_blends_end_before_each_of_them_does():
    amount, shares = Amount(), []
    told(2.0, amount=amount)
    amount.settling.fallen = False  # the rate is at its peak
    for number in range(4):
        for index in torch.randperm(1000, generator=torch.Generator().manual_seed(number)).split(50):
            amount.epoch.see(index)
            shares.append(amount.share)
    assert shares[:40] == [UNSETTLED] * 40  # two epochs, until they are seen to be alike
    blended = round(20 * EARLY)
    assert shares[40:] == 2 * (blended * [1.0] + (20 - blended) * [0.0])
    assert amount.records()["blended"] == pytest.approx(EARLY)
    assert told(2.0, 1, amount, least=0.8).share == 1  # the rate has begun to fall
    amount.settling.fallen = False
    assert amount.share == 0.8


def test_wrong_labels_found_late_still_ask_for_their_share():
    amount = told(0.0)
    amount.see(0.05)
    amount.see(0.04)
    assert told(0.0, 1, amount, least=1.0).share > 0.9
    assert amount.released


def test_nobody_waits_once_the_learning_rate_has_fallen_and_the_share_falls_with_it():
    amount, index = told((LOW + HIGH) / 2), torch.arange(1000)
    amount.see(0.1)
    assert amount.waits(index).any()
    amount.see(0.02)
    assert not amount.waits(index).any()
    assert amount.share == pytest.approx(0.4 * 0.5, abs=0.02)
    told(5.0, amount=amount).see(0.02)
    assert amount.share == pytest.approx(0.4 * 0.5, abs=0.02), "what is trained on has no gap to learn from"


def test_nobody_waits_once_all_was_blended_for_a_while():
    amount = told(2.0, 200)
    assert amount.share == 1
    assert not amount.waits(torch.arange(1000)).any()


def test_without_indices_the_share_is_learned_to_the_end():
    amount = Amount()
    for gap in (2.0, 0.0):
        for _ in range(200):
            amount.learn(Look(losses(torch.ones(90)), losses(math.exp(gap) * torch.ones(10)), known=0))
    assert amount.share == 0


@pytest.mark.parametrize("gains", [FOR_ONE, FOR_ALL])
def test_a_restored_amount_goes_on_where_it_was(gains: tuple[torch.Tensor, torch.Tensor]):
    amount, again = in_a_run(18, gap=0.12, wrong=0.3, shown=40, gains=gains), Amount()
    again.load_state_dict(amount.state_dict())
    assert again.epochs == amount.epochs > 0
    assert all(getattr(again, name) == getattr(amount, name) for name in NUMBERS)
    assert torch.equal(again.transfer.sums, amount.transfer.sums)
    for each in (amount, again):
        told(0.18, 3, each)
        each.see(0.03)
    assert again.horizon.state_dict() == amount.horizon.state_dict()
    assert again.state_dict().keys() == amount.state_dict().keys()
    assert (again.share, again.gap.value, again.records()) == (amount.share, amount.gap.value, amount.records())


def test_a_record_tells_the_share_and_what_it_was_learned_from():
    assert Amount().records() == {"blended": 0.0}
    record = told(0.2).records()
    assert record["blended"] == pytest.approx(0.5, abs=0.05)
    assert record["gap"] == pytest.approx(0.2, abs=0.01)
    assert (record["trained_loss"], record["waiting_loss"]) == (1.0, pytest.approx(math.exp(0.2), abs=1e-4))


def test_samples_are_compared_with_others_of_their_own_label():
    """Of a rare class with high losses more wait than are trained on: that is no gap."""
    amount = Amount()
    for _ in range(60):
        common, rare = losses(torch.ones(90)), losses(torch.full((10,), 3.0), label=1)
        trained = tuple(torch.cat(both) for both in zip(common, rare, strict=True))
        amount.learn(Look(trained, rare, known=1000))
    assert amount.gap.value == pytest.approx(0, abs=0.1), "it leans a little towards the mean of all"
    assert amount.share == 0


def test_losses_that_fall_alike_leave_no_gap():
    """Running means of both must be equally old."""
    amount = Amount()
    for step in range(200):
        level = math.exp(-step / 40)
        amount.learn(Look(losses(torch.full((30,), level)), losses(torch.full((3,), level)), known=1000))
    assert amount.gap.value == pytest.approx(0, abs=0.01)


def in_a_run(epochs: int, gap=0.0, watched=True, loss=0.5, shown=400, every=1, wrong=0.0, gains=FOR_ONE) -> Amount:
    """A cosine's first steps, of 100 samples each out of 1,000 in ten classes, whose indices are so far apart."""
    amount, memory = Amount(), PredictionMemory(0.2)
    memory.make_room(torch.tensor([1000 * every - 1]), 1)
    for step in range(shown):
        memory.visits[torch.arange(100 * (step % 10), 100 * (step % 10 + 1)) * every] += 1
        amount.see(0.1 * 0.5 * (1 + math.cos(math.pi * step / (10 * epochs))))
        trained = (torch.full((90,), loss), torch.arange(90) % 10)
        waiting = (torch.full((10,), loss * math.exp(gap)), torch.arange(10))
        counts = {"known": memory.size, "met": memory.count, "batch": 100, "steps": step + 1}
        amount.learn(Look(trained, waiting, gains=gains, **counts, classes=10, watched=watched, wrong=wrong))
        if amount.settling.left < 1:
            break
    return amount


@pytest.mark.parametrize("shown", [12, 40])
def test_in_a_short_run_nobody_waits_and_nothing_is_blended(shown: int):
    amount = in_a_run(SHORT - 1, gap=1.0, shown=shown)
    assert not amount.waits(torch.arange(1000)).any()
    assert amount.share == 0


def test_in_a_longer_one_the_gap_decides():
    amount = in_a_run(LONG[0] - 1, gap=(LOW + HIGH) / 2, shown=40)
    assert amount.waits(torch.arange(1000)).any()
    assert amount.share == pytest.approx(0.5, abs=0.05)
    assert in_a_run(LONG[0] - 1, shown=40).share == 0


def test_a_small_rest_at_the_end_of_an_epoch_does_not_make_a_run_short():
    amount = in_a_run(LONG[1] + 1, watched=False, shown=40)
    one = losses(torch.ones(1))
    amount.learn(Look(one, one, known=1000, met=1000, batch=1, classes=10))
    assert amount.epochs == pytest.approx(LONG[1] + 1, rel=0.05)
    assert not amount.released


def test_where_a_run_was_taken_for_a_short_one_and_goes_on_half_is_blended():
    """Nobody waits any more who could tell."""
    amount = in_a_run(SHORT - 1, shown=40)
    for _ in range(200):
        amount.see(0.04)
    told(0.0, 1, amount)
    assert amount.learned == UNTOLD


def test_gaps_between_indices_do_not_make_a_run_short():
    assert in_a_run(LONG[1] + 1, every=100).long == 1


def test_in_a_long_run_all_is_blended_once_labels_were_watched_and_nothing_carries_over():
    long = LONG[1] + 1
    assert in_a_run(long).learned == 1
    assert in_a_run(long).released
    assert in_a_run(long).by_heart == 1
    assert in_a_run(long, watched=False).learned == 0
    assert in_a_run(long, wrong=0.3).learned == 1, "a few wrong labels are no reason to blend less than with none"


@pytest.mark.parametrize("epochs", [LONG[0] - 1, LONG[1] + 1])
@pytest.mark.parametrize(("gap", "expected"), [(BY_HEART[0], 0.0), (SURELY[1] + 0.02, 1.0)])
def test_as_long_as_what_is_learned_carries_over_only_a_wide_gap_tells(epochs: float, gap: float, expected: float):
    amount = in_a_run(epochs, gap=gap, wrong=0.3, gains=FOR_ALL, shown=60)
    assert amount.share == pytest.approx(expected, abs=0.05)
    assert amount.by_heart == pytest.approx(expected, abs=0.05)


def test_those_who_wait_do_so_until_it_is_told():
    assert in_a_run(LONG[1] + 1, gains=FOR_ALL, shown=60).waits(torch.arange(1000)).any()
    assert not in_a_run(LONG[1] + 1, shown=60).waits(torch.arange(1000)).any()


def test_what_is_known_by_heart_is_blended_though_hardly_anything_is_left_to_gain():
    nothing = (torch.zeros(10), torch.zeros(90))
    assert in_a_run(LONG[1] + 1, loss=0.1 * math.log(10), gains=nothing).learned == 1
    assert in_a_run(LONG[1] + 1, loss=0.3 * math.log(10), gains=nothing).learned == 0


def test_a_long_run_is_looked_at_closely_until_it_is_told_whether_it_overfits():
    long = LONG[1] + 1
    assert in_a_run(long, gains=FOR_ALL, shown=60).in_doubt
    assert not in_a_run(long, shown=60).in_doubt
    assert not in_a_run(LONG[0] - 1, gains=FOR_ALL, shown=60).in_doubt


def test_nobody_waits_in_the_first_epochs_while_the_rate_tells_nothing():
    amount, index, one = Amount(), torch.arange(1000), losses(torch.ones(1))
    for step in range(10 * SOONEST):
        amount.see(0.1)
        assert not amount.waits(index).any()
        amount.learn(Look(one, losses(torch.ones(0)), known=1000, met=1000, batch=100, steps=step + 1))
    assert amount.waits(index).any()
    assert in_a_run(LONG[0] - 1, shown=10 * SOONEST - 5).waits(index).any(), "where it tells, they wait from then on"


def test_in_a_run_that_is_known_to_be_long_some_wait_until_everything_is_blended():
    amount = in_a_run(LONG[1] + 1, watched=False, shown=10 * SOONEST + 5)
    assert amount.long == 1
    assert amount.waits(torch.arange(1000)).any()
    assert not in_a_run(LONG[1] + 1).waits(torch.arange(1000)).any()


def test_what_was_heard_of_those_who_waited_says_nothing_once_nobody_does():
    assert {"gap", "transfer"} <= in_a_run(LONG[1] + 1, watched=False, shown=60).records().keys()
    assert in_a_run(LONG[1] + 1).records().keys() == {"blended"}


def test_gaps_between_indices_do_not_change_how_many_wait():
    """Rows of a subset: of a thousand samples ten would be too few to tell anything."""
    amount, none = Amount(), losses(torch.ones(0))
    amount.learn(Look(none, none, known=1000, batch=10, steps=40_000))
    assert float(amount.waits(40 * torch.arange(1000)).float().mean()) == pytest.approx(MOST, rel=0.2)
    assert amount.window == pytest.approx(1.6 * math.sqrt(1000))


def test_where_too_few_waited_to_tell_anything_a_long_run_is_taken_to_overfit():
    amount = Amount()
    amount.known, amount.released = 1000, True
    assert amount.begun == 1
    amount.gap.heard = 1000
    assert amount.begun == 0


def test_what_was_once_told_is_told_for_good():
    amount = in_a_run(LONG[1] + 1, watched=False, shown=40)
    assert amount.begun == 1
    none = losses(torch.ones(0))
    amount.learn(Look(losses(torch.ones(90)), none, gains=FOR_ALL, known=1000, met=1000, batch=100, steps=41))
    assert amount.begun == 1


def test_a_long_run_is_told_by_what_is_likeliest_before_it_is_too_late():
    """Gains that differ so much tell nothing beyond chance."""
    gains = (torch.linspace(-30, 30, 10), torch.ones(90))
    early = int(10 * TOLD_BY * LONG[1])
    assert in_a_run(LONG[1] + 1, gains=gains, shown=early - 10).begun == 0
    late = in_a_run(LONG[1] + 1, gains=gains, shown=early + 30)
    assert late.begun == 1
    assert late.released


def shown_at_chance(
    classes: int, ratio: float, past=FIRST, rare=False, amount: Amount | None = None, wrong: float = 0.0
) -> Amount:
    """After looks at which the loss was this much of guessing's. rare: one label in ten is of the second class."""
    amount, labels = amount or Amount(), torch.arange(1280) % classes
    labels = (torch.arange(1280) % 10 == 0).long() if rare else labels
    frequency = torch.bincount(labels) / 1280
    trained = (torch.full((1280,), -ratio * float((frequency * frequency.log()).sum())), labels % WIDE)
    for _ in range(20):
        none = losses(torch.ones(0))
        length = {"known": 5000, "met": 5000, "batch": 100, "steps": round(50 * past)}
        amount.learn(Look(trained, none, classes=classes, wrong=wrong, **length))
    return amount


@pytest.mark.parametrize("classes", [2, 10, 640])
def test_a_network_that_still_knows_nothing_after_the_first_epochs_gets_blends(classes: int):
    assert shown_at_chance(classes, 1.0, past=FIRST - 0.1).share == 0
    assert shown_at_chance(classes, 1.0).share == 1
    assert shown_at_chance(classes, 0.8).share == 0


def test_one_that_does_not_learn_wrong_labels_is_not_at_chance():
    assert shown_at_chance(10, 1.2).chance.stuck == 1
    found_wrong = shown_at_chance(10, 1.2, wrong=0.3)
    assert found_wrong.chance.stuck == 0
    assert found_wrong.share == 0, "nothing of them is known by heart yet"
    assert told(0.0, least=0.3, amount=found_wrong).share == 0.3


def test_labels_that_are_all_alike_leave_nothing_to_know():
    assert shown_at_chance(1, 1.0).share == 0
    amount = Amount()
    amount.begin(fragile=True)
    assert shown_at_chance(1, 1.0, amount=amount).share == 0


def test_one_that_knows_which_class_is_common_knows_nothing_yet():
    assert shown_at_chance(2, 1.0, rare=True).share == 1


def test_a_short_run_that_learns_nothing_gets_blends_too():
    amount = in_a_run(int(SHORT) - 1, shown=10 * SOONEST)
    amount.gap.heard = 0  # in a run nobody waits before it is known to be short
    assert amount.share == 0
    assert shown_at_chance(10, 1.0, amount=amount).share == 1


def test_a_fragile_network_gets_blends_from_the_first_step_until_it_knows_something():
    amount = Amount()
    amount.begin(fragile=True)
    assert amount.share == 1
    assert shown_at_chance(10, 1.0, past=0.5, amount=amount).share == 1
    assert shown_at_chance(10, 0.8, past=0.5, amount=amount).share == 0
