"""What an audit found: a ranked list, and how many labels are wrong in all."""

import json
from collections import Counter
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
OTHERS: dict[Why, tuple[str, str]] = {
    "duplicate": ("image has a near duplicate with another label", "images have a near duplicate with another label"),
    "stranger": ("image looks like none of the classes", "images look like none of the classes"),
    "unreadable": ("file cannot be read", "files cannot be read"),
}
UNSURE = "not known"
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
    """findings: the most suspicious first; share, low, high: of wrong labels, estimated with its 95 % interval; how: it
    was judged; doubt: why no label is called wrong, whatever its P(wrong)."""

    name: str
    images: int
    classes: tuple[str, ...]
    share: float
    low: float
    high: float
    findings: list[Finding] = field(default_factory=list)
    how: str = ""
    doubt: str = ""

    @property
    def called(self) -> int:
        return 0 if self.doubt else sum(one.why == "label" and one.wrong >= CALLED for one in self.findings)

    def sentence(self) -> str:
        """How many labels look wrong, how many are likely to be, what else was found, and how."""
        return "; ".join(part for part in (self.doubt or self._estimate(), *self._others(), self.how) if part)

    def _estimate(self) -> str:
        low, middle, high = (round(share * self.images) for share in (self.low, self.share, self.high))
        about = f"about {middle:,} of {self.images:,} labels are wrong ({low:,} to {high:,}, 95 %)"
        return f"{counted(self.called, 'label looks', 'labels look')} wrong; {about}"

    def _others(self) -> list[str]:
        """Files that cannot be read come last in the list, beyond what a terminal shows."""
        counts = Counter(finding.why for finding in self.findings)
        return [counted(counts[why], *words) for why, words in OTHERS.items() if counts[why]]


def counted(count: int, one: str, many: str) -> str:
    return f"{count:,} {one if count == 1 else many}"


def as_table(audit: Audit, most: int | None = None) -> TextTable:
    """The list as a table; `most` rows of it."""
    rows = [_fields(finding, audit.doubt) for finding in audit.findings[:most]]
    return TextTable(("file", "label", "likely", "P(wrong)", "why"), rows, left=3)


def _fields(finding: Finding, doubt: str) -> Sequence[str]:
    note = f": {finding.note}" if finding.note else ""
    return finding.file, finding.given, finding.likely, f"{finding.wrong:.3f}", in_words(finding, doubt) + note


def in_words(finding: Finding, doubt: str = "") -> str:
    """Why it is listed."""
    if finding.why != "label":
        return WORDS[finding.why]
    return RIGHT if finding.wrong < CALLED else UNSURE if doubt else WORDS["label"]


def audit_csv(audit: Audit) -> str:
    return as_csv(as_table(audit))


def audit_json(audit: Audit) -> str:
    """ASCII: whatever encoding standard output has, it stays JSON."""
    return json.dumps(finite(asdict(audit)), indent=1) + "\n"
