import json

import pytest

from metamixup.cli.show import suspected
from metamixup.engine.records.run_folder import RunFolder


@pytest.mark.parametrize(
    ("gallery", "told"),
    [
        ({"suspects": {"called": 12}}, "12 labels look wrong: metamixup audit "),
        ({"suspects": {"called": 1}}, "1 label looks wrong: metamixup audit "),
        ({"suspects": {"called": 0}}, "no label was distrusted"),
    ],
)
def test_the_end_of_a_run_tells_of_wrong_labels(tmp_path, gallery, told):
    (tmp_path / "gallery.json").write_text(json.dumps(gallery))
    (line,) = suspected(RunFolder(tmp_path))
    assert line.startswith(told)


@pytest.mark.parametrize("text", ["{}", "[]", "{", '{"suspects": {}}'])
def test_runs_that_judge_no_labels_say_nothing(tmp_path, text):
    (tmp_path / "gallery.json").write_text(text)
    assert suspected(RunFolder(tmp_path)) == []
