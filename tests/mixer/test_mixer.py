"""The public class in other people's training loops."""

import copy
import gc
import pickle
import weakref
from itertools import cycle
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn.functional import cross_entropy, mse_loss

from metamixup import Beta, Learned, MetaMixUp, Trust
from metamixup.choices import ESTIMATORS as NAMED
from metamixup.choices import POLICIES
from metamixup.errors import UserError
from metamixup.mixer import batches
from metamixup.mixing.regions import Regions

ESTIMATORS = ["exact", "head", "finite_difference"]


def batch(n: int, *shape: int, classes: int = 4) -> tuple[torch.Tensor, torch.Tensor]:
    return torch.randn(n, *shape), torch.randint(0, classes, (n,))


def test_images_are_blended_by_boxes_and_what_is_inside_the_network_is_not():
    x, y = batch(12, 3, 16, 16)
    model = nn.Sequential(nn.Flatten(), nn.Linear(768, 8), nn.BatchNorm1d(8), nn.Linear(8, 4))
    for point, boxes in (("input", True), ("features", False)):
        mixer = MetaMixUp(model, 4, lr=0.1, mix_at=point)
        mixer(x, y, torch.arange(12))
        mixer.stage.amount.learned, mixer.stage.amount.released = 1.0, True
        assert isinstance(mixer(x, y, torch.arange(12)).mixture, Regions) is boxes


def test_inputs_of_several_sizes_have_no_boxes_in_common():
    x = {"image": torch.rand(6, 3, 16, 16), "map": torch.rand(6, 1, 20, 20)}
    assert batches.image_size_of(x, 6) is None
    assert batches.image_size_of({"image": x["image"], "length": torch.ones(6).long()}, 6) == (16, 16)
    assert (
        batches.image_size_of({"tokens": torch.ones(6, 16).long(), "attention_mask": torch.ones(6, 1, 16, 16)}, 6)
        is None
    )


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_trains_in_a_plain_loop(estimator):
    torch.manual_seed(0)
    centres = 3 * torch.randn(4, 10)
    y, y_meta = torch.randint(0, 4, (256,)), torch.randint(0, 4, (64,))
    x, x_meta = centres[y] + torch.randn(256, 10), centres[y_meta] + torch.randn(64, 10)
    model = nn.Sequential(nn.Linear(10, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Dropout(0.1), nn.Linear(32, 4))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    mixer = MetaMixUp(model, num_classes=4, estimator=estimator)
    train, meta = list(zip(x.split(64), y.split(64), strict=True)), [(x_meta, y_meta)]
    for _ in range(12):
        for (x_b, y_b), (x_m, y_m) in zip(train, cycle(meta), strict=False):
            mixed = mixer(x_b, y_b, x_m, y_m, lr=optimizer.param_groups[0]["lr"])
            loss = cross_entropy(model(mixed.x), mixed.y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    model.eval()
    assert float((model(x_meta).argmax(1) != y_meta).float().mean()) < 0.1


class Sequence(nn.Module):
    """(B, T, D) → classes, with attention."""

    def __init__(self):
        super().__init__()
        self.attention = nn.MultiheadAttention(8, 2, batch_first=True)
        self.out = nn.Linear(8, 4)

    def forward(self, x):
        return self.out(self.attention(x, x, x, need_weights=False)[0].mean(1))


MODELS = {
    "vectors": (lambda: nn.Linear(6, 4), (6,)),
    "images": (lambda: nn.Sequential(nn.Conv2d(1, 3, 3), nn.BatchNorm2d(3), nn.Flatten(), nn.Linear(27, 4)), (1, 5, 5)),
    "sequences": (Sequence, (7, 8)),
}


@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("n", [1, 2, 7])
def test_any_module_any_rank_any_batch(name, n, estimator):
    make, shape = MODELS[name]
    model = make()
    model.eval()  # a batch of one has no batch statistics
    (x, y), (x_meta, y_meta) = batch(n, *shape), batch(3, *shape)
    y[:] = 1  # a batch of one class
    kept = x.clone(), y.clone()
    mixed = MetaMixUp(model, 4, estimator=estimator)(x, y, x_meta, y_meta, lr=0.1)
    assert mixed.x.shape == x.shape
    assert mixed.y.shape == (n, 4)
    torch.testing.assert_close(mixed.y[:, 1], torch.ones(n))
    assert torch.isfinite(mixed.x).all()
    assert torch.equal(x, kept[0])
    assert torch.equal(y, kept[1])


def test_lr_may_be_the_optimizer_with_several_groups():
    model = nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 4))
    slow = torch.optim.SGD([{"params": model[0].parameters(), "lr": 0.0}, {"params": model[2].parameters()}], lr=0.5)
    (x, y), (x_meta, y_meta) = batch(6, 6), batch(6, 6)
    exact = MetaMixUp(model, 4, estimator="exact")(x, y, x_meta, y_meta, lr=slow)
    head = MetaMixUp(model, 4, estimator="head-plain")(x, y, x_meta, y_meta, lr=0.5)
    torch.testing.assert_close(exact.lam, head.lam)  # only the head moves in both


