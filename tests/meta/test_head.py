import pytest
import torch
from meta.networks import Problem, relative_error, smooth_net
from torch import nn

from metamixup.errors import UserError
from metamixup.meta import Exact, FiniteDifference, Head, MetaStage, learning_rates
from metamixup.meta.head import GradientMean
from metamixup.mixing import Mixture, Pairs, soft_cross_entropy
from metamixup.policy import CutMix, Learned


@pytest.mark.parametrize("lookahead", [True, False])
@pytest.mark.parametrize("norm", [True, False])
def test_plain_head_equals_exact_restricted_to_the_classifier(lookahead, norm):
    model, problem = smooth_net(norm=norm), Problem()
    eta = learning_rates(model, 0.3)
    args = model, problem.loss, problem.meta_loss, problem.mixture, eta
    restricted = Exact(lookahead, layers=("8",))(*args)
    assert relative_error(Head.plain(lookahead=lookahead)(*args), restricted) < 1e-9
    only = {name: rate for name, rate in eta.items() if name.startswith("8.")}
    assert relative_error(restricted, problem.central_differences(model, only) if lookahead else restricted) < 1e-6


def test_the_classifier_may_be_named_and_weigh_in_with_its_own_rate():
    model, problem = smooth_net(), Problem()
    eta = dict.fromkeys(learning_rates(model, 0.1), 0.5) | {"5.weight": 0.2, "5.bias": 0.0}
    named = Head.plain("5")(model, problem.loss, problem.meta_loss, problem.mixture, eta)
    assert relative_error(named, problem.central_differences(model, {"5.weight": 0.2, "5.bias": 0.0})) < 1e-6


def in_stage(estimator, problem: Problem, model: nn.Module, loss=None, fraction: float = 1.0):
    """The gradient that an estimator finds inside of the meta stage, where features may be blended."""
    found = []

    class Listening(Learned):
        def draw(self, pairs, generator):
            return problem.lam

        def refine(self, lam, grad, pairs):
            found.append(grad)
            return lam

    stage = MetaStage(Listening(), estimator, fraction=fraction)
    pairs = Pairs(problem.partner, problem.y)
    stage(
        model,
        loss or problem.loss,
        problem.meta_loss,
        pairs,
        learning_rates(model, 0.3),
        torch.Generator().manual_seed(0),
    )
    return found[0]


def test_blended_features_are_a_virtual_step_on_the_features_alone():
    model, problem = smooth_net(), Problem()
    grad = in_stage(Head(blend="features", centred=False, memory=0.0), problem, model)
    with torch.no_grad():
        h, h_meta = model[:8](problem.x), model[:8](problem.x_meta)
    on_top = Problem()
    on_top.x, on_top.x_meta = h, h_meta
    eta = learning_rates(model[8], 0.3)
    assert relative_error(grad, on_top.central_differences(model[8], eta)) < 1e-6


def test_centring_is_a_virtual_step_of_the_weight_on_centred_features():
    model, problem = smooth_net(), Problem()

    class Centred(nn.Module):
        """The same function; only the step of the weight acts on centred features."""

        def __init__(self):
            super().__init__()
            self.start = model[8].weight.detach().clone()
            self.weight = nn.Parameter(self.start.clone())

        def forward(self, x):
            h = model[:8](x)
            return model[8](h).detach() * 0 + h @ self.start.T + model[8].bias + (h - h.mean(0)) @ self.delta().T

        def delta(self):
            return self.weight - self.start

    grad = Head(blend="input", memory=0.0)(
        model, problem.loss, problem.meta_loss, problem.mixture, learning_rates(model, 0.3)
    )
    assert relative_error(grad, problem.central_differences(Centred(), {"weight": 0.3})) < 1e-6


def test_a_method_that_takes_its_blends_apart_is_blended_at_the_input():
    def halves(net, mixture):
        blended = mixture.inputs(problem.x)
        logits = torch.cat([net(part) for part in blended.split(4)])
        return soft_cross_entropy(logits, mixture.labels(problem.y))

    model, problem = smooth_net(norm=False), Problem()
    head = Head(blend="features", centred=False, memory=0.0)
    grad = in_stage(head, problem, model, loss=halves)
    assert head.blend == "input"
    assert head.state_dict()["blend"] == "input"
    assert relative_error(grad, in_stage(Head.plain(), problem, model)) < 1e-9


def test_a_method_that_calls_the_network_twice_is_blended_at_the_input():
    def twice(net, mixture):
        blended = mixture.inputs(problem.x)
        return soft_cross_entropy(0.5 * net(blended) + 0.5 * net(problem.x), mixture.labels(problem.y))

    model, problem = smooth_net(norm=False), Problem()
    grad = in_stage(Head(blend="features", centred=False, memory=0.0), problem, model, loss=twice)
    plain = in_stage(Head.plain(), problem, model, loss=twice)
    assert relative_error(grad, plain) < 1e-9


