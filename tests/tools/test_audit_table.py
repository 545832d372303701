import json

import pytest

from tools.audit_table import audit_table, cost_table, share_table, tenths_table


def line(task: str, seed: int, ours: dict[str, float], theirs: dict[str, float], **more) -> str:
    about = {"cell": f"audit/{task}", "task": task, "seed": seed, "samples": 1000, "true_share": 0.21, "called": 0.19}
    spent = {"networks": 28.04, "ours": 0.3, "cleanlab": 0.01, "datalab": 0.5}
    scores = {"ours": {"share": 0.2} | ours, "cleanlab": {"share": 0.1} | theirs, "in_sample": {}, "cpu_seconds": spent}
    return json.dumps(about | scores | {"interval": [0.15, 0.25]} | more)


@pytest.fixture
def records(tmp_path):
    pairs = [(0.9, 0.8), (0.92, 0.81), (0.94, 0.85)]
    same = {"auroc": 0.9, "first": 0.98}
    lines = [line("a", k, {"ap": a} | same, {"ap": b} | same, in_sample={"ap": 0.5}) for k, (a, b) in enumerate(pairs)]
    lines[0] = lines[0].replace('"datalab"', '"ours_all": 0.4, "datalab_all": 0.6, "datalab"')
    (tmp_path / "audit.jsonl").write_text("\n".join([*lines, line("clean", 0, {}, {}, true_share=0.0, called=0.002)]))
    return tmp_path / "audit.jsonl"


def test_a_row_tells_the_mean_and_the_paired_difference(records):
    text = audit_table(records)
    row = "| a | 1,000 | 0.920 | 0.820 | +0.100 [+0.075, +0.125] | 0.500 | 0.900 | 0.900 | 98% | 98% | 3 |"
    assert row in text
    assert "| clean |" not in text


def test_shares_are_told_of_clean_labels_too(records):
    text = share_table(records)
    assert "| a | 21.0% | 20.0% | 15.0% to 25.0% | 19.0% | 10.0% | 3 |" in text
    assert "| clean | 0.0% | 20.0% | 15.0% to 25.0% | 0.2% | 10.0% | 1 |" in text


def test_costs_are_told_with_the_networks_that_both_need(records):
    text = cost_table(records)
    assert "| a | 28.04 | 0.300 | 0.010 | +1.03% | 0.500 | 0.400 | 0.600 | 3 |" in text
    assert "| clean | 28.04 | 0.300 | 0.010 | +1.03% | 0.500 | – | – | 1 |" in text


def test_tenths_are_those_of_labels_that_people_gave(tmp_path):
    tenths = {name: [k / 100 for k in range(start, start + 10)] for name, start in (("wrong", 10), ("found", 20))}
    told = line("cifar10n-random1-10000", 0, {}, {}, tenths=tenths | {"recognised": [0.5] * 10})
    (tmp_path / "audit.jsonl").write_text("\n".join([line("a", 0, {}, {}), told]))
    assert "| found | 20% | 21% | 22% | 23% | 24% |" in tenths_table(tmp_path / "audit.jsonl")