def test_a_model_without_a_linear_layer_is_told_which_estimators_serve():
    model = nn.Sequential(nn.Conv2d(1, 4, 3), nn.AdaptiveAvgPool2d(1), nn.Flatten())
    (x, y), (x_meta, y_meta) = batch(4, 1, 5, 5), batch(4, 1, 5, 5)
    with pytest.raises(Exception, match="finite_difference"):
        MetaMixUp(model, 4, estimator="head")(x, y, x_meta, y_meta, lr=0.1)
    assert MetaMixUp(model, 4, estimator="exact")(x, y, x_meta, y_meta, lr=0.1).lam.shape == (4,)


def test_frozen_backbone_and_fully_frozen_model():
    model = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 4))
    model[0].requires_grad_(False)
    (x, y), (x_meta, y_meta) = batch(6, 6), batch(6, 6)
    MetaMixUp(model, 4, estimator="exact")(x, y, x_meta, y_meta, lr=0.1)
    model.requires_grad_(False)
    with pytest.raises(UserError, match="no trainable parameter"):
        MetaMixUp(model, 4)(x, y, x_meta, y_meta, lr=0.1)


def test_soft_labels_and_labels_outside_the_classes():
    model = nn.Linear(6, 4)
    (x, y), (x_meta, y_meta) = batch(6, 6), batch(6, 6)
    soft = torch.full((6, 4), 0.25)
    torch.testing.assert_close(MetaMixUp(model, 4)(x, soft, x_meta, y_meta, lr=0.1).y, soft)
    with pytest.raises(UserError, match="outside 0…3"):
        MetaMixUp(model, 4)(x, y + 4, x_meta, y_meta, lr=0.1)


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_autocast(estimator):
    model = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 4))
    (x, y), (x_meta, y_meta) = batch(6, 6), batch(6, 6)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        mixed = MetaMixUp(model, 4, estimator=estimator)(x, y, x_meta, y_meta, lr=0.1)
        loss = cross_entropy(model(mixed.x), mixed.y)
    torch.amp.GradScaler("cpu").scale(loss).backward()
    assert mixed.lam.dtype == torch.float32
    assert model[0].weight.grad.isfinite().all()


def test_gradient_accumulation_is_left_alone():
    model = nn.Linear(6, 4)
    (x, y), (x_meta, y_meta) = batch(6, 6), batch(6, 6)
    mixer = MetaMixUp(model, 4)
    cross_entropy(model(x), y).backward()
    accumulated = model.weight.grad.clone()
    mixer(x, y, x_meta, y_meta, lr=0.1)
    assert torch.equal(model.weight.grad, accumulated)


