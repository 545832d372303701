"""How many guesses for unlabelled samples are used and how many of those are right. For the record only: the engine
passes every prepared batch to `see`, and no method has access to the hidden labels kept here."""

from collections import Counter

import torch
from torch import Tensor

from metamixup import world
from metamixup.methods.method import Batch


class GuessStudy:
    """hidden: (N,) the true class by `u_index`, −1 where nobody knows it; None: only shares are recorded."""

    def __init__(self, hidden: Tensor | None):
        self._hidden = hidden
        self._counts: Counter[str] = Counter()

    def see(self, batch: Batch) -> None:
        """After `prepare`."""
        if batch.guesses is None:
            return
        used = torch.ones(len(batch.guesses), dtype=torch.bool)
        if batch.mask is not None:
            used = batch.mask.bool().cpu()
            self._counts.update(seen=len(used), above=int(used.sum()))
        if self._hidden is not None and batch.u_index is not None:
            truth = self._hidden[batch.u_index.cpu()]
            used = used & (truth >= 0)
            right = batch.guesses.argmax(1).cpu() == truth
            self._counts.update(guessed=int(used.sum()), right=int(right[used].sum()))

    def collect(self) -> None:
        """The counts of all processes go to the one that leads."""
        names = ("seen", "above", "guessed", "right")
        counts = world.total(torch.tensor([self._counts[name] for name in names]))
        self._counts = Counter(dict(zip(names, counts.tolist(), strict=True)) if world.leads() else {})

    def records(self) -> dict[str, float]:
        """Of the samples since the last reading: the share above σ, and how many of the guesses used are right."""
        counts, self._counts = self._counts, Counter()
        result = {}
        if counts["seen"]:
            result["share_above_sigma"] = counts["above"] / counts["seen"]
        if counts["guessed"]:
            result["guess_accuracy"] = counts["right"] / counts["guessed"]
        return result

    def state_dict(self) -> dict[str, int]:
        return dict(self._counts)

    def load_state_dict(self, state: dict[str, int]) -> None:
        self._counts = Counter(state)
