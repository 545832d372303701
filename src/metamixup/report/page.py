"""The page: what was recorded, put into the templates. Everything a user named is escaped; the scripts are our own."""

from importlib.resources import files
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from jinja2.utils import htmlsafe_json_dumps
from markupsafe import Markup

from metamixup import __version__
from metamixup.analysis.records import read_run
from metamixup.report.grid import grid_context, is_grid
from metamixup.report.run import run_context
from metamixup.storage import finite, write_output

_SCRIPTS = {
    "run": ("theme.js", "chart.js", "heat.js", "run.js"),
    "grid": ("theme.js", "grid.js"),
    "audit": ("theme.js", "audit.js"),
}


def write_page(path: Path, out: Path) -> list[str]:
    """The page of the run or grid in `path`, written to `out`; what could not be shown, in words."""
    kind = "grid" if is_grid(path) else "run"
    context = grid_context(path) if kind == "grid" else run_context(read_run(path))
    write_output(out, render(kind, context))
    return context["missing"]


def render(kind: str, context: dict[str, Any]) -> str:
    """`data` in the context goes to the scripts as JSON, the rest to the template."""
    environment = Environment(
        loader=PackageLoader("metamixup.report", "assets"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    scripts = "\n".join(_asset(name) for name in _SCRIPTS[kind])
    assets = {"css": Markup(_asset("page.css")), "js": Markup(scripts), "version": __version__}
    data = htmlsafe_json_dumps(finite(context["data"]), ensure_ascii=False, separators=(",", ":"))
    return environment.get_template(f"{kind}.html.j2").render(context | assets | {"data": data})


def _asset(name: str) -> str:
    return files("metamixup.report").joinpath("assets", name).read_text(encoding="utf-8")
