import json

import pytest

from metamixup.cli import run


@pytest.fixture
def records(tmp_path):
    lines = [
        {
            "cell": f"digits/cnn3/{method}",
            "method": method,
            "seed": seed,
            "test_error": error + seed + 0.01 * seed * error,
        }
        for method, error in (("mixup", 2.0), ("ours", 1.0), ("ours:reverse", 0.5))
        for seed in range(3)
    ]
    (tmp_path / "records.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return tmp_path / "records.jsonl"


@pytest.mark.parametrize(
    ("form", "shown"),
    [
        ("md", "| **2.01"),
        ("html", "<b>2.01"),
        ("csv", "digits/cnn3,ours,"),
        ("latex", "\\toprule"),
        ("svg", "<svg"),
    ],
)
def test_every_format(records, capsys, tmp_path, form, shown):
    assert run(["table", str(records), "--format", form]) == 0
    printed = capsys.readouterr().out
    assert shown in printed
    assert run(["table", str(records), "--format", form, "--out", str(tmp_path / "new" / "file")]) == 0
    assert (tmp_path / "new" / "file").read_text() == printed
    assert "**0.5" not in printed


def test_nothing_found(tmp_path, capsys):
    assert run(["table", str(tmp_path)]) == 2
    assert "no finished run" in capsys.readouterr().err
