from metamixup.benchmarks.page import markdown, write
from metamixup.cli.bench import joined

ROW = {"ratio": 1.5, "low": 1.4, "high": 1.6, "milliseconds": 3.0}
RESULT = {
    "machine": {"torch": "2", "threads": 1, "cores": 2},
    "models": {"cnn3": {"batch": 128, "threads": 2, "matmul_share": 0.5, "rows": {"mixup": ROW, "head": ROW}}},
    "quality": {"early": {"head": {"cosine": 0.5, "meta": 0.01, "held_out": 0.002}}},
    "growth": {"classes": {"cnn3 batch 128 classes 10": {"head": 1.5}}},
}


def test_the_page_shows_each_row_and_a_plot(tmp_path):
    write(RESULT, tmp_path / "cost.md")
    text = (tmp_path / "cost.md").read_text()
    assert "| head | 1.50 | 1.40–1.60 |" in text
    assert "| head | 0.50 | 0.0100 | 0.0020 |" in text
    assert (tmp_path / "cost.svg").stat().st_size > 1000
    assert "2 threads, the plain step reaches 50% of the machine's matrix-product rate." in text


def test_measurements_of_several_runs_are_joined():
    other = {"machine": {"threads": 2}, "models": {"wrn": {"batch": 32, "rows": {"mixup": ROW}}}}
    whole = joined([RESULT, other])
    assert list(whole["models"]) == ["cnn3", "wrn"]
    assert whole["machine"] == {"torch": "2", "threads": 2, "cores": 2}
    assert "## wrn, batch 32" in markdown(whole)
