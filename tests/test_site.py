"""The documentation: shell and TOML blocks, links, and the built site, which must make no request to outside."""

import os
import re
import shlex
import subprocess
import sys
import tomllib
from html.parser import HTMLParser
from pathlib import Path

import pytest
import typer.main
from documents import ROOT, blocks, pages, python

from metamixup.choices import ESTIMATORS
from metamixup.cli import run
from metamixup.cli.app import app
from metamixup.settings.dotted import flat
from metamixup.settings.resolve import resolve

LINK = re.compile(r"(?<!`)!?\[[^\]]*\]\(([^)\s]+)\)")


def commands(page: Path, marked: str | None) -> list[list[str]]:
    """The lines of a page's shell blocks that are, or are not, marked `long`; all with None."""
    chosen = [b for b in blocks(page) if b.language == "sh" and marked in (None, b.mark)]
    lines = [line for block in chosen for line in block.code.splitlines() if line.strip()]
    return [shlex.split(line, comments=True) for line in lines]


def ids(page: Path) -> str:
    return str(page.relative_to(ROOT))


WITH_COMMANDS = [page for page in pages() if commands(page, None)]


@pytest.mark.parametrize("page", WITH_COMMANDS, ids=ids)
def test_every_command_exists_with_its_options(page):
    makefile, project = (ROOT / "Makefile").read_text(), (ROOT / "pyproject.toml").read_text()
    for program, *arguments in commands(page, None):
        if program == "metamixup":
            parse(arguments)
        elif program == "make":
            assert re.search(rf"^{arguments[0]}:", makefile, re.M), arguments
        elif program == "pip":
            for extra in re.findall(r"\[(\w+)\]", " ".join(arguments)):
                assert re.search(rf"^{extra} = \[", project, re.M), extra
        elif program == "python":
            assert (ROOT / arguments[0]).exists(), arguments
        else:
            pytest.fail(f"{page}: unknown program {program}")


def parse(arguments: list[str]) -> None:
    """As the command line would, without doing anything."""
    command = typer.main.get_command(app)
    while hasattr(command, "commands"):
        name, *arguments = arguments
        command = command.commands[name]
    command.make_context(command.name, list(arguments))


RUN = [page for page in WITH_COMMANDS if any(c[0] == "metamixup" for c in commands(page, ""))]


@pytest.mark.parametrize("page", RUN, ids=ids)
def test_commands_run(page, tmp_path, monkeypatch, capsys):
    """All but those marked `long`, in an empty folder. Trainings get one epoch of few images."""
    monkeypatch.chdir(tmp_path)
    if page.name == "own-data.md":
        exec(compile(python(page), str(page), "exec"), {})
    for program, *arguments in commands(page, ""):
        if program == "metamixup" and arguments[0] != "doctor":  # it has a test of its own
            assert run(shortened(arguments)) == 0, (arguments, capsys.readouterr().err)


def shortened(arguments: list[str]) -> list[str]:
    if arguments[0] != "train":
        return arguments
    small = "--set" in arguments or any(a.startswith("./") or a.endswith(".npz") for a in arguments)
    few = [] if small else ["--set", "subset=400"]
    return [*arguments, *few, "--epochs", "1", "--batch-size", "32"]


@pytest.mark.parametrize("page", [p for p in pages() if any(b.language == "toml" for b in blocks(p))], ids=ids)
def test_settings_are_known(page):
    for block in blocks(page):
        if block.language == "toml":
            resolve(flat(tomllib.loads(block.code)))


@pytest.mark.parametrize("page", pages(), ids=ids)
def test_every_fence_has_a_language_that_is_checked(page):
    assert {block.language for block in blocks(page)} <= {"python", "sh", "toml", "text", ""}


@pytest.mark.parametrize("page", pages(), ids=ids)
def test_links_lead_somewhere(page):
    for target in LINK.findall(page.read_text(encoding="utf-8")):
        if target.startswith(("http://", "https://")):
            continue  # the network is not asked
        path, _, anchor = target.partition("#")
        file = (page.parent / path).resolve() if path else page
        assert file.exists(), f"{page.name}: {target}"
        if anchor:
            headings = re.findall(r"^#+ (.*)$", file.read_text(encoding="utf-8"), re.M)
            assert anchor in {slug(heading) for heading in headings}, f"{page.name}: {target}"


def slug(heading: str) -> str:
    return re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", heading).strip().lower())


def test_every_estimator_is_explained():
    named = (ROOT / "docs" / "estimators.md").read_text(encoding="utf-8")
    assert [name for name in ESTIMATORS if f"| `{name}` |" not in named] == []
    rows = [line for line in named.splitlines() if line.startswith("|")]
    assert len({line.count("|") for line in rows}) == 1


class Requests(HTMLParser):
    """What a browser would load by itself."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        given = dict(attributes)
        loads = given.get("src") or (given.get("href") if tag == "link" and given.get("rel") != "canonical" else None)
        if loads and re.match(r"(https?:)?//", loads):
            self.found.append(loads)


def test_the_site_builds_without_a_warning_and_asks_nobody(tmp_path):
    build = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(tmp_path / "site")]
    done = subprocess.run(
        build, cwd=ROOT, capture_output=True, text=True, env={**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    )
    assert done.returncode == 0, done.stdout + done.stderr
    for page in (tmp_path / "site").rglob("*.html"):
        reader = Requests()
        reader.feed(page.read_text(encoding="utf-8"))
        assert not reader.found, f"{page.name} loads {reader.found}"
    assert "MetaMixUp" in (tmp_path / "site" / "api" / "index.html").read_text(encoding="utf-8")