def test_works_inside_no_grad():
    model = nn.Linear(6, 4)
    (x, y), (x_meta, y_meta) = batch(6, 6), batch(6, 6)
    with torch.no_grad():
        inside = MetaMixUp(model, 4)(x, y, x_meta, y_meta, lr=0.1)
    assert torch.equal(inside.lam, MetaMixUp(model, 4)(x, y, x_meta, y_meta, lr=0.1).lam)


def test_a_restored_mixer_goes_on_where_it_was():
    model = nn.Linear(6, 4)
    (x, y), (x_meta, y_meta) = batch(6, 6), batch(6, 6)
    mixer = MetaMixUp(model, 4, seed=3)
    mixer(x, y, x_meta, y_meta, lr=0.1)
    other = MetaMixUp(model, 4, seed=99)
    other.load_state_dict(mixer.state_dict())
    a, b = (m(x, y, x_meta, y_meta, lr=0.1) for m in (mixer, other))
    assert torch.equal(a.lam, b.lam)
    assert torch.equal(a.partner, b.partner)


@pytest.mark.parametrize("policy", ["trust", "persistent"])
def test_state_of_another_version_is_refused_in_a_sentence_and_leaves_the_mixer_as_it_was(policy):
    model, (x, y) = nn.Linear(6, 4), batch(6, 6)
    mixer, twin = (MetaMixUp(model, 4, meta=batch(6, 6), lr=0.1, policy=policy) for _ in range(2))
    state = mixer.state_dict()
    del state["stage"]["steps"]
    for wrong in ({}, {"stage": None}, state, MetaMixUp(model, 4, policy="beta").state_dict()):
        with pytest.raises(UserError, match=r"not saved by .* of this version"):
            mixer.load_state_dict(wrong)
    assert torch.equal(mixer(x, y).lam, twin(x, y).lam)


@pytest.mark.parametrize("index", [[], np.arange(0), torch.arange(0)])
def test_the_first_batch_may_be_empty(index):
    mixer = MetaMixUp(nn.Linear(6, 4), 4, meta=batch(6, 6), lr=0.1)
    assert mixer(*batch(0, 6), index).y.shape == (0, 4)
    for _ in range(2):
        mixer(*batch(12, 6), torch.arange(12))
    assert mixer.stage.labels.samples.count == 12


def test_a_plain_policy_needs_no_meta_batch_and_a_learned_one_says_that_it_does():
    model = nn.Linear(6, 4)
    x, y = batch(6, 6)
    assert MetaMixUp(model, 4, policy=Beta(0.4))(x, y, lr=0.1).lam.shape == (6,)
    with pytest.raises(UserError, match="needs a meta batch"):
        MetaMixUp(model, 4, policy=Learned())(x, y, lr=0.1)
    with pytest.raises(UserError, match="unknown estimator 'heads'; did you mean 'head'"):
        MetaMixUp(model, 4, estimator="heads")


def test_the_meta_set_and_the_rate_are_given_once():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 4))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    (x, y), (x_meta, y_meta) = batch(12, 6), batch(30, 6)
    mixers = [MetaMixUp(model, 4, meta=(x_meta, y_meta), lr=optimizer, seed=seed) for seed in (0, 0)]
    for index in (torch.arange(12), np.arange(12), list(range(12))):
        ours, twin = (mixer(x, y, index) for mixer in mixers)
        assert torch.equal(ours.lam, twin.lam)
    assert mixers[0].meta.steps == 2, "a meta batch is drawn only in the steps that learn, at first every other one"
    assert 3 <= int((mixers[0].stage.labels.clean.visits > 0).sum()) <= 6, "of a quarter of the batch's size"
    restored = MetaMixUp(model, 4, meta=(x_meta, y_meta), lr=optimizer, seed=9)
    restored.load_state_dict(mixers[0].state_dict())
    for _ in range(3):
        assert torch.equal(mixers[0](x, y, index).lam, restored(x, y, index).lam)


