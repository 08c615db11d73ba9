from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from opengcn.vision import FunctionBackbone, ImageSet, Shift, read_images
from opengcn.vision import features as module
from opengcn.vision.features import features
from opengcn.vision.pixels import square


@pytest.fixture(autouse=True)
def small_shards(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "BATCH", 4)
    monkeypatch.setattr(module, "SHARD", 8)


class Counting(FunctionBackbone):
    """Counts the images that it sees, and may break after some."""

    def __init__(self, backbone: FunctionBackbone, breaks_after: int = 10**9) -> None:
        super().__init__(backbone.name, backbone.function, size=backbone.size)
        self.seen, self.breaks_after = 0, breaks_after

    def features(self, pixels: np.ndarray) -> np.ndarray:
        if self.seen >= self.breaks_after:
            raise KeyboardInterrupt
        self.seen += len(pixels)
        return super().features(pixels)


def test_blocks_are_the_images_in_order(images: ImageSet, colours: FunctionBackbone) -> None:
    blocks = list(features(colours, images))
    assert [len(b) for b in blocks] == [8, 8, 8, 6]
    pixels = np.stack([square(images.image(row), 32) for row in range(30)])
    np.testing.assert_allclose(np.concatenate(blocks), colours.features(pixels), atol=1e-6)


def test_computed_once(images: ImageSet, colours: FunctionBackbone) -> None:
    first = Counting(colours)
    once = np.concatenate(list(features(first, images)))
    assert first.seen == 30
    second = Counting(colours)
    again = np.concatenate(list(features(second, images)))
    assert second.seen == 0
    assert (once == again).all()
    third = Counting(colours)
    list(features(third, images, resume=False))
    assert third.seen == 30


def test_a_break_costs_one_shard(images: ImageSet, colours: FunctionBackbone) -> None:
    whole = np.concatenate(list(features(colours, images, resume=False)))
    for file in Path(module._shards(colours, images, None)[0].path).parent.iterdir():
        file.unlink()
    with pytest.raises(KeyboardInterrupt):
        list(features(Counting(colours, breaks_after=20), images))
    rest = Counting(colours)
    assert (np.concatenate(list(features(rest, images))) == whole).all()
    assert rest.seen == 30 - 16


@pytest.mark.parametrize("damage", ["truncated", "flipped", "empty"])
def test_damaged_shards_are_made_again(
    damage: str, images: ImageSet, colours: FunctionBackbone
) -> None:
    whole = np.concatenate(list(features(colours, images)))
    file = module._shards(colours, images, None)[1].path
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 255
    file.write_bytes({"truncated": data[:100], "flipped": data, "empty": b""}[damage])
    rest = Counting(colours)
    assert (np.concatenate(list(features(rest, images))) == whole).all()
    assert rest.seen == 8


def test_other_images_backbones_and_shifts_are_kept_apart(
    photos: Path, images: ImageSet, colours: FunctionBackbone
) -> None:
    def count(backbone: FunctionBackbone, data: ImageSet, shift: Shift | None = None) -> int:
        counting = Counting(backbone)
        list(features(counting, data, shift))
        return counting.seen

    assert count(colours, images) == 30
    assert count(colours, images, Shift("contrast")) == 30
    assert count(colours, images, Shift("contrast", 5)) == 30
    assert count(FunctionBackbone("others", colours.function, size=32), images) == 30
    assert count(FunctionBackbone("colours", colours.function, size=40), images) == 30
    file = photos / "class0" / "0.png"
    file.write_bytes(file.read_bytes() + b" ")
    assert count(colours, read_images(photos)) == 30
    assert count(colours, images) == 0


def test_checksums_tell_images_of_one_size_apart(
    photos: Path, images: ImageSet, colours: FunctionBackbone
) -> None:
    list(features(colours, images.with_checksums()))
    again = Counting(colours)
    list(features(again, read_images(photos).with_checksums()))
    assert again.seen == 0
    file = photos / "class0" / "0.png"
    data = bytearray(file.read_bytes())
    data[-1] ^= 1  # after the last pixel: the file has another checksum and the same size
    file.write_bytes(data)
    list(features(again, read_images(photos).with_checksums()))
    assert again.seen == 30


def test_a_cache_that_is_deleted_meanwhile_costs_time_only(
    images: ImageSet, colours: FunctionBackbone
) -> None:
    whole = list(features(colours, images))
    blocks = features(colours, images)
    found = [next(blocks)]
    shards = module._shards(colours, images, None)
    for shard in shards[2:]:
        shard.path.unlink()
    found += blocks
    assert (np.concatenate(found) == np.concatenate(whole)).all()
    assert all(shard.path.exists() for shard in shards)


def test_shifts_are_applied(images: ImageSet, colours: FunctionBackbone) -> None:
    plain = np.concatenate(list(features(colours, images)))
    bright = np.concatenate(list(features(colours, images, Shift("brightness", 3))))
    assert (bright[:, :3].mean(1) > plain[:, :3].mean(1)).all()
