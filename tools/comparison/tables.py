"""The tables of a comparison as Markdown, each made from the tasks alone."""

from collections.abc import Callable, Iterable, Sequence

from metamixup.tables.entry import FEWEST_SEEDS, Difference
from metamixup.tables.table_files import difference_text, spread_text
from metamixup.tables.text_table import Field, TextTable, as_markdown, bold, pieces, plain
from tools.comparison.claims import MET, NOT_MET, claims, shared_seeds
from tools.comparison.rivals import (
    RIVALS,
    SCHEDULE,
    TUNED,
    against,
    is_below,
    is_learned,
    lowest_other,
    others,
    row,
    surely_below,
    tuning,
)
from tools.comparison.tasks import BASELINE, OURS, Task
from tools.comparison.tuned import FAMILIES, Tuned, alpha, by_alpha, tuned

Tasks = Sequence[Task]
MISSING = "missing"


def verdict(tasks: Tasks) -> str:
    rows = [(claim.text, claim.asked, claim.found, _judgement(claim.verdict)) for claim in claims(tasks)]
    return table(("claim", "asked for", "found", "verdict"), rows, left=4) + "\n" + _shared_seeds(tasks)


def _judgement(text: str) -> Field:
    """In bold where it is final, and where it speaks against us."""
    return bold(text) if text == MET or text.startswith(NOT_MET) else text


def _shared_seeds(tasks: Tasks) -> str:
    """What the verdicts rest on."""
    counts = sorted(shared_seeds(tasks))
    if not counts:
        return "Nothing has been measured yet.\n"
    fewest = "" if len(counts) == 1 else f"{counts[0]} to "
    planned = max(task.seeds for task in tasks)
    return f"Seeds behind each difference: {fewest}{counts[-1]} of {planned} planned.\n"


def errors(tasks: Tasks) -> str:
    """Test error of the default and of everybody it is compared with, over the seeds that all of them have. One with
    too few seeds to say anything stands aside with its own, so that the others keep theirs."""
    rows: list[list[Field]] = []
    for task in tasks:
        methods = [OURS, *(row(task, rival) for rival in RIVALS)]
        compared = _comparable(task, methods)
        fields, chosen = _beside(task, methods, compared), [None, *(tuning(task, rival) for rival in RIVALS)]
        told = [(*pieces(f), f" ({_chosen(c)})") if c else f for f, c in zip(fields, chosen, strict=True)]
        rows.append([task.title, *told, str(len(task.shared(list(compared))))])
    return table(("test error, %", "TrustMix", *RIVALS, "seeds"), rows)


def _chosen(found: Tuned) -> str:
    """The α, and whether there was any other to choose from."""
    return found.alpha if len(found.errors) > 1 else f"only {found.alpha}"


def differences(tasks: Tasks) -> str:
    head = ("TrustMix minus …, points", *RIVALS)
    return table(head, [[task.title, *(_difference(task, against(task, r)) for r in RIVALS)] for task in tasks])


def rivals(tasks: Tasks) -> str:
    """How often the default is ahead of each other method, on clean and on imperfect labels."""
    found_by_task = [
        (
            task,
            {rival: against(task, rival) for rival in RIVALS}
            | {task.labels[o.method]: o.difference for o in others(task)},
        )
        for task in tasks
        if task.claimed
    ]
    rows = []
    for name in dict.fromkeys(name for _, by_name in found_by_task for name in by_name):
        cells = [name]
        for imperfect in (True, False):
            found = [by_name.get(name) for task, by_name in found_by_task if task.imperfect is imperfect]
            below, surely = (sum(test(f) is True for f in found) for test in (is_below, surely_below))
            above = sum(f is not None and f.above for f in found)
            measured = sum(f is not None for f in found)
            cells += [f"{below} of {measured}", str(surely), str(above)]
        rows.append(cells)
    head = ("TrustMix against", "imperfect: below", "surely below", "surely above")
    return table((*head, "clean: below", "surely below", "surely above"), rows)


