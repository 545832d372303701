import pytest
import torch

from metamixup.models import build
from metamixup.models.fast import identity_convolution


def trained_names(model: torch.nn.Module) -> set[str]:
    return {name for name, p in model.named_parameters() if p.requires_grad}


@pytest.mark.parametrize("size", [8, 12])
@pytest.mark.parametrize("channels", [1, 3])
def test_all_but_whitening_and_scales_learn(size, channels):
    torch.manual_seed(0)
    model = build("fast-s", 10, channels, size)
    logits = model(torch.randn(6, channels, size, size))
    logits.square().sum().backward()
    grown = {name for name, p in model.named_parameters() if p.grad is not None and p.grad.abs().sum() > 0}
    assert grown == trained_names(model)
    assert not any(name.startswith("stages.whiten") for name in grown)
    assert sum("bias" in name for name in grown) == 7  # six norms and the classifier


def test_one_model_takes_images_that_grow():
    model = build("fast-s", 10, 3, 32).eval()
    assert [model(torch.zeros(2, 3, n, n)).shape for n in (20, 24, 32)] == [(2, 10)] * 3


def test_a_convolution_begins_as_the_identity_where_it_can():
    x = torch.randn(2, 3, 5, 5)
    torch.testing.assert_close(identity_convolution(3, 5)(x)[:, :3], x)
    torch.testing.assert_close(identity_convolution(3, 2)(x), x[:, :2])


def test_sizes_differ_in_width():
    with torch.device("meta"):
        counts = [sum(p.numel() for p in build(f"fast-{size}", 10, 3, 32).parameters()) for size in "sml"]
    assert counts == sorted(set(counts))
