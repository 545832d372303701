"""The recipe of docs/how-to/accelerate.md on accelerate itself: prepared models, optimizers and loaders."""

import pytest
import torch
from accelerate import Accelerator
from accelerate.state import AcceleratorState
from torch import nn
from torch.nn.functional import cross_entropy
from torch.utils.data import DataLoader, TensorDataset

from metamixup import MetaMixUp


@pytest.fixture(autouse=True)
def _fresh_state():
    AcceleratorState._reset_state(reset_partial_state=True)
    yield
    AcceleratorState._reset_state(reset_partial_state=True)


@pytest.mark.parametrize("precision", ["no", "bf16"])
@pytest.mark.parametrize("mix_at", ["input", "features"])
def test_prepared_objects_accumulated_steps_and_precision(precision, mix_at):
    torch.manual_seed(0)
    accelerator = Accelerator(cpu=True, mixed_precision=precision, gradient_accumulation_steps=2)
    centres = 3 * torch.randn(3, 6)
    y = torch.arange(96) % 3
    data = TensorDataset(centres[y] + torch.randn(96, 6), y)
    model = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 3))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.2)
    model, optimizer, train, meta = accelerator.prepare(
        model, optimizer, DataLoader(data, batch_size=16, shuffle=True), DataLoader(data, batch_size=16)
    )
    mixer = MetaMixUp(accelerator.unwrap_model(model), num_classes=3, mix_at=mix_at)
    for _ in range(10):
        for (x, y), (x_meta, y_meta) in zip(train, meta, strict=True):
            with accelerator.accumulate(model):
                mixed = mixer(x, y, x_meta, y_meta, lr=optimizer)
                accelerator.backward(cross_entropy(mixed.outputs(model), mixed.y))
                optimizer.step()
                optimizer.zero_grad()
    x, y = data.tensors
    assert (model(x).argmax(1) == y).float().mean() > 0.9
