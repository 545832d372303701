import pytest
import torch

from metamixup.trust.memory import RECENT, CleanMemory, ScoreMemory


def test_memory_is_a_mean_that_becomes_a_running_one_and_stays_bounded():
    memory = ScoreMemory(0.5)
    for value in (1.0, 3.0, 5.0):
        memory.learn(torch.tensor([7]), torch.tensor([value]))
    assert float(memory.score[7]) == pytest.approx(0.5 * 2.0 + 0.5 * 5.0)
    assert memory.count == 1
    for _ in range(3):
        memory.learn(None, torch.randn(RECENT - 5))
    assert len(memory.recent) == RECENT


def test_meta_images_are_remembered_as_often_as_training_samples_the_least_visited_first():
    clean, meta = CleanMemory(0.5), torch.arange(10)
    for _ in range(6):  # a tenth of a hundred samples a step: one of ten meta images each
        clean.learn_in_turn(meta, torch.rand(10), seen=10, known=100)
    assert clean.visits.tolist() == [1] * 6 + [0] * 4
    other = CleanMemory(0.5)
    clean.learn_in_turn(meta, torch.rand(10), seen=15, known=100)
    other.load_state_dict(clean.state_dict())
    assert other.visits_due == clean.visits_due == pytest.approx(0.5)
