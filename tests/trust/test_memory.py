import pytest
import torch

from metamixup.trust.memory import RECENT, SAYS_NO_MORE, TABLES, WIDE, CleanMemory, PredictionMemory, folded


def rows(*values: float) -> torch.Tensor:
    return torch.tensor(values)[:, None].expand(-1, 3)


def labels(n: int) -> torch.Tensor:
    return torch.zeros(n, dtype=torch.int64)


def test_memory_is_a_mean_that_becomes_a_running_one_and_stays_bounded():
    memory = PredictionMemory(0.5)
    for value in (-1.0, -3.0, -5.0, -100.0):
        memory.learn(torch.tensor([7]), rows(value), labels(1))
    assert memory.log_p[7].tolist() == pytest.approx([0.5 * (0.5 * -2.0 + 0.5 * -5.0) + 0.5 * SAYS_NO_MORE] * 3)
    assert memory.count == 1
    for _ in range(3):
        memory.learn(None, torch.randn(RECENT - 5, 3), labels(RECENT - 5))
    assert len(memory.recent_log_p) == len(memory.recent_labels) == RECENT
    assert len(memory.known[0]) == RECENT + 1


def test_what_is_not_finite_is_ignored_and_counted():
    memory = PredictionMemory(0.5)
    memory.learn(torch.arange(3), rows(-1.0, float("nan"), float("-inf")), labels(3))
    assert memory.count == 1
    assert memory.ignored == 2
    assert bool(memory.known[0].isfinite().all())


def test_meta_images_are_remembered_as_often_as_training_samples_the_least_visited_first():
    clean, meta = CleanMemory(0.5), torch.arange(10)
    for _ in range(6):  # a tenth of a hundred samples a step: one of ten meta images each
        clean.learn_in_turn(meta, torch.rand(10, 3), labels(10), seen=10, known=100)
    assert clean.visits.tolist() == [1] * 6 + [0] * 4
    other = CleanMemory(0.5)
    clean.learn_in_turn(meta, torch.rand(10, 3), labels(10), seen=15, known=100)
    other.load_state_dict(clean.state_dict())
    assert other.visits_due == clean.visits_due == pytest.approx(0.5)
    assert torch.equal(other.log_p, clean.log_p)


def test_very_many_classes_share_columns():
    log_p = torch.randn(5, 3 * WIDE).log_softmax(1)
    assert folded(log_p).shape == (5, WIDE)
    assert torch.allclose(folded(log_p).exp().sum(1), torch.ones(5))
    assert torch.allclose(folded(log_p)[:, 1].exp(), log_p[:, 1::WIDE].exp().sum(1))
    assert folded(log_p[:, :9]).shape == (5, 9)


def test_how_many_samples_there_are_does_not_hang_on_how_many_were_looked_at():
    memory = PredictionMemory(0.2)
    memory.make_room(torch.tensor([4999]), 3)
    memory.visits[:600] = 1
    assert memory.size == 5000
    memory.visits[500:600], memory.visits[:500] = 0, 4
    assert memory.size == 500, "indices have gaps"
    assert PredictionMemory(0.2).size == 0


def test_it_follows_the_samples_to_another_device():
    memory = PredictionMemory(0.2)
    memory.follow(torch.device("meta"))
    assert memory.visits.device.type == "cpu", "there is nothing to be moved"
    memory.learn(torch.arange(3), rows(-1.0, -2.0, -3.0), labels(3))
    memory.follow(torch.device("meta"))
    assert {memory.state_dict()[name].device.type for name in TABLES} == {"meta"}
