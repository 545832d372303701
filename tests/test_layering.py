"""Imports go down only, and the core needs torch and numpy alone (docs/architecture.md)."""

import ast
import subprocess
import sys
from pathlib import Path

import metamixup

ROOT = Path(metamixup.__file__).parent
BELOW = {
    "errors": set(),
    "world": {"errors"},
    "seeding": set(),
    "network": {"errors"},
    "storage": {"errors"},
    "mixing": {"world"},
    "policy": {"mixing"},
    "meta": {"policy", "network"},
    "trust": {"meta"},
    "choices": {"trust"},
    "mixer": {"choices"},
    "methods": {"meta", "seeding"},
    "models": {"network"},
    "data": {"mixing", "seeding", "storage"},
    "engine": {"methods", "seeding", "storage"},
    "settings": {"engine", "models", "data", "choices"},
    "runs": {"settings", "mixer"},
    "tables": {"runs"},
    "analysis": {"tables"},
    "audit": {"analysis"},
    "report": {"audit"},
    "integrations": {"tables"},
    "benchmarks": {"tables"},
    "cli": {"report", "integrations", "benchmarks"},
    "__main__": {"cli"},
}
CORE = {"errors", "world", "seeding", "network", "mixing", "policy", "meta", "trust", "choices", "mixer"}


def allowed(layer: str) -> set[str]:
    return {layer}.union(*(allowed(below) for below in BELOW[layer]))


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


def test_imports_go_down_only():
    wrong = []
    for path in sorted(ROOT.rglob("*.py")):
        layer = layer_of(path)
        if layer == "__init__":
            continue
        for name in imported(path):
            parts = name.split(".")
            target = parts[1] if parts[0] == "metamixup" and len(parts) > 1 else None
            if target in BELOW and target not in allowed(layer):
                wrong.append(f"{path.relative_to(ROOT)} imports {name}")
    assert not wrong, "\n".join(wrong)


def test_every_package_has_its_place_in_the_layers():
    found = {layer_of(path) for path in ROOT.rglob("*.py")} - {"__init__"}
    assert found == set(BELOW)


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