def test_a_part_of_the_batch_is_learned_from():
    model, problem = smooth_net(norm=False), Problem()
    problem.partner = torch.tensor([1, 0, 3, 2, 5, 4, 7, 6])
    half = in_stage(Head(memory=0.0, centred=False), problem, model, fraction=0.5)
    assert half.shape == (4,)
    small = Problem()
    small.x, small.y, small.lam, small.partner = problem.x[:4], problem.y[:4], problem.lam[:4], problem.partner[:4]
    assert relative_error(half, in_stage(Head.plain(), small, model)) < 1e-9
    with pytest.raises(ValueError, match="fraction of the batch"):
        MetaStage(Learned(), Head(), fraction=0.0)


def test_boxes_cannot_wait_for_the_features():
    model, problem = smooth_net(norm=False), Problem()
    boxes = CutMix().mixture(
        problem.lam, Pairs(problem.partner, problem.y, image_size=(5, 5)), torch.Generator().manual_seed(0)
    )
    rates = learning_rates(model, 0.3)
    estimators = Head(blend="features", centred=False, memory=0.0), Head.plain()
    grads = [e(model, problem.loss, problem.meta_loss, boxes, rates) for e in estimators]
    torch.testing.assert_close(*grads, rtol=1e-9, atol=1e-15)
    assert float(grads[0].abs().max()) > 0


def test_memory_adds_the_mean_of_the_gradients_before():
    memory = GradientMean(0.5)
    first, second, third = ({"weight": torch.full((2,), float(k))} for k in (1, 3, 10))
    assert memory(first)["weight"].tolist() == [1, 1]
    assert memory(second)["weight"].tolist() == [4, 4]  # 3, and the mean of 1
    expected = 10 + (0.25 * 1 + 0.5 * 3) / 0.75
    twin = GradientMean(0.5)
    twin.load_state_dict(memory.state_dict())
    for one in (memory, twin):
        torch.testing.assert_close(one(third)["weight"], torch.full((2,), expected))
    assert memory({"weight": torch.ones(5)})["weight"].tolist() == [1] * 5, "another model begins anew"
    assert GradientMean(0.0)(second) is second


def test_memory_is_saved_with_the_stage():
    problem = Problem()

    def steps(stage: MetaStage, model, count: int) -> torch.Tensor:
        for _ in range(count):
            mixture = stage(
                model,
                problem.loss,
                problem.meta_loss,
                Pairs(problem.partner, problem.y),
                learning_rates(model, 0.3),
                torch.Generator().manual_seed(stage.steps),
            )
        return mixture.lam

    whole, first, second = (MetaStage(Learned(), Head()) for _ in range(3))
    expected = steps(whole, smooth_net(), 3)
    steps(first, smooth_net(), 2)
    second.load_state_dict(first.state_dict())
    assert torch.equal(steps(second, smooth_net(), 1), expected)


def test_a_model_without_a_linear_layer_is_told_which_estimators_serve():
    model, problem = nn.Sequential(nn.Conv2d(2, 3, 5), nn.Flatten()).double(), Problem()
    with pytest.raises(UserError, match="'finite_difference' or 'exact'"):
        Head()(model, problem.loss, problem.meta_loss, problem.mixture, learning_rates(model, 0.1))


def test_a_frozen_classifier_is_refused():
    model, problem = smooth_net(), Problem()
    model[8].requires_grad_(False)
    with pytest.raises(UserError, match="'8' is not trained"):
        Head()(model, problem.loss, problem.meta_loss, problem.mixture, learning_rates(model, 0.1))


@pytest.mark.parametrize("wrong", [{"blend": "middle"}, {"memory": 1.0}])
def test_settings_that_make_no_sense_are_refused(wrong):
    with pytest.raises(ValueError, match=r"blended at|memory lies"):
        Head(**wrong)


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.embed, self.qkv, self.norm = nn.Linear(10, 8), nn.Linear(8, 24), nn.LayerNorm(8)
        self.classifier = nn.Linear(8, 3)

    def forward(self, x):
        h = self.embed(x.reshape(len(x), 5, 10))
        q, k, v = (part.reshape(len(x), 5, 2, 4).transpose(1, 2) for part in self.qkv(self.norm(h)).chunk(3, -1))
        attended = nn.functional.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(len(x), 5, 8)
        return self.classifier((h + attended).mean(1))


def test_all_estimators_serve_a_transformer():
    model, problem = Attention().double(), Problem()
    eta = learning_rates(model, 0.3)
    args = model, problem.loss, problem.meta_loss, problem.mixture, eta
    truth = problem.central_differences(model, eta)
    assert relative_error(Exact()(*args), truth) < 1e-6
    assert relative_error(FiniteDifference(step=1e-3)(*args), truth) < 1e-4
    only = {n: r for n, r in eta.items() if n.startswith("classifier")}
    assert relative_error(Head.plain()(*args), problem.central_differences(model, only)) < 1e-6
    assert in_stage(Head(), problem, model).isfinite().all()


def test_mixture_of_the_first_rows_keeps_partners_from_the_whole_batch():
    x = torch.arange(6.0).reshape(6, 1)
    mixture = Mixture(torch.tensor([0.5, 1.0]), torch.tensor([5, 4]))
    assert mixture.inputs(x).flatten().tolist() == [2.5, 1.0]
