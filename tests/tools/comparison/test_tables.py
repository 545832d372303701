import pytest
from compared import records, tasks, winning

from tools.comparison.tables import (
    TABLES,
    alphas,
    cost,
    differences,
    errors,
    methods,
    missing,
    rivals,
    summary,
)


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("lines", [[], winning("noisy0"), records("clean0", "trustmix", [1.0])], ids=len)
def test_every_table_bears_any_part_of_the_records(name, lines):
    text = TABLES[name](tasks(lines))
    rows = [line for line in text.splitlines() if line.startswith("|")]
    blocks = [block.splitlines() for block in text.split("\n\n") if block.startswith("|")]
    assert all(len({row.count("|") for row in block}) == 1 for block in blocks)
    assert text.endswith("\n")
    assert "None" not in text
    assert "nan" not in text
    assert rows or name == "missing"


def test_errors_name_the_alpha_and_set_the_best_in_bold():
    lines = records("clean0", "trustmix", [2.0, 3.0, 4.0]) + records("clean0", "mixup-0.5", [4.0, 4.0, 4.0])
    lines += records("clean0", "mixup", [5.0, 5.0, 5.0]) + records("clean0", "trustmix:reverse", [1.0, 1.0, 1.0])
    row = errors(tasks(lines)).splitlines()[2]
    found = "| Digits | **3.00 ± 1.00** | missing | 4.00 ± 0.00 (α = 0.5) | missing | missing | 1.00 ± 0.00 | missing |"
    assert row.startswith(found)


def test_a_rival_of_few_seeds_stands_aside_and_leaves_the_others_theirs():
    lines = records("clean0", "trustmix", [2.0, 3.0, 4.0]) + records("clean0", "baseline", [5.0, 5.0, 8.0])
    row = errors(tasks(lines + records("clean0", "cutmix", [1.0]))).splitlines()[2]
    assert row.startswith("| Digits | **3.00 ± 1.00** | 6.00 ± 1.73 | missing | missing | 1.00 (1 seed) (only α = 1) |")
    assert row.endswith("| 3 |")


def test_the_alpha_of_each_family_is_chosen_by_its_own_selection_errors():
    lines = records("clean0", "mixup", [1.0]) + records("clean0", "mixup-0.5", [2.0])
    lines += records("clean0", "cutmix", [3.0], selection_error=9.0) + records("clean0", "cutmix-0.2", [8.0])
    text = alphas(tasks(lines))
    assert "| Digits | 2.00 | **1.00** | 1 |" in text
    assert "| CutMix: selection error, % | α = 0.2 | α = 1 | seeds |" in text
    assert "| Digits | **8.00** | 9.00 | 1 |" in text
    assert "8.00 (α = 0.2)" in errors(tasks(lines))


def test_means_in_a_row_are_over_the_seeds_that_all_its_cells_share():
    lines = records("clean0", "trustmix", [2.0, 3.0, 4.0, 90.0]) + records("clean0", "baseline", [5.0, 5.0, 8.0])
    assert "| Digits | **3.00 ± 1.00** | 6.00 ± 1.73 |" in errors(tasks(lines))
    assert "| Digits | 6.00 ± 1.73 | missing | missing | **3.00 ± 1.00** |" in summary(tasks(lines))
    few = records("clean0", "trustmix", [2.0, 3.0]) + records("clean0", "baseline", [5.0, 5.0])
    assert "**" not in errors(tasks(few))


def test_differences_tell_their_seeds_and_whether_zero_is_excluded():
    lines = records("clean0", "trustmix", [2.0, 3.0, 4.0]) + records("clean0", "baseline", [4.0, 5.01, 6.02])
    row = differences(tasks(lines + records("clean0", "mixup", [3.0]))).splitlines()[2]
    assert row.startswith("| Digits | **-2.01 [-2.03, -1.99]** | -1.00 (1 seed) | missing |")


def test_the_short_table():
    lines = records("clean0", "trustmix", [2.0, 3.0, 4.01]) + records("clean0", "mixup", [1.0, 2.0, 3.0])
    row = summary(tasks(lines)).splitlines()[2]
    assert row == "| Digits | missing | **2.00 ± 1.00** | missing | 3.00 ± 1.01 | +1.00 [+0.99, +1.02] | missing |"
    settled = summary(tasks(lines + records("clean0", "mixup+settle", [0.5, 1.0, 1.5]))).splitlines()[2]
    assert "| 2.00 ± 1.00 | **1.00 ± 0.50** | 3.00 ± 1.01 |" in settled, "what the schedule explains is not bold"


