"""Warns when the meta set is being learned by heart: its loss falls away from the training loss."""

from collections.abc import Mapping

FALLEN = 0.25  # of the share of the training loss that the meta loss was at first


class Monitor:
    """Sees the scores of each evaluated epoch. With wrong training labels the meta loss is the lower one from the
    start, so what counts is how the ratio of the two changes."""

    def __init__(self) -> None:
        self.first: float | None = None
        self.warned = False

    def see(self, scores: Mapping[str, float]) -> str | None:
        """A warning, once a run, or nothing."""
        train, meta = scores.get("train_nll"), scores.get("meta_nll")
        if not train or meta is None or train <= 0 or self.warned:
            return None
        ratio = meta / train
        self.first = ratio if self.first is None else self.first
        if ratio > FALLEN * self.first:
            return None
        self.warned = True
        return (
            f"the meta loss has fallen to {meta:.3g} while the training loss is {train:.3g}: the meta set is being "
            "overfitted. A larger one (meta.per_class), or a smaller policy.step_size or policy.rate, helps"
        )
