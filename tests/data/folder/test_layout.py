import pytest

from metamixup.data.folder.layout import data_folders, layout_of
from metamixup.errors import DataError


def folders(root, *names):
    for name in names:
        (root / name).mkdir(parents=True)
    return root


def inside(root, *parts):
    return [part and part.relative_to(root).as_posix() for part in parts]


@pytest.mark.parametrize("train", ["train", "Train", "TRAIN", "training", "Training"])
@pytest.mark.parametrize("test", ["test", "Test", "testing", "VAL", "valid", "validation", "dev"])
@pytest.mark.parametrize(("unlabelled", "meta"), [("Unlabelled", "Meta"), ("unlabeled", "meta")])
def test_parts_are_known_by_their_names_in_any_case(tmp_path, train, test, unlabelled, meta):
    folders(tmp_path, f"{train}/cat", f"{train}/dog", test, unlabelled, meta)
    found = layout_of(tmp_path)
    assert inside(tmp_path, found.labelled, *found.classes) == [train, f"{train}/cat", f"{train}/dog"]
    assert inside(tmp_path, found.test, found.unlabelled, found.meta) == [test, unlabelled, meta]


def test_the_test_set_comes_before_the_validation_set(tmp_path):
    folders(tmp_path, "train/cat", "train/dog", "val", "testing")
    assert inside(tmp_path, layout_of(tmp_path).test) == ["testing"]


@pytest.mark.parametrize("layout", ["", "train/"])
def test_unlabelled_and_meta_lie_beside_the_classes_and_are_none(tmp_path, layout):
    folders(tmp_path, *(f"{layout}{name}" for name in ("cat", "dog", "Unlabelled", "META")))
    found = layout_of(tmp_path)
    assert [folder.name for folder in found.classes] == ["cat", "dog"]
    assert inside(tmp_path, found.unlabelled, found.meta) == [f"{layout}Unlabelled", f"{layout}META"]


@pytest.mark.parametrize(
    ("names", "told"),
    [
        (["cat", "dog", "test"], "test: is named like a part of the data, but there is no train/ beside it"),
        (["cat", "dog", "Validation"], "Validation: is named like a part.* if 'Validation' is itself a class, rename"),
        (["cat", "dog", "valid"], "valid: is named like a part"),
        (["train/a", "train/b", "test", "Test"], "Test and .*/test: both are named like the same part"),
        (["train/a", "train/b", "training"], "both are named like the same part"),
        (["a", "b", "unlabelled", "unlabeled"], "both are named like the same part"),
        (["train/a", "train/b", "train/meta", "meta"], "both are named like the same part"),
        (["car", "train", "bus"], "found 0; if 'train' is itself a class, rename it"),
        (["photos/cat", "photos/dog"], "found 1, .*photos, which holds 2 folders itself: give that one"),
        (["photos"], "found 1$"),
    ],
)
def test_layouts_that_may_mean_something_else_are_refused(tmp_path, names, told):
    with pytest.raises(DataError, match=told):
        layout_of(folders(tmp_path, *names))


def test_valid_beside_invalid_is_a_class(tmp_path):
    folders(tmp_path, "valid", "invalid")
    assert [folder.name for folder in layout_of(tmp_path).classes] == ["invalid", "valid"]


@pytest.mark.parametrize("file", ["checkpoints/last", "summary.json"])
def test_a_run_is_no_class(tmp_path, file):
    folders(tmp_path, "cat", "dog", "one")
    (tmp_path / "one" / "config.toml").touch()
    assert "one" in [folder.name for folder in data_folders(tmp_path)]
    path = tmp_path / "one" / file
    path.parent.mkdir(exist_ok=True)
    path.touch()
    assert [folder.name for folder in data_folders(tmp_path)] == ["cat", "dog"]


@pytest.mark.parametrize("run", ["runs/one", "runs/table/one"])
def test_a_folder_of_runs_is_no_class_but_people_who_run_are(tmp_path, run):
    folders(tmp_path, "rests", run)
    assert [folder.name for folder in data_folders(tmp_path)] == ["rests", "runs"]
    (tmp_path / run / "config.toml").touch()
    assert [folder.name for folder in data_folders(tmp_path)] == ["rests"]
