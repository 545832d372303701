import io
import struct
import zlib

import numpy as np
import pytest
from data.formats import encoded, picture
from data.hostile import damaged, data_or_error, fuzzed
from data.memory import peak_memory
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from metamixup.data.folder.decode import TooLarge, decode, probe, without_pillow_warnings
from metamixup.errors import DataError


def rgb(content, size=8, channels=3):
    return decode(content, size, channels, "some image")


@pytest.mark.parametrize("form", ["PNG", "WEBP", "JPEG"])
@pytest.mark.parametrize("mode", ["RGB", "L", "RGBA", "P", "LA", "1", "CMYK"])
@pytest.mark.parametrize("channels", [1, 3])
def test_every_mode_of_every_format(form, mode, channels):
    try:
        content = encoded(picture(mode=mode), form)
    except OSError:
        return  # the format has no such mode
    found = rgb(content, channels=channels)
    assert found.shape == (channels, 8, 8)
    assert found.dtype == np.uint8
    assert found.flags.c_contiguous


def test_the_shorter_side_is_scaled_and_the_centre_kept():
    pixels = np.zeros((20, 60, 3), np.uint8)
    pixels[:, 20:40] = (10, 200, 30)
    found = rgb(encoded(Image.fromarray(pixels)), size=10)
    # The outermost columns are blended with what was cut off beside them.
    assert (found[:, :, 1:-1] == np.array([10, 200, 30], np.uint8)[:, None, None]).all()


def test_an_image_of_the_right_size_is_untouched():
    image = picture(16, 16)
    np.testing.assert_array_equal(rgb(encoded(image), 16), np.asarray(image).transpose(2, 0, 1))


def test_sixteen_bits_are_scaled_to_eight():
    deep = (np.arange(64, dtype=np.uint16) * 1000).reshape(8, 8)
    found = rgb(encoded(Image.fromarray(deep)), channels=1)
    np.testing.assert_array_equal(found[0], deep >> 8)


def test_transparent_images_lie_on_white():
    clear = Image.new("RGBA", (8, 8), (255, 0, 0, 0))
    assert rgb(encoded(clear)).min() == 255
    half = Image.new("RGBA", (8, 8), (0, 0, 0, 128))
    assert abs(int(rgb(encoded(half)).mean()) - 127) <= 1


@pytest.mark.parametrize(
    ("mode", "colour", "transparent"),
    [("RGB", (10, 20, 30), (10, 20, 30)), ("L", 7, 7), ("1", 0, 0), ("I;16", 0x0102, 0x0102)],
)
def test_the_see_through_value_of_a_png_lies_on_white_too(mode, colour, transparent):
    clear = encoded(Image.new(mode, (8, 8), colour), transparency=transparent)
    assert rgb(clear).min() == 255
    solid = encoded(Image.new(mode, (8, 8), colour))
    assert rgb(solid).max() < 255


@pytest.mark.parametrize("orientation", range(1, 9))
@pytest.mark.parametrize("size", [(12, 12), (24, 12)])
def test_exif_orientation_is_followed(orientation, size):
    from PIL import ImageOps

    image = picture(*size)
    exif = Image.Exif()
    exif[0x0112] = orientation
    content = encoded(image, "PNG", exif=exif)
    upright = ImageOps.exif_transpose(Image.open(io.BytesIO(content)))
    expected = ImageOps.fit(upright, (12, 12), Image.Resampling.BILINEAR)
    np.testing.assert_array_equal(rgb(content, 12), np.asarray(expected).transpose(2, 0, 1))


def test_probing_reads_the_header():
    assert probe(encoded(picture(40, 30))) == (40, 30, False)
    assert probe(encoded(picture(40, 30, "L"))) == (40, 30, True)
    assert probe(b"nothing") is None


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"", "empty"),
        (b"text", "not a JPEG, PNG or WebP"),
        (b"GIF89a" + bytes(50), "not a JPEG, PNG or WebP"),
        (encoded(picture(300, 300), "JPEG")[:4000], "truncated"),
        (encoded(picture(300, 300), "PNG")[:4000], "cannot be read"),
    ],
)
def test_unreadable_files_are_named(tmp_path, content, told):
    path = tmp_path / "[bold]odd.jpg"
    path.write_bytes(content)
    with pytest.raises(DataError, match=told) as caught, without_pillow_warnings():
        decode(path, 8, 3)
    assert str(path) in str(caught.value)


