import torch

from metamixup.engine.records.blends import KEEP, Extremes, joined
from metamixup.engine.step import StepResult
from metamixup.mixing import Mixture, Pairs
from metamixup.mixing.regions import paste_smaller


class Inside(Mixture):
    """Not of the images themselves."""


def done(lam, partner, index=None, mixture=Mixture, **more):
    n = len(lam)
    index = torch.arange(100, 100 + n) if index is None else index
    pairs = Pairs(torch.tensor(partner), torch.zeros(n, 2), index)
    made = mixture(torch.tensor(lam), torch.tensor(partner), **more)
    return joined([StepResult({}, 0.0, 0.1, pairs, made, n, {})])


def test_the_most_and_the_least_mixed_of_all_steps_are_kept():
    extremes = Extremes()
    extremes.add(done([0.1, 0.9, 0.45], [1, 2, 0]))
    extremes.add(done([0.5, 0.999, 0.3], [2, 0, 1]))
    line = extremes.line()
    assert line["most"][:2] == [[100, 102, 0.5], [102, 100, 0.45]]
    assert line["least"][0] == [101, 100, 0.999]


def test_no_more_than_a_few_are_kept():
    extremes = Extremes()
    for _ in range(5):
        extremes.add(done(torch.rand(16).tolist(), torch.arange(16).roll(1).tolist()))
    assert len(extremes.line()["most"]) == len(extremes.line()["least"]) == KEEP


def test_which_of_many_equal_pairs_are_kept_does_not_depend_on_the_order_in_which_they_come():
    steps = [done([1.0] * 6 + [0.5], torch.arange(7).roll(1).tolist(), torch.randperm(50)[:7]) for _ in range(4)]
    kept = []
    for order in (steps, steps[::-1]):
        extremes = Extremes()
        for blends in order:
            extremes.add(blends)
        kept.append(extremes.line())
    assert kept[0] == kept[1]


def test_a_fixed_lambda_has_no_extremes():
    extremes = Extremes()
    extremes.add(done([1.0, 1.0], [1, 0]))
    assert extremes.line() == {}
    assert Extremes().line() == {}
    extremes.add(done([0.0, 1.0], [1, 0]))  # images alone, from either side
    assert extremes.line() == {}


def test_boxes_are_kept_with_their_blends():
    extremes = Extremes()
    centre, size = torch.full((2, 2), 0.5), (8, 4)
    extremes.add(done([0.25, 1.0], [1, 0], mixture=paste_smaller, centre=centre, image_size=size))
    assert extremes.line()["most"][0] == [100, 101, 0.25, 0.25, 0.25, 0.75, 0.75]


def test_unlabelled_pairs_self_pairs_and_blends_inside_a_network_are_left_out():
    extremes = Extremes()
    extremes.add(done([0.5, 0.4, 0.3, 0.2], [1, 0, 3, 2], torch.tensor([100, 101, -1, -1])))
    extremes.add(done([0.5, 0.5], [0, 1]))
    extremes.add(done([0.5, 0.1], [1, 0], mixture=Inside))
    assert extremes.line()["most"] == [[100, 101, 0.5], [101, 100, 0.4]]


def test_state_goes_through_a_checkpoint():
    before, after = Extremes(), Extremes()
    before.add(done([0.2, 0.6], [1, 0]))
    after.load_state_dict(before.state_dict())
    assert after.line() == before.line()
