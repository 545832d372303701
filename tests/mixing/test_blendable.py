"""Losses that take blended targets, and those that do not."""

from functools import partial

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from metamixup.errors import UserError
from metamixup.mixing.blendable import is_cross_entropy, require_blendable

LOGITS, TARGETS = torch.randn(6, 4, requires_grad=True), torch.softmax(torch.randn(6, 4), 1)


@pytest.mark.parametrize(
    "loss",
    [
        F.cross_entropy,
        nn.CrossEntropyLoss(weight=torch.ones(4), label_smoothing=0.1),
        F.binary_cross_entropy_with_logits,
        nn.MultiLabelSoftMarginLoss(),
        F.mse_loss,
        F.l1_loss,
        nn.HuberLoss(),
        nn.PoissonNLLLoss(),
        lambda z, t: F.kl_div(z.log_softmax(1), t, reduction="batchmean"),
    ],
    ids=lambda loss: getattr(loss, "__name__", type(loss).__name__),
)
def test_takes_losses_that_are_smooth_in_their_targets(loss):
    require_blendable(loss, LOGITS, TARGETS)
    (grad,) = torch.autograd.grad(LOGITS.sum(), LOGITS)  # the graph of the outputs is still there
    assert grad.shape == LOGITS.shape


@pytest.mark.parametrize(
    ("loss", "message"),
    [
        (F.nll_loss, "nll_loss does not take blended targets"),
        (F.multi_margin_loss, "does not take blended targets"),
        (F.soft_margin_loss, "soft_margin_loss does not take blended targets"),
        (lambda z, t: F.cross_entropy(z, t.argmax(1)), "threshold or an argmax"),
        (lambda z, t: F.binary_cross_entropy_with_logits(z, (t > 0.5).float()), "threshold or an argmax"),
        (F.hinge_embedding_loss, "threshold or an argmax"),
        (nn.MSELoss(reduction="none"), r"gives \(6, 4\), not one number"),
        (lambda z, t: F.mse_loss(z @ t, t), "does not take blended targets"),
    ],
)
def test_says_why_a_loss_cannot_be_used(loss, message):
    with pytest.raises(UserError, match=message):
        require_blendable(loss, LOGITS, TARGETS)


def test_a_cross_entropy_is_known_in_all_its_forms():
    weighted = nn.CrossEntropyLoss(weight=torch.ones(4), label_smoothing=0.1)
    assert all(map(is_cross_entropy, (F.cross_entropy, weighted, partial(F.cross_entropy, label_smoothing=0.1))))
    assert not any(map(is_cross_entropy, (F.mse_loss, nn.NLLLoss(), lambda z, t: F.cross_entropy(z, t))))
