"""Classes that a policy took for wrong labels as a whole: a rare one that the network never learned looks so to it."""

from collections import Counter
from collections.abc import Sequence

from metamixup.meta import Stage
from metamixup.trust import Trust

NAMED = 5  # classes of one sentence


def lost_classes(stage: Stage, classes: Sequence[str]) -> list[str]:
    """A sentence about those most of whose labels were taken for wrong; none if there are none."""
    if not isinstance(stage, Trust):
        return []
    samples, suspects = stage.labels.samples, stage.labels.taken_for_wrong()
    given = Counter(samples.labels[samples.visits > 0].tolist())
    taken = Counter(one.given for one in suspects if one.given is not None)
    lost = [f"{name!r} ({taken[k]} of {given[k]})" for k, name in enumerate(classes) if 2 * taken[k] > given[k]]
    if not lost:
        return []
    return [
        f"the policy took most labels of {', '.join(lost[:NAMED])} for wrong; if they are right, vouch for some of "
        "them (a folder meta/, or --meta FOLDER), or take --method mixup"
    ]
