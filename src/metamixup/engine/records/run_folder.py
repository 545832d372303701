"""A run on disk: where its files are, who may write them, and records that are cut back on resuming."""

import json
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from metamixup.engine.records.summary_check import summary_problem
from metamixup.errors import UserError
from metamixup.storage import InUse, append, as_json, holder, locked, read_record, remove_leftovers, write_atomically


class RunFolder:
    """OUT/: config.toml, metrics.jsonl, lambda.jsonl, checkpoints/, model.safetensors, gallery.json, summary.json."""

    def __init__(self, root: Path | str):
        self.root = Path(root)
        self.config = self.root / "config.toml"
        self.metrics = self.root / "metrics.jsonl"
        self.lambdas = self.root / "lambda.jsonl"
        self.summary = self.root / "summary.json"
        self.model = self.root / "model.safetensors"
        self.gallery = self.root / "gallery.json"
        self.checkpoints = self.root / "checkpoints"
        self.split = self.root / "split.safetensors"
        self.whiten = self.root / "whiten.safetensors"

    @property
    def holds_run(self) -> bool:
        return any(p.exists() for p in (self.config, self.metrics, self.summary, self.model, self.checkpoints))

    @property
    def finished(self) -> bool:
        """The summary is written last."""
        return self.summary.exists()

    def read_summary(self) -> dict[str, Any]:
        try:
            found = json.loads(read_record(self.summary))
        except (OSError, ValueError, RecursionError) as error:
            raise UserError(f"{self.summary} cannot be read ({error}); remove it and go on with --resume") from error
        problem = summary_problem(found)
        if problem is not None:
            raise UserError(f"{self.summary} is none of metamixup's ({problem}); remove it and go on with --resume")
        return found

    def write_summary(self, summary: dict[str, Any]) -> None:
        write_atomically(self.summary, as_json(summary, indent=2) + b"\n")

    @contextmanager
    def locked(self) -> Iterator[None]:
        """One process a run folder."""
        try:
            self.root.mkdir(parents=True, exist_ok=True)
            holding = ExitStack()
            holding.enter_context(locked(self.root / ".lock"))
        except InUse as error:
            raise InUse(f"{error}; wait for it or choose another --out") from error
        except OSError as error:
            raise UserError(f"{self.root} cannot be written ({error.strerror}); choose another --out") from error
        with holding:
            for folder in (self.root, self.checkpoints):
                remove_leftovers(folder)
            yield

    def holder(self) -> str | None:
        """The process that trains here, in words; None if there is none."""
        return holder(self.root / ".lock")


def append_line(path: Path, record: dict[str, Any]) -> None:
    append(path, as_json(record) + b"\n")


def read_lines(path: Path) -> list[dict[str, Any]]:
    """The whole lines of a record; what a kill left half-written is not one."""
    records = []
    for line in read_record(path, errors="replace").splitlines() if path.exists() else []:
        try:
            record = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(record, dict):
            records.append(record)
    return records


def cut_back(path: Path, step: int) -> list[dict[str, Any]]:
    """Keep the lines up to `step`: later ones belong to work that is done again."""
    kept = [record for record in read_lines(path) if _step(record, step + 1) <= step]
    if path.exists():
        write_atomically(path, b"".join(as_json(record) + b"\n" for record in kept))
    return kept


def _step(record: dict[str, Any], missing: int) -> int:
    found = record.get("step")
    return found if isinstance(found, int) else missing
