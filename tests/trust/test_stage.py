from dataclasses import replace

import pytest
import torch
from torch import nn
from torch.nn.functional import cross_entropy, one_hot

from metamixup import Beta, MetaMixUp
from metamixup.errors import UserError
from metamixup.meta import Replay, Reverse, Shuffle
from metamixup.mixing import Mixture, Pairs, mix
from metamixup.trust import Trust
from metamixup.trust.amount import SOONEST
from metamixup.trust.blend import blend
from metamixup.trust.division import WATCHED, Fit
from metamixup.trust.evidence import Evidence


def blobs(n: int, seed: int, share_wrong: float = 0.4):
    """Three clusters; returns inputs, given labels and which of them are wrong."""
    generator = torch.Generator().manual_seed(seed)
    centres = 2.5 * torch.eye(3, 6)
    truth = torch.randint(0, 3, (n,), generator=generator)
    x = centres[truth] + torch.randn(n, 6, generator=generator)
    wrong = torch.rand(n, generator=generator) < share_wrong
    return x, torch.where(wrong, (truth + 1 + torch.randint(0, 2, (n,), generator=generator)) % 3, truth), wrong


def train(policy, share_wrong: float = 0.4, indexed: bool = True, epochs: int = 15, seed: int = 0, meta: bool = True):
    """A short run; returns the mixer, which labels are wrong, and the share of what the network was told of samples in
    the last epochs that was wrong."""
    x, y, wrong = blobs(540, 1, share_wrong)
    x_meta, y_meta, right = blobs(60, 2, 0.0)
    x, y, wrong = (torch.cat(both) for both in ((x, x_meta), (y, y_meta), (wrong, right)))  # trained on too
    truth = torch.cat([blobs(540, 1, 0.0)[1], y_meta])
    torch.manual_seed(seed)
    model = nn.Sequential(nn.Linear(6, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Linear(32, 3))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    mixer = MetaMixUp(model, 3, policy=policy)
    told = []
    for epoch in range(epochs):
        for index in torch.randperm(600).split(60):
            given = {"index": index, "meta_index": torch.arange(60) if meta else None} if indexed else {}
            both = (x_meta, y_meta) if meta else ()
            mixed = mixer(x[index], y[index], *both, lr=optimizer, **given)
            optimizer.zero_grad()
            cross_entropy(model(mixed.x), mixed.y).backward()
            optimizer.step()
            if epoch >= epochs - 5:
                right = one_hot(truth[index], 3).float()
                told.append(float((mixed.y - mix(right, right[mixed.partner], mixed.lam)).abs().sum(1).mean() / 2))
    return mixer, wrong, sum(told) / len(told)


def trust_in(mixer, wrong) -> tuple[float, float]:
    """The mean trust in right labels and in wrong ones."""
    trust = mixer.trust(torch.arange(600))
    return float(trust[~wrong].mean()), float(trust[wrong].mean()) if bool(wrong.any()) else 0.0


def test_wrong_labels_are_found_and_replaced_and_the_controls_do_not_learn_it():
    makers = {"reverse": lambda: Reverse(Trust()), "shuffle": lambda: Shuffle(Trust()), "mixup": Beta}
    told = {name: train(make())[2] for name, make in makers.items()}
    mixer, wrong, ours = train(Trust())
    right, distrusted = trust_in(mixer, wrong)
    assert right > 0.85
    assert distrusted < 0.2
    assert told["mixup"] == pytest.approx(0.33, abs=0.06)
    assert ours < 0.2
    assert told["shuffle"] > ours + 0.03
    assert told["reverse"] > 0.3


def test_without_a_meta_set_too():
    mixer, wrong, told = train(Trust(), meta=False)
    right, distrusted = trust_in(mixer, wrong)
    assert right > 0.85
    assert distrusted < 0.25
    assert told < 0.22
    suspects = mixer.suspects(100)
    assert sum(bool(wrong[s.index]) for s in suspects) > 90
    assert [s.wrong for s in suspects] == sorted((s.wrong for s in suspects), reverse=True)
    assert all(s.given != s.likely for s in suspects)


def test_distrusted_samples_lose_weight_where_guesses_are_switched_off():
    mixer, _, told = train(Trust(guesses=False))
    assert not mixer.stage.guesses
    assert told < 0.28


def test_without_indices_every_batch_is_judged():
    mixer, _, told = train(Trust(), indexed=False)
    assert mixer.stage.every == 1
    assert told < 0.22


def test_clean_labels_are_trusted_and_left_alone():
    mixer, wrong, told = train(Trust(), share_wrong=0.0)
    assert trust_in(mixer, wrong)[0] > 0.97
    assert told < 0.01
    assert mixer.stage.every == 4


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16])
def test_serves_models_of_other_precision(dtype):
    x, y, _ = blobs(64, 3)
    model, index = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 3)).to(dtype), torch.arange(64)
    mixer = MetaMixUp(model, 3)
    for _ in range(60):
        mixed = mixer(x.to(dtype), y, lr=0.1, index=index)
        assert mixed.x.dtype == mixed.y.dtype == dtype
    assert mixer.stage.labels.division.fit is not None


