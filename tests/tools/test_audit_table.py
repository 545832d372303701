import json

from tools.audit_table import audit_table


def line(seed: int, ours: float, theirs: float) -> str:
    scores = {"ours": {"ap": ours, "share": 0.2}, "cleanlab": {"ap": theirs, "share": 0.1}, "in_sample": {"ap": 0.5}}
    return json.dumps({"cell": "audit/a", "task": "a", "seed": seed, "samples": 1000, "true_share": 0.21, **scores})


def test_a_row_tells_the_mean_and_the_paired_difference(tmp_path):
    records = tmp_path / "audit.jsonl"
    clean = {"cell": "audit/b", "task": "b", "seed": 0, "samples": 10, "true_share": 0.0, "in_sample": {}}
    clean |= {"ours": {"share": 0.0}, "cleanlab": {"share": 0.0}}
    records.write_text("\n".join([line(0, 0.9, 0.8), line(1, 0.92, 0.81), line(2, 0.94, 0.85), json.dumps(clean)]))
    text = audit_table(records)
    assert "| a | 1,000 | 0.920 | 0.820 | +0.100 [+0.075, +0.125] | 0.500 | 20.0% | 10.0% | 21.0% | 3 |" in text
    assert "| b | 10 | – | – | – | – | 0.0% | 0.0% | 0.0% | 1 |" in text
