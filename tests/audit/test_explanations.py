from itertools import product

import torch

from metamixup.audit.cross_validation import Predictions
from metamixup.audit.explanations import GAMMAS, NEGLIGIBLE, TAUS, Evidence, explained, gathered, search, weights

LEAN = 30.0


def evidence(sharp: float, count: int = 600, classes: int = 5) -> Evidence:
    """A fifth of the labels are wrong; a network that is `sharp`, and neighbours that say something else."""
    random = torch.Generator().manual_seed(0)
    truth = torch.randint(classes, (count,), generator=random)
    labels = torch.where(torch.rand(count, generator=random) < 0.2, (truth + 1) % classes, truth)
    means = 3 * torch.nn.functional.one_hot(truth, classes).float()
    log_p, votes = (means + torch.randn(count, classes, generator=random) for _ in range(2))
    found = Predictions((sharp * log_p).log_softmax(1), votes.softmax(1), torch.ones(count))
    return gathered(found, labels, labels.argsort())


def test_the_search_finds_what_a_look_at_all_values_finds():
    for sharp in (0.2, 1.0, 3.0):
        known = evidence(sharp)
        every = explained(known, list(product(range(len(TAUS)), range(len(GAMMAS)))), LEAN)
        best = max(one.likelihood for one in every)
        near = {one.powers for one in every if one.likelihood > best - NEGLIGIBLE}
        assert {one.powers for one in search(known, LEAN)} == near


def test_the_sharper_a_network_the_larger_its_tau():
    likeliest = [max(search(evidence(sharp), LEAN), key=lambda one: one.likelihood) for sharp in (0.3, 1.0, 2.0)]
    taus = [TAUS[one.powers[0]] for one in likeliest]
    assert taus == sorted(set(taus))


def test_the_weights_of_all_are_one_and_go_by_likelihood():
    found = search(evidence(1.0), LEAN)
    weight = weights(found)
    assert abs(float(weight.sum()) - 1) < 1e-12
    assert int(weight.argmax()) == max(range(len(found)), key=lambda k: found[k].likelihood)
