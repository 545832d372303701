"""One self-contained page for a run or a grid of runs. It makes no request."""

from metamixup.report.page import write_page

__all__ = ["write_page"]
