"""How long will the run be? Its learning rate tells, where it falls steadily: what regularises pays late, so whoever
decides early must know how much is still to come.

A rate that falls as a cosine has fallen by sin²(πt/2T) after t of T steps, a straight one by t/T. Which of them it is
shows in how the fall grows while t doubles: fourfold, or twofold. Other rates look like one of these for a while, so T
is believed only as long as t and half of it tell the same. A constant rate tells nothing, and neither does one that
falls in jumps, ever more slowly, or rises again.
"""

import math

LINE, COSINE = (0.7, 1.5), (1.5, 2.5)  # the power of t with which a fall grows at first
EARLIEST = 8  # steps from the peak: a step more or less at the peak itself hardly matters then
ALIKE = 0.05  # two lengths that differ by no more are one
BENDS = 0.4  # the fall by which a rate that is no line has left it
OVER = 1.1  # times its length: what goes on so long was told wrongly
NUMBERS = ("total", "peak", "rate", "steps", "at_peak", "early_steps", "early_fall", "power", "agree", "misled")


class Horizon:
    """Holds total: how many steps the run will have, 0 while that is not known; steps: so far; peak: the highest rate,
    and at_peak: the step that reached it; rate: the newest; early_fall: an earlier fall from the peak as a share of it,
    and early_steps: after how many steps; power: of t with which the fall grows, 0 while that is not known; agree: do t
    and half of it tell the same?; misled: has the rate risen again, or gone on beyond its end?"""

    def __init__(self) -> None:
        self.total, self.peak, self.rate = 0.0, 0.0, 0.0
        self.steps, self.at_peak = 0, 0
        self.early_steps, self.early_fall, self.power = 0, 0.0, 0.0
        self.agree, self.misled = False, False

    def see(self, rate: float) -> None:
        """The learning rate of a step."""
        fell = 0 < self.rate < self.peak * (1 - 1e-9)
        self.misled = self.misled or (fell and rate > self.rate * (1 + 1e-6)) or 0 < OVER * self.total < self.steps
        if self.misled:
            self.total = 0.0
        elif rate > self.peak:
            self.peak, self.at_peak = rate, self.steps
        elif rate != self.rate:  # one that changes from epoch to epoch tells most at the moment it does
            self._learn(self.steps - self.at_peak, 1 - rate / self.peak if self.peak else 0.0)
        self.rate, self.steps = rate, self.steps + 1

    def _learn(self, t: int, fall: float) -> None:
        if t < EARLIEST or not 1e-9 < fall < 1:
            return
        if not self.early_steps:
            self.early_steps, self.early_fall = t, fall
        elif t >= 2 * self.early_steps:
            self.power = self.power or math.log(fall / self.early_fall) / math.log(t / self.early_steps)
            now, before = self._length(t, fall), self._length(self.early_steps, self.early_fall)
            straight = LINE[0] <= self.power < LINE[1]
            self.agree = abs(now - before) < ALIKE * now and not (straight and fall < BENDS)
            self.early_steps, self.early_fall = t, fall
        self.total = self.at_peak + self._length(t, fall) if self.agree else 0.0

    def _length(self, t: int, fall: float) -> float:
        """T, 0 if the rate has neither shape."""
        if LINE[0] <= self.power < LINE[1]:
            return t / fall
        return t * math.pi / math.acos(1 - 2 * fall) if COSINE[0] <= self.power <= COSINE[1] else 0.0

    def state_dict(self) -> dict[str, float]:
        return {name: getattr(self, name) for name in NUMBERS}

    def load_state_dict(self, state: dict[str, float]) -> None:
        for name in NUMBERS:
            setattr(self, name, type(getattr(self, name))(state[name]))