def test_the_default_policy_learns_without_a_meta_set():
    model, (x, y) = nn.Linear(6, 4), batch(12, 6)
    mixer = MetaMixUp(model, 4, lr=0.1)
    for _ in range(5):
        mixed = mixer(x, y, torch.arange(12))
    assert torch.isfinite(mixed.lam).all()
    assert mixer.stage.learned_steps == 3, "every other step, until it is known whether labels are wrong"
    assert mixer.trust(torch.arange(12)).shape == (12,)


@pytest.mark.parametrize(
    ("options", "call", "told"),
    [
        ({}, lambda m, x, y: m(x, y), "give lr=optimizer"),
        ({"lr": 0.1}, lambda m, x, y: m(x, y[:3]), "12 samples have 3 labels"),
        ({"lr": 0.1}, lambda m, x, y: m(x[:3], y), "3 samples have 12 labels"),
        ({"lr": 0.1}, lambda m, x, y: m(x.to(torch.uint8), y), "x.float\\(\\) / 255"),
        ({"lr": 0.1}, lambda m, x, y: m(x.numpy(), y), "torch.as_tensor"),
        ({"lr": 0.1}, lambda m, x, y: m(x, y, -torch.ones(12).long()), "at least 0"),
        ({"lr": 0.1}, lambda m, x, y: m(x, y, x, y, x), "mixer\\(x, y, index\\)"),
        ({"lr": float("inf")}, lambda m, x, y: m(x, y), "finite"),
        ({"lr": "abc"}, lambda m, x, y: m(x, y), "a number, not 'abc'"),
        ({"lr": [1, 2]}, lambda m, x, y: m(x, y), "not a list: give lr=optimizer, a single one"),
        ({"lr": SimpleNamespace(optimizer=1)}, lambda m, x, y: m(x, y), "lr=optimizer, not its scheduler"),
        ({"lr": 0.1}, lambda m, x, y: m(x.long(), y), "x.float\\(\\)"),
        ({"lr": 0.1}, lambda m, x, y: m(x.to(torch.complex64), y), "view_as_real"),
        ({"lr": 0.1}, lambda m, x, y: m(x, y.float()), "y.long\\(\\)"),
        ({"lr": 0.1}, lambda m, x, y: m(x, y.index_fill(0, torch.tensor(0), -100)), "leave out the samples with -100"),
    ],
)
def test_what_a_call_cannot_be_is_told(options, call, told):
    mixer = MetaMixUp(nn.Linear(6, 4), 4, meta=batch(6, 6), **options)
    with pytest.raises(UserError, match=told):
        call(mixer, *batch(12, 6))


@pytest.mark.parametrize("loss", [cross_entropy, nn.CrossEntropyLoss(weight=torch.ones(4), label_smoothing=0.1)])
def test_a_cross_entropy_of_ones_own_keeps_the_default_policy(loss):
    mixer = MetaMixUp(nn.Linear(6, 4), 4, meta=batch(6, 6), lr=0.1, loss=loss)
    assert isinstance(mixer.stage, Trust)
    for _ in range(3):
        mixer(*batch(12, 6), torch.arange(12))
    assert mixer.stage.learned_steps == 2
    assert not isinstance(MetaMixUp(nn.Linear(6, 4), 4, loss=mse_loss).stage, Trust)
    assert not isinstance(MetaMixUp(nn.Linear(6, 4), None, loss=loss).stage, Trust), "it learns by class"


def test_meta_samples_of_another_shape_are_named():
    mixer = MetaMixUp(nn.Linear(6, 4), 4, meta=batch(6, 5), lr=0.1)
    with pytest.raises(UserError, match=r"meta set: its samples are \(5,\) .* those of the batch \(6,\)"):
        mixer(*batch(12, 6))


