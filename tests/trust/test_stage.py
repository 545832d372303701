import pytest
import torch
from torch import nn
from torch.nn.functional import cross_entropy

from metamixup import Beta, MetaMixUp
from metamixup.meta import Reverse, Shuffle
from metamixup.mixing import Mixture, Pairs
from metamixup.trust import Trust
from metamixup.trust.calibration import Curve
from metamixup.trust.evidence import Evidence


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
    trust = mixer.stage.trust(Pairs(torch.arange(600), torch.zeros(600, 3), torch.arange(600)))
    assert float(trust.mean()) > 0.85
    assert mixer.stage.every == 4


def evidence(n: int, m: int) -> tuple[Evidence, Evidence]:
    batch, meta = (Evidence(torch.randn(size), torch.rand(size)) for size in (n, m))
    return batch, meta


def served(stage: Trust, pairs: Pairs, seed: int = 5) -> Mixture:
    """The mixture of a step that does not learn."""
    stage.steps = 1
    return stage(None, None, None, pairs, {}, torch.Generator().manual_seed(seed))


def test_full_trust_is_mixup_to_the_bit():
    pairs = Pairs(torch.randperm(50), torch.zeros(50, 3), torch.arange(50))
    ours = served(Trust(alpha=0.7), pairs)
    mixup, generator = Beta(0.7), torch.Generator().manual_seed(5)
    theirs = mixup.mixture(mixup.draw(pairs, generator), pairs, generator)
    assert torch.equal(ours.lam, theirs.lam)
    assert torch.equal(ours.partner, theirs.partner)


def test_a_restored_stage_goes_on_where_it_was():
    mixer, _ = train(Trust(), epochs=3)
    stage, other = mixer.stage, Trust()
    other.load_state_dict(stage.state_dict())
    assert other.steps == stage.steps
    pairs = Pairs(torch.randperm(600), torch.zeros(600, 3), torch.arange(600), torch.arange(60))
    found = evidence(600, 60)
    for each in (stage, other):
        each.learn(*found, pairs)
    assert torch.equal(stage.trust(pairs), other.trust(pairs))
    assert torch.equal(served(stage, pairs).lam, served(other, pairs).lam)


class Known(Trust):
    """Finds the same scores, and so the same trust, for the samples of every batch."""

    def evidence(self, *given):
        return evidence(40, 40)

    def learn(self, batch, meta, pairs):
        return torch.linspace(0.05, 0.95, 40)


def test_shuffle_deals_out_the_trust_of_samples_without_an_index_too():
    shares = []
    for make in (Known, lambda: Shuffle(Known()).policy):
        stage = make()
        stage.curve = Curve(torch.tensor([0.0, 1.0]), torch.tensor([0.0, 1.0]))
        pairs, generator = Pairs(torch.arange(40).roll(1), torch.eye(40)), torch.Generator().manual_seed(0)
        steps = [stage(None, None, None, pairs, {}, generator).lam for _ in range(stage.every * 20)]
        shares.append(torch.stack(steps[:: stage.every]).mean(0))
    # λ of the first half, whose labels are distrusted, is low unless trust belongs to nobody.
    assert shares[0][:20].mean() < shares[0][20:].mean() - 0.1
    assert abs(shares[1][:20].mean() - shares[1][20:].mean()) < 0.1


def test_samples_beyond_the_judged_fraction_are_trusted():
    stage = Trust()
    stage.pace(4, fraction=0.5)
    stage.curve = Curve(torch.tensor([0.0, 1.0]), torch.tensor([0.0, 1.0]))
    trust = stage.trust(Pairs(torch.arange(4), torch.eye(4)), torch.tensor([0.25, 0.75]))
    assert trust.tolist() == [0.25, 0.75, 1.0, 1.0]
