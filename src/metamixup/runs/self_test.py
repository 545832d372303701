"""Does the method work on this machine? The meta-gradient against differences, and a short training on digits."""

import time
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, one_hot

from metamixup import data, models
from metamixup.data.stream import Normalise
from metamixup.meta import Exact
from metamixup.mixer import MetaMixUp
from metamixup.mixing import Mixture, soft_cross_entropy
from metamixup.network import Net
from metamixup.seeding import derived_generator

GRADIENT_TOLERANCE = 1e-5
ENOUGH, SECONDS, BATCH = 0.5, 3.0, 64  # error that a few seconds of training must get below


@dataclass(frozen=True)
class SelfTest:
    """gradient_error: of ∇λ, relative; error: share of digits told wrong after `steps` steps."""

    gradient_error: float
    steps: int
    steps_per_second: float
    error: float

    @property
    def passed(self) -> bool:
        return self.gradient_error < GRADIENT_TOLERANCE and self.error < ENOUGH


def self_test() -> SelfTest:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return SelfTest(gradient_error(), *short_training())


def gradient_error() -> float:
    """Of the exact meta-gradient of a small network, against central differences in float64."""
    model, eta = nn.Sequential(nn.Linear(5, 6), nn.Tanh(), nn.Linear(6, 3)).double(), 0.5
    x, x_meta, lam = torch.randn(4, 5).double(), torch.randn(4, 5).double(), torch.rand(4).double()
    labels, partner = one_hot(torch.tensor([0, 1, 2, 0]), 3).double(), torch.tensor([1, 2, 3, 0])
    names = [name for name, _ in model.named_parameters()]

    def loss(net: Net, mixture: Mixture) -> Tensor:
        return soft_cross_entropy(net(mixture.inputs(x)), mixture.labels(labels))

    def ahead(lam: Tensor) -> Tensor:
        grads = torch.autograd.grad(loss(model, Mixture(lam, partner)), list(model.parameters()))
        theta = {n: p - eta * g for n, p, g in zip(names, model.parameters(), grads, strict=True)}
        return soft_cross_entropy(torch.func.functional_call(model, theta, (x_meta,)), labels)

    rates = dict.fromkeys(names, eta)
    found = Exact()(model, loss, lambda net: soft_cross_entropy(net(x_meta), labels), Mixture(lam, partner), rates)
    steps = 1e-5 * torch.eye(4, dtype=torch.float64)
    central = torch.stack([(ahead(lam + step) - ahead(lam - step)) / 2e-5 for step in steps]).detach()
    return float((found - central).norm() / central.norm())


def short_training() -> tuple[int, float, float]:
    """(steps, steps a second, error) of a small network with learned mixing, in about three seconds."""
    digits = data.load("digits")
    normalise = Normalise(digits.mean, digits.std, digits.train.images)
    x, y = normalise(digits.train.images), digits.train.labels
    model = models.build("cnn-bn", digits.num_classes, digits.shape[0], digits.shape[1:])
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    mixer = MetaMixUp(model, digits.num_classes)
    started, steps = time.perf_counter(), 0
    while steps < 20 or (steps < 200 and time.perf_counter() - started < SECONDS):
        rows = torch.randperm(len(x), generator=derived_generator(0, "self-test", steps))
        train, meta = rows[:BATCH], rows[-BATCH:]
        mixed = mixer(x[train], y[train], x[meta], y[meta], lr=optimizer)
        optimizer.zero_grad()
        cross_entropy(model(mixed.x), mixed.y).backward()
        optimizer.step()
        steps += 1
    speed = steps / (time.perf_counter() - started)
    with torch.no_grad():
        wrong = model.eval()(normalise(digits.test.images)).argmax(1) != digits.test.labels
    return steps, speed, float(wrong.float().mean())
