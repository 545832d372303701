import pytest
from compared import records, tasks, winning

from tools.comparison.claims import MET, NOT_MET, claims

BELOW, SURELY, CLEAN, FAR, SOMEWHERE, COST, NLL, ECE = range(8)


def judged(lines, **planned):
    return claims(tasks(lines, **planned))


def test_all_is_met_where_the_default_wins_everywhere():
    lines = [line for name in ("clean0", "noisy0", "noisy1") for line in winning(name)]
    found = judged(lines, clean=1, noisy=2)
    assert [claim.verdict for claim in found] == [MET] * 8
    assert found[BELOW].found == "2 of 2 measured"
    assert found[COST].found.startswith("1.20 over 3 tasks")
    assert found[ECE].found == "3 of 3 measured"  # equal is no worse


def test_one_control_that_is_ahead_is_enough_to_lose_the_task():
    lines = [line for line in winning("noisy0") if not line["cell"].endswith(":shuffle")]
    lines += records("noisy0", "trustmix:shuffle", [1.0, 1.0, 1.0])
    found = judged(lines, clean=0, noisy=1)
    assert (found[BELOW].verdict, found[BELOW].found) == (NOT_MET, "0 of 1 measured")
    assert found[SURELY].verdict == NOT_MET


def test_an_interval_with_zero_in_it_counts_for_the_mean_alone():
    lines = [line for line in winning("noisy0") if not line["cell"].endswith("/baseline")]
    lines += records("noisy0", "baseline", [10.5, 10.0, 10.3])
    found = judged(lines, clean=0, noisy=1)
    assert (found[BELOW].verdict, found[SURELY].verdict) == (MET, NOT_MET)


def test_fewer_seeds_than_planned_decide_nothing_for_good():
    lines = [line for line in winning("noisy0") if line["cell"].endswith("trustmix") or line["seed"] < 2]
    found = judged(lines, clean=0, noisy=1)
    assert found[BELOW].verdict == "met so far"
    assert found[SURELY].verdict.startswith("open")  # two seeds make nothing sure
    lines = [line for line in lines if not line["cell"].endswith("/baseline")]
    lines += records("noisy0", "baseline", [1.0, 1.0])
    assert judged(lines, clean=0, noisy=1)[BELOW].verdict == "not met so far"


def test_missing_tasks_leave_a_claim_open_until_they_cannot_change_it():
    assert judged(winning("noisy0"), clean=1, noisy=2)[BELOW].verdict == "open: 1 task to be measured"
    enough = [line for k in range(4) for line in winning(f"noisy{k}")]
    assert judged(enough, clean=0, noisy=8)[SURELY].verdict == MET  # four of eight are asked for
    lost = [line for k in range(3) for line in records(f"noisy{k}", "trustmix", [9.0, 9.0, 9.0])]
    lost += [line for k in range(3) for line in records(f"noisy{k}", "baseline", [1.0, 1.0, 1.0])]
    assert judged(lost, clean=0, noisy=8)[BELOW].verdict == NOT_MET  # six can no longer be had
    assert all(claim.verdict.startswith("open") for claim in judged([], clean=4, noisy=8))


@pytest.mark.parametrize(("behind", "verdict"), [(0.25, MET), (0.35, NOT_MET)])
def test_the_far_end_of_the_interval_may_be_three_tenths_worse(behind, verdict):
    lines = records("clean0", "trustmix", [1.0 + behind] * 3) + records("clean0", "mixup", [1.0] * 3)
    far = judged(lines, clean=1, noisy=0)[FAR]
    assert far.verdict == verdict
    assert f"at most {behind:+.2f} (Digits)" in far.found


def test_a_costly_default_is_told():
    lines = records("clean0", "trustmix", [1.0] * 3, cpu_seconds=30.0) + records("clean0", "mixup", [1.0] * 3)
    assert judged(lines)[COST].verdict == NOT_MET


def test_a_cost_of_some_tasks_alone_is_no_verdict():
    lines = records("clean0", "trustmix", [1.0] * 3, cpu_seconds=11.0) + records("clean0", "mixup", [1.0] * 3)
    assert judged(lines)[COST].verdict == "open: 1 task to be measured"
    assert judged(lines, clean=1, noisy=0)[COST].verdict == MET
