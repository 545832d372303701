import numpy as np
import pytest
import torch
from data.formats import picture
from torch.utils.data import Dataset, TensorDataset

from metamixup.data import from_arrays, from_dataset
from metamixup.data.formats.npz import load_npz
from metamixup.errors import DataError

RNG = np.random.default_rng(0)
IMAGES = RNG.integers(0, 256, (20, 6, 5), dtype=np.uint8)


@pytest.mark.parametrize("shape", [(20, 6, 5), (20, 1, 6, 5), (20, 6, 5, 1)])
def test_grey_images_of_any_layout(shape):
    x = RNG.integers(0, 256, shape, dtype=np.uint8)
    found = from_arrays(x, np.arange(20) % 4)
    assert found.shape == (1, 6, 5)
    assert found.train.images.dtype == torch.uint8
    assert len(found.train) == 16


def test_channels_are_asked_for_where_the_shape_leaves_them_open():
    x = np.zeros((4, 9, 9, 9), np.uint8)
    with pytest.raises(DataError, match="channels="):
        from_arrays(x, [0, 1, 0, 1])
    assert from_arrays(x, [0, 1, 0, 1], x[:1], [0], channels="last").shape == (9, 9, 9)
    tiny = np.zeros((4, 3, 2, 1), np.uint8)
    assert from_arrays(tiny, [0, 1, 0, 1], channels="last").shape == (1, 3, 2)


def test_floats_stay_floats_and_are_normalised_by_their_own_statistics():
    x = torch.randn(200, 3, 4, 4, generator=torch.Generator().manual_seed(0)) * 5 + 100
    found = from_arrays(x, torch.arange(200) % 2)
    assert found.train.images.dtype == torch.float32
    np.testing.assert_allclose(found.mean, [100] * 3, atol=0.5)
    np.testing.assert_allclose(found.std, [5] * 3, atol=0.3)


@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.uint16])
def test_integers_become_bytes_only_where_they_fit(dtype):
    x = np.arange(16, dtype=dtype).reshape(4, 2, 2)
    assert from_arrays(x, [0, 1, 0, 1]).train.images.dtype == torch.uint8
    assert from_arrays(x * 100, [0, 1, 0, 1]).train.images.dtype == torch.float32


def test_labels_by_name():
    x = np.zeros((6, 2, 2), np.uint8)
    found = from_arrays(x, ["dog", "cat"] * 3)
    assert found.classes == ("cat", "dog")
    assert sorted(found.train.labels.tolist()) == [0, 0, 1, 1]
    with pytest.raises(DataError, match="'cow'"):
        from_arrays(x, ["dog", "cow"] * 3, classes=("dog", "cat"))


def test_half_a_test_set():
    with pytest.raises(DataError, match="both"):
        from_arrays(np.zeros((2, 2, 2)), [0, 1], x_test=np.zeros((1, 2, 2)))


class Photos(Dataset):
    classes = ("a", "b")

    def __len__(self):
        return 10

    def __getitem__(self, place):
        return picture(seed=place), place % 2


def test_any_dataset_of_pil_images_or_tensors():
    photos = from_dataset(Photos())
    assert (photos.shape, photos.classes) == ((3, 30, 40), ("a", "b"))
    tensors = TensorDataset(torch.rand(10, 3, 8, 8), torch.arange(10) % 2)
    assert from_dataset(tensors, tensors, name="own").test.images.shape == (10, 3, 8, 8)
    with pytest.raises(DataError, match="empty"):
        from_dataset([])


@pytest.mark.parametrize(
    "labels",
    [
        np.full(10, np.nan),
        np.full(10, "2020-01-01", dtype="datetime64[D]"),
        np.zeros(10, dtype=[("a", "i4")]),
        np.array(["cat\udcff"] * 10),
        np.array([b"\xff"] * 10),
        np.full(10, 1e308),
        [[1], [2, 3]] * 5,
        [None] * 10,
    ],
    ids=["nan", "dates", "records", "no Unicode", "no text", "huge", "ragged", "none"],
)
def test_labels_that_are_none_are_told(labels):
    with pytest.raises(DataError, match="labels have to be class numbers or names"):
        from_arrays(np.zeros((10, 4, 4), np.uint8), labels)


def test_names_as_bytes_are_names():
    assert from_arrays(np.zeros((10, 4, 4), np.uint8), np.array([b"cat", b"dog"] * 5)).classes == ("cat", "dog")


def test_one_wrong_number_among_the_labels_does_not_make_a_class_of_every_number_below(tmp_path):
    path = tmp_path / "small.npz"
    np.savez_compressed(path, x=np.zeros((8, 8, 8), np.uint8), y=np.array([0, 1] * 3 + [0, 2**40]))
    with pytest.raises(DataError, match="label 1099511627776 among 8 images"):
        load_npz(path)
    assert from_arrays(IMAGES, np.array([0, 500] * 10)).num_classes == 501


@pytest.mark.parametrize(
    ("train", "test", "told"),
    [
        (np.full((20, 8, 8), 200, np.uint8), np.full((4, 8, 8), 200.0), "bring both to one size and type"),
        (np.full((20, 8, 8), 200.0), np.full((4, 8, 8), 200 / 255), "reaches 0.784314 and another 200"),
        (np.full((20, 8, 8), 1, np.uint8), np.full((4, 8, 8), 255, np.uint8), "to one scale"),
        (np.full((20, 8, 8), 9, np.uint8), np.full((4, 9, 9), 9, np.uint8), "bring both to one size and type"),
    ],
)
def test_parts_agree_in_type_range_and_shape(train, test, told):
    with pytest.raises(DataError, match=told):
        from_arrays(train, np.arange(20) % 2, test, np.arange(4) % 2)


def test_integers_that_fit_bytes_in_one_part_alone_are_floats_in_both():
    found = from_arrays(np.full((20, 8, 8), 300), np.arange(20) % 2, np.full((4, 8, 8), 200), np.arange(4) % 2)
    assert found.train.images.dtype == found.test.images.dtype == torch.float32


@pytest.mark.parametrize("classes", [("a", "\udcff"), ("a", None)])
def test_a_class_without_a_name_that_can_be_written_is_told_before_training(classes):
    with pytest.raises(DataError, match="a name of Unicode text"):
        from_arrays(IMAGES, np.arange(20) % 2, classes=classes)


def test_one_class_is_none():
    """A network that knows one answer has no error, which says nothing."""
    with pytest.raises(DataError, match=r"of one class \('0'\)"):
        from_arrays(IMAGES, np.zeros(20))


def test_pixels_beyond_what_is_computed_with_are_told():
    with pytest.raises(DataError, match="finite numbers"):
        from_arrays(np.full((20, 8, 8), 1e300), np.arange(20) % 2)
    with pytest.raises(DataError, match="too large"):
        from_arrays(1e30 * np.arange(20 * 64).reshape(20, 8, 8), np.arange(20) % 2)


def test_any_order_of_bytes_is_read():
    pixels = np.arange(20 * 64).reshape(20, 8, 8)
    swapped, native = (from_arrays(pixels.astype(kind), np.arange(20) % 2) for kind in (">u2", "<u2"))
    assert torch.equal(swapped.train.images, native.train.images)
