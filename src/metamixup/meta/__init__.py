"""Learning λ: Algorithm 1, the estimators of its gradient, and controls."""

from metamixup.meta.algorithm import MetaStage
from metamixup.meta.controls import CONTROLS, Replay, Reverse, Shuffle
from metamixup.meta.estimator import Estimator
from metamixup.meta.exact import Exact
from metamixup.meta.finite_difference import FiniteDifference
from metamixup.meta.head import Head
from metamixup.meta.lookahead import learning_rates
from metamixup.meta.make import make_stage
from metamixup.meta.stage import Stage

__all__ = [
    "CONTROLS",
    "Estimator",
    "Exact",
    "FiniteDifference",
    "Head",
    "MetaStage",
    "Replay",
    "Reverse",
    "Shuffle",
    "Stage",
    "learning_rates",
    "make_stage",
]
