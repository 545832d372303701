import torch

from metamixup.methods.method import Batch
from metamixup.methods.supervised import Supervised
from metamixup.mixing import Mixture


def test_smoothing_spreads_a_share_of_every_label():
    batch = Batch(torch.randn(4, 3), torch.eye(3)[torch.tensor([0, 1, 2, 0])])
    unmixed = Mixture(torch.ones(4), torch.arange(4))
    ours = Supervised(smoothing=0.1).loss(lambda x: 2 * x, batch, unmixed)["supervised"]
    reference = torch.nn.functional.cross_entropy(2 * batch.x, batch.y.argmax(1), label_smoothing=0.1)
    torch.testing.assert_close(ours, reference)


def test_the_loss_is_linear_in_lambda_for_fixed_inputs():
    """ℓ(λx_i + (1−λ)x_j, λy_i + (1−λ)y_j) with x_i = x_j is the blend of the two losses."""
    x = torch.randn(1, 3).expand(2, 3)
    batch = Batch(x, torch.eye(3)[:2])
    losses = [
        Supervised().loss(lambda x: x, batch, Mixture(torch.full((2,), lam), torch.tensor([1, 0])))["supervised"]
        for lam in (0.0, 0.25, 1.0)
    ]
    torch.testing.assert_close(losses[1], 0.75 * losses[0] + 0.25 * losses[2])
