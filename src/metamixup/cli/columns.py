"""Columns of plain text: never cut off, and nothing in a name is taken for markup."""

from collections.abc import Sequence

from metamixup.cli.output import printable


def print_columns(header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    lines = [[printable(cell) for cell in line] for line in (header, *rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(header))]
    for line in lines:
        print("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip())