def test_a_meta_set_of_one_sample_that_the_model_does_not_take_is_named():
    one, model = batch(1, 6), nn.Sequential(nn.Linear(6, 8), nn.BatchNorm1d(8), nn.Linear(8, 4))
    with pytest.raises(UserError, match="meta batch of one sample, as BatchNorm in training does not"):
        MetaMixUp(model, 4, meta=one, lr=0.1)(*batch(12, 6))
    MetaMixUp(nn.Linear(6, 4), 4, meta=one, lr=0.1)(*batch(12, 6))


@pytest.mark.parametrize(
    ("model", "told"),
    [
        (lambda x: x, "an nn.Module, not a function"),
        (torch.optim.SGD([nn.Parameter(torch.zeros(1))], 0.1), "not a SGD"),
        (nn.DataParallel(nn.Linear(6, 4)), "give it model.module"),
    ],
)
def test_what_no_model_is_is_told(model, told):
    with pytest.raises(UserError, match=told):
        MetaMixUp(model, 4)


@pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning", "ignore:.*torch.jit:FutureWarning")
def test_a_model_that_cannot_be_called_with_other_weights_is_told():
    with pytest.raises(UserError, match="the one this was made from"):
        MetaMixUp(torch.jit.script(nn.Linear(6, 4)), num_classes=4)


def test_one_logit_for_two_classes_is_told_the_way_out():
    x, y = batch(12, 6, classes=2)
    with pytest.raises(UserError, match=r"num_classes=None, loss=binary_cross_entropy_with_logits and y.float\(\)"):
        MetaMixUp(nn.Linear(6, 1), 2, lr=0.1)(x, y)


def test_no_suspects_are_explained():
    mixer = MetaMixUp(nn.Linear(6, 4), 4, lr=0.1)
    with pytest.warns(UserWarning, match="give mixer\\(x, y, index\\)"):
        assert mixer.suspects() == []
    mixer(*batch(12, 6), torch.arange(12))
    with pytest.warns(UserWarning, match="too early"):
        assert mixer.suspects() == []


def test_samples_that_come_up_again_with_other_labels_are_told_of_once():
    mixers, (x, y) = [MetaMixUp(nn.Linear(6, 4), 4, lr=0.1) for _ in range(2)], batch(60, 6)

    def go(mixer: MetaMixUp, turns: int) -> None:
        for k in range(40):
            mixer(x, (y + turns * k) % 4, torch.arange(60))

    go(mixers[0], turns=0)
    with pytest.warns(UserWarning, match="had another label than before under the same index") as told:
        go(mixers[1], turns=1)
    go(mixers[1], turns=1)
    assert len(told) == 1


@pytest.mark.parametrize(("policy", "told"), [("trusty", "did you mean 'trust'"), (3, "not a int")])
def test_what_no_policy_is_is_told(policy, told):
    with pytest.raises(UserError, match=told):
        MetaMixUp(nn.Linear(6, 4), 4, policy=policy)


def test_policies_and_estimators_have_one_list_of_names():
    for name in POLICIES:
        MetaMixUp(nn.Linear(6, 4), 4, policy=name)
    for name in NAMED:
        assert MetaMixUp(nn.Linear(6, 4), 4, estimator=name).stage.estimator is not None


@pytest.mark.parametrize("wrong", [torch.optim.SGD([nn.Parameter(torch.zeros(1))], 0.1), "ten", 0, 2.5, True])
def test_a_number_of_classes_that_is_none_is_told_at_once(wrong):
    with pytest.raises(UserError, match="num_classes is the number of classes"):
        MetaMixUp(nn.Linear(6, 4), wrong)


def test_a_number_of_classes_may_come_from_an_array():
    assert MetaMixUp(nn.Linear(6, 4), np.int64(4), lr=0.1)(*batch(12, 6)).y.shape == (12, 4)


