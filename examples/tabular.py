"""Tables: three classification sets and one of regression that scikit-learn brings along.

python examples/tabular.py            # five seeds, about two minutes on one core
python examples/tabular.py --quick
"""

from dataclasses import replace

import torch
from comparison import Pair, Task, main
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_wine
from torch import nn
from torch.nn.functional import mse_loss


def split(load, train_rows: int):
    """A function of the seed: standardised (train, test) parts of a bundled set."""
    features, targets = load(return_X_y=True)
    x, y = torch.tensor(features, dtype=torch.float32), torch.tensor(targets)
    regression = load is load_diabetes

    def draw(seed: int) -> tuple[Pair, Pair]:
        order = torch.randperm(len(x), generator=torch.Generator().manual_seed(seed))
        train, test = order[:train_rows], order[train_rows:]
        scaled = (x - x[train].mean(0)) / x[train].std(0).clamp_min(1e-6)
        target = ((y - y[train].mean()) / y[train].std()).float()[:, None] if regression else y
        return (scaled[train], target[train]), (scaled[test], target[test])

    return draw


def mlp(inputs: int, outputs: int):
    def make() -> nn.Module:
        layers = [nn.Linear(inputs, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, outputs)]
        return nn.Sequential(*layers)

    return make


DIGITS = Task("digits as a table, 300 rows", split(load_digits, 300), mlp(64, 10), num_classes=10)
TASKS = [
    Task("breast cancer, 200 rows", split(load_breast_cancer, 200), mlp(30, 2), num_classes=2),
    Task("wine, 60 rows", split(load_wine, 60), mlp(13, 3), num_classes=3),
    DIGITS,
    replace(DIGITS, name="the same, 40 % wrong labels", wrong=0.4),
    # TrustMix judges classes: for another loss `MetaMixUp` takes the paper's method, stepping on the logit.
    Task(
        "diabetes, 200 rows, regression; MetaMixUp on the logit in place of TrustMix",
        split(load_diabetes, 200),
        mlp(10, 1),
        num_classes=None,
        loss=mse_loss,
    ),
]

if __name__ == "__main__":
    main(TASKS)