def test_a_batch_that_is_not_finite_leaves_no_trace():
    x, y, _ = blobs(64, 3)
    model, index = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 3)), torch.arange(64)
    mixers = [MetaMixUp(model, 3, policy=Trust(), every=1) for _ in range(2)]
    for step in range(30):
        for k, mixer in enumerate(mixers):
            broken = float("nan") if step == 12 and k == 1 else 1.0
            mixer(broken * x, y, broken * x, y, lr=0.1, index=index, meta_index=index)
    assert mixers[1].stage.ignored == 1
    assert mixers[0].stage.labels.samples.ignored == 0
    assert bool(mixers[1].trust(index).isfinite().all())
    assert torch.allclose(mixers[0].trust(index), mixers[1].trust(index), atol=0.05)


def evidence(n: int, m: int) -> tuple[Evidence, Evidence]:
    batch, meta = (Evidence(torch.randn(size), torch.randn(size, 3).log_softmax(1)) for size in (n, m))
    return batch, meta


def blending(stage: Trust) -> Trust:
    """All pairs are blended and nobody waits."""
    stage.amount.learned, stage.amount.released, stage.amount.settling.fallen = 1.0, True, True
    return stage


def served(stage: Trust, pairs: Pairs, seed: int = 5) -> Mixture:
    """The mixture of a step that does not learn."""
    stage.steps = 1
    return stage(None, None, None, pairs, {}, torch.Generator().manual_seed(seed))


def images(n: int = 50, **more) -> Pairs:
    return Pairs(torch.randperm(n), torch.eye(3)[torch.arange(n) % 3], torch.arange(n), image_size=(20, 16), **more)


def test_images_are_blended_by_boxes_of_the_pairs_that_mixup_blends():
    pairs, x = images(), torch.rand(50, 1, 20, 16)
    boxes, plain = (served(blending(Trust(boxes=boxes)), pairs) for boxes in (True, False))
    assert torch.equal(boxes.partner, plain.partner)
    larger, before = (torch.maximum(mixture.lam, 1 - mixture.lam) for mixture in (boxes, plain))
    assert bool((larger >= before - 1e-6).all())  # boxes are cut off at the border
    assert bool(((boxes.lam > 0.5) == (plain.lam > 0.5)).all())
    others = boxes.partner != torch.arange(50)
    blended = boxes.inputs(x)
    assert bool(((blended == x) | (blended == x[boxes.partner])).all())
    torch.testing.assert_close((blended == x).float().mean((1, 2, 3))[others], boxes.lam[others])


