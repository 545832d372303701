"""Where λ comes from."""

from metamixup.policy.beta import Beta
from metamixup.policy.controls import CONTROLS, Replay, Reverse, Shuffle
from metamixup.policy.cutmix import CutMix
from metamixup.policy.fixed import Fixed
from metamixup.policy.learned import PROJECTIONS, Learned
from metamixup.policy.persistent import Persistent
from metamixup.policy.policy import Policy

__all__ = [
    "CONTROLS",
    "PROJECTIONS",
    "Beta",
    "CutMix",
    "Fixed",
    "Learned",
    "Persistent",
    "Policy",
    "Replay",
    "Reverse",
    "Shuffle",
]
