"""Test error of MetaMixUp+APL by σ_d, by which the threshold of pseudo-labels falls (Section IV-D)."""

from metamixup.analysis.records import Records
from metamixup.analysis.sweep import Sweep

DROPS = (0.01, 0.05, 0.1, 0.2)
# The paper's table of σ_d, by data set and number of labels.
_PUBLISHED = {
    ("cifar10", 4000): dict(zip(DROPS, (11.84, 11.50, 11.22, 11.98), strict=True)),
    ("svhn", 1000): dict(zip(DROPS, (5.94, 5.34, 5.55, 5.67), strict=True)),
}


def published(run: Records) -> dict[float, float]:
    return _PUBLISHED.get((run.setting("data"), run.setting("ssl.labels")), {})


SIGMA = Sweep("sigma", "ssl.sigma_drop", "Sensitivity to σ_d", "σ_d", published)
