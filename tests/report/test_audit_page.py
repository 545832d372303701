"""The page of an audit, clicked through in a real browser."""

import csv
import time
from dataclasses import replace

import pytest
import torch

from metamixup.audit.findings import Audit, Finding
from metamixup.report.audit import write_audit_page

CLASSES = ("ant", "bee", "=cow")
PATIENCE, POLL = 10, 50  # seconds and milliseconds


def audit(count: int) -> Audit:
    """The last image is the most suspicious one."""
    findings = [
        Finding(f"a/<i>{k}.png", "ant", CLASSES[1 + k % 2], 1 - k / count, "label", count - 1 - k) for k in range(count)
    ]
    lost = Finding("a/broken.png", "ant", "", 0.0, "unreadable", note="no image")
    return Audit("photos", count, CLASSES, 0.1, 0.05, 0.15, [*findings, lost])


@pytest.fixture
def page(tmp_path):
    images = torch.randint(256, (300, 3, 8, 8), dtype=torch.uint8)
    write_audit_page(audit(300), images, tmp_path / "audit.html")
    return tmp_path / "audit.html"


def saved(view, tmp_path) -> list[list[str]]:
    with view.page.expect_download() as download:
        view.page.click("#save")
    download.value.save_as(tmp_path / "labels.csv")
    return list(csv.reader((tmp_path / "labels.csv").read_text().splitlines()))


def test_confirm_relabel_skip_and_save(page, opened, tmp_path):
    view = opened(page)
    assert view.page.inner_text("#file") == "a/<i>0.png"
    view.page.keyboard.press("c")
    assert view.page.inner_text("#file") == "a/<i>1.png"
    view.page.keyboard.press("l")
    view.page.select_option("#relabel", label="bee")
    view.page.click("#skip")
    view.page.click("#confirm")
    view.page.keyboard.press("ArrowLeft")
    view.page.keyboard.press("u")
    assert view.page.inner_text("#done") == "3 labels decided, 1 skipped"
    assert saved(view, tmp_path) == [
        ["file", "label", "verdict", "chosen"],
        ["a/<i>0.png", "ant", "confirmed", "suspicion"],
        ["a/<i>1.png", "'=cow", "relabelled", "suspicion"],
        ["a/<i>2.png", "bee", "relabelled", "suspicion"],
    ]
    assert reloaded(view) == "3 labels decided, 1 skipped"
    assert view.complaints == []
    assert [url for url in view.left if not url.startswith("blob:")] == []


def test_a_fair_sample_is_marked_as_far_as_it_was_decided_on(page, opened, tmp_path):
    view = opened(page)
    view.page.keyboard.press("c")
    view.page.select_option("#pair", "random")
    assert view.page.inner_text("#count") == "300 images"
    sample = []
    for _ in range(20):
        sample.append(view.page.inner_text("#file"))
        view.page.keyboard.press("c")
    assert sample != sorted(sample, key=lambda name: int(name[5:-4]))
    view.page.keyboard.press("ArrowRight")
    beyond = view.page.inner_text("#file")
    view.page.keyboard.press("c")
    chosen = {name: chosen for name, _, _, chosen in saved(view, tmp_path)[1:]}
    assert {name for name, how in chosen.items() if how == "random"} == set(sample)
    assert chosen[beyond] == "suspicion"


def test_pairs_of_classes_and_undecided_ones_are_sifted(page, opened):
    view = opened(page)
    view.page.select_option("#pair", index=2)
    assert view.page.inner_text("#count") == "150 images"
    assert view.page.inner_text("#likely") == "bee"
    view.page.keyboard.press("s")
    view.page.check("#open")
    assert view.page.inner_text("#count") == "149 images"
    assert "a/broken.png: no image" in view.page.inner_text(".missing")


def test_fifty_thousand_images_are_decoded_as_they_are_seen(opened, tmp_path):
    images = torch.zeros(50_000, 1, 8, 8, dtype=torch.uint8)
    write_audit_page(audit(50_000), images, tmp_path / "audit.html")
    view = opened(tmp_path / "audit.html")
    assert view.page.evaluate("pictures.filter(p => p).length") == 1
    assert view.page.locator("script[type='text/plain']").count() == 50
    view.page.click("#on")
    assert view.page.inner_text("#page") == "121 to 240"
    assert view.page.locator("canvas.thumb").count() == 120
    view.page.evaluate("at = shown.length - 1; show()")
    view.page.wait_for_selector("#large[data-drawn='49999']")


def reloaded(view) -> str:
    view.page.reload()
    view.page.wait_for_selector("html[data-ready=true]", state="attached")
    return view.page.inner_text("#done")


def until(page, condition):
    """Asked from outside: with `wait_for_function` the page itself would evaluate the text again and again, which its
    own security policy forbids."""
    end = time.monotonic() + PATIENCE
    while not page.evaluate(condition):
        assert time.monotonic() < end, condition
        page.wait_for_timeout(POLL)


def test_decisions_in_two_windows_are_all_kept(page, opened):
    view = opened(page)
    other = view.context.new_page()
    other.goto(view.address)
    view.page.keyboard.press("c")
    until(other, "0 in verdicts")  # told by the first window
    other.evaluate("at = 5; actions.s()")
    until(view.page, "5 in verdicts")
    other.evaluate("at = 5; actions.u()")
    until(view.page, "!(5 in verdicts)")
    other.evaluate("delete verdicts[0]; at = 7; actions.c()")  # this window does not know of the first decision
    other.close()
    assert reloaded(view) == "2 labels decided, 0 skipped"


def test_a_browser_that_keeps_nothing_is_told_of(page, opened):
    view = opened(page)
    assert "is kept in this browser" in view.page.inner_text("#kept")
    view.page.evaluate("() => { Storage.prototype.setItem = () => { throw new Error('full'); }; }")
    view.page.keyboard.press("c")
    assert "keeps nothing" in view.page.inner_text("#kept")
    assert view.page.inner_text("#done") == "1 labels decided, 0 skipped"


def test_decisions_follow_the_file_and_not_its_rank(page, opened):
    """Another run on the same images ranks them otherwise; and other images may have the same names."""
    images, first = torch.randint(256, (300, 3, 8, 8), dtype=torch.uint8), audit(300)
    write_audit_page(first, images, page)
    view = opened(page)
    view.page.keyboard.press("c")
    view.page.keyboard.press("s")
    assert view.page.inner_text("#done") == "1 labels decided, 1 skipped"

    def reopened(found, pixels) -> str:
        write_audit_page(found, pixels, page)
        return reloaded(view)

    second = replace(first, findings=first.findings[::-1])
    assert reopened(second, images) == "1 labels decided, 1 skipped"
    assert view.page.evaluate("Object.keys(verdicts).map(k => data.files[k]).sort()") == ["a/<i>0.png", "a/<i>1.png"]
    assert reopened(first, images.flip(0)) == "0 labels decided, 0 skipped"


def test_a_label_that_is_likely_right_is_not_called_wrong(page, opened):
    view = opened(page)
    assert view.page.inner_text("#why") == "(likely wrong label)"
    view.page.evaluate("at = 299; show()")
    assert view.page.inner_text("#why") == "(likely right)"


@pytest.mark.parametrize("size", [(8, 12), (12, 8), (100, 20), (1, 1)])
def test_images_of_any_shape_have_a_thumbnail(tmp_path, size):
    write_audit_page(audit(3), torch.zeros(3, 1, *size), tmp_path / "audit.html")
    assert "sheet-0" in (tmp_path / "audit.html").read_text()
