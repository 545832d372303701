"""How well an audit finds wrong labels, beside cleanlab on the same networks and folds.

python benchmarks/audit.py --seeds 3 --out results/audit.jsonl [--tasks digits-20,table]

Every line of the file is one task with one seed: average precision and AUROC for wrong labels by our P(wrong) and by
cleanlab's label quality, the share of wrong labels that each estimates, and CPU seconds: of the networks, which both
need, and of what each does with their answers; ours includes the search for neighbours. `in_sample` is our score from a
network that was trained on the labels that it judges: what out-of-sample predictions are worth. Finished lines are not
made again. Needs the extra `bench`.
"""

import argparse
import inspect
import json
import os
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import torch
from cleanlab.count import num_label_issues
from cleanlab.rank import get_label_quality_scores
from sklearn.datasets import load_breast_cancer
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.metrics import average_precision_score, roc_auc_score
from torch import Tensor, nn

from metamixup import __version__, data
from metamixup.audit import cross_validation
from metamixup.audit.audit import MODEL, fitting_plan, inputs_of, maker
from metamixup.audit.cross_validation import Inputs, Plan, Predictions, look, neighbours, out_of_sample, train
from metamixup.audit.images import from_set
from metamixup.audit.judge import Judgement, judge
from metamixup.data.corrupt import replace_labels, swap_neighbours
from metamixup.data.relabel import read_labels
from metamixup.engine.records.summary import processor
from metamixup.seeding import derived_generator

FIRST = 100  # samples that a person looks at, and how many of them have a wrong label
LIBRARIES = ("numpy", "scipy.stats", "sklearn.metrics", "torch.nn.functional", "typing", "pathlib")


@dataclass(frozen=True)
class Task:
    """inputs: samples by index; truth: their right labels; given: those to be audited."""

    make: Callable[[], nn.Module]
    inputs: Inputs
    truth: Tensor
    given: Tensor
    classes: int
    plan: Plan


class Mlp(nn.Module):
    """For tables and texts."""

    def __init__(self, width: int, classes: int):
        super().__init__()
        self.features = nn.Sequential(nn.Linear(width, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Linear(64, 32), nn.ReLU())
        self.classifier = nn.Linear(32, classes)

    def forward(self, x: Tensor) -> Tensor:
        return self.classifier(self.features(x))


def images(name: str, spoil: Callable[..., Any], share: float, size: int | None = None) -> Callable[[int], Task]:
    def make(seed: int) -> Task:
        found = from_set(data.load(name))
        if size is not None:
            chosen = torch.randperm(len(found.labels), generator=torch.Generator().manual_seed(seed))[:size]
            found = replace(found, images=found.images[chosen], labels=found.labels[chosen])
        classes = len(found.classes)
        given, _ = spoil(found.labels, classes, share, seed) if share else (found.labels, None)
        return Task(maker(found, MODEL), inputs_of(found), found.labels, given, classes, fitting_plan(found))

    return make


def people(name: str, labels: str, size: int, model: str) -> Callable[[int], Task]:
    """The labels that people gave; those of the data set are the truth. labels: a file in the folder of the data."""

    def make(seed: int) -> Task:
        whole = data.load(name)
        found = from_set(whole)
        given = read_labels(str(Path(os.environ["METAMIXUP_DATA"]) / labels), whole)
        chosen = torch.randperm(len(given), generator=torch.Generator().manual_seed(seed))[:size]
        found = replace(found, images=found.images[chosen], labels=found.labels[chosen])
        return Task(maker(found, model), inputs_of(found), found.labels, given[chosen], 10, fitting_plan(found))

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


class Timed:
    """Does its work as before, and adds up the CPU seconds that it takes."""

    def __init__(self, work: Callable[..., Any]):
        self.work, self.seconds = work, 0.0

    def __call__(self, *given: Any) -> Any:
        started = time.process_time()
        found = self.work(*given)
        self.seconds += time.process_time() - started
        return found


def predict(task: Task, seed: int, kept: Path | None) -> tuple[Predictions, dict[str, float]]:
    """What the networks say, and the CPU seconds that it took; read from `kept` where it is there."""
    if kept is not None and kept.exists():
        stored = torch.load(kept, weights_only=True)
        return Predictions(**stored["seen"]), stored["seconds"]
    look_around, look = Timed(neighbours), Timed(out_of_sample)
    with mock.patch.object(cross_validation, "neighbours", look_around):
        seen = look(task.make, task.inputs, task.given, task.classes, task.plan, seed)
    seconds = {"networks": look.seconds - look_around.seconds, "neighbours": look_around.seconds}
    if kept is not None:
        torch.save({"seen": vars(seen), "seconds": seconds, "given": task.given, "truth": task.truth}, kept)
    return seen, seconds


def measure(task: Task, seed: int, in_sample: bool, kept: Path | None) -> dict[str, Any]:
    seen, seconds = predict(task, seed, kept)
    ours, theirs = Timed(judge), Timed(by_cleanlab)
    judged = ours(seen, task.given, seed)
    p, labels, wrong = probabilities(seen.log_p), task.given.numpy(), (task.given != task.truth).numpy()
    quality, issues = theirs(labels, p)
    margin = get_label_quality_scores(labels, p, method="normalized_margin")
    return {
        "samples": len(labels),
        "true_share": round(float(wrong.mean()), 4),
        "ours": {**scores(wrong, judged.wrong.numpy()), "share": round(judged.share, 4)},
        "interval": [round(judged.low, 4), round(judged.high, 4)],
        "called": round(float((judged.wrong > 0.5).double().mean()), 4),
        "cleanlab": {**scores(wrong, 1 - quality), "share": round(float(issues / len(labels)), 4)},
        "cleanlab_margin": scores(wrong, 1 - margin),
        "tenths": tenths(task, seen, judged),
        "in_sample": scores(wrong, by_heart(task, seed).wrong.numpy()) if in_sample else {},
        "cpu_seconds": {
            "networks": round(seconds["networks"], 2),
            "ours": round(seconds["neighbours"] + ours.seconds, 4),
            "cleanlab": round(theirs.seconds, 4),
        },
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


def by_heart(task: Task, seed: int) -> Judgement:
    """One network, trained on all samples and labels that it then judges."""
    torch.manual_seed(seed)
    model, index = task.make(), torch.arange(len(task.given))
    for _ in train(model, task.inputs, task.given, index, task.classes, task.plan, derived_generator(seed, "all")):
        pass
    log_p, features = look(model, task.inputs, index)
    return judge(Predictions(log_p, *neighbours(features, task.given, task.classes)), task.given, seed)


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
