"""How long will the run be? Its learning rate tells, where it falls steadily: what regularises pays late, so whoever
decides early must know how much is still to come.

A rate that falls as a cosine has fallen by sin²(πt/2T) after t of T steps, a straight one by t/T. Which of them it is
shows in how the fall grows while t doubles: fourfold, or twofold. A constant rate tells nothing, and neither does
one that falls in jumps.
"""

import math

LINE, COSINE = (0.7, 1.5), (1.5, 2.5)  # the power of t with which a fall grows at first
EARLIEST = 8  # steps from the peak: a step more or less at the peak itself hardly matters then
NUMBERS = ("total", "peak", "rate", "steps", "at_peak", "early_steps", "early_fall", "power")


class Horizon:
    """Holds total: how many steps the run will have, 0 while that is not known; steps: so far; peak: the highest rate,
    and at_peak: the step that reached it; rate: the newest; early_fall: an early fall from the peak as a share of it,
    and early_steps: after how many steps; power: of t with which the fall grows, 0 while that is not known."""

    def __init__(self) -> None:
        self.total, self.peak, self.rate = 0.0, 0.0, 0.0
        self.steps, self.at_peak = 0, 0
        self.early_steps, self.early_fall, self.power = 0, 0.0, 0.0

    def see(self, rate: float) -> None:
        """The learning rate of a step."""
        top = self.peak * (1 - 1e-9)
        if rate > self.peak or rate >= top > self.rate:
            self.peak, self.at_peak, self.early_steps, self.power = rate, self.steps, 0, 0.0
        elif rate < top and rate != self.rate:  # one that changes from epoch to epoch tells most at the moment it does
            self._learn(self.steps - self.at_peak, 1 - rate / self.peak)
        self.rate, self.steps = rate, self.steps + 1

    def _learn(self, t: int, fall: float) -> None:
        if not self.early_steps and t >= EARLIEST:
            self.early_steps, self.early_fall = t, fall
        elif not self.power and t >= 2 * self.early_steps > 0:
            self.power = math.log(fall / self.early_fall) / math.log(t / self.early_steps)
        if LINE[0] <= self.power < LINE[1]:
            self.total = self.at_peak + t / fall
        elif COSINE[0] <= self.power <= COSINE[1]:
            self.total = self.at_peak + t * math.pi / math.acos(1 - 2 * fall)

    def state_dict(self) -> dict[str, float]:
        return {name: getattr(self, name) for name in NUMBERS}

    def load_state_dict(self, state: dict[str, float]) -> None:
        for name in NUMBERS:
            setattr(self, name, type(getattr(self, name))(state[name]))
