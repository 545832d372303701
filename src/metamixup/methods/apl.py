"""Asynchronous Pseudo-Labelling (Section III-C): Pseudo-Label whose threshold falls as the network learns."""

from metamixup.methods.method import Batch
from metamixup.methods.pseudo_label import PseudoLabel
from metamixup.methods.ramp import Ramp


def period_of(every: float, epochs: int, reference: int) -> float:
    """K epochs as a share of the run. K belongs to a run of `reference` epochs and shrinks with a shorter one, so
    that APL never silently equals Pseudo-Label."""
    return every / max(epochs, reference)


class APL(PseudoLabel):
    """sigma: σ_0; drop: σ_d; period: K as a share of the run (the paper: 30 of 200 epochs)."""

    def __init__(
        self,
        sigma: float = 0.95,
        drop: float = 0.05,
        period: float = 30 / 200,
        weight: float = 1.0,
        ramp: Ramp | None = None,
    ):
        super().__init__(sigma, weight, ramp)
        if drop < 0:
            raise ValueError(f"σ_d is at least 0, not {drop}")
        if period <= 0:
            raise ValueError(f"σ falls after a share of the run above 0, not {period}")
        self.drop, self.period = drop, period

    def threshold(self, batch: Batch) -> float:
        # lines 4–6: σ ← σ − σ_d every K epochs. The tiny term: a progress of 30/200 may come out just below it.
        drops = int(batch.progress / self.period + 1e-9)
        return max(0.0, self.sigma - self.drop * drops)
