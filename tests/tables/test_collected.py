import json

import pytest

from metamixup.errors import UserError
from metamixup.tables.collected import collect_entries


def write_run(folder, method: str, seed: int, error: float, **settings):
    folder.mkdir(parents=True)
    summary = {"data": "digits", "model": "cnn3", "method": method, "seed": seed, "test_error": error}
    (folder / "summary.json").write_text(json.dumps(summary))
    text = "".join(f"{key} = {value}\n" for key, value in {"seed": seed, **settings}.items())
    (folder / "config.toml").write_text(text)


def test_runs_become_rows_with_paired_differences(tmp_path):
    for seed in range(3):
        write_run(tmp_path / f"m{seed}", "mixup", seed, 3.0 + seed)
        write_run(tmp_path / f"o{seed}", "ours", seed, 2.0 + seed + 0.1 * seed)
        write_run(tmp_path / f"r{seed}", "ours:reverse", seed, 1.0)
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "summary.json").write_text("[]")
    mixup, ours, reverse = collect_entries([tmp_path])
    assert (mixup.name, mixup.mean, mixup.difference) == ("mixup", 4.0, None)
    assert ours.difference.mean == pytest.approx(-0.9)
    assert ours.difference.below
    assert (reverse.method, reverse.control) == ("ours", "reverse")
    alone = collect_entries([tmp_path / "o0", tmp_path / "m0"], against="ours")
    assert [e.difference is None for e in alone] == [True, False]


def test_runs_that_differ_in_a_setting_are_rows_of_their_own(tmp_path):
    for seed in range(2):
        for epochs in (5, 9):
            write_run(tmp_path / f"{epochs}-{seed}", "mixup", seed, 1.0, epochs=epochs)
    assert [e.label for e in collect_entries([tmp_path])] == ["mixup (epochs = 5)", "mixup (epochs = 9)"]


def test_rows_tell_where_their_mixing_came_from(tmp_path):
    write_run(tmp_path / "run", "metamixup", 0, 1.0, **{"policy.name": "'learned'", "policy.projection": "'paper'"})
    write_run(tmp_path / "own", "mixup", 0, 1.0, **{"policy.name": "'shy:Shy'", "estimator.name": "'head'"})
    record = {"cell": "a/b/c", "seed": 0, "test_error": 1.0, "learning": "learned · clip · exact"}
    (tmp_path / "records.jsonl").write_text(json.dumps(record))
    found = collect_entries([tmp_path / "run", tmp_path / "own", tmp_path / "records.jsonl"])
    assert [e.learning for e in found] == ["learned · paper", "shy:Shy", "learned · clip · exact"]


def test_records_and_stored_tables_are_sources_too(tmp_path):
    records = [{"cell": "a/b/c", "method": "c", "label": "C", "seed": s, "test_error": 1.0 + s} for s in range(3)]
    (tmp_path / "records.jsonl").write_text(
        "".join(json.dumps(r) + "\n" for r in [*records, {"cell": "a/b/d", "seed": 1}])
    )
    (tmp_path / "table.json").write_text(json.dumps([{"cell": "a/b/e", "mean": 2.0}]))
    found = collect_entries([tmp_path / "records.jsonl", tmp_path / "table.json"])
    assert {e.name: e.mean for e in found} == {"e": 2.0, "c": 2.0}


@pytest.mark.parametrize("name", ["nothing", "file.txt"])
def test_what_holds_no_results(tmp_path, name):
    (tmp_path / "nothing").mkdir()
    (tmp_path / "file.txt").touch()
    with pytest.raises(UserError, match=r"no finished run in|is no run folder"):
        collect_entries([tmp_path / name])


@pytest.mark.parametrize("odd", ["\x1b[2J", [1], True, {}])
def test_a_score_that_is_no_number_counts_as_not_measured(tmp_path, odd):
    records = [{"cell": "digits/cnn3/mixup", "seed": s, "test_error": 2.0, "train_seconds": odd} for s in range(2)]
    (tmp_path / "records.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    (entry,) = collect_entries([tmp_path / "records.jsonl"])
    assert (entry.mean, entry.seconds) == (2.0, None)