def alphas(tasks: Tasks) -> str:
    """Selection error of every α of each family over the seeds that all of its α have; in bold the one chosen, where
    there was a choice."""
    return "\n".join(_alphas(tasks, title, family) for title, family in FAMILIES.items())


def _alphas(tasks: Tasks, title: str, family: str) -> str:
    planned = [task for task in tasks if by_alpha(task, family)]
    names = list(dict.fromkeys(alpha(task, method) for task in planned for method in by_alpha(task, family)))
    rows = []
    for task in planned:
        best, by_name = tuned(task, family), {alpha(task, method): method for method in by_alpha(task, family)}
        fields: list[Field] = []
        for name in names:
            text = _number(best.errors.get(by_name.get(name, "")) if best else None)
            fields.append(bold(text) if best and best.alpha == name and len(best.errors) > 1 else text)
        rows.append([task.title, *fields, str(len(best.seeds)) if best else "0"])
    return table((f"{title}: selection error, %", *names, "seeds"), rows) if rows else ""


def calibration(tasks: Tasks) -> str:
    head = ("", "NLL: TrustMix", TUNED, "difference", "ECE, %: TrustMix", TUNED, "difference")
    rows = []
    for task in tasks:
        fields: list[Field] = [task.title]
        methods = (OURS, row(task, TUNED))
        for key, digits in (("test_nll", 3), ("test_ece", 2)):
            both = [_spread(task, method, task.shared(methods, key), key, digits) for method in methods]
            fields += [*both, _difference(task, against(task, TUNED, key), digits)]
        rows.append(fields)
    return table(head, rows)


def cost(tasks: Tasks) -> str:
    """CPU time of a run, one of the tuned MixUp being 1, and of those that tuned it."""
    rows = []
    for task in tasks:
        best = row(task, TUNED)
        ratios = [task.cost_ratio(method, best) if best else None for method in (BASELINE, OURS)]
        rows.append([task.title, *map(_number, ratios), str(len(by_alpha(task)))])
    return table(("CPU time, a run of MixUp being 1", "baseline", "TrustMix", "tuning MixUp"), rows)


def methods(tasks: Tasks) -> str:
    """Every method on every task, clean and imperfect apart, over the seeds that they share; the lowest of those that
    contend in bold. Where a method has too few seeds, their number stands beside its mean: it does not contend."""
    parts = []
    for chosen in ([t for t in tasks if not t.imperfect], [t for t in tasks if t.imperfect]):
        labels = {task.labels[method]: task.learning[method] for task in chosen for method in task.labels}
        columns = [dict(zip(task.labels.values(), _all_methods(task), strict=True)) for task in chosen]
        rows = [[label, how, *(column.get(label, "–") for column in columns)] for label, how in labels.items()]
        parts.append(table(("test error, %", "policy", *(task.title for task in chosen)), rows, left=2))
    return "\n".join(part for part in parts if part)


def _all_methods(task: Task) -> list[Field]:
    return _beside(task, list(task.labels), _comparable(task, list(task.labels)))


def _comparable(task: Task, methods: Sequence[str | None]) -> set[str]:
    """Those with seeds enough to say anything; all that were run where none has."""
    run = {method for method in methods if method and task.values(method)}
    return {method for method in run if len(task.values(method)) >= FEWEST_SEEDS} or run


def _beside(task: Task, methods: Sequence[str | None], compared: set[str]) -> list[Field]:
    """Those that are compared over the seeds that they share, the best in bold; each of the others over its own."""
    chosen = [method for method in methods if method in compared]
    fields = iter(_bold_best(task, chosen, task.shared(chosen)))
    return [next(fields) if method in compared else _few(task, method) for method in methods]


def _few(task: Task, method: str | None) -> Field:
    seeds = tuple(task.values(method)) if method else ()
    return f"{_spread(task, method, seeds)} {_seeds(len(seeds))}" if seeds else MISSING


