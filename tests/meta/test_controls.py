import pytest
import torch
from torch import nn
from torch.nn.functional import mse_loss

from metamixup import MetaMixUp
from metamixup.errors import UserError
from metamixup.meta import Exact, MetaStage, Replay, Reverse, Shuffle, make_stage
from metamixup.mixing import Mixture, Pairs, soft_cross_entropy, soft_labels
from metamixup.policy import Beta, Fixed, Learned, Persistent, Policy
from metamixup.trust import Trust


class Counting(Policy):
    """Learned, with a state: remembers the sum of gradients and serves it as λ."""

    learned = True

    def __init__(self):
        self.level = 0.5

    def draw(self, pairs, generator):
        return torch.full((len(pairs.partner),), self.level)

    def refine(self, lam, grad, pairs):
        self.level = min(1.0, max(0.0, self.level - float(grad.mean())))
        return lam

    def state_dict(self):
        return {"level": self.level}

    def load_state_dict(self, state):
        self.level = state["level"]


def stage_mixture(policy: Policy, seed: int = 0) -> Mixture:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(5, 8), nn.Tanh(), nn.Linear(8, 3))
    x, y = torch.randn(12, 5), soft_labels(torch.arange(12) % 3, 3)
    generator = torch.Generator().manual_seed(seed)
    pairs = Pairs(torch.randperm(12, generator=generator), y)
    return MetaStage(policy, Exact())(
        model,
        lambda net, m: soft_cross_entropy(net(m.inputs(x)), m.labels(y)),
        lambda net: soft_cross_entropy(net(x + 0.1), y),
        pairs,
        {name: 0.1 for name, _ in model.named_parameters()},
        generator,
    )


def test_reverse_takes_the_same_step_the_other_way():
    lam, grad = torch.linspace(0.2, 0.8, 20), torch.randn(20)
    pairs = Pairs(torch.arange(20), torch.eye(20))
    policy = Learned(step_size=0.01, projection="clip")
    forward, backward = policy.refine(lam, grad, pairs), Reverse(policy).refine(lam, grad, pairs)
    torch.testing.assert_close(forward + backward, 2 * lam)


def test_shuffle_serves_the_learned_lam_to_other_pairs():
    plain, shuffled = stage_mixture(Learned(step_size=3.0)), stage_mixture(Shuffle(Learned(step_size=3.0)))
    assert torch.equal(plain.partner, shuffled.partner)
    assert not torch.equal(plain.lam, shuffled.lam)
    assert torch.equal(plain.lam.sort().values, shuffled.lam.sort().values)


def test_shuffle_learns_as_if_nothing_were_shuffled():
    inner, outer = Counting(), Counting()
    stage_mixture(inner)
    stage_mixture(Shuffle(outer))
    assert inner.level == outer.level != 0.5


def test_replay_serves_a_final_state_and_never_learns():
    policy = Replay(Counting(), {"level": 0.875})
    assert not policy.learned
    mixture = MetaStage(policy)(None, None, None, Pairs(torch.arange(4), torch.eye(4)), {}, torch.Generator())
    assert mixture.lam.tolist() == [0.875] * 4
    assert policy.state_dict() == {"level": 0.875}


def test_a_controls_state_is_the_policys():
    reverse = Reverse(Counting())
    reverse.load_state_dict({"level": 0.25})
    assert reverse.state_dict() == {"level": 0.25} == reverse.policy.state_dict()


@pytest.mark.parametrize("plain", [Beta(1.0), Fixed(0.3)])
@pytest.mark.parametrize("control", [Reverse, Shuffle, lambda p: Replay(p, {})])
def test_policies_that_learn_nothing_have_no_controls(plain, control):
    with pytest.raises(ValueError, match="learns nothing"):
        control(plain)


def test_a_control_forwards_all_that_a_policy_declares():
    declared = [name for name in vars(Policy) if not name.startswith("_") and not callable(getattr(Policy, name))]
    assert {"learned", "by_class", "default_estimator"} <= set(declared)
    for policy in (Learned(), Persistent(), Persistent("data"), Trust()):
        for control in (Reverse, Shuffle):
            assert {n: getattr(control(policy), n) for n in declared} == {n: getattr(policy, n) for n in declared}


def test_targets_without_classes_are_refused_to_a_control_as_to_its_policy():
    with pytest.raises(UserError, match="learns by class"):
        MetaMixUp(nn.Linear(5, 2), None, loss=mse_loss, policy=Reverse(Trust()))


def test_an_estimator_is_not_for_a_stage_that_finds_its_own_evidence():
    for policy in (Trust(), Shuffle(Trust())):
        with pytest.raises(UserError, match="takes no estimator"):
            make_stage(policy, Exact())
