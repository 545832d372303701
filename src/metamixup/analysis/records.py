"""What a run left on disk, read with patience: what is missing or damaged is named, the rest is given."""

import json
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from metamixup.engine.records.run_folder import RunFolder, read_lines
from metamixup.engine.records.summary_check import is_number
from metamixup.errors import UserError
from metamixup.storage import read_record


@dataclass(frozen=True)
class Records:
    """`metrics` and `lambdas` hold a line an epoch; `missing` says in words what could not be read."""

    path: Path
    settings: dict[str, Any] = field(default_factory=dict)
    metrics: list[dict[str, Any]] = field(default_factory=list)
    lambdas: list[dict[str, Any]] = field(default_factory=list)
    summary: dict[str, Any] = field(default_factory=dict)
    gallery: dict[str, Any] = field(default_factory=dict)
    missing: list[str] = field(default_factory=list)

    def setting(self, name: str, default: Any = None) -> Any:
        """`setting("policy.name")` from the config, or else from the summary."""
        found: Any = self.settings
        for part in name.split("."):
            found = found.get(part) if isinstance(found, dict) else None
        return found if found is not None else self.summary.get(name, default)

    @property
    def name(self) -> str:
        """`mixup, seed 3`: what a legend calls this run; the folder's name where the settings are lost."""
        method = self.setting("method")
        return f"{method}, seed {self.setting('seed', 0)}" if method else self.path.name

    @property
    def classes(self) -> list[str]:
        """Names of the classes; none where they were not recorded."""
        found = self.summary.get("classes", self.gallery.get("classes"))
        return [str(name) for name in found] if isinstance(found, list) else []

    def column(self, key: str) -> list[float | None]:
        """One number an epoch; `losses.supervised` looks into a section."""
        section, _, inner = key.rpartition(".")
        lines = [line.get(section, {}) if section else line for line in self.metrics]
        found = [line.get(inner) if isinstance(line, dict) else None for line in lines]
        return [value if is_number(value) else None for value in found]


def read_run(path: Path) -> Records:
    folder = RunFolder(path)
    if not path.is_dir() or not any(p.exists() for p in (folder.config, folder.metrics, folder.summary)):
        raise UserError(
            f"{path} is no run folder: expected config.toml, metrics.jsonl or summary.json in it, "
            "as `metamixup train --out` writes them"
        )
    missing: list[str] = []
    records = Records(
        path,
        settings=_toml(folder.config, missing),
        metrics=_lines(folder.metrics, missing, "no curves"),
        lambdas=_lines(folder.lambdas, missing, "no λ by class pair"),
        summary=_summary(folder, missing),
        gallery=_json(folder.gallery, missing, "no calibration, confusion matrix or images"),
        missing=missing,
    )
    return records


def _toml(path: Path, missing: list[str]) -> dict[str, Any]:
    try:
        return tomllib.loads(read_record(path))
    except FileNotFoundError:
        missing.append(f"{path.name} is missing: no settings")
    except (OSError, ValueError, RecursionError) as error:
        missing.append(f"{path.name} cannot be read ({error}): no settings")
    return {}


def _json(path: Path, missing: list[str], consequence: str) -> dict[str, Any]:
    try:
        found = json.loads(read_record(path))
    except FileNotFoundError:
        missing.append(f"{path.name} is missing: {consequence}")
        return {}
    except (OSError, ValueError, RecursionError) as error:
        missing.append(f"{path.name} cannot be read ({error}): {consequence}")
        return {}
    if not isinstance(found, dict):
        missing.append(f"{path.name} holds no record: {consequence}")
        return {}
    return found


def _summary(folder: RunFolder, missing: list[str]) -> dict[str, Any]:
    if not folder.finished:
        missing.append("summary.json is missing: the run is unfinished, or is still going on")
        return {}
    try:
        return folder.read_summary()
    except UserError as error:
        missing.append(str(error))
        return {}


def _lines(path: Path, missing: list[str], consequence: str) -> list[dict[str, Any]]:
    lines = [line for line in read_lines(path) if isinstance(line.get("epoch"), int)]
    if not lines:
        missing.append(f"{path.name} {'holds no epoch yet' if path.exists() else 'is missing'}: {consequence}")
    return lines
