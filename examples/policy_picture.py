"""A picture of a learned policy: how far TrustMix comes to trust right and wrong labels while it trains.

python examples/policy_picture.py --out docs/images/policy.svg
python examples/policy_picture.py --quick --out policy.svg
"""

import argparse
from pathlib import Path

import torch
from sklearn.datasets import load_digits
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from metamixup import MetaMixUp

WRONG = 0.4


def learn(epochs: int) -> tuple[Tensor, Tensor]:
    """Trust in every training label after every epoch, (epochs, N), and which labels are wrong, (N,)."""
    digits, labels = load_digits(return_X_y=True)
    x, y = torch.tensor(digits, dtype=torch.float32) / 16, torch.tensor(labels)
    generator = torch.Generator().manual_seed(0)
    order = torch.randperm(len(x), generator=generator)
    train, meta = order[100:], order[:100]
    wrong = torch.rand(len(x), generator=generator) < WRONG
    given = torch.where(wrong, (y + torch.randint(1, 10, y.shape, generator=generator)) % 10, y)
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 10))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    mixer = MetaMixUp(model, num_classes=10)
    seen = []
    for _ in range(epochs):
        for rows in train[torch.randperm(len(train))].split(64):
            mixed = mixer(x[rows], given[rows], x[meta], y[meta], lr=optimizer, index=rows)
            optimizer.zero_grad()
            cross_entropy(model(mixed.x), mixed.y).backward()
            optimizer.step()
        seen.append(mixer.trust(train))
    return torch.stack(seen), wrong[train]


def draw(trust: Tensor, wrong: Tensor, out: Path) -> None:
    import matplotlib

    matplotlib.use("svg")
    import matplotlib.pyplot as plt

    plt.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "metamixup", "font.size": 10})
    figure, (course, final) = plt.subplots(1, 2, figsize=(8, 2.6), layout="constrained")
    for name, chosen, colour in (("right", ~wrong, "#3949ab"), ("wrong", wrong, "#e65100")):
        course.plot(range(1, len(trust) + 1), trust[:, chosen].mean(1), color=colour, label=f"{name} labels")
        final.hist(trust[-1, chosen].numpy(), bins=20, range=(0, 1), alpha=0.75, color=colour, label=f"{name} labels")
    course.set(xlabel="epoch", ylabel="mean trust", ylim=(0, 1.02), title="While training")
    final.set(xlabel="trust", ylabel="samples", title="In the end")
    for axes in (course, final):
        axes.spines[["top", "right"]].set_visible(False)
        axes.legend(frameon=False)
    figure.savefig(out, metadata={"Date": None})


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--quick", action="store_true", help="two epochs")
    options = parser.parse_args()
    torch.set_num_threads(1)
    trust, wrong = learn(2 if options.quick else 30)
    draw(trust, wrong, options.out)
    print(f"mean trust: right labels {trust[-1, ~wrong].mean():.2f}, wrong labels {trust[-1, wrong].mean():.2f}")


if __name__ == "__main__":
    main()
