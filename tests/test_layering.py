"""Imports go down only, the table of who imports whom is the real one, and the map lists the tree."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import metamixup

ROOT = Path(metamixup.__file__).parent
DOCS = Path(__file__).parents[1] / "docs"
# Every package and what it imports, the lowest first: a line may name only packages of the lines before it.
EDGES = {
    "errors": "",
    "network": "errors",
    "storage": "errors",
    "models": "errors network storage",
    "seeding": "",
    "world": "errors",
    "mixing": "errors world",
    "data": "errors mixing seeding storage",
    "methods": "errors mixing network world",
    "policy": "errors mixing world",
    "meta": "errors mixing network policy world",
    "engine": "errors meta methods mixing network seeding storage world",
    "trust": "errors meta mixing network policy world",
    "benchmarks": "data engine meta mixing models network policy seeding trust",
    "choices": "errors meta policy trust",
    "mixer": "choices errors meta mixing network policy seeding trust world",
    "integrations": "choices data errors mixer mixing network policy seeding storage trust",
    "settings": "choices data engine errors meta methods models policy seeding storage trust",
    "runs": "data engine errors meta mixer mixing models network seeding settings storage trust world",
    "analysis": "data engine errors mixing network policy runs seeding settings storage",
    "tables": "data engine errors runs settings storage",
    "audit": "analysis data errors mixing models policy seeding storage tables trust",
    "report": "analysis audit engine errors storage tables",
    "cli": "analysis audit benchmarks data engine errors models report runs settings storage tables world",
    "__main__": "cli",
}
CORE = {"errors", "world", "seeding", "network", "mixing", "policy", "meta", "trust", "choices", "mixer"}


def layer_of(path: Path) -> str:
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


def imported(path: Path) -> list[str]:
    """Modules named by a file's imports, wherever they stand, except those for type checkers alone."""
    tree = ast.parse(path.read_text())
    typing_only = {
        inner
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
        for inner in ast.walk(node)
    }
    names = []
    for node in ast.walk(tree):
        if node in typing_only:
            continue
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module == "metamixup":
            names += [f"metamixup.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.append(node.module)
    return names


def edges() -> dict[str, set[str]]:
    """Which packages each package imports, read from the source."""
    files = [path for path in ROOT.rglob("*.py") if layer_of(path) != "__init__"]
    found: dict[str, set[str]] = {layer_of(path): set() for path in files}
    for path in files:
        targets = {name.split(".")[1] for name in imported(path) if name.startswith("metamixup.")}
        found[layer_of(path)] |= targets & found.keys() - {layer_of(path)}
    return found


def test_the_table_is_the_real_one():
    real = {name: " ".join(sorted(below)) for name, below in edges().items()}
    wrong = {name: below for name, below in real.items() if EDGES.get(name) != below}
    assert not wrong, f"lines of EDGES as they should be: {wrong}"
    assert set(EDGES) == set(real)


def test_imports_go_down_only():
    below: set[str] = set()
    for name, imports in EDGES.items():
        assert set(imports.split()) <= below, f"{name} imports what is not below it"
        below.add(name)


def packages() -> set[str]:
    """Names of the tree as the map writes them: `engine/`, `engine/records/`, `storage.py`."""
    folders = {f"{path.parent.relative_to(ROOT)}/" for path in ROOT.rglob("__init__.py")} - {"./"}
    return folders | {path.name for path in ROOT.glob("*.py")} - {"__main__.py"}


def test_the_map_lists_every_package_and_nothing_else():
    tree = (DOCS / "architecture.md").read_text().partition("src/metamixup/\n")[2].partition("```")[0]
    listed = re.findall(r"^  (\S+(?:/|\.py))\s", tree, re.M)
    assert set(listed) == packages()
    assert len(listed) == len(set(listed))


def test_every_file_that_the_pages_name_is_there():
    """The map and the 'where is' table of CONTRIBUTING."""
    text = (DOCS.parent / "CONTRIBUTING.md").read_text().partition("## Where is")[2].partition("\n## ")[0]
    named = re.findall(r"`([\w/]+(?:\.\w+|/))`", text)
    assert len(named) >= 25
    assert [name for name in named if not (ROOT / name).exists() and not (DOCS.parent / name).exists()] == []


def test_the_picture_shows_every_package_above_what_it_imports():
    picture = (DOCS / "images" / "architecture.svg").read_text()
    heights = {name: int(y) for y, name in re.findall(r'<text x="\d+" y="(\d+)" class="name">(\w+)</text>', picture)}
    assert set(heights) == set(EDGES) - {"__main__"}
    for name, imports in EDGES.items():
        if name != "__main__":
            assert all(heights[name] < heights[below] for below in imports.split()), name


def test_the_core_needs_torch_and_numpy_alone():
    outside = set()
    for path in ROOT.rglob("*.py"):
        if layer_of(path) in CORE | {"__init__"}:
            outside |= {name.split(".")[0] for name in imported(path)}
    assert outside - set(sys.stdlib_module_names) <= {"torch", "numpy", "metamixup"}


def test_importing_the_public_names_brings_no_heavy_package():
    code = "import sys, metamixup; metamixup.MetaMixUp; print(' '.join(sys.modules))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    heavy = {"typer", "rich", "matplotlib", "plotly", "ray", "pydantic", "lightning_fabric", "sklearn", "scipy"}
    assert not heavy & set(loaded)


def test_the_command_line_starts_without_torch():
    code = "import sys, metamixup.cli.app; print(' '.join(sys.modules))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not {"torch", "sklearn", "matplotlib"} & set(loaded)
