"""The page in a real browser."""

import json

import pytest
from invented import write_run

from metamixup.engine.records.summary import SCORE
from metamixup.report import write_page
from metamixup.report.run import MOST_ROWS


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    folder = tmp_path_factory.mktemp("page")
    write_page(write_run(folder / "run"), folder / "page.html")
    return folder / "page.html"


def slide(view, slider, value):
    view.page.eval_on_selector(f"#{slider}", f"s => {{ s.value = {value}; s.dispatchEvent(new Event('input')); }}")


def test_no_complaint_and_no_request(page, opened):
    view = opened(page)
    view.page.evaluate("window.scrollTo(0, document.body.scrollHeight)")
    assert view.complaints == []
    assert view.left == []


def test_the_browser_itself_refuses_requests(page, opened):
    view = opened(page)
    refused = view.page.evaluate("fetch('https://example.org/').then(() => 'sent', () => 'refused')")
    assert refused == "refused"


def test_the_slider_moves_the_surface_and_the_map(page, opened):
    view = opened(page)
    before = view.pixels("pair-map"), view.pixels("pair-surface"), view.page.inner_text("#pair-now")
    slide(view, "pair-epoch", 0)
    after = view.pixels("pair-map"), view.pixels("pair-surface"), view.page.inner_text("#pair-now")
    assert all(a != b for a, b in zip(before, after, strict=True))
    assert after[2] == "epoch 1"


def test_scores_of_some_epochs_only_are_a_line_and_fill_the_table(tmp_path, opened):
    """A run on few photos has a hundred epochs, and evaluates every fifth."""
    run = write_run(tmp_path / "run", epochs=130)
    lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    kept = [{k: v for k, v in line.items() if line["epoch"] % 5 == 0 or not SCORE.fullmatch(k)} for line in lines]
    (run / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in kept))
    write_page(run, tmp_path / "page.html")
    view = opened(tmp_path / "page.html")
    view.page.evaluate("window.scrollTo(0, document.body.scrollHeight)")
    lengths = view.page.eval_on_selector_all("[data-chart='0'] .line", "all => all.map(one => one.getTotalLength())")
    assert min(lengths) > 100
    first = "all => all.map(one => Number(one.cells[0].textContent))"
    epochs = view.page.eval_on_selector_all("details table tbody tr", first)
    assert set(range(5, 131, 5)) < set(epochs), "all that were evaluated, and others between them"
    assert len(epochs) <= MOST_ROWS


def test_everything_can_be_reached_with_the_keyboard(page, opened):
    view = opened(page)
    view.page.focus("#pair-epoch")
    view.page.keyboard.press("Home")
    assert view.page.inner_text("#pair-now") == "epoch 1"
    view.page.focus("#pair-map")
    for key in ("ArrowDown", "ArrowRight"):
        view.page.keyboard.press(key)
    assert "class 1, xⱼ: class 2" in view.page.inner_text("#pair-readout")
    view.page.focus("[data-chart='0'] svg")
    view.page.keyboard.press("Home")
    assert "epoch 1" in view.page.inner_text("[data-chart='1'] + .legend")
    turned = view.pixels("pair-surface")
    view.page.focus("#pair-surface")
    view.page.keyboard.press("ArrowRight")
    assert view.pixels("pair-surface") != turned


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_light_and_dark_follow_the_system_and_the_button(page, opened, scheme):
    view = opened(page, color_scheme=scheme)
    ground = "getComputedStyle(document.body).backgroundColor"
    before, other = view.page.evaluate(ground), {"light": "dark", "dark": "light"}[scheme]
    assert view.page.evaluate("document.documentElement.dataset.theme") == scheme
    view.page.click("#theme")
    assert view.page.evaluate("document.documentElement.dataset.theme") == other
    assert view.page.evaluate(ground) != before
    dark = {scheme: before, other: view.page.evaluate(ground)}["dark"]
    assert sum(int(part) for part in dark.removeprefix("rgb(").removesuffix(")").split(",")) < 150


def test_markup_in_class_names_stays_text(tmp_path, opened):
    names = ["<img src=x onerror=alert(1)>", "</script><script>document.title='hit'</script>", "a & b", '"quoted"']
    write_page(write_run(tmp_path / "run", classes=names), tmp_path / "page.html")
    view = opened(tmp_path / "page.html")
    view.page.on("dialog", lambda dialog: pytest.fail("a class name was run"))
    view.page.focus("#confusion")
    for key in ("ArrowDown", "ArrowRight", "ArrowUp", "ArrowLeft"):
        view.page.keyboard.press(key)
        slide(view, "pair-epoch", 1)
    assert names[0] in view.page.inner_text("#confusion-readout")
    assert names[0] in view.page.inner_text("#pair-readout")
    assert view.page.locator("img[src='x']").count() == 0
    assert "hit" not in view.page.title()
    assert view.complaints == []
    assert view.left == []


def test_a_run_without_mistakes_shows_what_is_right(tmp_path, opened):
    run = write_run(tmp_path / "run", classes=3)
    gallery = json.loads((run / "gallery.json").read_text())
    gallery |= {"confusion": [[9, 0, 0], [0, 9, 0], [0, 0, 9]], "confused": [], "mistakes": []}
    (run / "gallery.json").write_text(json.dumps(gallery))
    write_page(run, tmp_path / "page.html")
    view = opened(tmp_path / "page.html")
    assert not view.page.is_checked("#mistakes-only")
    assert view.page.inner_text("#confusion-top") == "100 % of a class"
    view.page.check("#mistakes-only")
    assert not view.page.is_visible("#confusion-top")
    assert view.complaints == []


def test_printing_uses_light_colours(page, opened):
    view = opened(page, color_scheme="dark")
    view.page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert view.page.evaluate("document.documentElement.dataset.theme") == "light"
    view.page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert view.page.evaluate("document.documentElement.dataset.theme") == "dark"
    assert view.page.pdf().startswith(b"%PDF")


def test_a_narrow_screen_has_no_sideways_scroll(page, opened):
    view = opened(page, viewport={"width": 380, "height": 800})
    assert view.page.evaluate("document.documentElement.scrollWidth") <= 380
