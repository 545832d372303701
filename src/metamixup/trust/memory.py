"""What the network has said of each sample so far: running predictions, by their index in the training or meta set."""

import math

import torch
from torch import Tensor

RECENT = 2048  # predictions kept where samples come without an index
WIDE = 128  # columns at most; with more classes, classes share columns
SAYS_NO_MORE = -9.0  # a log p beyond which a prediction says nothing more
GAPS = 0.75  # of the samples that would have been met by so many visits if indices had no gaps


TABLES = ("log_p", "labels", "visits", "recent_log_p", "recent_labels")


class PredictionMemory:
    """The running mean of log p for each sample by its index, and the latest of samples that come without one.

    rate: of the running mean; a sample's first predictions are averaged plainly until 1/visits falls below it.
    Holds log_p: (N, K), labels, visits: (N,) by index; recent_log_p, recent_labels: of the latest, (≤ RECENT, …);
    ignored: how many predictions were not finite and left no trace;
    met_again, relabelled: of samples by index that came up again, how many there were, and with another label. Tensors,
    since an answer would be waited for; not a part of the state.
    """

    def __init__(self, rate: float):
        self.rate, self.ignored = rate, 0
        self.met_again, self.relabelled = torch.tensor(0), torch.tensor(0)
        self.log_p, self.recent_log_p = torch.zeros(0, 0), torch.zeros(0, 0)
        self.labels, self.recent_labels = (torch.zeros(0, dtype=torch.int64) for _ in range(2))
        self.visits = torch.zeros(0)

    def learn(self, index: Tensor | None, log_p: Tensor, labels: Tensor) -> None:
        """index, labels: (n,); log_p: (n, K)."""
        finite = log_p.isfinite().all(1)
        self.ignored += int((~finite).sum())
        log_p, labels = log_p[finite].clamp_min(SAYS_NO_MORE), labels[finite]
        if index is None:
            kept = self.recent_log_p.to(log_p.device) if len(self.recent_log_p) else log_p[:0]
            self.recent_log_p = torch.cat([kept, log_p])[-RECENT:]
            self.recent_labels = torch.cat([self.recent_labels.to(labels.device), labels])[-RECENT:]
            return
        index = index[finite]
        if not len(index):  # an empty batch, which says nothing of how wide the tables are
            return
        self.make_room(index, log_p.shape[1])
        visits = self.visits[index]
        again = visits > 0
        self.met_again = self.met_again.to(index.device) + again.sum()
        self.relabelled = self.relabelled.to(index.device) + (again & (self.labels[index] != labels)).sum()
        rate = (1 / (visits + 1)).clamp_min(self.rate)
        self.log_p[index] += rate[:, None] * (log_p - self.log_p[index])
        self.labels[index] = labels
        self.visits[index] += 1

    def make_room(self, index: Tensor, columns: int) -> None:
        """Lengthens the tables so that each index has a row."""
        missing = int(index.max()) + 1 - len(self.visits) if len(index) else 0
        if missing > 0:
            at = index.device
            room = torch.zeros(missing, columns, device=at)
            self.log_p = torch.cat([self.log_p.to(at), room]) if len(self.log_p) else room
            self.labels = torch.cat([self.labels.to(at), torch.zeros(missing, dtype=torch.int64, device=at)])
            self.visits = torch.cat([self.visits.to(at), torch.zeros(missing, device=at)])

    @property
    def count(self) -> int:
        """How many indices have a prediction."""
        return int((self.visits > 0).sum())

    @property
    def size(self) -> int:
        """How many samples there are with an index: as the highest one says, but where indices have gaps, as in a part
        of a larger set, ever the same few come up."""
        indices, met = len(self.visits), self.count
        without_gaps = indices * (1 - math.exp(-float(self.visits.sum()) / indices)) if indices else 0.0
        return indices if met >= GAPS * without_gaps else met

    @property
    def known(self) -> tuple[Tensor, Tensor]:
        """All there are: log p, (n, K), and labels, (n,)."""
        seen = self.visits > 0
        if not len(self.recent_labels):
            return self.log_p[seen], self.labels[seen]
        if not bool(seen.any()):
            return self.recent_log_p, self.recent_labels
        return torch.cat([self.log_p[seen], self.recent_log_p]), torch.cat([self.labels[seen], self.recent_labels])

    def of(self, index: Tensor, columns: int) -> tuple[Tensor, Tensor]:
        """log p of samples, (n, K), and which of them have any, (n,). Asking changes nothing: processes ask about
        samples of their own, and must remember alike."""
        known = (index >= 0) & (index < len(self.visits))
        if not bool(known.any()):
            return torch.zeros(len(index), columns, device=index.device), known
        place = torch.where(known, index, 0)
        seen = known & (self.visits[place] > 0)
        return torch.where(seen[:, None], self.log_p[place], 0), seen

    def follow(self, device: torch.device) -> None:
        """To where the samples are: a state may have been loaded elsewhere."""
        if len(self.visits) + len(self.recent_labels) and self.visits.device != device:
            for name in TABLES:
                setattr(self, name, getattr(self, name).to(device))

    def state_dict(self) -> dict[str, Tensor]:
        return {**{name: getattr(self, name) for name in TABLES}, "ignored": torch.tensor(self.ignored)}

    def load_state_dict(self, state: dict[str, Tensor]) -> None:
        for name in TABLES:
            setattr(self, name, state[name].clone())
        self.ignored = int(state["ignored"])


class CleanMemory(PredictionMemory):
    """Predictions of the meta images. These are few and come up often, so each is remembered only as often as a
    training sample is, the least visited first: both memories are then equally old.

    Holds visits_due: how many visits of meta images are left over from earlier steps, a fraction.
    """

    def __init__(self, rate: float):
        super().__init__(rate)
        self.visits_due = 0.0

    def learn_in_turn(self, index: Tensor, log_p: Tensor, labels: Tensor, seen: int, known: int) -> None:
        """Of a step that saw `seen` training samples, where `known` have a prediction. index, labels: (M,)."""
        self.make_room(index, log_p.shape[1])
        self.visits_due += seen * max(self.count, len(index)) / max(known, 1)
        turn = self.visits[index].argsort(stable=True)[: int(self.visits_due)]
        self.visits_due -= int(self.visits_due)
        self.learn(index[turn], log_p[turn], labels[turn])

    def state_dict(self) -> dict[str, Tensor]:
        return super().state_dict() | {"visits_due": torch.tensor(self.visits_due, dtype=torch.float64)}

    def load_state_dict(self, state: dict[str, Tensor]) -> None:
        super().load_state_dict(state)
        self.visits_due = float(state["visits_due"])


def folded(log_p: Tensor) -> Tensor:
    """(n, C) → (n, K): with very many classes every K-th shares a column, so that memory stays bounded."""
    if log_p.shape[1] <= WIDE:
        return log_p
    columns = torch.arange(log_p.shape[1], device=log_p.device) % WIDE
    return log_p.new_zeros(len(log_p), WIDE).index_add_(1, columns, log_p.exp()).log()
