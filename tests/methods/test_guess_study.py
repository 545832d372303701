from dataclasses import replace

import torch
from toys import batch, generator, net, trained

from metamixup.methods.consistency import PiModel
from metamixup.methods.guess_study import GuessStudy
from metamixup.methods.pseudo_label import PseudoLabel


def test_shares_and_accuracy_of_the_guesses_that_count():
    hidden = torch.full((200,), -1)
    hidden[100:104] = torch.tensor([0, 1, 2, 0])
    data = replace(
        batch(unlabelled=5), guesses=torch.eye(3)[[0, 1, 1, 1, 2]], mask=torch.tensor([1.0, 1.0, 1.0, 0.0, 1.0])
    )
    study = GuessStudy(hidden)
    study.see(data)
    # the fourth is below σ, the fifth's truth is not known
    assert study.records() == {"share_above_sigma": 0.8, "guess_accuracy": 2 / 3}
    assert study.records() == {}


def test_state_survives_a_stop_in_the_middle_of_an_epoch():
    data = PseudoLabel(0.5).prepare(trained(), batch(), generator())
    whole, first, second = (GuessStudy(torch.zeros(200, dtype=torch.long)) for _ in range(3))
    whole.see(data)
    whole.see(data)
    first.see(data)
    second.load_state_dict(first.state_dict())
    second.see(data)
    assert second.records() == whole.records()


def test_without_a_mask_all_guesses_count_and_without_truth_none_is_judged():
    data = PiModel().prepare(net(), batch(), generator())
    known, unknown = GuessStudy(torch.zeros(200, dtype=torch.long)), GuessStudy(None)
    for study in (known, unknown):
        study.see(data)
    assert set(known.records()) == {"guess_accuracy"}
    assert unknown.records() == {}


def test_a_supervised_batch_is_passed_over():
    study = GuessStudy(torch.zeros(1))
    study.see(batch())
    assert study.records() == {}
