"""Running scores of samples, kept by their index in the training or the meta set."""

import torch
from torch import Tensor

RECENT = 2048  # scores kept where samples come without an index


class ScoreMemory:
    """A running score for each sample by its index, and the latest scores of samples that come without one.

    rate: of the running mean; a sample's first scores are averaged plainly until 1/visits falls below it.
    Holds score, visits: (N,) by index; recent: (≤ RECENT,).
    """

    def __init__(self, rate: float):
        self.rate = rate
        self.score, self.visits, self.recent = torch.zeros(0), torch.zeros(0), torch.zeros(0)

    def learn(self, index: Tensor | None, score: Tensor) -> None:
        """index, score: (n,)."""
        if index is None:
            self.recent = torch.cat([self.recent.to(score.device), score])[-RECENT:]
            return
        self.make_room(index)
        rate = (1 / (self.visits[index] + 1)).clamp_min(self.rate)
        self.score[index] += rate * (score - self.score[index])
        self.visits[index] += 1

    def make_room(self, index: Tensor) -> None:
        """Lengthens the tables so that each index has a row."""
        missing = int(index.max()) + 1 - len(self.score) if len(index) else 0
        if missing > 0:
            room = torch.zeros(missing, device=index.device)
            self.score = torch.cat([self.score.to(index.device), room])
            self.visits = torch.cat([self.visits.to(index.device), room])

    @property
    def count(self) -> int:
        """How many indices have a score."""
        return int((self.visits > 0).sum())

    @property
    def known(self) -> Tensor:
        """All scores there are, (n,)."""
        return torch.cat([self.score[self.visits > 0], self.recent.to(self.score.device)])

    def state_dict(self) -> dict[str, Tensor]:
        return {"score": self.score, "visits": self.visits, "recent": self.recent}

    def load_state_dict(self, state: dict[str, Tensor]) -> None:
        self.score, self.visits, self.recent = (state[k].clone() for k in ("score", "visits", "recent"))


class CleanMemory(ScoreMemory):
    """Scores of the meta images. These are few and come up often, so each is remembered only as often as a training
    sample is, the least visited first: both memories are then equally old.

    Holds visits_due: how many visits of meta images are left over from earlier steps, a fraction.
    """

    def __init__(self, rate: float):
        super().__init__(rate)
        self.visits_due = 0.0

    def learn_in_turn(self, index: Tensor, score: Tensor, seen: int, known: int) -> None:
        """Of a step that saw `seen` training samples, where `known` have a score. index, score: (M,)."""
        self.make_room(index)
        self.visits_due += seen * max(self.count, len(index)) / known
        turn = self.visits[index].argsort(stable=True)[: int(self.visits_due)]
        self.visits_due -= int(self.visits_due)
        self.learn(index[turn], score[turn])

    def state_dict(self) -> dict[str, Tensor]:
        return super().state_dict() | {"visits_due": torch.tensor(self.visits_due, dtype=torch.float64)}

    def load_state_dict(self, state: dict[str, Tensor]) -> None:
        super().load_state_dict(state)
        self.visits_due = float(state["visits_due"])
