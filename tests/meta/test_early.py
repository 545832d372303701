import pytest
import torch
from meta.networks import Problem, relative_error
from meta.test_head import in_stage
from torch import nn

from metamixup.meta import Head
from metamixup.meta.early import find


class Skipping(nn.Module):
    """What the pooling loses comes back by a second way."""

    def __init__(self):
        super().__init__()
        self.pool, self.norm = nn.AvgPool2d(2), nn.Identity()
        self.hidden, self.out = nn.Linear(2 * 4 + 50, 20), nn.Linear(20, 3)

    def forward(self, x):
        return self.out(self.hidden(torch.cat([self.pool(x).flatten(1), self.norm(x).flatten(1)], 1)))


@pytest.mark.parametrize(
    ("model", "place"),
    [
        (nn.Sequential(nn.Conv2d(2, 8, 1), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.ReLU(), nn.Linear(32, 3)), "2"),
        (nn.Sequential(nn.Conv2d(2, 2, 1), nn.ReLU(), nn.Flatten(), nn.Linear(50, 3)), None),
        (nn.Sequential(nn.Flatten(), nn.Linear(50, 20), nn.ReLU(), nn.Linear(20, 3)), "1"),
        (Skipping(), None),
    ],
    ids=["pooling", "only the end is smaller", "a linear layer", "a way around it"],
)
def test_the_first_place_where_all_of_a_sample_is_smaller(model, place):
    assert find(model, lambda net: net(torch.randn(3, 2, 5, 5))) == place


def test_a_module_that_is_called_twice_is_no_place():
    pool = nn.MaxPool2d(2, 1)
    model = nn.Sequential(pool, nn.Conv2d(2, 2, 1), pool, nn.Flatten(), nn.ReLU(), nn.ReLU(), nn.ReLU())
    assert find(model, lambda net: net(torch.randn(3, 2, 5, 5))) != "0"


def test_blending_after_a_linear_layer_is_blending_at_the_input():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Flatten(), nn.Linear(50, 20), nn.Tanh(), nn.Linear(20, 3)).double()
    early = in_stage(Head(blend="early", memory=0.0), Problem(), model)
    assert relative_error(early, in_stage(Head(memory=0.0), Problem(), model)) < 1e-9


def test_without_a_place_the_input_is_blended():
    model = Skipping().double()
    early = in_stage(Head(blend="early", memory=0.0), Problem(), model)
    assert relative_error(early, in_stage(Head(memory=0.0), Problem(), model)) < 1e-9
