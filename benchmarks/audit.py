"""How well an audit finds wrong labels, beside cleanlab on the same networks and folds.

python benchmarks/audit.py --seeds 3 --out results/audit.jsonl [--tasks digits-20,table]

Every line of the file is one task with one seed: average precision and AUROC for wrong labels by our P(wrong) and by
cleanlab's label quality, the share of wrong labels that each estimates, and CPU seconds: of the networks, which both
need, and of what each does with their answers. `ours` judges the labels, with the search for neighbours; `cleanlab` are
its two functions that do that, `datalab` is its Datalab asked for wrong labels alone. `ours_all` and `datalab_all` look
for near duplicates and for images of no class besides. `in_sample` is our score from a network that was trained on the
labels that it judges: what out-of-sample predictions are worth. Finished lines are not made again. Needs the extra
`bench`.
"""

import argparse
import inspect
import json
import os
import time
from collections.abc import Callable
from contextlib import redirect_stdout
from dataclasses import dataclass, replace
from io import StringIO
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import torch
from cleanlab import Datalab
from cleanlab.count import num_label_issues
from cleanlab.rank import get_label_quality_scores
from sklearn.datasets import load_breast_cancer
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.metrics import average_precision_score, roc_auc_score
from torch import Tensor, nn

from metamixup import __version__, data
from metamixup.audit.audit import MODEL, fitting_plan, inputs_of, listed, maker
from metamixup.audit.cross_validation import (
    Fold,
    Inputs,
    Plan,
    Predictions,
    among_their_fold,
    held_out,
    look,
    train,
)
from metamixup.audit.findings import Audit
from metamixup.audit.images import Labelled, from_set
from metamixup.audit.judge import Judgement, judge
from metamixup.data.corrupt import replace_labels, swap_neighbours
from metamixup.data.relabel import read_labels
from metamixup.engine.records.summary import processor
from metamixup.seeding import derived_generator

REPEATS = 5  # of what is timed in milliseconds
FIRST = 100  # samples that a person looks at, and how many of them have a wrong label
LIBRARIES = ("numpy", "scipy.stats", "sklearn.metrics", "torch.nn.functional", "typing", "pathlib")


@dataclass(frozen=True)
class Task:
    """inputs: samples by index; truth: their right labels; given: those to be audited; found: them as images."""

    make: Callable[[], nn.Module]
    inputs: Inputs
    truth: Tensor
    given: Tensor
    classes: int
    plan: Plan
    found: Labelled | None = None


