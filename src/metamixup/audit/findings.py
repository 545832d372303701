"""What an audit found: a ranked list, and how many labels are wrong in all."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Literal

from metamixup.storage import finite
from metamixup.tables.text_table import TextTable, as_csv

Why = Literal["label", "duplicate", "stranger", "unreadable"]
RIGHT = "likely right"
WORDS = {
    "label": "likely wrong label",
    "duplicate": "near duplicate with another label",
    "stranger": "none of the classes",
    "unreadable": "cannot be read",
}
CALLED = 0.5  # from this P(wrong) on a label is said to look wrong


@dataclass(frozen=True)
class Finding:
    """position: of the image among all that were audited; likely: the likeliest other class, or empty; wrong: P(the
    label is wrong); note: the duplicate's name, or why a file cannot be read."""

    file: str
    given: str
    likely: str
    wrong: float
    why: Why
    position: int = -1
    note: str = ""


@dataclass(frozen=True)
class Audit:
    """findings: the most suspicious first; share, low, high: of wrong labels, estimated with its 95 % interval;
    distrusts: False where what looks wrong is no more than hard images do by themselves."""

    name: str
    images: int
    classes: tuple[str, ...]
    share: float
    low: float
    high: float
    findings: list[Finding] = field(default_factory=list)
    how: str = ""
    distrusts: bool = True

    @property
    def called(self) -> int:
        return self.distrusts * sum(finding.why == "label" and finding.wrong >= CALLED for finding in self.findings)

    def sentence(self) -> str:
        """How many labels look wrong, and how many are likely to be."""
        if not self.distrusts:
            none = f"the run distrusted none of its {self.images:,} labels; those that fit their image least come first"
            return f"{none}. A stricter look, by networks that were not trained on them: metamixup audit {self.name}"
        low, middle, high = (round(share * self.images) for share in (self.low, self.share, self.high))
        about = f"about {middle:,} of {self.images:,} labels are wrong ({low:,} to {high:,}, 95 %)"
        return f"{self.called:,} labels look wrong; {about}"


def as_table(audit: Audit, most: int | None = None) -> TextTable:
    """The list as a table; `most` rows of it."""
    rows = [_fields(finding) for finding in audit.findings[:most]]
    return TextTable(("file", "label", "likely", "P(wrong)", "why"), rows, left=3)


def _fields(finding: Finding) -> Sequence[str]:
    note = f": {finding.note}" if finding.note else ""
    return finding.file, finding.given, finding.likely, f"{finding.wrong:.3f}", in_words(finding) + note


def in_words(finding: Finding) -> str:
    """Why it is listed."""
    return WORDS[finding.why] if finding.why != "label" or finding.wrong >= CALLED else RIGHT


def audit_csv(audit: Audit) -> str:
    return as_csv(as_table(audit))


def audit_json(audit: Audit) -> str:
    """ASCII: whatever encoding standard output has, it stays JSON."""
    return json.dumps(finite(asdict(audit)), indent=1) + "\n"
