import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from metamixup.data import Augment, ImageSet, Stream
from metamixup.data.stream import balanced

MEAN, STD = (0.4, 0.5, 0.6), (0.2, 0.25, 0.3)


def image_set(count=50):
    generator = torch.Generator().manual_seed(0)
    images = torch.randint(0, 256, (count, 3, 6, 6), dtype=torch.uint8, generator=generator)
    return ImageSet(images, torch.arange(count) % 5)


def stream(count=50, batch_size=8, seed=1, augment=None, views=1, index=None, name="train"):
    index = torch.arange(count) if index is None else index
    return Stream(image_set(count), index, batch_size, seed, name, augment, MEAN, STD, views)


def test_an_epoch_shows_every_image_once():
    s = stream(48)
    seen = torch.cat([s.batch(step)[2] for step in range(s.steps_per_epoch)])
    assert sorted(seen.tolist()) == list(range(48))
    assert not torch.equal(seen, torch.cat([s.batch(6 + step)[2] for step in range(6)]))


def test_a_last_partial_batch_is_dropped_and_a_small_set_is_one_batch():
    assert stream(50).steps_per_epoch == 6
    small = stream(5)
    assert small.steps_per_epoch == 1
    assert sorted(small.batch(3)[2].tolist()) == [0, 1, 2, 3, 4]


def test_images_are_scaled_and_normalised():
    s = stream()
    x, y, index = s.batch(0)
    expected = (s.images.images[index].double() / 255 - torch.tensor(MEAN).view(3, 1, 1)) / torch.tensor(STD).view(
        3, 1, 1
    )
    assert x.dtype == torch.float32
    torch.testing.assert_close(x.double(), expected, atol=1e-5, rtol=0)
    assert torch.equal(y, index % 5)


def test_only_the_given_positions_are_read():
    index = torch.tensor([3, 7, 9, 20, 33])
    assert set(stream(batch_size=5, index=index).batch(4)[2].tolist()) == set(index.tolist())


@settings(max_examples=30, deadline=None)
@given(steps=st.lists(st.integers(0, 40), min_size=1, max_size=6), world=st.integers(1, 4), views=st.integers(1, 2))
def test_a_batch_depends_on_the_step_alone_and_processes_share_it(steps, world, views):
    """Whatever was read before, and however many processes read it."""
    augment = Augment(flip=True, shift=2, noise=0.1)
    used = stream(augment=augment, views=views)
    for step in steps:
        parts = [used.batch(step, rank, world) for rank in range(world)]
        x, y, index = stream(augment=augment, views=views).batch(step)
        for view in range(views):
            joined = torch.cat([part[0][view] if views > 1 else part[0] for part in parts])
            assert torch.equal(joined, x[view] if views > 1 else x)
        assert torch.equal(torch.cat([part[1] for part in parts]), y)
        assert torch.equal(torch.cat([part[2] for part in parts]), index)


def test_two_views_are_two_augmentations_of_the_same_images():
    (a, b), _, _ = stream(augment=Augment(noise=0.5), views=2).batch(0)
    assert a.shape == b.shape
    assert not torch.equal(a, b)


@pytest.mark.parametrize("change", [{"seed": 2}, {"name": "meta"}])
def test_another_seed_or_name_is_another_order(change):
    assert not torch.equal(stream().batch(0)[2], stream(**change).batch(0)[2])


def test_floats_are_normalised_as_they_are_and_not_changed():
    images = torch.randn(4, 1, 3, 3)
    before = images.clone()
    s = Stream(ImageSet(images, torch.zeros(4).long()), torch.arange(4), 4, 0, "x", mean=(2.0,), std=(0.5,))
    x, _, index = s.batch(0)
    torch.testing.assert_close(x, (before[index] - 2) / 0.5)
    assert torch.equal(images, before)


def test_an_empty_stream_is_a_mistake():
    with pytest.raises(ValueError, match="no images"):
        stream(index=torch.arange(0))


@pytest.mark.parametrize("shift", [0, 1])
def test_alternating_flips_show_the_other_side_in_the_next_epoch(shift):
    s = stream(48, augment=Augment(flip=True, shift=shift, alternate=True))
    sides = [torch.zeros(48, dtype=torch.bool) for _ in range(3)]
    for step in range(18):
        _, _, index = s.batch(step)
        sides[step // 6][index] = s._alternate(index, step // 6)
    assert torch.equal(sides[0], ~sides[1])
    assert torch.equal(sides[0], sides[2])
    assert 12 < int(sides[0].sum()) < 36


def test_alternating_flips_are_what_a_batch_shows():
    plain, s = stream(48), stream(48, augment=Augment(flip=True, alternate=True), views=2)
    (x, other), _, index = s.batch(7)
    as_it_is, flip = plain.batch(7)[0], s._alternate(index, 1)
    expected = torch.where(flip.view(-1, 1, 1, 1), as_it_is.flip(3), as_it_is)
    assert torch.equal(x, expected)
    assert torch.equal(other, expected.flip(3))
    assert torch.equal(torch.cat([s.batch(7, rank, 2)[0][0] for rank in range(2)]), x)


def test_a_balanced_order_shows_every_class_equally_often():
    labels = torch.tensor([0] * 900 + [1] * 90 + [2] * 10)
    images = ImageSet(torch.zeros(1000, 1, 2, 2), labels)
    stream, again = (Stream(images, torch.arange(1000), 100, 0, "train", order=balanced(labels)) for _ in range(2))
    counts = labels[stream.order(0)].bincount()
    assert bool((counts > 270).all())
    assert torch.equal(stream.order(0), again.order(0))
    assert not torch.equal(stream.order(0), stream.order(1))
