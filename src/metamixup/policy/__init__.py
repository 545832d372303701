"""Where λ comes from."""

from metamixup.policy.beta import Beta
from metamixup.policy.cutmix import CutMix
from metamixup.policy.fixed import Fixed
from metamixup.policy.learned import PROJECTIONS, Learned
from metamixup.policy.persistent import Persistent
from metamixup.policy.policy import Policy

__all__ = [
    "PROJECTIONS",
    "Beta",
    "CutMix",
    "Fixed",
    "Learned",
    "Persistent",
    "Policy",
]
