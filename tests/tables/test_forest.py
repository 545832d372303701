import xml.etree.ElementTree as ElementTree

import pytest

from metamixup.errors import UserError
from metamixup.tables.entry import Difference, Entry
from metamixup.tables.forest import BETTER, OPEN, WORSE, forest


def drawn(*found: Difference, control: str = "") -> str:
    entries = [Entry("a/<b>", f"m{k}", control, difference=own) for k, own in enumerate(found)]
    text = forest(entries, "mixup")
    ElementTree.fromstring(text)
    return text


def test_only_what_is_sure_is_coloured():
    text = drawn(Difference(-1, -2, -0.5, 3), Difference(1, 0.5, 2, 5), Difference(0.1, -1, 1, 5))
    assert text.count(f'fill="{BETTER}"') == text.count(f'fill="{WORSE}"') == text.count(f'fill="{OPEN}"') == 1
    assert "-1.00 [-2.00, -0.50]  3 seeds" in text


def test_two_seeds_and_controls_have_no_colour_and_a_single_one_no_interval():
    assert BETTER not in drawn(Difference(-1, -2, -0.5, 2))
    assert BETTER not in drawn(Difference(-1, -2, -0.5, 3), control="reverse")
    assert drawn(Difference(-1, seeds=1)).count("<line") == 1  # that of zero


def test_nothing_to_compare_is_told():
    with pytest.raises(UserError, match="--against"):
        forest([Entry("a/b", "mixup", mean=1.0)], "mixup")
