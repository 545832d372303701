"""The embedded default: scikit-learn's 1,797 handwritten digits of 8×8 pixels, no download needed."""

import torch

from metamixup.data.images import DataSet, ImageSet, statistics
from metamixup.data.splits import stratified_test

TEST_SHARE = 0.25
SPLIT_SEED = 0


def load_digits() -> DataSet:
    from sklearn.datasets import load_digits as digits

    found = digits()
    # The source counts ink from 0 to 16.
    images = torch.from_numpy(found.images).mul(255 / 16).round().to(torch.uint8).unsqueeze(1)
    labels = torch.from_numpy(found.target).long()
    train, test = stratified_test(labels, 10, TEST_SHARE, SPLIT_SEED)
    mean, std = statistics(images[train])
    return DataSet(
        "digits",
        ImageSet(images[train], labels[train]),
        ImageSet(images[test], labels[test]),
        classes=tuple("0123456789"),
        mean=mean,
        std=std,
        flips=False,
        meta_per_class=10,
    )