def test_boxes_give_back_nothing_that_trust_took():
    """A box of nearly all of an image, cut off at the border, would leave half of a sample that is not trusted."""
    index, trust = torch.arange(2000), torch.where(torch.arange(2000) % 5 < 2, 0.02, 1.0)
    pairs = replace(images(2000), index=index)
    told = []
    for boxes in (True, False):
        stage = blending(Trust(boxes=boxes, guesses=False))
        lam = stage.draw(pairs, torch.Generator().manual_seed(1))
        mixture = stage._in_boxes(blend(lam, trust, pairs, torch.Generator().manual_seed(2)), pairs, torch.Generator())
        told.append(float(mixture.labels((trust < 1).float()[:, None]).mean()))
    assert told[0] <= told[1] + 1e-3


@pytest.mark.parametrize("change", [{"image_size": None}, {"image_size": (15, 40)}, {"labelled": 50}])
def test_what_is_no_image_or_too_small_or_beside_unlabelled_ones_is_blended_as_mixup_does(change):
    mixture = served(blending(Trust()), replace(images(), **change))
    assert type(mixture) is Mixture


def test_nothing_is_left_of_an_image_that_waits():
    stage, index = Trust(), torch.arange(4000)
    stage.amount.known, stage.amount.learned, stage.amount.settling.fallen = 4000, 1.0, True
    stage.amount.past = SOONEST + 1
    waiting = stage.amount.waits(index)
    assert bool(waiting.any())
    pairs = replace(images(4000), index=index)
    mixture = served(stage, pairs)
    assert bool((mixture.lam[waiting] == 0).all())
    assert not bool(mixture.keep[waiting].any())


@pytest.mark.parametrize(("learned", "stuck"), [(0.0, 0.0), (1.0, 0.5)])
def test_there_are_no_boxes_without_blends_nor_for_a_network_at_chance(learned: float, stuck: float):
    stage = blending(Trust())
    stage.amount.learned, stage.amount.chance.stuck = learned, stuck
    assert type(served(stage, images())) is Mixture


def test_full_trust_is_mixup_to_the_bit():
    pairs = Pairs(torch.randperm(50), torch.eye(3)[torch.arange(50) % 3], torch.arange(50))
    ours = served(blending(Trust(alpha=0.7)), pairs)
    mixup, generator = Beta(0.7), torch.Generator().manual_seed(5)
    theirs = mixup.mixture(mixup.draw(pairs, generator), pairs, generator)
    assert torch.equal(ours.lam, theirs.lam)
    assert torch.equal(ours.partner, theirs.partner)
    assert ours.own_labels is None


def test_a_restored_stage_goes_on_where_it_was():
    mixer, _, _ = train(Trust(), epochs=5)
    stage, other = mixer.stage, Trust()
    other.load_state_dict(stage.state_dict())
    assert other.steps == stage.steps
    labels = torch.eye(3)[stage.labels.samples.labels]
    pairs = Pairs(torch.randperm(600), labels, torch.arange(600), torch.arange(60), labels[:60])
    found = evidence(600, 60)
    for each in (stage, other):
        each.learn(*found, pairs)
    assert stage.labels.division.fit is not None
    assert torch.equal(stage.labels.trust(pairs), other.labels.trust(pairs))
    one, two = served(stage, pairs), served(other, pairs)
    assert torch.equal(one.lam, two.lam)
    assert torch.equal(one.labels(labels), two.labels(labels))


def divided(share_wrong: float = 0.5) -> Trust:
    """A stage that believes whatever the network says, of two classes."""
    stage, trust = Trust(), torch.tensor([0.0, 1.0])
    confusion = torch.tensor([[1 - share_wrong, share_wrong], [share_wrong, 1 - share_wrong]]).double()
    stage.labels.division.fit = Fit(1.0, confusion, torch.ones(2), share_wrong, 0.0, trust)
    stage.labels.division.shares, stage.labels.division.vouched = [0.5] * WATCHED, [False] * WATCHED
    return stage


