import pytest
import torch
from toys import batch, generator, trained

from metamixup.methods.apl import APL, period_of
from metamixup.methods.pseudo_label import PseudoLabel


def thresholds(method: PseudoLabel, epochs: int, steps: int = 7) -> list[float]:
    """σ at the start of each epoch; progress is computed as an engine does."""
    return [method.threshold(batch(progress=epoch * steps / (epochs * steps))) for epoch in range(epochs)]


def test_the_papers_schedule_drops_at_every_thirtieth_epoch():
    sigmas = thresholds(APL(0.95, 0.05, period_of(30, 200, 200)), 200)
    expected = [0.95 - 0.05 * (epoch // 30) for epoch in range(200)]
    assert sigmas == pytest.approx(expected)


@pytest.mark.parametrize("epochs", [1, 5, 20, 60, 199, 300, 1000])
def test_a_shorter_run_has_all_its_drops_and_a_longer_one_more(epochs):
    method = APL(0.95, 0.05, period_of(30, epochs, 200))
    last = method.threshold(batch(progress=1 - 1e-6))
    drops = 6 if epochs <= 200 else (epochs - 1) // 30
    assert last == pytest.approx(max(0.0, 0.95 - 0.05 * drops))


def test_sigma_is_never_negative():
    method = APL(0.95, 0.2, 0.15)
    assert method.threshold(batch(progress=0.95)) == 0.0


def test_apl_counts_samples_that_pseudo_label_leaves_out():
    model = trained(steps=5)
    late = batch(progress=0.95)
    asynchronous = APL(0.95, 0.1).prepare(model, late, generator())
    constant = PseudoLabel(0.95).prepare(model, late, generator())
    assert torch.equal(asynchronous.guesses, constant.guesses)
    assert asynchronous.mask.sum() > constant.mask.sum()


@pytest.mark.parametrize(("drop", "period"), [(-0.1, 0.15), (0.05, 0.0)])
def test_bad_schedules_are_refused(drop, period):
    with pytest.raises(ValueError, match="σ"):
        APL(0.95, drop, period)
