"""Every Python block of the README and of the documentation runs, page by page from top to bottom."""

from pathlib import Path

import pytest
import torch
from documents import ROOT, pages, python

WITH_PYTHON = [page for page in pages() if python(page)]


@pytest.mark.parametrize("page", WITH_PYTHON, ids=lambda page: str(page.relative_to(ROOT)))
def test_python_blocks_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    torch.manual_seed(0)
    exec(compile(python(page), str(page), "exec"), {"__name__": page.stem})


def test_plain_loop_takes_three_lines() -> None:
    marked = [line for line in python(ROOT / "README.md").splitlines() if line.split("#")[-1].strip().isdigit()]
    assert len(marked) == 3
    unmarked = [line for line in python(ROOT / "README.md").splitlines() if line not in marked]
    assert not any("metamixup" in line.lower() or "mixer" in line for line in unmarked)
