"""From settings to objects: the only place where the two meet, and where models and data meet the rest."""

from metamixup.settings.build.data import build_data, build_split, corrupt, few_labels
from metamixup.settings.build.evaluation import evaluation_set, test_set
from metamixup.settings.build.model import build_model, check_model, model_for, prepare_start
from metamixup.settings.build.policy import learns, make_estimator, make_policy
from metamixup.settings.build.refused import built
from metamixup.settings.build.streams import build_streams
from metamixup.settings.build.training import build_training, check_method

__all__ = [
    "build_data",
    "build_model",
    "build_split",
    "build_streams",
    "build_training",
    "built",
    "check_method",
    "check_model",
    "corrupt",
    "evaluation_set",
    "few_labels",
    "learns",
    "make_estimator",
    "make_policy",
    "model_for",
    "prepare_start",
    "test_set",
]
