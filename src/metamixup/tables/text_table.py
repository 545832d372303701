"""A table of texts, and the only place that writes one as Markdown, HTML, CSV or LaTeX."""

import csv
import html
import io
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

# A spreadsheet would run a text that begins like a formula.
FORMULA = tuple("=+-@\t\r")
SIGNED_NUMBER = re.compile(r"[+-][\d.,]+( .*)?")
LATEX = {c: f"\\{c}" for c in "&%$#_{}"} | {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "±": r"$\pm$",
    "−": "$-$",
    "–": "--",
    "×": r"$\times$",
    "α": r"$\alpha$",
    "λ": r"$\lambda$",
    "σ": r"$\sigma$",
    "†": r"\textdagger{}",
    "‡": r"\textdaggerdbl{}",
}


@dataclass(frozen=True)
class Styled:
    """A part of a field that stands out."""

    text: str
    style: Literal["bold", "code"]


Piece = str | Styled
Field = Piece | tuple[Piece, ...]


@dataclass(frozen=True)
class TextTable:
    """head: a name for each column; rows: a field for each; left: how many columns are set left, the others right as
    numbers are; faint: the rows that are no contenders (controls)."""

    head: Sequence[str]
    rows: Sequence[Sequence[Field]]
    left: int = 1
    faint: frozenset[int] = frozenset()


def bold(text: str) -> Styled:
    return Styled(text, "bold")


def code(text: str) -> Styled:
    return Styled(text, "code")


def pieces(field: Field) -> tuple[Piece, ...]:
    return field if isinstance(field, tuple) else (field,)


def plain(field: Field) -> str:
    return "".join(piece if isinstance(piece, str) else piece.text for piece in pieces(field))


def as_markdown(table: TextTable) -> str:
    """Empty for a table without rows."""
    if not table.rows:
        return ""
    marks = ["---" if place < table.left else "---:" for place in range(len(table.head))]
    rows = [[_written(field, _markdown_text, "**{}**", "`{}`") for field in row] for row in table.rows]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in ([*map(_markdown_text, table.head)], marks, *rows))


def as_html(table: TextTable) -> str:
    """A <table>; what a user named is escaped."""
    head = "".join(f'<th scope="col">{html.escape(name)}</th>' for name in table.head)
    body = "".join(_html_row(row, table.left, place in table.faint) for place, row in enumerate(table.rows))
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def as_csv(table: TextTable) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerows([[harmless(plain(field)) for field in row] for row in (table.head, *table.rows)])
    return out.getvalue()


def as_latex(table: TextTable) -> str:
    """A tabular with the rules of the package booktabs."""
    rows = [[_written(field, _latex_text, "\\textbf{{{}}}", "\\texttt{{{}}}") for field in row] for row in table.rows]
    lines = [" & ".join(cells) + r" \\" for cells in ([_latex_text(name) for name in table.head], *rows)]
    columns = "l" * table.left + "r" * (len(table.head) - table.left)
    body = [r"\toprule", lines[0], r"\midrule", *lines[1:], r"\bottomrule"]
    return "\n".join([f"\\begin{{tabular}}{{{columns}}}", *body, r"\end{tabular}"]) + "\n"


def harmless(text: str) -> str:
    """An apostrophe makes plain text of what a spreadsheet would run; a signed number is none of that."""
    return f"'{text}" if text.startswith(FORMULA) and not SIGNED_NUMBER.fullmatch(text) else text


def _written(field: Field, escape: Callable[[str], str], bolded: str, coded: str) -> str:
    forms = {"bold": bolded, "code": coded}
    return "".join(
        escape(piece) if isinstance(piece, str) else forms[piece.style].format(escape(piece.text))
        for piece in pieces(field)
    )


def _markdown_text(text: str) -> str:
    return text.replace("|", "\\|")


def _latex_text(text: str) -> str:
    return "".join(LATEX.get(character, character) for character in text)


def _html_row(row: Sequence[Field], left: int, faint: bool) -> str:
    cells = [_written(field, html.escape, "<b>{}</b>", "<code>{}</code>") for field in row]
    names = "".join(f'<th scope="row">{cell}</th>' for cell in cells[:left])
    values = "".join(f"<td>{cell}</td>" for cell in cells[left:])
    kind = ' class="control"' if faint else ""
    return f"<tr{kind}>{names}{values}</tr>"
