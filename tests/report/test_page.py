import base64
import json
import re
import shlex
import shutil
from pathlib import Path

import pytest
from invented import write_run

from metamixup.analysis.records import read_run
from metamixup.errors import UserError
from metamixup.report import write_page
from metamixup.report.lambdas import MOST_CELLS, last_to_see
from metamixup.report.run import run_context


def embedded(html):
    """The JSON that the page's scripts read."""
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', html, re.S)[1])


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    return write_run(tmp_path_factory.mktemp("whole") / "run")


def page_without(whole, tmp_path, *names):
    run = shutil.copytree(whole, tmp_path / "run")
    for name in names:
        (run / name).unlink()
    missing = write_page(run, tmp_path / "page.html")
    return missing, (tmp_path / "page.html").read_text()


def test_a_whole_run_misses_nothing(whole, tmp_path):
    missing, html = page_without(whole, tmp_path)
    assert missing == []
    for part in ("curves", "lambda", "pairs", "examples", "predictions", "mistakes", "suspects", "settings"):
        assert f'<section id="{part}">' in html
    data = embedded(html)
    assert data["epochs"] == [1, 2, 3, 4, 5, 6]
    assert [c["title"] for c in data["charts"]][:2] == ["Error (%)", "Training loss"]
    assert len(base64.b64decode(data["pairs"]["mean"])) == 6 * 10 * 10


@pytest.mark.parametrize(
    ("lost", "said", "gone", "kept"),
    [
        ("summary.json", "unfinished", "mean λ by heart", "curves"),
        ("gallery.json", "no calibration", "mistakes", "curves"),
        ("lambda.jsonl", "no λ by class pair", "pairs", "lambda"),
        ("metrics.jsonl", "no curves", "curves", "pairs"),
        ("config.toml", "no settings", "settings", "curves"),
    ],
)
def test_the_page_says_what_is_missing_and_shows_the_rest(whole, tmp_path, lost, said, gone, kept):
    missing, html = page_without(whole, tmp_path, lost)
    assert any(said in text for text in missing), missing
    assert said in html
    assert f'<section id="{gone}">' not in html
    assert f'<section id="{kept}">' in html


@pytest.mark.parametrize("name", ["summary.json", "gallery.json", "lambda.jsonl", "metrics.jsonl", "config.toml"])
@pytest.mark.parametrize(
    "text", ["", "{", "[1, 2]", '{"epoch": 1}', '{"pairs": 3, "confusion": 4, "classes": 5}', "\0"]
)
def test_damaged_or_old_records_never_stop_the_page(whole, tmp_path, name, text):
    run = shutil.copytree(whole, tmp_path / "run")
    (run / name).write_text(text)
    write_page(run, tmp_path / "page.html")
    assert (tmp_path / "page.html").read_text().endswith("</html>")


def test_a_number_of_classes_that_one_line_promises_is_not_believed(whole, tmp_path):
    run = shutil.copytree(whole, tmp_path / "run")
    first, *rest = (run / "lambda.jsonl").read_text().splitlines()
    (run / "lambda.jsonl").write_text("\n".join([json.dumps(json.loads(first) | {"groups": 2**40}), *rest]) + "\n")
    write_page(run, tmp_path / "page.html")
    assert embedded((tmp_path / "page.html").read_text())["pairs"]["groups"] == 10


def test_a_line_that_a_kill_left_half_written_is_left_out(whole, tmp_path):
    run = shutil.copytree(whole, tmp_path / "run")
    for name in ("metrics.jsonl", "lambda.jsonl"):
        (run / name).write_text((run / name).read_text()[:-200])
    write_page(run, tmp_path / "page.html")
    assert embedded((tmp_path / "page.html").read_text())["epochs"] == [1, 2, 3, 4, 5]


def test_a_folder_that_is_no_run_is_refused_with_what_was_expected(tmp_path):
    with pytest.raises(UserError, match=r"no run folder: expected config\.toml"):
        write_page(tmp_path, tmp_path / "page.html")
    with pytest.raises(UserError, match="no run folder"):
        write_page(tmp_path / "nowhere", tmp_path / "page.html")


def test_an_out_that_cannot_be_written_is_told(whole, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="cannot be written"):
        write_page(whole, tmp_path / "file" / "page.html")


def test_pictures_are_png_and_nothing_else(whole, tmp_path):
    run = shutil.copytree(whole, tmp_path / "run")
    gallery = json.loads((run / "gallery.json").read_text())
    gallery["mistakes"][0]["image"] = 'x" onerror="alert(1)'
    gallery["mistakes"][1]["image"] = "https://example.org/a.png"
    (run / "gallery.json").write_text(json.dumps(gallery))
    write_page(run, tmp_path / "page.html")
    html = (tmp_path / "page.html").read_text()
    assert "onerror=" not in html
    assert "example.org" not in html
    assert html.count('alt="test image') == len(gallery["mistakes"]) - 2


