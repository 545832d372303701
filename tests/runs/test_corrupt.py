import torch

from metamixup.settings.build import build_data, build_split, build_training, corrupt
from metamixup.settings.resolve import resolve


def corrupted(**given):
    settings = resolve({"data": "digits", "meta.in_train": True, **given})
    found = build_data(settings)
    parts = build_split(settings, found)
    return found, parts, *corrupt(settings.corrupt, found, parts, settings.seed)


def test_replaced_labels_are_wrong_and_the_meta_set_is_spared():
    before, parts, after, same, wrong = corrupted(**{"corrupt.kind": "replace", "corrupt.share": 0.4})
    changed = before.train.labels != after.train.labels
    assert torch.equal(changed, wrong)
    assert not bool(wrong[parts.meta].any())
    victims = len(parts.train) - len(parts.meta)
    assert int(wrong.sum()) == round(0.4 * victims)
    assert torch.equal(same.train, parts.train)


def test_neighbours_are_the_next_class():
    before, _, after, _, wrong = corrupted(**{"corrupt.kind": "neighbours", "corrupt.share": 0.2})
    assert torch.equal(after.train.labels[wrong], (before.train.labels[wrong] + 1) % 10)


def test_a_long_tail_keeps_the_meta_set_and_few_of_the_last_class():
    before, parts, _, tailed, wrong = corrupted(**{"corrupt.kind": "long-tail", "corrupt.ratio": 10.0})
    assert set(parts.meta.tolist()) <= set(tailed.train.tolist())
    rest = tailed.train[~torch.isin(tailed.train, parts.meta)]
    counts = torch.bincount(before.train.labels[rest], minlength=10)
    assert 7 < float(counts[0] / counts[9]) < 14
    assert not bool(wrong.any())


def test_a_selection_set_is_held_out_and_scored():
    training = build_training(resolve({"data": "digits", "selection": 200, "subset": 500}))
    names = [part.name for part in training.evaluation]
    assert names == ["train", "meta", "selection", "test"]
    sizes = {part.name: sum(len(y) for _, y in part.batches()) for part in training.evaluation}
    assert sizes["selection"] == 200
    found = build_data(resolve({"data": "digits", "selection": 200}))
    whole = build_data(resolve({"data": "digits"}))
    assert len(found.train) + 200 == len(whole.train)
