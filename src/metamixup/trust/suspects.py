"""Which training samples look mislabelled, and as what; and what is said of that at the end of a run."""

from dataclasses import dataclass

from torch import Tensor

from metamixup.trust.division import Division
from metamixup.trust.memory import WIDE, PredictionMemory

MOST_WRONG = 0.9  # a larger share of wrong labels is not believed


@dataclass(frozen=True)
class Suspect:
    """A training sample by its index, the class it was given, the class it likely is, and P(the label is wrong).

    With 128 classes or more both classes are None: predictions are then remembered in columns that classes share.
    """

    index: int
    given: int | None
    likely: int | None
    wrong: float


def taken_for_wrong(samples: PredictionMemory, division: Division) -> list[Suspect]:
    """Those whose labels are more likely wrong than right, the worst first; none where that may be chance."""
    ranked = most_suspicious(samples, division, samples.count) if division.strength else []
    return [suspect for suspect in ranked if suspect.wrong >= 0.5]


def most_suspicious(samples: PredictionMemory, division: Division, k: int) -> list[Suspect]:
    """The k samples whose labels are most likely wrong, the worst first; of those that the network
    knows by heart, the ones of which it is less sure."""
    index = (samples.visits > 0).nonzero()[:, 0]
    if division.fit is None or not len(index):
        return []
    labels = samples.labels[index]
    truth = division.ranked(samples.log_p[index], labels)
    wrong = 1 - truth.gather(1, labels[:, None])[:, 0]
    likely = truth.scatter(1, labels[:, None], -1).argmax(1)
    worst = wrong.argsort(descending=True, stable=True)[:k].tolist()
    shared = samples.log_p.shape[1] >= WIDE
    return [Suspect(int(index[i]), *_classes(shared, labels[i], likely[i]), float(wrong[i])) for i in worst]


def _classes(shared: bool, given: Tensor, likely: Tensor) -> tuple[int | None, int | None]:
    return (None, None) if shared else (int(given), int(likely))


def remarks(division: Division, distrust: float, ignored: int) -> list[str]:
    """What a person should know of a run at its end. distrust: how far it acted; ignored: predictions not finite."""
    share, found = f"{100 * division.share:.0f} % of the labels", []
    if not division.strength:
        found.append("the policy found no labels to distrust")
    elif division.share > MOST_WRONG:
        found.append(f"the policy took {share} for wrong, which is hardly true; are the labels of the meta set right?")
    elif not distrust:
        found.append(f"{share} look wrong, but the network has not learned them by heart: all were trained on as given")
    if ignored:
        found.append(f"{ignored} predictions were not finite, and nothing was learned from them")
    return found
