import numpy as np
import torch

from metamixup.analysis.class_pairs import frames, group_names
from metamixup.engine.records.lambdas import Lambdas, read_pairs


def epoch(lam, labels, partner, classes=3, number=1):
    lambdas = Lambdas(classes)
    lambdas.add(torch.tensor(lam), torch.nn.functional.one_hot(torch.tensor(labels), classes), torch.tensor(partner))
    return {"epoch": number} | lambdas.line()


def test_the_amount_of_mixing_is_kept_by_class_pair():
    tables = read_pairs(epoch([0.5, 0.1, 0.9], [0, 1, 1], [1, 0, 2]))
    np.testing.assert_allclose(tables["mixing"][0, 1], 1.0, atol=1e-4)
    np.testing.assert_allclose(tables["mixing"][1, 0], 0.2, atol=1e-4)
    np.testing.assert_allclose(tables["mixing"][1, 1], 0.2, atol=1e-4)
    assert np.isnan(tables["mixing"][2, 2])


def test_frames_pool_epochs_by_how_many_pairs_they_saw():
    lines = [epoch([0.2, 0.4], [0, 0], [1, 0], number=1), epoch([0.9], [0], [0], number=2)]
    [frame] = frames(lines, most=1)
    assert (frame.first, frame.last) == (1, 2)
    np.testing.assert_allclose(frame.mean[0, 0], 0.5, atol=1e-4)
    assert frame.histogram[0, 0].sum() == 3
    assert [(f.first, f.last) for f in frames(lines)] == [(1, 1), (2, 2)]


def test_records_without_the_amount_of_mixing_read_it_from_the_histogram():
    line = epoch([0.5, 0.1, 0.9], [0, 1, 1], [1, 0, 2])
    del line["mixing"]
    [frame] = frames([line])
    np.testing.assert_allclose(frame.mixing[1, 1], 0.2, atol=0.06)
    del line["histogram"]
    assert frames([line])[0].mixing is None


def test_damaged_lines_are_left_out():
    good = epoch([0.5], [0], [0])
    assert len(frames([good, {"epoch": 2}, good | {"mean": "!"}, good | {"count": "AAAA"}])) == 1
    assert frames([{key: value for key, value in good.items() if key != "mean"}]) == []
    assert frames([]) == []


def test_names_of_groups():
    assert group_names(["a", "b"], 2) == ["a", "b"]
    assert group_names([], 2) == ["0", "1"]
    assert group_names(list("abcde"), 2) == ["a … c", "d … e"]