def test_many_epochs_and_classes_are_pooled_to_a_bounded_size(tmp_path):
    write_page(write_run(tmp_path / "run", epochs=130, classes=100, steps=1), tmp_path / "page.html")
    pairs = embedded((tmp_path / "page.html").read_text())["pairs"]
    assert len(pairs["frames"]) == MOST_CELLS // 100**2
    assert pairs["frames"][0][0] == 1
    assert pairs["frames"][-1][1] == 130
    assert [b[0] - a[1] for a, b in zip(pairs["frames"], pairs["frames"][1:], strict=False)] == [1] * 119


@pytest.mark.parametrize(
    ("epochs", "every", "shown"),
    [
        (20, 1000, list(range(1, 21))),  # few enough to show them all, though one was evaluated
        (60, 7, list(range(1, 61))),
        (240, 4, [*range(4, 237, 4), 240]),  # sixty were evaluated
        (1000, 1, [*range(1, 988, 17), 1000]),
    ],
)
def test_the_table_shows_sixty_epochs_those_that_were_evaluated_first(tmp_path, epochs, every, shown):
    assert epochs_shown(tmp_path, epochs, every) == shown


def test_the_table_is_filled_up_where_few_of_many_epochs_were_evaluated(tmp_path):
    shown = epochs_shown(tmp_path, epochs=300, every=100)
    assert {1, 100, 200, 300} <= set(shown)
    assert 50 <= len(shown) <= 60


def epochs_shown(tmp_path, epochs, every):
    """Of a run that evaluates at intervals, and after its last epoch."""
    run = write_run(tmp_path / "run", epochs=epochs, steps=1)
    lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    scores = {f"{part}_{score}" for part in ("train", "meta", "test") for score in ("error", "nll", "ece")}
    for line in lines:
        if line["epoch"] % every and line["epoch"] != epochs:
            for score in scores & line.keys():
                del line[score]
    (run / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return [row[0] for row in run_context(read_run(run))["epoch_table"]["rows"]]


def test_more_than_a_hundred_classes_share_groups(tmp_path):
    write_page(write_run(tmp_path / "run", epochs=2, classes=250, steps=1), tmp_path / "page.html")
    html = (tmp_path / "page.html").read_text()
    assert "Neighbouring classes share a group." in html
    assert embedded(html)["pairs"]["names"][0] == "class 0 … class 2"


def test_a_suspect_whose_likely_class_is_unknown_names_none(tmp_path):
    gallery = json.loads(
        (run := write_run(tmp_path / "run", epochs=1, classes=3, steps=1)).joinpath("gallery.json").read_text()
    )
    gallery["suspects"]["worst"][0]["likely"] = None
    (run / "gallery.json").write_text(json.dumps(gallery))
    write_page(run, tmp_path / "page.html")
    html = (tmp_path / "page.html").read_text()
    assert "b/&lt;x&gt;.png" in html
    assert "likely <b" not in html


def test_the_page_opens_with_what_people_ask_first(whole):
    write_page(whole, whole.parent / "order.html")
    html = (whole.parent / "order.html").read_text()
    sections = [
        f'<section id="{part}"' for part in ("predictions", "suspects", "mistakes", "curves", "lambda", "pairs")
    ]
    assert sorted(html.index(section) for section in sections) == [html.index(section) for section in sections]
    assert html.index("test error, last epoch (") < html.index("test NLL")
    assert "by chance in" in html
    assert "Either the model is mistaken, or the label is wrong." in html
    assert "3 training labels look wrong to the policy" in html
    assert "<code>b/&lt;x&gt;.png</code>" in html
    assert f"metamixup audit {whole} --page" in html


def test_commands_on_the_page_can_be_copied_into_any_folder(whole, tmp_path, monkeypatch):
    shutil.copytree(whole, tmp_path / "runs" / "my run")
    monkeypatch.chdir(tmp_path)
    context = run_context(read_run(Path("runs") / "my run"))
    monkeypatch.chdir("/")
    _, _, folder, page = shlex.split(context["audit"])
    assert (Path(folder), page) == (tmp_path / "runs" / "my run", "--page")
    *_, config = shlex.split(context["command"])
    assert Path(config).samefile(tmp_path / "runs" / "my run" / "config.toml")


def test_sliders_start_where_there_is_something_to_see():
    assert last_to_see([0.1, 0.8, 0.9, 0.5, 0.01, 0.0]) == 3
    assert last_to_see([]) == 0
    assert last_to_see([0.0, 0.0]) == 1


@pytest.mark.parametrize("row", [1e308, -1, None, "x", {}])
def test_a_row_of_the_confusion_matrix_that_is_none_is_left_out(row):
    from metamixup.report.predictions import _confusion

    assert _confusion([row, [1, 2]], ["a", "b"]) is None
    assert _confusion([[3, 0], [1, 2]], ["a", "b"]) is not None