def test_a_label_gives_way_to_the_guess_as_far_as_it_is_distrusted():
    stage, labels = divided(), torch.eye(2)[torch.tensor([0, 1, 1])]
    log_p = torch.tensor([[0.9, 0.1], [0.9, 0.1], [0.2, 0.8]]).log()
    pairs = Pairs(torch.arange(3), labels, torch.arange(3))
    stage.labels.samples.learn(pairs.index, log_p, labels.argmax(1))
    assert stage.labels.trust(pairs).tolist() == pytest.approx([0.9, 0.1, 0.8], abs=1e-3)
    mixture = served(stage, pairs)
    posterior = torch.tensor([[0.9, 0.1], [0.9, 0.1], [0.2, 0.8]])
    assert torch.allclose(mixture.own_labels, posterior, atol=1e-3)


def test_labels_are_left_alone_where_distrust_would_not_pay():
    """They look wrong, but the network has learned nothing by heart, and right ones are distrusted with them."""
    stage, labels = divided(), torch.eye(2)
    pairs = Pairs(torch.arange(2), labels, torch.arange(2))
    stage.labels.samples.learn(pairs.index, torch.tensor([[0.1, 0.9], [0.9, 0.1]]).log(), labels.argmax(1))
    assert stage.distrust == 1
    stage.amount.known, stage.amount.gap.widest = 500, 0.02
    assert stage.distrust == 0
    assert served(stage, pairs).own_labels is None
    assert "look wrong, but the network has not learned them by heart" in stage.remarks()[0]
    stage.labels.division.hits = 0.9
    assert stage.distrust == 0
    stage.amount.overfits = 0.6
    assert stage.distrust == pytest.approx(0.6), "where clean labels vouch for it, the first signs will do"


def test_samples_beyond_the_judged_fraction_are_trusted():
    stage = divided()
    stage.pace(4, fraction=0.5)
    labels = torch.eye(2)[torch.tensor([0, 1, 0, 1])]
    trust = stage.labels.trust(Pairs(torch.arange(4), labels), torch.tensor([[0.25, 0.75], [0.25, 0.75]]).log())
    assert trust.tolist() == pytest.approx([0.25, 0.75, 1.0, 1.0], abs=1e-3)


def overfitting(stage: Trust, indexed: bool = True, looks: int = 40) -> Trust:
    """After steps in which samples that wait, or meta images, were predicted worse than those that are trained on."""
    labels = torch.eye(3)[torch.arange(600) % 3]
    stage.amount.settling.fallen, stage.steps = True, 10
    for _ in range(looks):
        pairs = Pairs(torch.arange(600), labels, torch.arange(600) if indexed else None, None, labels[:90])
        sure, unsure = (torch.softmax(k * labels, 1).log() for k in (3.0, 1.0))
        waiting = stage.amount.waits(torch.arange(600)) if indexed else torch.zeros(600, dtype=torch.bool)
        batch = Evidence(torch.zeros(600), torch.where(waiting[:, None], unsure, sure))
        stage._learn_amount(batch, Evidence(torch.zeros(90), unsure[:90]), pairs, 600)
        stage.labels.samples.learn(pairs.index, batch.log_p, torch.arange(600) % 3)  # now they are known
    return stage


@pytest.mark.parametrize("indexed", [True, False])
def test_all_pairs_are_blended_where_the_network_knows_only_what_it_trained_on_and_none_by_the_control(indexed: bool):
    assert overfitting(Trust(), indexed).amount.share == 1
    assert overfitting(Reverse(Trust()).policy, indexed).amount.share == 0


def test_a_control_turns_an_amount_once():
    stage = overfitting(Reverse(Trust()).policy)
    stage.amount.released = True
    assert {overfitting(stage, looks=1).amount.learned for _ in range(3)} == {0.0}


def test_samples_that_wait_are_not_trained_on():
    stage, index = Trust(), torch.arange(600)
    stage.amount.past = SOONEST
    waiting = stage.amount.waits(index)
    mixture = served(stage, Pairs(torch.randperm(600), torch.eye(3)[index % 3], index))
    assert 20 < int(waiting.sum()) < 80
    alone = mixture.lam[waiting]
    assert torch.equal(alone, torch.zeros_like(alone)), "their partner takes their place"
    assert not waiting[mixture.partner[mixture.lam < 1]].any()


