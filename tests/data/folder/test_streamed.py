import pytest
import torch
from data.formats import encoded, picture

from metamixup.data.folder.decode import decode
from metamixup.data.folder.streamed import StreamedImages


@pytest.fixture
def files(tmp_path):
    paths = [tmp_path / f"{k}.png" for k in range(5)]
    for k, path in enumerate(paths):
        path.write_bytes(encoded(picture(seed=k)))
    return paths


def test_reads_like_a_tensor(files):
    images = StreamedImages(files, (3, 8, 8))
    whole = torch.stack([torch.from_numpy(decode(path, 8, 3)) for path in files])
    assert (images.shape, len(images), images.numel(), images.ndim) == (whole.shape, 5, whole.numel(), 4)
    index = torch.tensor([4, 0, 4])
    for which in (index, slice(1, 5, 2), slice(3, 3), torch.tensor([True, False, True, False, False]), 2):
        assert torch.equal(images[which], whole[which])
    assert torch.equal(images.index_select(0, index), whole[index])
    assert torch.equal(torch.cat(list(images.split(2))), whole)
    assert torch.equal(torch.stack(list(images)), whole)


def test_other_dimensions_are_not_selected(files):
    with pytest.raises(NotImplementedError):
        StreamedImages(files, (3, 8, 8)).index_select(1, torch.tensor([0]))
