import pytest
import torch
from torch import nn
from torch.nn.functional import cross_entropy

from metamixup import Beta, MetaMixUp
from metamixup.mixing import Pairs
from metamixup.policy import Reverse, Shuffle
from metamixup.trust import Trust
from metamixup.trust.calibration import Curve
from metamixup.trust.stage import RECENT, Memory, favour_trusted, replace_distrusted


def blobs(n: int, seed: int, share_wrong: float = 0.4):
    """Three clusters; returns inputs, given labels and which of them are wrong."""
    generator = torch.Generator().manual_seed(seed)
    centres = 2.5 * torch.eye(3, 6)
    truth = torch.randint(0, 3, (n,), generator=generator)
    x = centres[truth] + torch.randn(n, 6, generator=generator)
    wrong = torch.rand(n, generator=generator) < share_wrong
    return x, torch.where(wrong, (truth + 1 + torch.randint(0, 2, (n,), generator=generator)) % 3, truth), wrong


def train(policy, share_wrong: float = 0.4, indexed: bool = True, epochs: int = 15, seed: int = 0):
    """A short run; returns the mixer, the training set and the λ·label weight that wrong labels had at the end."""
    x, y, wrong = blobs(540, 1, share_wrong)
    x_meta, y_meta, right = blobs(60, 2, 0.0)
    x, y, wrong = (torch.cat(both) for both in ((x, x_meta), (y, y_meta), (wrong, right)))  # trained on too
    torch.manual_seed(seed)
    model = nn.Sequential(nn.Linear(6, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Linear(32, 3))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    mixer = MetaMixUp(model, 3, policy=policy)
    weight = torch.zeros(2)
    for epoch in range(epochs):
        for index in torch.randperm(600).split(60):
            given = {"index": index, "meta_index": torch.arange(60)} if indexed else {}
            mixed = mixer(x[index], y[index], x_meta, y_meta, lr=optimizer, **given)
            optimizer.zero_grad()
            cross_entropy(model(mixed.x), mixed.y).backward()
            optimizer.step()
            if epoch >= epochs - 5:
                bad = wrong[index].float()
                weight += torch.stack(
                    [(mixed.lam * bad + (1 - mixed.lam) * bad[mixed.partner]).sum(), torch.tensor(60.0)]
                )
    return mixer, float(weight[0] / weight[1])


def test_wrong_labels_lose_their_weight_and_the_controls_do_not_learn_it():
    shares = {name: train(make())[1] for name, make in {
        "trust": Trust, "reverse": lambda: Reverse(Trust()), "shuffle": lambda: Shuffle(Trust()), "mixup": Beta,
    }.items()}  # fmt: skip
    assert shares["mixup"] == pytest.approx(0.4, abs=0.06)
    assert shares["trust"] < 0.2, "less than half of what chance gives them"
    assert shares["shuffle"] > 0.3
    assert shares["reverse"] > 0.3


def test_without_indices_every_batch_is_judged():
    mixer, share = train(Trust(), indexed=False)
    assert mixer.stage.every == 1
    assert share < 0.25


def test_clean_labels_are_trusted():
    mixer, _ = train(Trust(), share_wrong=0.0)
    policy = mixer.stage.policy
    trust = policy.trust(Pairs(torch.arange(600), torch.zeros(600, 3), torch.arange(600)))
    assert float(trust.mean()) > 0.85
    assert mixer.stage.every == 4


def test_full_trust_is_mixup_to_the_bit():
    pairs = Pairs(torch.randperm(50), torch.zeros(50, 3), torch.arange(50))
    trust, mixup = Trust(alpha=0.7), Beta(0.7)
    generators = [torch.Generator().manual_seed(5) for _ in range(2)]
    ours = trust.mixture(trust.draw(pairs, generators[0]), pairs, generators[0])
    theirs = mixup.mixture(mixup.draw(pairs, generators[1]), pairs, generators[1])
    assert torch.equal(ours.lam, theirs.lam)
    assert torch.equal(ours.partner, theirs.partner)


def test_a_distrusted_partner_is_replaced_by_a_trusted_one():
    trust = torch.tensor([1.0, 0.0, 1.0, 0.0])
    partner = replace_distrusted(
        Pairs(torch.tensor([1, 0, 3, 2]), torch.eye(4)), trust, torch.Generator().manual_seed(0)
    )
    assert bool((trust[partner] == 1).all())
    assert partner[1] == 0, "a trusted partner stays"
    nobody = replace_distrusted(
        Pairs(torch.tensor([1, 0]), torch.eye(2)), torch.zeros(2), torch.Generator().manual_seed(0)
    )
    assert bool(((nobody >= 0) & (nobody < 2)).all())


def test_a_restored_policy_goes_on_where_it_was():
    mixer, _ = train(Trust(), epochs=3)
    policy, other = mixer.stage.policy, Trust()
    other.load_state_dict(policy.state_dict())
    pairs = Pairs(torch.randperm(600), torch.zeros(600, 3), torch.arange(600), torch.arange(60))
    rows = torch.randn(660, 2)
    for p in (policy, other):
        p.refine(torch.ones(600), rows, pairs)
    assert torch.equal(policy.trust(pairs), other.trust(pairs))


def test_memory_is_a_mean_that_becomes_a_running_one_and_stays_bounded():
    memory = Memory(0.5)
    for value in (1.0, 3.0, 5.0):
        memory.learn(torch.tensor([7]), torch.tensor([value]))
    assert float(memory.score[7]) == pytest.approx(0.5 * 2.0 + 0.5 * 5.0)
    assert memory.count == 1
    for _ in range(3):
        memory.learn(None, torch.randn(RECENT - 5))
    assert len(memory.recent) == RECENT


def test_fewer_pairs_are_blended_as_the_learning_rate_falls():
    pairs = Pairs(torch.randperm(2000), torch.zeros(2000, 3), torch.arange(2000))

    def blended(policy: Trust) -> float:
        lam = policy.draw(pairs, torch.Generator().manual_seed(1))
        return float(((lam > 0) & (lam < 1)).float().mean())

    policy = Trust()
    for rate, expected in ((0.02, 1.0), (0.1, 1.0), (0.06, 1.0), (0.025, 0.5), (0.005, 0.1), (0.0, 0.0), (0.1, 1.0)):
        policy.settle(rate)
        assert blended(policy) == pytest.approx(expected, abs=0.05), rate


@pytest.mark.parametrize(("settle", "rates"), [(0.5, (0.0, 0.0)), (0.0, (0.1, 0.001)), (0.5, (0.1, 0.05))])
def test_it_blends_as_mixup_does_until_the_rate_has_fallen_below_its_share(settle: float, rates: tuple[float, float]):
    policy = Trust(settle=settle)
    for rate in rates:
        policy.settle(rate)
    assert policy.blended == 1


@pytest.mark.parametrize(("first", "second"), [(1.0, 1.0), (0.2, 0.6), (0.9, 0.1), (0.0, 0.5), (0.0, 0.0)])
def test_the_larger_share_falls_to_a_side_in_proportion_to_its_trust(first: float, second: float):
    n = 20_000
    pairs = Pairs(torch.arange(n), torch.zeros(n, 3))
    generator = torch.Generator().manual_seed(3)
    lam = torch.rand(n, generator=generator)
    ours = favour_trusted(lam, torch.full((n,), first), torch.full((n,), second), pairs, generator)
    expected = first / (first + second) if first + second else 0.5
    assert float((ours > 0.5).float().mean()) == pytest.approx(expected, abs=0.02)
    assert torch.equal(torch.maximum(ours, 1 - ours), torch.maximum(lam, 1 - lam)), "only the sides change"
    if first == second:
        assert torch.equal(ours, lam)


def test_what_settles_a_run_goes_on_after_a_restart():
    policy, again = Trust(), Trust()
    for rate in (0.1, 0.02):
        policy.settle(rate)
    again.load_state_dict(policy.state_dict())
    assert (again.peak, again.blended) == (0.1, pytest.approx(0.4))


def test_shuffle_deals_out_the_trust_of_samples_without_an_index_too():
    policy, pairs = Trust(), Pairs(torch.arange(40).roll(1), torch.eye(40))
    policy.curve = Curve(torch.tensor([0.0, 1.0]), torch.tensor([0.0, 1.0]))
    scores = torch.linspace(0.05, 0.95, 40)
    shares = []
    for control in (policy, Shuffle(policy)):
        policy._now = scores
        shares.append(control.mixture(torch.full((40,), 0.5), pairs, torch.Generator().manual_seed(0)).lam)
    # λ of the first half, whose labels are distrusted, is low unless trust belongs to nobody.
    assert shares[0][:20].mean() < shares[0][20:].mean() - 0.1
    assert abs(shares[1][:20].mean() - shares[1][20:].mean()) < 0.1