def test_asking_about_samples_changes_nothing():
    mixer = MetaMixUp(nn.Linear(6, 4), 4, lr=0.1)
    mixer(*batch(12, 6), torch.arange(12))
    before = mixer.state_dict()["stage"]["labels"]["samples"]["visits"].clone()
    assert mixer.trust(torch.arange(1000)).shape == (1000,)
    assert mixer.stage.labels.samples.of(torch.tensor([3, 999]), 4)[1].tolist() == [True, False]
    assert torch.equal(mixer.stage.labels.samples.visits, before)


@pytest.fixture
def never_stuck(monkeypatch):
    """Models that are never trained stay at chance, and would get blends for it."""
    monkeypatch.setattr("metamixup.trust.chance.FIRST", float("inf"))


def heard(model: nn.Module, passed, steps: int = 12, mixer: MetaMixUp | None = None, **options) -> MetaMixUp:
    """A mixer after some steps; passed(model, mixed) is the user's own pass."""
    mixer = mixer or MetaMixUp(model, 4, lr=0.1, **options)
    for _ in range(steps):
        passed(model, mixer(torch.randn(300, 6), torch.arange(300) % 4, torch.arange(300)))
    return mixer


PASSES = {
    "x": lambda model, mixed: model(mixed.x),
    "by name": lambda model, mixed: model(input=mixed.x),
    "outputs": lambda model, mixed: mixed.outputs(model),
}


@pytest.mark.usefixtures("never_stuck")
@pytest.mark.parametrize("passed", PASSES.values(), ids=PASSES.keys())
def test_what_is_not_blended_is_judged_in_the_users_own_pass(passed):
    model = nn.Linear(6, 4)
    mixer = heard(model, passed)
    assert mixer.stage.heard > 0.3
    waiting = mixer.stage.amount.waits(torch.arange(300))
    visits, looks = mixer.stage.labels.samples.visits, 12 / mixer.stage.pause
    assert float(visits[~waiting].max()) > looks, "more often than by looks alone"
    assert float(visits[waiting].max()) < float(visits[~waiting].max()), "once they wait they have no pass of their own"
    assert mixer.stage.hears_enough, "looks are at a part from now on"
    assert not model._forward_hooks


@pytest.mark.parametrize("passed", [lambda model, mixed: model(mixed.x.clone()), lambda model, mixed: None])
def test_a_pass_on_other_inputs_is_not_taken_for_the_own_one(passed):
    model = nn.Linear(6, 4)
    mixer = heard(model, passed)
    assert mixer.stage.heard == 0
    assert not model._forward_hooks, "it stops waiting for what does not come"


def test_two_batches_that_are_passed_in_another_order_are_not_mistaken():
    model = nn.Linear(6, 4)
    mixer = MetaMixUp(model, 4, lr=0.1)
    one, two = (mixer(*batch(20, 6), torch.arange(20) + 20 * k) for k in range(2))
    before = mixer.stage.labels.samples.visits.clone()
    model(one.x)
    assert torch.equal(mixer.stage.labels.samples.visits, before)
    model(two.x)
    assert not torch.equal(mixer.stage.labels.samples.visits, before)


@pytest.mark.usefixtures("never_stuck")
@pytest.mark.parametrize("outputs", [lambda y: SimpleNamespace(logits=y), lambda y: SimpleNamespace(scores=y)])
def test_models_that_return_objects_are_heard(outputs):
    class Wrapped(nn.Sequential):
        def forward(self, x):
            return outputs(super().forward(x))

    def loss(found, y):
        return cross_entropy(*vars(found).values(), y)

    mixer = heard(Wrapped(nn.Linear(6, 4)), lambda model, mixed: model(mixed.x), policy="trust", loss=loss)
    assert mixer.stage.heard > 0.3


