"""The audit of a finished run: what its policy learned of its own training labels, or, where it learned nothing of
them, an audit of its images from nothing."""

import shlex
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import torch

from metamixup.analysis.rebuild import Rebuilt, rebuild
from metamixup.audit.audit import MODEL, audit_images, listed
from metamixup.audit.findings import Audit
from metamixup.audit.images import Labelled
from metamixup.audit.judge import Judgement
from metamixup.data.image_names import names_of
from metamixup.trust import Trust

HOW = "by what the run learned of each image while it trained"


def audit_run(
    path: Path,
    data_dir: str | None = None,
    model: str | None = None,
    heard: Callable[[float], None] = lambda share: None,
    data: str | None = None,
) -> tuple[Audit, Labelled]:
    """The findings, and the images that they are about. model: new networks of that name judge in place of the run;
    data: where the user's own images lie now."""
    run = rebuild(path, data_dir, data)
    found = training_images(run)
    judged = None if model else judged_by_policy(run, found)
    if judged is None:
        return audit_images(found, model=model or MODEL, heard=heard), found
    return replace(listed(found, judged, how=HOW), doubt=doubt(run, found)), found


def doubt(run: Rebuilt, found: Labelled) -> str:
    """Where it distrusted no label, as the run itself told at its end."""
    if isinstance(run.training.stage, Trust) and run.training.stage.labels.division.strength > 0:
        return ""
    return (
        f"the run distrusted none of its {len(found.labels):,} labels; those that fit their image least come first "
        f"(a stricter look, by networks that were not trained on them: metamixup audit {shlex.quote(found.name)})"
    )


def training_images(run: Rebuilt) -> Labelled:
    """Those that the run was trained on, with the labels that it saw."""
    index, whole = run.split.train, run.found
    names = names_of(whole)
    return Labelled(
        str(run.training.about["data"]),
        [names[k] for k in index.tolist()],
        whole.train.images[index],
        whole.train.labels[index],
        whole.classes,
        whole.mean,
        whole.std,
        whole.flips,
    )


def judged_by_policy(run: Rebuilt, found: Labelled) -> Judgement | None:
    """None where the run's policy learns nothing of single labels, was not stored, or had too many classes."""
    stage = run.training.stage
    if not isinstance(stage, Trust) or not run.whole or stage.labels.division.fit is None:
        return None
    samples, division = stage.labels.samples, stage.labels.division
    if len(found.classes) > samples.log_p.shape[1]:
        return None  # classes that share a column of its memory cannot be told apart
    index = run.split.train
    known = torch.nn.functional.one_hot(found.labels, len(found.classes)).double()
    seen = (index < len(samples.visits)).nonzero()[:, 0]
    seen = seen[samples.visits[index[seen]] > 0]
    known[seen] = division.judged(samples.log_p[index[seen]], found.labels[seen])
    wrong = 1 - known.gather(1, found.labels[:, None])[:, 0]
    half = 1.96 * float((wrong * (1 - wrong)).sum()) ** 0.5 / len(wrong)
    share = float(wrong.mean())
    return Judgement(known, wrong, max(0.0, share - half), min(1.0, share + half))