def test_a_fragile_network_gets_blends_where_nothing_else_tells_too():
    stage, labels = Trust(), torch.eye(3)[torch.arange(60) % 3]
    stage.amount.begin(fragile=True)
    for _ in range(10):
        at_chance = Evidence(torch.zeros(60), torch.zeros(60, 3).log_softmax(1))
        stage._learn_amount(at_chance, None, Pairs(torch.arange(60), labels), 60)
    assert stage.amount.share == 1


def test_half_of_the_pairs_are_blended_where_nothing_tells():
    stage, labels = Trust(), torch.eye(3)[torch.arange(60) % 3]
    stage.amount.settling.fallen = True
    stage._learn_amount(Evidence(torch.zeros(60), labels.log_softmax(1)), None, Pairs(torch.arange(60), labels), 60)
    assert stage.amount.share == 0.5


def test_a_look_is_at_a_part_with_all_that_wait_once_own_passes_tell_enough():
    stage, index = Trust(), torch.arange(2000)
    pairs, lam = Pairs(torch.randperm(2000), torch.eye(3)[index % 3], index), torch.rand(2000)
    whole = stage._shown(pairs, lam)
    assert torch.equal(whole.partner, index)
    assert not whole.picked, "methods with several blocks in a batch know how to take it"
    stage.heard = 0.9
    shown = stage._shown(pairs, lam)
    assert shown.picked
    assert len(shown.partner) == 500
    assert torch.equal(shown.partner, shown.partner.sort().values), "sequences may be sorted by their lengths"
    assert set(stage.amount.waits(index).nonzero()[:, 0].tolist()) < set(shown.partner.tolist())
    few = Pairs(torch.arange(40), pairs.labels[:40], index[:40])
    assert len(stage._shown(few, lam[:40]).partner) == 32, "BatchNorm needs company"
    nameless = Pairs(pairs.partner, pairs.labels)
    assert len(stage._shown(nameless, lam).partner) == 2000, "what has no index is not remembered"


def test_the_meta_set_is_looked_at_less_often_where_looks_are_at_a_part():
    stage = Trust()
    assert [step for step in range(8) if _at(stage, step).meta_due] == [0, 2, 4, 6]
    stage.heard = 0.9
    assert [step for step in range(8) if _at(stage, step).due] == [0, 2, 4, 6]
    assert [step for step in range(8) if _at(stage, step).meta_due] == [0, 4]


def _at(stage: Trust, step: int) -> Trust:
    stage.steps = step
    return stage


@pytest.mark.parametrize("make", [Trust, lambda: Reverse(Trust()).policy])
def test_the_own_pass_tells_of_unblended_samples_alone(make):
    stage, labels = make(), torch.eye(3)[torch.arange(6) % 3]
    logits = torch.randn(6, 3)
    mixture = Mixture(torch.tensor([1.0, 0.3, 1.0, 0.0, 1.0, 0.9]), torch.arange(6).flip(0))
    stage.steps = 1 + stage.pause // 2
    stage.witness(logits, Pairs(mixture.partner, labels, torch.arange(10, 16)), mixture)
    assert stage.labels.samples.visits.nonzero()[:, 0].tolist() == [10, 12, 14]
    told = logits.log_softmax(1)
    told = (-told).log_softmax(1) if isinstance(stage.control, Reverse) else told
    assert torch.allclose(stage.labels.samples.log_p[10], told[0], atol=1e-6)
    stage.witness(logits, Pairs(mixture.partner, labels), mixture)
    assert float(stage.labels.samples.visits.max()) == 1, "what has no index is not remembered"


