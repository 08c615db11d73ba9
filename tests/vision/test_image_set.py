from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from opengcn import DataError
from opengcn.vision import ImageSet, read_images


def test_images_are_rgb_whatever_the_file(tmp_path: Path) -> None:
    for label, mode in enumerate(("L", "RGBA", "P", "CMYK")):
        suffix = "jpg" if mode == "CMYK" else "png"
        folder = tmp_path / f"class{label}"
        folder.mkdir()
        Image.new(mode, (5, 4)).save(folder / f"1.{suffix}")
    images = read_images(tmp_path)
    assert [images.image(row).mode for row in range(4)] == ["RGB"] * 4


def one_image(folder: Path, picture: Image.Image, name: str = "1.png", **how: object) -> np.ndarray:
    for label in "ab":
        (folder / label).mkdir()
        picture.save(folder / label / name, **how)
    return np.asarray(read_images(folder).image(0))


def test_grey_images_of_sixteen_bits_keep_their_shades(tmp_path: Path) -> None:
    shades = np.arange(0, 65536, 257, np.uint16).reshape(16, 16)
    for name in ("1.png", "1.tif"):
        (tmp_path / name[2:]).mkdir()
        found = one_image(tmp_path / name[2:], Image.fromarray(shades), name)
        assert (found == np.arange(256).reshape(16, 16, 1)).all()


def test_what_is_transparent_is_white(tmp_path: Path) -> None:
    logo = np.zeros((6, 6, 4), np.uint8)  # black, on a ground that is transparent and black
    logo[2:4, 2:4, 3] = 255
    palette = Image.new("P", (6, 6))
    palette.putpalette([0, 0, 0, 0, 0, 0])
    palette.paste(1, (2, 2, 4, 4))
    for name, picture, how in (
        ("rgba", Image.fromarray(logo), {}),
        ("palette", palette, {"transparency": bytes([0, 255])}),
    ):
        (tmp_path / name).mkdir()
        found = one_image(tmp_path / name, picture, **how)
        assert (found[0] == 255).all(), name
        assert (found[2:4, 2:4] == 0).all(), name


def test_numbers_of_no_known_range_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"a/1.tif: expected an image, .* floating-point"):
        one_image(tmp_path, Image.fromarray(np.ones((4, 4), np.float32)), "1.tif")


def test_orientation_of_the_camera_is_heeded(tmp_path: Path) -> None:
    for label in "ab":
        (tmp_path / label).mkdir()
        picture = Image.new("RGB", (30, 20))
        exif = picture.getexif()
        exif[0x0112] = 6  # the camera lay on its side
        picture.save(tmp_path / label / "1.jpg", exif=exif)
    assert read_images(tmp_path).image(0).size == (20, 30)


def test_large_jpegs_are_decoded_small(tmp_path: Path) -> None:
    for label in "ab":
        (tmp_path / label).mkdir()
        Image.new("RGB", (1600, 1200)).save(tmp_path / label / "1.jpg")
    images = read_images(tmp_path)
    assert images.image(0).size == (1600, 1200)
    small = images.image(0, at_least=64).size
    assert 128 <= min(small) < 400


def test_what_is_no_image_is_named(photos: Path) -> None:
    (photos / "class2" / "3.png").write_bytes(b"<html>not found</html>")
    images = read_images(photos)
    row = int(np.flatnonzero(images.ids == "class2/3.png")[0])
    with pytest.raises(DataError, match=r"class2/3.png: expected an image, received 22 bytes"):
        images.image(row)


def test_truncated_image(photos: Path) -> None:
    file = photos / "class0" / "0.png"
    file.write_bytes(file.read_bytes()[:300])
    with pytest.raises(DataError, match=r"class0/0.png: expected an image"):
        read_images(photos).image(0)


def test_subset_keeps_its_images(images: ImageSet) -> None:
    some = images.subset([7, 3])
    assert list(some.ids) == [images.ids[7], images.ids[3]]
    assert some.image(0) == images.image(7)
    assert list(some.labels) == [images.labels[7], images.labels[3]]
    assert some.subset([1]).image(0) == images.image(3)
    assert some.classes == images.classes


def test_fingerprint_knows_names_classes_and_sizes(photos: Path, tmp_path: Path) -> None:
    before = read_images(photos).fingerprint()
    elsewhere = tmp_path / "copy"
    photos.rename(elsewhere)
    assert read_images(elsewhere).fingerprint() == before  # wherever it lies
    file = elsewhere / "class1" / "0.png"
    file.rename(elsewhere / "class1" / "zero.png")
    assert read_images(elsewhere).fingerprint() != before
    (elsewhere / "class1" / "zero.png").rename(file)
    assert read_images(elsewhere).fingerprint() == before
    file.write_bytes(file.read_bytes() + b" ")
    assert read_images(elsewhere).fingerprint() != before


def test_checksums_know_the_pixels(photos: Path) -> None:
    before = read_images(photos)
    by_size, by_contents = before.fingerprint(), before.with_checksums().fingerprint()
    some = before.subset([7, 3])
    assert list(some.with_checksums().stamps) == list(before.with_checksums().stamps[[7, 3]])
    file = photos / "class1" / "0.png"
    data = bytearray(file.read_bytes())
    data[-20] ^= 1
    file.write_bytes(data)
    after = read_images(photos)
    assert after.fingerprint() == by_size
    assert after.with_checksums().fingerprint() != by_contents
