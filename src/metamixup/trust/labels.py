"""What is known of the training labels: the network's predictions of every sample so far, which labels are right by
these, and what the others should be."""

import warnings
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import one_hot

from metamixup.mixing import Pairs
from metamixup.trust.blend import label_columns
from metamixup.trust.division import Division
from metamixup.trust.memory import WIDE, CleanMemory, PredictionMemory
from metamixup.trust.suspects import Suspect, most_suspicious, taken_for_wrong

FIRST_LOOKS = 2  # at each sample before labels are divided: once distrusted, one judged in haste gets no second hearing
FEW_AGAIN, MIXED_UP = 100, 0.1  # samples that came up again: enough to tell, and the share with other labels that tells
PARTS = ("samples", "clean", "division")  # of the state


class Labels:
    """rate: of the running predictions, in (0, 1].

    Holds samples, clean: predictions of the training samples and of the meta set; division: of right labels from wrong
    ones; looks: at samples, since the labels were divided last; warned: of samples that are mixed up.
    """

    def __init__(self, rate: float):
        self.samples, self.clean, self.division = PredictionMemory(rate), CleanMemory(rate), Division()
        self.looks, self.warned = 0.0, False

    def follow(self, device: torch.device) -> None:
        """To where the samples are: a state may have been loaded elsewhere."""
        for memory in (self.samples, self.clean):
            memory.follow(device)

    def learn(self, index: Tensor | None, log_p: Tensor, labels: Tensor, looked: float = 1.0) -> None:
        """What the network says of samples; each counts as so many looks. index, labels: (n,); log_p: (n, K)."""
        self.samples.learn(index, log_p, labels)
        self.looks += looked * len(log_p)

    def learn_clean(self, index: Tensor | None, log_p: Tensor, labels: Tensor, seen: int) -> None:
        """The same of meta images, in a step that saw `seen` training samples."""
        if index is None:
            self.clean.learn(None, log_p, labels)
        else:
            self.clean.learn_in_turn(index, log_p, labels, seen, self.samples.count)

    def divide(self, numbered: int) -> None:
        """Once all samples have been looked at twice, and whenever half of them have been again. numbered: how many
        there are with an index."""
        room = numbered + len(self.samples.recent_labels)
        if self.looks >= room * (FIRST_LOOKS if self.division.fit is None else 0.5):
            log_p, labels = self.samples.known
            self.division.learn(log_p, labels, self.clean.known)
            self.looks = 0
            self._warn_of_mixed_up_samples()

    def posterior(self, pairs: Pairs, seen: Tensor | None = None) -> Tensor | None:
        """P(true class | sample, label), (B, K); the label itself for a sample that has not been judged. None while
        labels are not divided.

        seen: (≤ B, K) predictions for the first samples, used where they come without an index.
        """
        if self.division.fit is None:
            return None
        columns = label_columns(pairs.labels)
        log_p = pairs.labels.new_zeros(len(columns), min(pairs.labels.shape[1], WIDE), dtype=torch.float32)
        judged = torch.zeros(len(columns), dtype=torch.bool, device=columns.device)
        if pairs.index is not None:
            log_p, judged = self.samples.of(pairs.index, log_p.shape[1])
        elif seen is not None:
            finite = seen.isfinite().all(1)
            log_p[: len(seen)], judged[: len(seen)] = torch.where(finite[:, None], seen, 0), finite
        label = one_hot(columns, log_p.shape[1]).to(log_p)
        return torch.where(judged[:, None], self.division.posterior(log_p, columns), label)

    def trust(self, pairs: Pairs, seen: Tensor | None = None) -> Tensor:
        """(B,) the probability that each label is right; 1 for a sample that has not been judged."""
        truth = self.posterior(pairs, seen)
        if truth is None:
            return torch.ones(len(pairs.labels), device=pairs.partner.device)
        return truth.gather(1, label_columns(pairs.labels)[:, None])[:, 0]

    def trust_of(self, index: Tensor) -> Tensor:
        """(n,) the probability that the labels of these training samples are right; 1 for one that was not judged."""
        if self.division.fit is None or not len(self.samples.visits):
            return torch.ones(len(index), device=index.device)
        asked = index.to(self.samples.visits.device)
        log_p, judged = self.samples.of(asked, self.samples.log_p.shape[1])
        labels = self.samples.labels[torch.where(judged, asked, 0)]
        right = self.division.posterior(log_p, labels).gather(1, labels[:, None])[:, 0]
        return torch.where(judged, right, 1.0).to(index.device)

    def suspects(self, k: int) -> list[Suspect]:
        """The k training samples whose labels are most likely wrong, the worst first."""
        return most_suspicious(self.samples, self.division, k)

    def taken_for_wrong(self) -> list[Suspect]:
        """Those that distrust takes for wrong, the worst first."""
        return taken_for_wrong(self.samples, self.division)

    def _warn_of_mixed_up_samples(self) -> None:
        again, other = int(self.samples.met_again), int(self.samples.relabelled)
        if self.warned or again < FEW_AGAIN or other <= MIXED_UP * again:
            return
        self.warned = True
        warnings.warn(
            f"of {again} samples that came up again {other} had another label than before under the same index, so "
            "trust is in a muddle of samples. An index is the place of a sample in the whole training set, as "
            "metamixup.Indexed(dataset) gives it, not in the batch; and batches of a validation set are for the model "
            "alone, not for the mixer",
            stacklevel=2,
        )

    def columns_in(self, state: dict[str, Any]) -> set[int]:
        """How many columns the predictions of a state have."""
        tables = [state[name][kind] for name in ("samples", "clean") for kind in ("log_p", "recent_log_p")]
        return {table.shape[1] for table in tables if len(table)}

    def state_dict(self) -> dict[str, Any]:
        return {**{name: getattr(self, name).state_dict() for name in PARTS}, "looks": self.looks}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        for name in PARTS:
            getattr(self, name).load_state_dict(state[name])
        self.looks = float(state["looks"])
