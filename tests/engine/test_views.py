import pytest
import torch
from torch import nn

from metamixup.engine.evaluate import EvaluationSet, evaluate, predict
from metamixup.engine.runtime import Runtime
from metamixup.engine.views import views

IMAGES = torch.rand(4, 1, 5, 5, generator=torch.Generator().manual_seed(0))


@pytest.mark.parametrize(("kind", "count"), [("plain", 1), ("flip", 2), ("shift", 3), ("flip+shift", 6)])
def test_weights_sum_to_one_and_the_first_view_is_the_image(kind, count):
    found = list(views(IMAGES, kind))
    assert len(found) == count
    assert sum(weight for weight, _ in found) == pytest.approx(1)
    assert all(view.shape == IMAGES.shape for _, view in found)
    assert torch.equal(found[0][1], IMAGES)


def test_shifts_go_one_pixel_to_both_sides_with_reflection():
    _, (_, down), (_, up) = views(IMAGES, "shift")
    assert torch.equal(down[..., 1:, 1:], IMAGES[..., :-1, :-1])
    assert torch.equal(down[..., 0, 1:], IMAGES[..., 1, :-1])
    assert torch.equal(up[..., :-1, :-1], IMAGES[..., 1:, 1:])


def test_the_error_over_views_stands_beside_the_plain_one():
    torch.manual_seed(0)
    model, runtime = nn.Sequential(nn.Flatten(), nn.Linear(25, 3)), Runtime(threads=1, device="cpu")
    labels = torch.tensor([0, 1, 2, 0])

    def batches(rank=0, world=1):
        yield IMAGES, labels

    plain = evaluate(model, EvaluationSet("test", batches), runtime)
    both = evaluate(model, EvaluationSet("test", batches, "flip"), runtime)
    assert "error_views" not in plain
    assert {key: value for key, value in both.items() if key != "error_views"} == plain
    logits, _ = predict(model, EvaluationSet("test", batches), runtime, "flip")
    torch.testing.assert_close(logits, (model(IMAGES) + model(IMAGES.flip(3))).detach() / 2)
    assert both["error_views"] == pytest.approx(100 * float((logits.argmax(1) != labels).float().mean()))
