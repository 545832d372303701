"""Learning λ: Algorithm 1 and the estimators of its gradient."""

from metamixup.meta.algorithm import MetaStage
from metamixup.meta.estimator import Estimator
from metamixup.meta.exact import Exact
from metamixup.meta.finite_difference import FiniteDifference
from metamixup.meta.head import Head
from metamixup.meta.lookahead import learning_rates

__all__ = ["Estimator", "Exact", "FiniteDifference", "Head", "MetaStage", "learning_rates"]