def png_of(width, height, colour=2, depth=8):
    """A sound header and almost no data: what a decompression bomb looks like from outside."""

    def chunk(kind, content):
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))

    header = struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(bytes(1000))) + chunk(b"IEND", b"")
    )


@pytest.mark.parametrize("size", [(60_000, 60_000), (12_000, 8_000), (2**31 - 1, 2**31 - 1)])
def test_a_bomb_is_refused_by_its_header(tmp_path, size):
    (tmp_path / "bomb.png").write_bytes(png_of(*size))
    with without_pillow_warnings():
        assert data_or_error(lambda path: decode(path, 8, 3), tmp_path / "bomb.png", png_of(*size)) is None


@pytest.mark.parametrize(
    ("form", "mode", "side"), [("PNG", "RGB", 3700), ("PNG", "LA", 2100), ("WEBP", "RGB", 1700), ("JPEG", "CMYK", 2500)]
)
def test_the_largest_images_that_are_let_in_keep_to_the_bound(tmp_path, monkeypatch, form, mode, side):
    monkeypatch.setenv("METAMIXUP_IMAGE_MB", "56")
    image = Image.new(mode, (side, side))
    path = tmp_path / "large"
    path.write_bytes(encoded(image, form, **({"progressive": True} if form == "JPEG" else {})))
    del image
    assert peak_memory(lambda: decode(path, 32, 3)) <= 2 * path.stat().st_size + 64 * 2**20


@pytest.mark.parametrize(("form", "size"), [("JPEG", (4000, 3000)), ("WEBP", (2400, 1800))])
def test_photos_of_telephones_are_opened(form, size):
    content = encoded(Image.new("RGB", size), form, **({"progressive": True} if form == "JPEG" else {}))
    assert rgb(content).shape == (3, 8, 8)


def test_a_hundred_megapixels_are_opened_where_the_file_has_the_weight_of_a_photo():
    bomb = png_of(12_000, 8_000)
    with without_pillow_warnings(), pytest.raises(TooLarge, match=r"12000×8000 pixels.*METAMIXUP_IMAGE_MB=367"):
        rgb(bomb)
    with without_pillow_warnings(), pytest.raises(DataError, match=r"truncated|broken") as caught:
        rgb(bomb + bytes(400_000))
    assert not isinstance(caught.value, TooLarge)


def test_the_memory_that_is_allowed_can_be_set(monkeypatch):
    content = encoded(Image.new("RGB", (2000, 2000)), "WEBP")
    monkeypatch.setenv("METAMIXUP_IMAGE_MB", "68")
    with pytest.raises(TooLarge, match="METAMIXUP_IMAGE_MB=69"):
        rgb(content)
    monkeypatch.setenv("METAMIXUP_IMAGE_MB", "69")
    assert rgb(content).shape == (3, 8, 8)


def test_what_pillow_takes_for_a_bomb_is_too_large_and_not_damaged():
    with without_pillow_warnings(), pytest.raises(TooLarge, match="make the image smaller"):
        rgb(png_of(60_000, 60_000))


SOUND = [encoded(picture(20, 14), form) for form in ("PNG", "JPEG", "WEBP")]
ORIENTED = Image.Exif()
ORIENTED[0x0112] = 6


@fuzzed
@given(
    content=st.one_of(
        st.binary(max_size=200),
        *(damaged(content) for content in SOUND),
        damaged(encoded(picture(20, 14), "JPEG", progressive=True, exif=ORIENTED)),
    )
)
def test_any_bytes_give_a_square_or_an_error(tmp_path, monkeypatch, content):
    monkeypatch.setenv("METAMIXUP_IMAGE_MB", "56")
    with without_pillow_warnings():
        found = data_or_error(lambda path: decode(path, 8, 3), tmp_path / "fuzzed", content)
    assert found is None or found.shape == (3, 8, 8)