class Mlp(nn.Module):
    """For tables and texts."""

    def __init__(self, width: int, classes: int):
        super().__init__()
        self.features = nn.Sequential(nn.Linear(width, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Linear(64, 32), nn.ReLU())
        self.classifier = nn.Linear(32, classes)

    def forward(self, x: Tensor) -> Tensor:
        return self.classifier(self.features(x))


def of_images(right: Labelled, given: Tensor, model: str) -> Task:
    plan, found = fitting_plan(right), replace(right, labels=given)
    return Task(maker(right, model), inputs_of(right), right.labels, given, len(right.classes), plan, found)


def images(name: str, spoil: Callable[..., Any], share: float, size: int | None = None) -> Callable[[int], Task]:
    def make(seed: int) -> Task:
        found = from_set(data.load(name))
        if size is not None:
            chosen = torch.randperm(len(found.labels), generator=torch.Generator().manual_seed(seed))[:size]
            found = replace(found, images=found.images[chosen], labels=found.labels[chosen])
        given, _ = spoil(found.labels, len(found.classes), share, seed) if share else (found.labels, None)
        return of_images(found, given, MODEL)

    return make


def people(name: str, labels: str, size: int, model: str) -> Callable[[int], Task]:
    """The labels that people gave; those of the data set are the truth. labels: a file in the folder of the data."""

    def make(seed: int) -> Task:
        whole = data.load(name)
        found = from_set(whole)
        given = read_labels(str(Path(os.environ["METAMIXUP_DATA"]) / labels), whole)
        chosen = torch.randperm(len(given), generator=torch.Generator().manual_seed(seed))[:size]
        found = replace(found, images=found.images[chosen], labels=found.labels[chosen])
        return of_images(found, given[chosen], model)

    return make


def rows(x: np.ndarray, y: np.ndarray, share: float) -> Callable[[int], Task]:
    features, truth, classes = torch.tensor(x, dtype=torch.float32), torch.tensor(y), int(y.max()) + 1

    def make(seed: int) -> Task:
        given, _ = replace_labels(truth, classes, share, seed)
        plan = Plan(folds=5, steps=300, lr=0.05)
        return Task(lambda: Mlp(x.shape[1], classes), lambda index, _: features[index], truth, given, classes, plan)

    return make


def table(seed: int) -> Task:
    """Cells of tumours, 569 by 30 numbers, with a fifth of the labels turned over."""
    found = load_breast_cancer()
    return rows((found.data - found.data.mean(0)) / found.data.std(0), found.target, 0.2)(seed)


def text(seed: int) -> Task:
    """Which library a function's documentation is from, by its words."""
    texts, labels = documents()
    words = TfidfVectorizer(max_features=500, stop_words="english").fit_transform(texts).toarray()
    return rows(words * 10, np.array(labels), 0.2)(seed)


def documents() -> tuple[list[str], list[int]]:
    found: dict[str, int] = {}
    for label, name in enumerate(LIBRARIES):
        module = __import__(name, fromlist=["x"])
        for value in vars(module).values():
            told = (inspect.getdoc(value) or "") if callable(value) else ""
            if len(told.split()) > 15:
                found.setdefault(" ".join(told.replace(name.split(".")[0], "").split()[:60]), label)
    return list(found), list(found.values())


TASKS: dict[str, Callable[[int], Task]] = {
    "digits": images("digits", replace_labels, 0.0),
    "digits-20": images("digits", replace_labels, 0.2),
    "digits-40": images("digits", replace_labels, 0.4),
    "table-20": table,
    "text-20": text,
    "fashion-5000-neighbours-20": images("fashion", swap_neighbours, 0.2, 5000),
    "cifar10n-random1-10000": people("cifar10", "cifar10n.npz:random1", 10_000, "fast-s"),
    "cifar10n-random1": people("cifar10", "cifar10n.npz:random1", 50_000, "fast-s"),
}


@dataclass(frozen=True)
class Answers:
    """What the networks say: of each fold by the one that was not trained on it, and of all samples by one that was.
    seconds: CPU time of the former."""

    folds: list[Fold]
    seconds: float
    by_heart: list[Fold]


def answers(task: Task, seed: int, in_sample: bool, kept: Path | None) -> Answers:
    """Read from `kept` where it is there."""
    if kept is not None and kept.exists():
        return Answers(**torch.load(kept, weights_only=True))
    started = time.process_time()
    folds = list(held_out(task.make, task.inputs, task.given, task.classes, task.plan, seed))
    found = Answers(folds, time.process_time() - started, [by_heart(task, seed)] if in_sample else [])
    if kept is not None:
        torch.save(vars(found), kept)
    return found


def by_heart(task: Task, seed: int) -> Fold:
    """One network, trained on all samples and labels that it then judges."""
    torch.manual_seed(seed)
    model, index = task.make(), torch.arange(len(task.given))
    for _ in train(model, task.inputs, task.given, index, task.classes, task.plan, derived_generator(seed, "all")):
        pass
    return index, *look(model, task.inputs, index)


def judged_labels(folds: list[Fold], task: Task, seed: int) -> tuple[Predictions, Judgement]:
    seen = among_their_fold(folds, task.given, task.classes)
    return seen, judge(seen, task.given, seed)


def whole_audit(folds: list[Fold], task: Task, seed: int) -> Audit | None:
    """Duplicates and images of no class too; of tables and texts there is none."""
    seen, judged = judged_labels(folds, task, seed)
    return task.found and listed(task.found, judged, seen)


def by_datalab(labels: np.ndarray, p: np.ndarray, features: np.ndarray | None) -> Datalab:
    """Wrong labels; with features near duplicates and outliers too."""
    kinds = ("label",) if features is None else ("label", "near_duplicate", "outlier")
    lab = Datalab({"label": labels}, label_name="label", task="classification", verbosity=0)
    with redirect_stdout(StringIO()):
        lab.find_issues(pred_probs=p, features=features, issue_types={kind: {} for kind in kinds})
    return lab


def features_of(folds: list[Fold]) -> np.ndarray:
    """(N, F) in the order of the samples."""
    held, _, features = (torch.cat(column) for column in zip(*folds, strict=True))
    return features[held.argsort()].numpy()


def timed(work: Callable[..., Any], *given: Any) -> tuple[Any, float]:
    """What it gives, and its CPU seconds: the median of REPEATS, after one that warms up."""
    seconds, found = [], work(*given)
    for _ in range(REPEATS):
        started = time.process_time()
        work(*given)
        seconds.append(time.process_time() - started)
    return found, median(seconds)


def measure(task: Task, seed: int, in_sample: bool, kept: Path | None) -> dict[str, Any]:
    said = answers(task, seed, in_sample, kept)
    (seen, judged), ours = timed(judged_labels, said.folds, task, seed)
    p, labels, wrong = probabilities(seen.log_p), task.given.numpy(), (task.given != task.truth).numpy()
    (quality, issues), theirs = timed(by_cleanlab, labels, p)
    margin = get_label_quality_scores(labels, p, method="normalized_margin")
    seconds = {
        "networks": said.seconds,
        "ours": ours,
        "cleanlab": theirs,
        "datalab": timed(by_datalab, labels, p, None)[1],
    }
    if task.found:
        seconds["ours_all"] = timed(whole_audit, said.folds, task, seed)[1]
        seconds["datalab_all"] = timed(by_datalab, labels, p, features_of(said.folds))[1]
    return {
        "samples": len(labels),
        "true_share": round(float(wrong.mean()), 4),
        "ours": {**scores(wrong, judged.wrong.numpy()), "share": round(judged.share, 4)},
        "interval": [round(judged.low, 4), round(judged.high, 4)],
        "called": round(float((judged.wrong > 0.5).double().mean()), 4),
        "cleanlab": {**scores(wrong, 1 - quality), "share": round(float(issues / len(labels)), 4)},
        "cleanlab_margin": scores(wrong, 1 - margin),
        "tenths": tenths(task, seen, judged),
        "in_sample": scores(wrong, judged_labels(said.by_heart, task, seed)[1].wrong.numpy()) if said.by_heart else {},
        "cpu_seconds": {name: round(value, 4) for name, value in seconds.items()},
    }


def by_cleanlab(labels: np.ndarray, p: np.ndarray) -> tuple[np.ndarray, int]:
    """The quality of each label, and how many are wrong."""
    return get_label_quality_scores(labels, p), num_label_issues(labels, p)


def tenths(task: Task, seen: Predictions, judged: Judgement) -> dict[str, list[float]]:
    """Of each tenth of the samples, those first that the networks are surest of: the share of wrong labels, the share
    that was found, and that of right predictions."""
    sure, said = seen.log_p.max(1)
    parts = sure.argsort(descending=True, stable=True).chunk(10)
    told = {"wrong": task.given != task.truth, "found": judged.wrong, "recognised": said == task.truth}
    return {name: [round(float(values[part].double().mean()), 4) for part in parts] for name, values in told.items()}


def probabilities(log_p: Tensor) -> np.ndarray:
    p = log_p.double().exp()
    return (p / p.sum(1, keepdim=True)).numpy()


def scores(wrong: np.ndarray, suspicion: np.ndarray) -> dict[str, float]:
    if not wrong.any():
        return {}
    precision, area = average_precision_score(wrong, suspicion), roc_auc_score(wrong, suspicion)
    first = wrong[np.argsort(-suspicion, kind="stable")[:FIRST]].mean()
    return {name: round(float(value), 4) for name, value in (("ap", precision), ("auroc", area), ("first", first))}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--tasks", default=",".join(TASKS))
    parser.add_argument("--out", type=Path, default=Path("results/audit.jsonl"))
    parser.add_argument("--without-in-sample", action="store_true", help="Save the time of that network.")
    parser.add_argument("--keep", type=Path, help="A folder for predictions, to judge them again.")
    options = parser.parse_args()
    torch.set_num_threads(1)
    lines = [json.loads(line) for line in options.out.read_text().splitlines()] if options.out.exists() else []
    for name in options.tasks.split(","):
        for seed in range(options.seeds):
            if any((line["task"], line["seed"]) == (name, seed) for line in lines):
                continue
            about = {"cell": f"audit/{name}", "task": name, "seed": seed, "version": __version__}
            kept = options.keep and options.keep / f"{name}-{seed}.pt"
            found = measure(TASKS[name](seed), seed, not options.without_in_sample, kept)
            line = {**about, "processor": processor(), **found}
            print(json.dumps(line), flush=True)
            with options.out.open("a") as file:
                file.write(json.dumps(line) + "\n")


if __name__ == "__main__":
    main()
