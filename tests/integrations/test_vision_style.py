"""Loops that bring data and models as torchvision and timm shape them. Neither is installed beside this build of torch,
so their forms stand in: a transformed data set of (image, class), a network with `fc`, one with `get_classifier`."""

import pytest
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy
from torch.utils.data import DataLoader, Dataset

from metamixup import MetaMixUp
from metamixup.mixer.meta_batches import MetaBatches


class VisionStyleDataset(Dataset):
    """As torchvision's: `targets`, `classes` and a `transform` on every image."""

    def __init__(self, n: int, transform=None):
        generator = torch.Generator().manual_seed(n)
        self.targets = [i % 3 for i in range(n)]
        self.data = torch.randint(0, 60, (n, 3, 8, 8), generator=generator, dtype=torch.uint8)
        for image, target in zip(self.data, self.targets, strict=True):
            image[target] += 120
        self.classes, self.transform = ["red", "green", "blue"], transform

    def __len__(self) -> int:
        return len(self.targets)

    def __getitem__(self, i: int) -> tuple[Tensor, int]:
        return self.transform(self.data[i]), self.targets[i]


class Compose:
    def __init__(self, *transforms):
        self.transforms = transforms

    def __call__(self, image):
        for transform in self.transforms:
            image = transform(image)
        return image


class TorchvisionStyle(nn.Module):
    """`layer1`, a pool, and a classifier called `fc`, as its ResNets have them."""

    def __init__(self):
        super().__init__()
        self.layer1 = nn.Sequential(nn.Conv2d(3, 8, 3, bias=False), nn.BatchNorm2d(8), nn.ReLU(inplace=True))
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        self.fc = nn.Linear(8, 3)

    def forward(self, x):
        return self.fc(torch.flatten(self.avgpool(self.layer1(x)), 1))


class TimmStyle(TorchvisionStyle):
    """`forward_features`, `forward_head`, `num_classes` and `get_classifier`, as timm has them."""

    num_classes = 3

    def get_classifier(self):
        return self.fc

    def forward_features(self, x):
        return self.layer1(x)

    def forward_head(self, x, pre_logits=False):
        x = self.avgpool(x).flatten(1)
        return x if pre_logits else self.fc(x)

    def forward(self, x):
        return self.forward_head(self.forward_features(x))


@pytest.mark.parametrize("model_class", [TorchvisionStyle, TimmStyle])
@pytest.mark.parametrize("mix_at", ["input", "features", "layer1"])
def test_a_plain_loop(model_class, mix_at):
    torch.manual_seed(0)
    transform = Compose(lambda image: image.float() / 255, lambda image: (image - 0.4) / 0.2)
    train, held_out = VisionStyleDataset(60, transform), VisionStyleDataset(30, transform)
    model, loader = model_class(), DataLoader(train, batch_size=20, shuffle=True)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.02)
    mixer = MetaMixUp(model, num_classes=len(train.classes), meta=held_out, lr=optimizer, mix_at=mix_at)
    for _ in range(12):
        for images, targets in loader:
            mixed = mixer(images, targets)
            loss = cross_entropy(mixed.outputs(model), mixed.y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    model.eval()
    held = MetaBatches(held_out).next(30)
    assert (model(held.x).argmax(1) == held.y).float().mean() > 0.85
