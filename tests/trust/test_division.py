import pytest
import torch
from torch.nn.functional import one_hot

from metamixup.trust.division import WATCHED, Division, beliefs, tau_of_clean


def made(n=2000, classes=5, wrong=0.3, skill=4.0, unsure=2.0, seed=0, pairs=False):
    """Predictions of a network that is right most of the time but unsure, and labels of which a share is wrong."""
    generator = torch.Generator().manual_seed(seed)
    truth = torch.randint(0, classes, (n,), generator=generator)
    logits = torch.randn(n, classes, generator=generator) * 1.2 + skill * one_hot(truth, classes)
    offset = 1 if pairs else torch.randint(1, classes, (n,), generator=generator)
    flipped = torch.rand(n, generator=generator) < wrong
    labels = torch.where(flipped, (truth + offset) % classes, truth)
    return (logits / unsure).log_softmax(1), labels, truth, flipped


def divided(log_p, labels, clean=None, times=4) -> Division:
    division = Division()
    for _ in range(times):
        division.learn(log_p, labels, clean)
    return division


@pytest.mark.parametrize("n", [300, 20_500])
@pytest.mark.parametrize("vouched", [0, 15, 100])
def test_finds_how_many_labels_are_wrong_and_which(n, vouched):
    log_p, labels, _, wrong = made(n)
    spare, right, _, _ = made(max(vouched, 1), wrong=0.0, seed=9)
    division = divided(log_p, labels, (spare, right) if vouched else None)
    assert division.share == pytest.approx(0.3, abs=0.06)
    right = division.posterior(log_p, labels).gather(1, labels[:, None])[:, 0]
    assert float(right[wrong].mean()) < 0.15
    assert float(right[~wrong].mean()) > 0.9
    assert division.strength == pytest.approx(1)


def test_clean_labels_are_trusted_and_nothing_acts():
    for skill in (1.5, 2.5, 4.0):  # a network that knows little, and one that knows much
        log_p, labels, _, _ = made(wrong=0.0, skill=skill)
        division = divided(log_p, labels)
        assert division.share < 0.05
        assert division.strength < 0.1


def test_mistakes_that_prefer_pairs_of_classes_are_found_as_such():
    log_p, labels, truth, _ = made(wrong=0.25, pairs=True, skill=2.5)
    division = divided(log_p, labels)
    found = torch.stack([division.fit.confusion[c, (c + 1) % 5] for c in range(5)])
    assert float(found.mean()) > 0.15
    guessed = division.posterior(log_p, labels).argmax(1)
    assert float((guessed == truth).float().mean()) > float((labels == truth).float().mean()) + 0.1


def test_labels_that_no_one_vouched_for_are_not_taken_for_clean():
    log_p, labels, _, _ = made()
    random = torch.arange(0, 2000, 20)
    believed = divided(log_p, labels, (log_p[random], labels[random]))
    without = divided(log_p, labels)
    assert believed.fit.tau == without.fit.tau


def test_the_temperature_makes_up_for_an_unsure_network():
    log_p, _, truth, _ = made(unsure=3.0, skill=2.0)
    tau, largest = tau_of_clean(log_p[:200], truth[:200])
    sure = beliefs(log_p[200:], tau).max(1).values.mean()
    accuracy = (log_p[200:].argmax(1) == truth[200:]).float().mean()
    assert float(sure) == pytest.approx(float(accuracy), abs=0.08)
    assert tau < 0.7
    assert tau < largest < 1.5 * tau


def test_few_clean_samples_are_not_enough_to_distrust_hard_ones():
    """Nothing is wrong, but the network is not sure of much: a few clean samples cannot tell how sure it should be."""
    log_p, _, truth, _ = made(unsure=2.0, skill=1.5)
    few, many = (tau_of_clean(log_p[:n], truth[:n]) for n in (12, 1000))
    assert few[1] / few[0] > 1.3 > many[1] / many[0]
    division = divided(log_p, truth, (log_p[:12], truth[:12]), times=WATCHED)
    assert division.shares[-1] < division.fit.share