@pytest.mark.usefixtures("never_stuck")
def test_looks_and_own_passes_remember_the_same_of_a_model_that_ends_in_something_else():
    model = nn.Sequential(nn.Linear(6, 4), nn.Softmax(1))

    def loss(found, y):
        return -(y * found.log()).sum(1).mean()

    x, y, index = *batch(300, 6), torch.arange(300)
    mixer = MetaMixUp(model, 4, lr=0.1, policy="trust", loss=loss)
    for _ in range(12):
        model(mixer(x, y, index).x)
    assert mixer.stage.heard > 0.3
    assert torch.allclose(mixer.stage.labels.samples.log_p, model[0](x).log_softmax(1).detach(), atol=1e-4)


@pytest.mark.usefixtures("never_stuck")
def test_looks_are_at_all_again_once_own_passes_are_not_heard_any_more():
    model = nn.Linear(6, 4)
    mixer = heard(model, PASSES["x"])
    assert mixer.stage.hears_enough
    heard(model, lambda model, mixed: model(mixed.x.clone()), mixer=mixer)
    assert not mixer.stage.hears_enough


@pytest.mark.usefixtures("never_stuck")
def test_where_samples_are_blended_inside_the_model_they_are_heard_too():
    model = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 4))
    mixer = heard(model, lambda model, mixed: mixed.outputs(model), mix_at="features")
    assert mixer.stage.hears_enough


@pytest.mark.usefixtures("never_stuck")
@pytest.mark.filterwarnings("ignore:inputs of torch.int64")
def test_a_look_at_a_part_of_inputs_of_several_kinds():
    class Two(nn.Module):
        def __init__(self):
            super().__init__()
            self.kinds, self.out = nn.Embedding(5, 6), nn.Linear(6, 4)

        def forward(self, x, kind):
            return self.out(x + self.kinds(kind))

    model = Two()
    mixer = MetaMixUp(model, 4, lr=0.1)
    for _ in range(12):
        x, y = batch(300, 6)
        mixed = mixer((x, torch.arange(300) % 5), y, torch.arange(300))
        model(*mixed.x)
    assert mixer.stage.hears_enough


@pytest.mark.filterwarnings("ignore:inputs of torch.int64")
def test_an_input_that_batches_share_does_not_mistake_one_for_the_other():
    class Kind(nn.Linear):
        def forward(self, x, kind):
            return super().forward(x)

    model, kind = Kind(6, 4), torch.zeros(20, dtype=torch.int64)
    mixer = MetaMixUp(model, 4, lr=0.1)
    for _ in range(3):
        one, _ = (mixer((x, kind), y, torch.arange(20) + 20 * k) for k, (x, y) in enumerate([batch(20, 6)] * 2))
        before = mixer.stage.labels.samples.visits.clone()
        model(*one.x)
        assert torch.equal(mixer.stage.labels.samples.visits, before)


def test_a_copied_mixer_goes_on_and_an_empty_batch_says_nothing():
    model = nn.Linear(6, 4)
    mixer = heard(model, PASSES["x"])
    waiting = mixer(torch.randn(300, 6), torch.arange(300) % 4, torch.arange(300))
    for other in (copy.deepcopy(mixer), pickle.loads(pickle.dumps(mixer))):
        heard(other.model, PASSES["x"], mixer=other)
        heard(other.model, lambda model, mixed: model(mixed.x[:0]), mixer=other)
    model(waiting.x)
    empty = mixer(torch.zeros(0, 6), torch.zeros(0, dtype=torch.int64), torch.zeros(0, dtype=torch.int64))
    assert model(empty.x).shape == (0, 4)


class TwoHeads(nn.Module):
    """Gives logits and, run last, a projection."""

    def __init__(self, width: int = 5):
        super().__init__()
        self.body, self.head, self.projection = nn.Linear(6, 8), nn.Linear(8, 4), nn.Linear(8, width)

    def forward(self, x):
        features = torch.tanh(self.body(x))
        return self.head(features), self.projection(features)


