"""A forest plot: the paired difference of every row to one method with its 95 % interval, as a picture in SVG."""

from collections.abc import Sequence
from html import escape

from metamixup.errors import UserError
from metamixup.tables.entry import Difference, Entry
from metamixup.tables.table_files import by_task, difference_text

NAMES, PLOT, NUMBERS, ROW, MARGIN = 260, 300, 190, 22, 10  # pixels
BETTER, WORSE, OPEN = "#0072B2", "#D55E00", "#666666"
STYLE = "text{font:12px system-ui,sans-serif;fill:#222}.task{font-weight:600}.soft{fill:#666}"


def forest(entries: Sequence[Entry], against: str) -> str:
    """Left of the line is better. Only what is sure, over three seeds or more, is coloured; controls never are."""
    tasks = {task: [e for e in own if e.difference is not None] for task, own in by_task(entries).items()}
    tasks = {task: own for task, own in tasks.items() if own}
    if not tasks:
        raise UserError(f"no row can be compared with {against!r} seed by seed; name another with --against")
    reach = max(abs(end) for own in tasks.values() for e in own for end in _ends(e.difference)) * 1.1 or 1.0
    lines, row = [], 1
    for task, own in tasks.items():
        lines.append(_text(0, row, task, "task"))
        lines += [_row(entry, row + 1 + place, reach) for place, entry in enumerate(own)]
        row += len(own) + 1
    axis = NAMES + PLOT / 2
    zero = f'<line x1="{axis}" x2="{axis}" y1="{ROW}" y2="{row * ROW}" stroke="#999"/>'
    foot = _text(NAMES, row, f"points of test error minus {against}'s; left is better; ± {reach:.2f}", "soft")
    width, height = NAMES + PLOT + NUMBERS + 2 * MARGIN, (row + 1) * ROW + 2 * MARGIN
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{-MARGIN} {-MARGIN} {width} {height}" width="{width}">'
    return "\n".join([head, f"<style>{STYLE}</style>", zero, *lines, foot, "</svg>"]) + "\n"


def _row(entry: Entry, row: int, reach: float) -> str:
    found = entry.difference
    assert found is not None
    low, middle, high = (
        NAMES + PLOT * (0.5 + end / reach / 2) for end in (_ends(found)[0], found.mean, _ends(found)[1])
    )
    colour = OPEN if entry.control else BETTER if found.below else WORSE if found.above else OPEN
    y = (row + 0.5) * ROW
    drawn = f'<line x1="{low:.1f}" x2="{high:.1f}" y1="{y}" y2="{y}" stroke="{colour}" stroke-width="2"/>'
    dot = f'<circle cx="{middle:.1f}" cy="{y}" r="4" fill="{colour}"/>'
    seeds = f"  {found.seeds} {'seed' if found.seeds == 1 else 'seeds'}"
    return (
        _text(MARGIN, row, entry.name, "soft" if entry.control else "")
        + (drawn if found.low is not None else "")
        + dot
        + _text(NAMES + PLOT + MARGIN, row, difference_text(found) + seeds, "soft")
    )


def _ends(found: Difference | None) -> tuple[float, float]:
    assert found is not None
    return (found.mean, found.mean) if found.low is None or found.high is None else (found.low, found.high)


def _text(x: float, row: int, text: str, kind: str) -> str:
    return f'<text x="{x}" y="{(row + 0.5) * ROW + 4}" class="{kind}">{escape(text)}</text>'
