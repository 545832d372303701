"""The wheel and the sdist: what is in them, and that the wheel's core runs with torch and numpy alone."""

import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest
from documents import ROOT, python

from metamixup import __version__

# The venv of the tests is full; this leaves of it what a core installation has.
CORE_ONLY = """
import sys
from importlib.machinery import PathFinder

import torch._dynamo  # an optimizer loads it, and it looks for much that it can do without

core = {"numpy", "metamixup", *(name for name in sys.modules if "." not in name)}


class Closed:
    @staticmethod
    def find_spec(name, path=None, target=None):
        found = PathFinder.find_spec(name) if path is None and name not in core else None
        if found is not None and "site-packages" in str(found.origin):
            raise ModuleNotFoundError(f"{name} does not belong to the core", name=name)


sys.meta_path.insert(0, Closed)
try:
    import pydantic
except ModuleNotFoundError:
    pass
else:
    raise AssertionError("the door is open")
"""


@pytest.fixture(scope="module")
def built(tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("dist")
    build = [sys.executable, "-m", "hatchling", "build", "-d", out]
    done = subprocess.run(build, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return out


def test_the_core_runs_with_torch_and_numpy_alone(built, tmp_path):
    (wheel,) = built.glob("*.whl")
    zipfile.ZipFile(wheel).extractall(tmp_path / "site")
    code = CORE_ONLY + f"sys.path.insert(0, {str(tmp_path / 'site')!r})\n" + python(ROOT / "README.md")
    code += "\nimport metamixup; print(metamixup.__file__, metamixup.__version__)"
    alone = {"PATH": "", "OMP_NUM_THREADS": "1"}
    done = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True, env=alone, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == [str(tmp_path / "site" / "metamixup" / "__init__.py"), __version__]


@pytest.mark.parametrize("command", [["--help"], ["train", "--data", "digits"]])
def test_a_core_installation_answers_the_command_with_the_line_that_installs_it(command):
    code = CORE_ONLY + f"sys.path.insert(0, {str(ROOT / 'src')!r})\n" + "from metamixup.cli import main\n"
    code += f"main({command!r})"
    done = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr == "error: typer is not installed; pip install 'metamixup[cli]'\n"


def test_what_is_in_the_wheel(built):
    (wheel,) = built.glob("*.whl")
    files = set(zipfile.ZipFile(wheel).namelist())
    assert wheel.name == f"metamixup-{__version__}-py3-none-any.whl"
    assert {"metamixup/py.typed", "metamixup/tables/paper/table1.toml"} <= files
    assert all(name.startswith("metamixup") for name in files)
    metadata = zipfile.ZipFile(wheel).read(f"metamixup-{__version__}.dist-info/METADATA").decode()
    needed = [line for line in metadata.splitlines() if line.startswith("Requires-Dist:") and "extra ==" not in line]
    assert sorted(line.split()[1].partition(">")[0] for line in needed) == ["numpy", "torch"]
    assert "License-Expression: MIT" in metadata


def test_what_is_in_the_sdist(built):
    (sdist,) = built.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        files = {name.partition("/")[2] for name in archive.getnames()}
    assert {"README.md", "CHANGELOG.md", "CITATION.cff", "LICENSE", "Makefile", "mkdocs.yml"} <= files
    assert {"src/metamixup/__init__.py", "tests/test_package.py", "docs/index.md", "examples/tabular.py"} <= files
    assert not any(part in name for name in files for part in (".venv", "__pycache__", ".data/"))
    assert not any(name.startswith("runs/") for name in files)


def test_one_version_everywhere():
    assert f"version: {__version__}" in (ROOT / "CITATION.cff").read_text()
    assert f"## {__version__}" in (ROOT / "CHANGELOG.md").read_text()