@pytest.mark.usefixtures("never_stuck")
@pytest.mark.parametrize("width", [5, 4])
def test_a_linear_layer_that_runs_last_is_not_taken_for_the_head(width):
    torch.manual_seed(0)
    model = TwoHeads(width)
    (x, y), (x_meta, y_meta) = batch(300, 6), batch(20, 6)
    mixer = MetaMixUp(model, 4, meta=(x_meta, y_meta), lr=0.1)
    for _ in range(12):
        model(mixer(x, y, torch.arange(300)).x)
    assert torch.allclose(mixer.stage.labels.samples.log_p, model(x)[0].log_softmax(1).detach(), atol=1e-4)
    assert mixer.stage.heard > 0.3
    learned = MetaMixUp(model, 4, policy="learned")(x, y, x_meta, y_meta, lr=0.1)
    features = MetaMixUp(model, 4, policy="beta", mix_at="features")(x, y, lr=0.1)
    assert torch.isfinite(learned.lam).all()
    assert features.point.module is model.head


@pytest.mark.usefixtures("never_stuck")
def test_a_model_that_ends_in_no_linear_layer_is_heard_by_its_logits():
    model = nn.Sequential(nn.Conv1d(6, 4, 1), nn.AdaptiveAvgPool1d(1), nn.Flatten())
    mixer, (x, y) = MetaMixUp(model, 4, lr=0.1), batch(300, 6, 5)
    for _ in range(12):
        model(mixer(x, y, torch.arange(300)).x)
    assert mixer.stage.heard > 0.3


def test_a_head_that_is_replaced_in_mid_run():
    model, index = TwoHeads(), torch.arange(30)
    model.forward = lambda x: model.head(torch.tanh(model.body(x)))
    mixers = [MetaMixUp(model, 4, lr=0.1, mix_at=point) for point in ("input", "features")]
    for mixer in mixers:
        mixer(*batch(30, 6), index).outputs(model)
    del model.head
    model.fresh = nn.Linear(8, 4)
    model.forward = lambda x: model.fresh(torch.tanh(model.body(x)))
    for mixer in mixers:
        for _ in range(3):
            mixed = mixer(*batch(30, 6), index)
            assert mixed.outputs(model).shape == (30, 4)
    assert mixed.point.module is model.fresh


def test_no_batch_stays_alive_in_the_mixer():
    model = nn.Linear(6, 4)
    mixer, (x, y) = MetaMixUp(model, 4, lr=0.1), batch(300, 6)
    mixed = mixer(x, y, torch.arange(300))
    model(mixed.x)
    gone = weakref.ref(mixed.x)
    del x, mixed
    gc.collect()
    assert gone() is None


@pytest.mark.parametrize("width", [4, 5])
@pytest.mark.parametrize("policy", ["trust", "learned", "persistent"])
def test_two_mixers_on_two_heads_are_as_each_is_alone(policy, width):
    """The model stays as it is here, so one mixer must not see that there is another."""
    torch.manual_seed(0)
    model, (x, y), other = TwoHeads(width), batch(24, 6), torch.randint(0, width, (24,))

    def mixer(head: int) -> MetaMixUp:
        labels, classes = ((y, 4), (other, width))[head]
        loss = lambda outputs, targets: cross_entropy(outputs[head], targets)  # noqa: E731
        return MetaMixUp(model, classes, meta=(x, labels), lr=0.1, policy=policy, loss=loss)

    def steps(*heads: int) -> list[torch.Tensor]:
        mixers, blends = {head: mixer(head) for head in heads}, []
        for _ in range(4):
            for head, one in mixers.items():
                mixed = one(x, (y, other)[head], torch.arange(24))
                model(mixed.x)
                blends += [mixed.x, mixed.y] if head == heads[-1] else []
        return blends

    for alone, beside in ((steps(1), steps(0, 1)), (steps(0), steps(1, 0))):
        assert all(torch.equal(a, b) for a, b in zip(alone, beside, strict=True))