def test_a_restored_division_goes_on_where_it_was():
    log_p, labels, _, _ = made(400)
    one, other = divided(log_p, labels, times=2), Division()
    other.load_state_dict(one.state_dict())
    for each in (one, other):
        each.learn(log_p, labels)
    assert torch.equal(one.posterior(log_p, labels), other.posterior(log_p, labels))
    assert one.likeliest == other.likeliest


def test_nothing_is_distrusted_while_the_share_of_wrong_labels_falls():
    """A network that still learns takes what it does not know for wrong labels, of which it finds ever fewer."""
    division = Division()
    for sure in (0.5, 1.0, 2.0, 4.0):
        labels = torch.arange(400) % 4
        known = torch.rand(400, generator=torch.Generator().manual_seed(0)) < 1 - 0.4 / sure
        said = torch.where(known, labels, (labels + 1) % 4)
        division.learn((4 * torch.eye(4))[said].log_softmax(1), labels)
        assert division.strength == 0


def test_clean_labels_that_come_to_be_believed_do_not_look_like_a_network_that_still_learns():
    """They tell a smaller share than the labels alone, from one fit to the next."""
    log_p, labels, _, _ = made(unsure=3.0, skill=3.0)
    spare, right, _, _ = made(20, wrong=0.0, seed=9, unsure=3.0, skill=3.0)
    division = divided(log_p, labels, times=WATCHED)
    alone = division.shares[-1]
    division.learn(log_p, labels, (spare, right))
    assert division.shares[-1] < 0.9 * alone
    assert division._steady() == 1
    for clean in (None, (spare, right), (spare, right)):
        division.learn(log_p, labels, clean)
        assert division._steady() == 1, "nor do those that are believed by turns"


@pytest.mark.parametrize(("skill", "precise"), [(4.0, 1.0), (0.8, 0.0)])
def test_clean_labels_tell_whether_distrust_falls_on_wrong_ones(skill, precise):
    """A network that knows little distrusts right labels too."""
    log_p, labels, _, _ = made(wrong=0.2, skill=skill)
    spare, right, _, _ = made(200, wrong=0.0, skill=skill, seed=9)
    division = divided(log_p, labels, (spare, right))
    assert division.precise == pytest.approx(precise, abs=0.1)
    assert divided(log_p, labels).precise == 0  # without any nobody knows


def test_a_handful_of_clean_labels_does_not_prove_that_distrust_is_right():
    """None of ten is distrusted, but that may be chance; of a hundred it is not."""
    log_p, labels, _, _ = made(wrong=0.15)
    spare, right, _, _ = made(100, wrong=0.0, skill=8.0, seed=9)
    few, many = (divided(log_p, labels, (spare[:n], right[:n])) for n in (12, 100))
    assert few.precise < 0.5 < many.precise


def test_few_clean_samples_are_enough_where_labels_fall_clearly_into_two_kinds():
    """They leave it open how far the network can be believed, and hence how many labels are wrong; not which."""
    log_p, labels, _, _ = made(1000, wrong=0.13, skill=6.0, unsure=4.0)
    few, right, _, _ = made(12, wrong=0.0, skill=6.0, unsure=4.0, seed=9)
    division = divided(log_p, labels, (few, right))
    assert division.shares[-1] < 0.04 < 0.09 < division.share
    assert division.fit.divides > 0.8
    assert division.strength > 0.8


def test_labels_of_a_class_that_the_network_does_not_know_yet_stand():
    """A rare class whose samples it takes for others: all its labels look wrong, and all are right."""
    log_p, labels, _, _ = made(1000, classes=3, wrong=0.0)
    rare = torch.arange(30)
    labels[rare], log_p[rare] = 2, torch.tensor([3.0, 0.0, 0.0]).log_softmax(0)
    common = (labels != 2) | (torch.arange(1000) < 30)
    division = divided(log_p[common], labels[common])
    trust = division.posterior(log_p[rare], labels[rare])[:, 2]
    assert float(trust.min()) > 0.9
    assert division.share < 0.02
