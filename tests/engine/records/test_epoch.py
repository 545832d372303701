import torch

from metamixup.engine.records.blends import joined
from metamixup.engine.records.epoch import COUNTED_TOGETHER, EpochRecord
from metamixup.engine.records.lambdas import Lambdas
from metamixup.engine.step import StepResult
from metamixup.mixing import Mixture, Pairs

SECONDS = {"total": 1.0, "loader": 0.0, "meta": 0.0, "cpu": 1.0}


def step(n, seed):
    generator = torch.Generator().manual_seed(seed)
    labels = torch.eye(4)[torch.randint(0, 4, (n,), generator=generator)]
    partner = torch.randperm(n, generator=generator)
    index = torch.randint(0, 1000, (n,), generator=generator)
    mixture = Mixture(torch.rand(n, generator=generator), partner)
    return StepResult({"loss": torch.tensor(1.0)}, 1.0, 0.1, Pairs(partner, labels, index), mixture, n, SECONDS)


def test_steps_counted_together_are_counted_as_one_by_one():
    steps = [step(n, seed) for seed, n in enumerate((5, 8, 1, 8))]
    alone, together = Lambdas(4), Lambdas(4)
    for done in steps:
        alone.add(done.mixture.lam, done.pairs.labels, done.mixture.partner)
    blends = joined(steps)
    together.add(blends.lam, blends.labels, blends.partner)
    assert alone.line() == together.line()
    assert alone.summary() == together.summary()


def test_a_checkpoint_in_the_middle_changes_no_record():
    steps = [step(8, seed) for seed in range(COUNTED_TOGETHER + 7)]
    whole, resumed = EpochRecord(4), EpochRecord(4)
    for k, done in enumerate(steps):
        whole.step(done)
        resumed.step(done)
        if k == 20:
            state = resumed.state_dict()
            resumed = EpochRecord(4)
            resumed.load_state_dict(state, torch.device("cpu"))
    assert whole.line() == resumed.line()
    assert whole.lambdas.line() == resumed.lambdas.line()
    assert whole.extremes.line() == resumed.extremes.line()
    assert whole.lambdas.fine.sum() == 8 * len(steps)
