import time

import pytest
import torch.distributed as dist

from metamixup.engine import round as round_module
from metamixup.engine.round import Round, named


@pytest.fixture
def store(monkeypatch):
    monkeypatch.setattr(round_module, "FAREWELL", 0.3)
    return dist.HashStore()


def test_all_begin_when_the_last_has_come(store):
    first, second = Round(store, 0, 2), Round(store, 1, 2)
    assert first.look() is None
    assert first.missing == "process 1"
    second.look()
    outcomes = first.look(), second.look()
    assert outcomes[0] == outcomes[1]
    assert outcomes[0].left == ""


def test_who_leaves_is_told_to_those_who_have_come(store):
    first, second = Round(store, 0, 3), Round(store, 1, 3)
    first.look(), second.look()
    second.leave("a reason", asked=True)
    assert (first.look().left, second.look().left, first.look().asked) == ("a reason", "a reason", True)


def test_who_leaves_too_late_begins_with_the_others(store):
    first, second = Round(store, 0, 2), Round(store, 1, 2)
    first.look(), second.look(), first.look()
    second.leave("a reason", asked=True)
    assert second.look().left == ""


def test_process_0_goes_when_the_others_have_read_who_left(store):
    first, second = Round(store, 0, 3), Round(store, 1, 3)
    first.look(), second.look()
    first.leave("a reason", asked=False)
    second.part(second.look())
    began = time.monotonic()
    first.part(first.look())
    assert time.monotonic() - began < 0.1


@pytest.mark.parametrize("left", ["", "a reason"])
def test_an_earlier_round_does_not_count(store, left):
    earlier = [Round(store, rank, 2) for rank in range(2)]
    earlier[0].look(), earlier[1].look()
    if left:
        earlier[1].leave(left, asked=True)
    assert earlier[0].look().left == left
    late = Round(store, 1, 2)
    assert late.look() is None
    assert late.missing == "process 0"
    first = Round(store, 0, 2)
    first.look(), late.look()
    assert first.look() == late.look()
    assert late.look().left == ""


def test_only_so_many_are_named():
    assert named([3]) == "process 3"
    assert named([1, 2]) == "processes 1, 2"
    assert named(list(range(1, 512))) == "processes 1, 2, 3, 4, 5, 6, 7, 8 and 503 more"
