import json

import pytest

from metamixup.cli.show import show_summary, suspected
from metamixup.engine.records.run_folder import RunFolder


def test_the_end_of_a_run_tells_of_wrong_labels(tmp_path):
    (tmp_path / "gallery.json").write_text(json.dumps({"suspects": {"share": 0.381, "called": 12}}))
    assert suspected(RunFolder(tmp_path)) == [f"about 38 % of the labels look wrong: metamixup audit {tmp_path}"]


def test_the_commands_that_come_next_can_be_copied(tmp_path, capsys):
    folder = RunFolder(tmp_path / "my run")
    folder.root.mkdir()
    show_summary({}, folder)
    told = capsys.readouterr().out
    assert f"next: metamixup predict '{folder.root}' IMAGE" in told
    assert f"metamixup report '{folder.root}' (its page)" in told
    folder.gallery.write_text(json.dumps({"suspects": {"share": 0.381}}))
    assert suspected(folder)[0].endswith(f"metamixup audit '{folder.root}'")


@pytest.mark.parametrize(
    "text", ["{}", "[]", "{", '{"suspects": {}}', '{"suspects": {"share": 0.0}}', '{"suspects": {"share": "much"}}']
)
def test_runs_that_judge_no_labels_say_nothing(tmp_path, text):
    (tmp_path / "gallery.json").write_text(text)
    assert suspected(RunFolder(tmp_path)) == []
