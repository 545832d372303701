"""Every Python block of the README and of the documentation runs, page by page from top to bottom."""

from pathlib import Path

import pytest
import torch
from documents import ROOT, blocks, pages, python

WITH_PYTHON = [page for page in pages() if python(page)]


@pytest.mark.parametrize("page", WITH_PYTHON, ids=lambda page: str(page.relative_to(ROOT)))
def test_python_blocks_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    torch.manual_seed(0)
    exec(compile(python(page), str(page), "exec"), {"__name__": page.stem})


LINES = {"README.md": 3, "docs/how-to/accelerate.md": 3, "docs/how-to/lightning.md": 1, "docs/how-to/skorch.md": 1}


@pytest.mark.parametrize(("name", "lines"), LINES.items())
def test_lines_that_a_user_adds(name: str, lines: int) -> None:
    """Those that carry a number; nothing else of the first block knows of mixing, but for the import of a callback."""
    first = next(block.code for block in blocks(ROOT / name) if block.language == "python").splitlines()
    marked = [line for line in first if line.rpartition("#")[2].strip().isdigit()]
    assert len(marked) == lines
    others = [line for line in first if line not in marked and not line.startswith("from metamixup")]
    assert not any(word in line.lower() for line in others for word in ("metamixup", "mixer", "indexed"))
