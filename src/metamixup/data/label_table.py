"""A .csv table of images and labels, whatever spreadsheet wrote it: its rows, each with its line in the file.

Columns are separated by commas, semicolons or tabs, as the first line shows. What names and labels stand for in a data
set is told by image_names.py and relabel.py.
"""

import csv
from dataclasses import dataclass
from pathlib import Path

from metamixup.errors import DataError
from metamixup.storage import read_record

FILE, LABEL = ("file", "name", "image", "index"), ("label", "class")
CHOSEN = "chosen"
SEPARATORS = ",;\t"


@dataclass(frozen=True)
class Row:
    """label and chosen are empty where there is no such column; line: of the file, counted from 1."""

    line: int
    file: str
    label: str = ""
    chosen: str = ""


@dataclass(frozen=True)
class LabelTable:
    """The names of the columns, in lower case, and the rows below them."""

    columns: list[str]
    rows: list[Row]


def is_table(path: Path) -> bool:
    return path.suffix.lower() == ".csv"


def read_table(path: Path, needs_label: bool = True) -> LabelTable:
    columns, lines = _cells(path)
    file, label, chosen = (_first(columns, names) for names in (FILE, LABEL, (CHOSEN,)))
    if file is None or (needs_label and label is None):
        raise DataError(f"{path}: needs the columns file{' and label' * needs_label} in its first line, not {columns}")
    for number, cells in lines:
        if len(cells) <= max(file, label or 0):
            raise DataError(f"{path}, line {number}: has {len(cells)} columns, the first line has {len(columns)}")
    rows = [Row(n, _plain(cells, file), _plain(cells, label), _plain(cells, chosen)) for n, cells in lines]
    if not rows:
        raise DataError(f"{path}: names no image below its first line")
    return LabelTable(columns, rows)


def read_text(path: Path) -> str:
    try:
        return read_record(path, "utf-8-sig")
    except OSError as problem:
        raise DataError(f"{path}: cannot be read as text ({problem})") from problem
    except UnicodeDecodeError as problem:
        raise DataError(f"{path}: is not UTF-8 text; save it as UTF-8 (in a spreadsheet: 'CSV UTF-8')") from problem


def _cells(path: Path) -> tuple[list[str], list[tuple[int, list[str]]]]:
    """The columns, and the cells of each line that is not blank, with its number."""
    lines = read_text(path).splitlines()
    heads = {separator: _head(lines, separator) for separator in SEPARATORS}
    separator = next((s for s, head in heads.items() if _first(head, FILE) is not None), ",")
    reader = csv.reader(lines, delimiter=separator)
    try:
        filled = [(reader.line_num, cells) for cells in reader if any(cell.strip() for cell in cells)]
    except csv.Error as problem:
        raise DataError(f"{path}, line {reader.line_num}: cannot be read as a table ({problem})") from problem
    return heads[separator], filled[1:]


def _head(lines: list[str], separator: str) -> list[str]:
    first = next((line for line in lines if line.strip()), "")
    return [name.strip().lower() for name in next(csv.reader([first], delimiter=separator), [])]


def _first(columns: list[str], names: tuple[str, ...]) -> int | None:
    return next((columns.index(name) for name in names if name in columns), None)


def _plain(cells: list[str], column: int | None) -> str:
    """Without the apostrophe that keeps a spreadsheet from taking a name for a formula."""
    text = cells[column].strip() if column is not None and column < len(cells) else ""
    return text[1:] if text.startswith("'") and text[1:2] in tuple("=+-@") else text
