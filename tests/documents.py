"""The documents as data: their fenced code blocks and their links."""

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
FENCE = re.compile(r"(<!-- (?P<mark>\w+) -->\n)?^ *```(?P<language>\w*)[^\n]*\n(?P<code>.*?)^ *```", re.S | re.M)


@dataclass(frozen=True)
class Block:
    """One fenced block; `mark` is the word of an HTML comment on the line before it."""

    language: str
    mark: str
    code: str
    line: int


def pages() -> list[Path]:
    return sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])


def blocks(page: Path) -> list[Block]:
    text = page.read_text(encoding="utf-8")
    return [
        Block(m["language"], m["mark"] or "", m["code"], text[: m.start("code")].count("\n"))
        for m in FENCE.finditer(text)
    ]


def python(page: Path) -> str:
    """A page's Python blocks as one program, at their own lines, so that a traceback points into the page."""
    program = ""
    for block in blocks(page):
        if block.language == "python":
            program += "\n" * (block.line - program.count("\n")) + block.code
    return program