def test_a_gain_that_the_schedule_alone_explains_is_not_bold():
    lines = records("clean0", "trustmix", [1.0, 2.0, 3.0]) + records("clean0", "mixup", [3.0, 4.0, 5.01])
    mixup, cutmix = (records("clean0", name, [2.0, 3.0, 4.01]) for name in ("mixup+settle", "cutmix+settle"))
    assert "**-2.00 [-2.02, -1.99]**" in summary(tasks(lines + mixup + cutmix))
    for schedule in ([1.0, 2.5, 2.9], [0.0, 1.0, 2.01], []):  # perhaps no better than ours, surely better, not run
        for name, surely in (("mixup+settle", cutmix), ("cutmix+settle", mixup)):
            told = summary(tasks(lines + surely + records("clean0", name, schedule)))
            assert "| -2.00 [-2.02, -1.99] |" in told
    assert "| -2.00 [-2.02, -1.99] |" in summary(tasks(lines)), "nobody knows what the schedule alone does"


def test_nothing_is_bold_that_any_other_row_beats_and_that_row_is_named():
    lines = records("clean0", "trustmix", [1.0, 2.0, 3.0]) + records("clean0", "baseline", [4.0, 5.0, 6.0])
    assert "**2.00 ± 1.00**" in summary(tasks(lines + records("clean0", "elr", [2.0, 3.0, 4.0])))
    beaten = summary(tasks(lines + records("clean0", "elr", [0.5, 1.5, 2.51])))
    assert "| 2.00 ± 1.00 |" in beaten
    assert "| **+0.50 [+0.48, +0.51]**, ELR |" in beaten
    assert "missing |" in summary(tasks(lines + records("clean0", "elr", [0.5, 1.5]))), "two seeds are too few"
    assert ", Learning to reweight |" in summary(tasks(lines + records("clean0", "reweight", [0.5, 1.5, 2.51])))


def test_no_error_at_all_is_the_lowest():
    lines = records("clean0", "trustmix", [1.0, 1.0, 1.0]) + records("clean0", "baseline", [0.0, 0.0, 0.0])
    assert "| Digits | **0.00 ± 0.00** |" in summary(tasks(lines))


def test_every_method_that_was_run_often_enough_is_counted_for_and_against():
    lines = records("noisy0", "trustmix", [1.0, 2.0, 3.0]) + records("noisy0", "elr", [0.5, 1.5, 2.51])
    lines += records("noisy0", "mixup+settle", [2.0, 3.0, 4.01])
    text = rivals(tasks(lines))
    assert "| ELR | 0 of 1 | 0 | 1 | 0 of 0 | 0 | 0 |" in text
    assert "| MixUp that settles | 1 of 1 | 1 | 0 | 0 of 0 | 0 | 0 |" in text


def test_all_methods_are_compared_over_the_seeds_they_share_and_any_may_be_the_best():
    lines = records("noisy0", "trustmix", [1.0, 2.0, 3.0, 0.0, 0.0]) + records("noisy0", "elr", [0.5, 1.5, 2.5])
    text = methods(tasks(lines, seeds=5))
    assert "**1.50 ± 1.00**" in text
    assert "| 2.00 ± 1.00 |" in text


def test_costs_are_compared_on_one_kind_of_processor():
    lines = records("clean0", "trustmix", [1.0, 1.0], cpu_seconds=12.0, processor=["Abacus", "Slide rule"])
    lines += records("clean0", "mixup", [1.0, 1.0], cpu_seconds=[10.0, 90.0], processor=["Abacus", None])
    assert "| Digits | missing | 1.20 | 2 |" in cost(tasks(lines))


def test_what_is_missing_is_listed():
    text = missing(tasks(winning("clean0"), clean=1, noisy=1))
    assert text.startswith("21 of 72 planned runs are finished.")
    assert "- Fashion-MNIST, 40 % of labels replaced: 0 of 3 seeds of every method" in text
    lines = [line for line in winning("clean0") if (line["cell"], line["seed"]) != ("clean0/cnn3/reweight", 2)]
    assert "; 2 of 3 seeds of Learning to reweight" in missing(tasks(lines, clean=1, noisy=0))