def missing(tasks: Tasks) -> str:
    """What is planned and has not been run; seeds beyond the plan do no harm."""
    lines = [f"- {task.title}: {lacking}" for task in tasks if (lacking := _lacking(task))]
    done = sum(min(len(seeds), task.seeds) for task in tasks for seeds in task.found.values())
    planned = sum(task.seeds * len(task.labels) for task in tasks)
    return "\n".join([f"{done} of {planned} planned runs are finished.", *([""] if lines else []), *lines]) + "\n"


def _lacking(task: Task) -> str:
    """Methods by the number of seeds that they have."""
    by_number: dict[int, list[str]] = {}
    for method, label in task.labels.items():
        if len(task.values(method)) < task.seeds:
            by_number.setdefault(len(task.values(method)), []).append(label)
    if list(map(len, by_number.values())) == [len(task.labels)]:
        return f"{next(iter(by_number))} of {task.seeds} seeds of every method"
    return "; ".join(f"{n} of {task.seeds} seeds of {', '.join(some)}" for n, some in sorted(by_number.items()))


def summary(tasks: Tasks) -> str:
    """The short table of a README. An error is bold where no other method has a lower one; a difference to MixUp where
    it is sure and not the schedule's; that to the lowest other where it is sure, for or against."""
    head = ("test error, %", "baseline", "MixUp, best α", "MixUp that settles", "TrustMix", "TrustMix − MixUp (95 %)")
    rows: list[list[Field]] = []
    for task in tasks:
        methods = [BASELINE, row(task, TUNED), SCHEDULE, OURS]
        seeds, other = task.shared(methods), lowest_other(task)
        beaten = other is not None and other.difference.mean > 0
        errors = _bold_best(task, methods, seeds)
        rows.append(
            [
                task.title,
                *(plain(field) if beaten else field for field in errors),
                _difference(task, against(task, TUNED, seeds=seeds), may_be_bold=is_learned(task)),
                (*pieces(_difference(task, other.difference)), f", {task.labels[other.method]}") if other else MISSING,
            ]
        )
    return table((*head, "TrustMix − the lowest other"), rows)


def _bold_best(task: Task, methods: Sequence[str | None], seeds: Sequence[int]) -> list[Field]:
    """Mean ± deviation of each over these seeds; the lowest in bold. Controls are no contenders."""
    means = {
        m: mean for m in methods if m and m not in task.controls and (mean := task.mean(m, seeds=seeds)) is not None
    }
    best = min(means.values(), default=None) if len(seeds) >= FEWEST_SEEDS else None
    texts = [_spread(task, method, seeds) for method in methods]
    return [bold(text) if m in means and means[m] == best else text for m, text in zip(methods, texts, strict=True)]


def _spread(task: Task, method: str | None, seeds: Sequence[int], key: str = "test_error", digits: int = 2) -> str:
    if method is None:
        return MISSING
    return spread_text(task.mean(method, key, seeds), task.std(method, key, seeds), digits, MISSING)


def _difference(task: Task, found: Difference | None, digits: int = 2, may_be_bold: bool = True) -> Field:
    """In bold where the interval excludes zero; with the number of seeds where that is not the planned one."""
    if found is None:
        return MISSING
    text = difference_text(found, digits)
    seeds = "" if found.seeds == task.seeds else f" {_seeds(found.seeds)}"
    return (bold(text) if found.sure and may_be_bold else text, seeds)


def _seeds(count: int) -> str:
    return f"({count} {'seed' if count == 1 else 'seeds'})"


def _number(value: float | None, digits: int = 2) -> str:
    return MISSING if value is None else f"{value:,.{digits}f}"


def table(head: Sequence[str], rows: Iterable[Sequence[Field]], left: int = 1) -> str:
    return as_markdown(TextTable(head, list(rows), left))


TABLES: dict[str, Callable[[Tasks], str]] = {
    part.__name__: part
    for part in (verdict, errors, differences, rivals, alphas, calibration, cost, methods, missing, summary)
}
