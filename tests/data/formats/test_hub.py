import pytest
import torch
from data.formats import encoded, picture

from metamixup import data
from metamixup.data.formats.hub import load_hub
from metamixup.errors import DataError, UserError

datasets = pytest.importorskip("datasets")

DIGITS = [str(digit) for digit in range(10)]
# Columns, configuration, mode and size of the images, as these sets have them on the Hub.
SCHEMAS = {
    "mnist": ("image", {"label": DIGITS}, "L", 28),
    "fashion_mnist": ("image", {"label": ["T - shirt / top", *DIGITS[1:]]}, "L", 28),
    "cifar10": ("img", {"label": ["airplane", *DIGITS[1:]]}, "RGB", 32),
    "cifar100": (
        "img",
        {"fine_label": [f"f{k}" for k in range(100)], "coarse_label": [f"c{k}" for k in range(20)]},
        "RGB",
        32,
    ),
    "svhn": ("image", {"label": DIGITS}, "RGB", 32),
}


@pytest.fixture(autouse=True)
def cache(tmp_path_factory, monkeypatch):
    monkeypatch.setenv("METAMIXUP_CACHE", str(tmp_path_factory.mktemp("cache")))
    datasets.disable_progress_bars()


def table(image, labels, mode, size, rows=12, seed=0):
    columns = {
        image: [{"bytes": encoded(picture(size, size, mode, seed + k)), "path": f"{k}.png"} for k in range(rows)]
    }
    columns |= {name: [k % 6 for k in range(rows)] for name in labels}
    features = {image: datasets.Image(decode=True)} | {name: datasets.ClassLabel(names=c) for name, c in labels.items()}
    return datasets.Dataset.from_dict(columns, features=datasets.Features(features))


def write(folder, image, labels, mode, size, test="test"):
    (folder / "data").mkdir(parents=True)
    table(image, labels, mode, size).to_parquet(folder / "data" / "train-00000-of-00001.parquet")
    if test:
        table(image, labels, mode, size, rows=6, seed=50).to_parquet(folder / "data" / f"{test}-00000-of-00001.parquet")


@pytest.mark.parametrize("name", SCHEMAS)
def test_the_schemas_of_the_hub(tmp_path, name):
    write(tmp_path / name, *SCHEMAS[name])
    found = data.load(f"hub:{tmp_path / name}")
    _, labels, mode, size = SCHEMAS[name]
    assert found.shape == (1 if mode == "L" else 3, size, size)
    assert (len(found.train), len(found.test)) == (12, 6)
    assert found.classes == tuple(next(iter(labels.values())))
    assert found.train.labels.tolist() == [k % 6 for k in range(12)]
    assert found.flips == (name in ("fashion_mnist", "cifar10", "cifar100"))
    expected = torch.frombuffer(bytearray(picture(size, size, mode, 3).tobytes()), dtype=torch.uint8)
    assert torch.equal(found.train.images[3], expected.view(size, size, -1).permute(2, 0, 1))


def test_columns_and_sizes_as_given(tmp_path):
    write(tmp_path / "cifar100", *SCHEMAS["cifar100"])
    found = data.load(f"hub:{tmp_path / 'cifar100'}?label=coarse_label&image=img", image_size=16)
    assert found.num_classes == 20
    assert found.shape == (3, 16, 16)


def test_a_validation_split_serves_as_test_set_and_without_one_a_fifth_does(tmp_path):
    write(tmp_path / "a", *SCHEMAS["mnist"], test="validation")
    assert len(data.load(f"hub:{tmp_path / 'a'}").test) == 6
    write(tmp_path / "b", *SCHEMAS["mnist"], test=None)
    assert len(data.load(f"hub:{tmp_path / 'b'}").test) == 6  # one of each class that there is


def test_one_parquet_file(tmp_path):
    table(*SCHEMAS["mnist"], rows=30).to_parquet(tmp_path / "some.parquet")
    found = data.load(tmp_path / "some.parquet")
    assert (found.shape, len(found.train) + len(found.test)) == ((1, 28, 28), 30)


@pytest.mark.parametrize(
    ("query", "told"),
    [
        ("?label=nothing", "no label column 'nothing'; it has img"),
        ("?image=label", "encoded images"),
        ("?test=x", "no split 'x'"),
    ],
)
def test_columns_that_are_not_there(tmp_path, query, told):
    write(tmp_path / "c", *SCHEMAS["cifar10"])
    with pytest.raises(DataError, match=told):
        load_hub(f"{tmp_path / 'c'}{query}")


def test_mistakes(tmp_path):
    with pytest.raises(UserError, match="did you mean 'label'"):
        load_hub("mnist?lable=x")
    with pytest.raises(DataError, match="needs a name"):
        load_hub("")


@pytest.mark.parametrize("content", [b"", b"PAR1", b"PAR1" + bytes(100) + b"PAR1"])
def test_damaged_parquet_is_named(tmp_path, content):
    (tmp_path / "bad.parquet").write_bytes(content)
    with pytest.raises(DataError, match=r"bad\.parquet"):
        data.load(tmp_path / "bad.parquet")


def test_a_damaged_image_is_named_by_its_row(tmp_path):
    image, labels, mode, size = SCHEMAS["mnist"]
    rows = [{"bytes": encoded(picture(size, size, mode)), "path": "a"}] * 3 + [{"bytes": b"broken", "path": "b"}]
    features = datasets.Features({image: datasets.Image(), "label": datasets.ClassLabel(names=labels["label"])})
    datasets.Dataset.from_dict({image: rows, "label": [0, 1, 0, 1]}, features=features).to_parquet(
        tmp_path / "x.parquet"
    )
    with pytest.raises(DataError, match="row 3"):
        data.load(tmp_path / "x.parquet")