def test_clean_images_are_remembered_as_often_as_samples_that_are_judged_for_nothing():
    stage, labels = Trust(), torch.eye(3)[torch.arange(600) % 3]
    pairs = Pairs(torch.randperm(600), labels, torch.arange(600), torch.arange(60), labels[:60])
    _at(stage, 1 + stage.pause // 2).witness(torch.randn(600, 3), pairs, Mixture.unblended(torch.ones(600)))
    stage.learn(*evidence(60, 60), pairs.of(torch.arange(60)))
    assert float(stage.labels.clean.visits.sum()) == 60, "as often as all 600; 6 of them by the look alone"
    assert stage.unmatched == 0


def test_own_passes_count_with_looks_until_labels_are_divided():
    stage, labels = _at(Trust(), 50), torch.eye(3)[torch.arange(600) % 3]
    pairs = Pairs(torch.randperm(600), labels, torch.arange(600))
    for _ in range(2):
        for step in range(50, 60):
            _at(stage, step).witness(torch.randn(600, 3), pairs, Mixture.unblended(torch.ones(600)))
        stage.learn(evidence(150, 0)[0], None, pairs.of(torch.arange(150)))
    assert stage.labels.division.fit is not None


def test_what_was_heard_is_saved():
    stage, other = Trust(), Trust()
    stage.heard, stage.unmatched, stage.labels.looks = 0.7, 30, 12.5
    other.load_state_dict(stage.state_dict())
    assert (other.heard, other.unmatched, other.labels.looks) == (0.7, 30, 12.5)


def test_a_replayed_policy_learns_nothing():
    mixer, _, _ = train(Trust(), epochs=5)
    before = mixer.stage.labels.samples.visits.clone()
    stage = Replay(Trust(), mixer.stage.state_dict()).policy
    train(stage, epochs=3)
    assert torch.equal(stage.labels.samples.visits, before)


@pytest.mark.parametrize(("gap", "offset"), [(1, 0), (50, 0), (1, 100_000)])
def test_labels_are_divided_wherever_their_indices_lie(gap: int, offset: int):
    """As those of a part of a larger set do."""
    stage, labels = Trust(), torch.eye(3)[torch.arange(600) % 3]
    for step in range(50, 100):
        rows = torch.arange(60) + 60 * (step % 10)
        pairs = Pairs(torch.randperm(60), labels[rows], gap * rows + offset)
        _at(stage, step).learn(evidence(60, 0)[0], None, pairs)
    assert len(stage.labels.division.shares) == 3


def test_samples_are_asked_about_by_lists_masks_and_one_by_one():
    mixer, _, _ = train(Trust(), epochs=6)
    assert mixer.stage.labels.division.fit is not None
    expected = mixer.trust(torch.tensor([3, 500]))
    mask = torch.zeros(600, dtype=torch.bool)
    mask[[3, 500]] = True
    for index in ([3, 500], mask.numpy(), mask):
        assert torch.equal(mixer.trust(index), expected)
    assert torch.equal(mixer.trust(500), expected[1:])


def test_a_state_of_another_number_of_classes_is_told_when_it_is_loaded():
    mixer, _, _ = train(Trust(), epochs=2)
    plain, _, _ = train(Trust(), epochs=2, indexed=False, meta=False)
    for state in (mixer.state_dict(), plain.state_dict()):
        other = MetaMixUp(nn.Linear(6, 5), 5, lr=0.1)
        with pytest.raises(UserError, match="saved with 3 classes and the mixer has num_classes=5"):
            other.load_state_dict(state)
        assert other.stage.steps == 0
        MetaMixUp(nn.Linear(6, 3), 3, lr=0.1).load_state_dict(state)
    fresh = MetaMixUp(nn.Linear(6, 4), 4).state_dict()
    MetaMixUp(nn.Linear(6, 5), 5).load_state_dict(fresh)


def test_classes_count_as_often_as_they_come_if_nobody_wants_them_rebalanced():
    labels = torch.eye(3)[torch.tensor([0] * 90 + [1] * 25 + [2] * 5)]
    pairs = Pairs(torch.arange(120), labels)
    for rebalance in (True, False):
        stage = Trust(rebalance=rebalance)
        stage.balance.learn(labels, labels @ torch.tensor([0.0, 1.0, 3.0]), torch.eye(3).repeat(20, 1))
        stage.see(0.1)
        stage.see(0.001)
        weights = stage._class_weights(pairs)
        assert bool((weights == 1).all()) is not rebalance
        assert weights[-1] == 1 >= weights[0]
