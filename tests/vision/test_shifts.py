from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from opengcn import OpenGCNError
from opengcn.vision import CORRUPTIONS, SHIFTS, Shift
from opengcn.vision.opencv_stand_in import import_corruptions, stand_in


@pytest.fixture
def picture(rng: np.random.Generator) -> np.ndarray:
    """Something with edges and colours, 48 x 40."""
    y, x = np.mgrid[:40, :48]
    waves = np.stack([np.sin(x / 5), np.cos(y / 7), np.sin((x + y) / 9)], axis=-1)
    return (127 + 90 * waves + rng.normal(0, 10, waves.shape)).clip(0, 255).astype(np.uint8)


def test_the_paper_has_thirteen() -> None:
    assert len(CORRUPTIONS) == len(set(CORRUPTIONS)) == 13
    assert not {"glass_blur", "frost"} & set(CORRUPTIONS)


@pytest.mark.parametrize("name", SHIFTS)
def test_shifts_repeat_for_an_image_and_differ_in_severity(name: str, picture: np.ndarray) -> None:
    before = picture.copy()
    shifted = Shift(name, 2)(picture, "birds/1.jpg")
    assert shifted.shape == picture.shape
    assert shifted.dtype == np.uint8
    assert (shifted != picture).any()
    assert (picture == before).all()
    assert (shifted == Shift(name, 2)(picture, "birds/1.jpg")).all()
    strongest = Shift(name, 5)(picture, "birds/1.jpg")
    if name in CORRUPTIONS:
        change = [np.abs(s.astype(int) - picture).mean() for s in (shifted, strongest)]
        assert change[0] < change[1]


RANDOM = ("gaussian_noise", "shot_noise", "impulse_noise", "motion_blur", "snow", "fog")


@pytest.mark.parametrize("name", [*RANDOM, "elastic_transform"])
def test_two_images_get_other_noise(name: str, picture: np.ndarray) -> None:
    assert (Shift(name)(picture, "a") != Shift(name)(picture, "b")).any()


def test_neither_order_nor_threads_matter(picture: np.ndarray) -> None:
    names = [f"{k}.jpg" for k in range(24)]
    shift = Shift("gaussian_noise")
    alone = {name: shift(picture, name) for name in names}
    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(lambda name: shift(picture, name), reversed(names)))
    for name, one in zip(reversed(names), together, strict=True):
        assert (one == alone[name]).all()


def test_the_callers_randomness_is_left_alone(picture: np.ndarray) -> None:
    np.random.seed(5)  # noqa: NPY002
    expected = np.random.random(4)  # noqa: NPY002
    np.random.seed(5)  # noqa: NPY002
    Shift("fog")(picture, "a")
    assert (np.random.random(4) == expected).all()  # noqa: NPY002


def test_bad_shifts(picture: np.ndarray) -> None:
    with pytest.raises(OpenGCNError, match=r"shift: expected one of gaussian_noise, .*'frost'"):
        Shift("frost")
    with pytest.raises(OpenGCNError, match="severity: expected 1 to 5, received 0"):
        Shift("fog", 0)
    with pytest.raises(OpenGCNError, match="a.jpg: expected an image of 32 pixels or more a side"):
        Shift("fog")(picture[:31], "a.jpg")


def test_names() -> None:
    assert str(Shift("fog", 4)) == "fog-4"
    assert str(Shift("sketch", 4)) == "sketch"


# What OpenCV's own loader does before it finds that libGL is missing.
LOADER = """
import sys
if hasattr(sys, "OpenCV_LOADER"):
    print(sys.path)
    raise ImportError("recursion is detected")
sys.OpenCV_LOADER = True
sys.path.insert(1, __file__)
raise ImportError("libGL.so.1: cannot open shared object file")
"""


class TestWithoutOpenCV:
    def test_stand_in_is_opencv(self, picture: np.ndarray) -> None:
        cv2 = pytest.importorskip("cv2")
        mine = stand_in()
        x = picture.astype(np.float32) / 255
        assert mine.COLOR_RGB2GRAY == cv2.COLOR_RGB2GRAY
        np.testing.assert_allclose(mine.cvtColor(x, 7), cv2.cvtColor(x, 7), atol=1e-6)
        kernel = import_corruptions().corruptions.disk(radius=6, alias_blur=0.5)
        np.testing.assert_allclose(
            mine.filter2D(x[:, :, 0].astype(float), -1, kernel),
            cv2.filter2D(x[:, :, 0].astype(float), -1, kernel),
            atol=1e-6,
        )
        for size, sigma in ((3, 0.1), (3, 0.5), (5, 0.5)):
            blurred = (
                m.GaussianBlur(x[:, :, 0], ksize=(size, size), sigmaX=sigma) for m in (mine, cv2)
            )
            np.testing.assert_allclose(*blurred, atol=1e-5)

    def test_every_shift_on_a_machine_that_cannot_load_it(self) -> None:
        code = """
import sys
class NoScreen:
    def find_spec(self, name, path=None, target=None):
        if name == "cv2":
            raise ImportError("libGL.so.1: cannot open shared object file")
sys.meta_path.insert(0, NoScreen())
import numpy as np
from opengcn.vision import SHIFTS, Shift
image = np.random.default_rng(0).integers(0, 256, (40, 48, 3), dtype=np.uint8)
for name in SHIFTS:
    assert (Shift(name, 3)(image, "a") != image).any()
assert "cv2" not in sys.modules
"""
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr

    def test_a_loader_that_fails_half_way_leaves_nothing_behind(self, tmp_path: Path) -> None:
        (tmp_path / "cv2").mkdir()
        (tmp_path / "cv2" / "__init__.py").write_text(LOADER)
        code = """
import sys
from concurrent.futures import ThreadPoolExecutor
import numpy as np
from opengcn.vision import Shift
before = sys.path.copy()
image = np.random.default_rng(0).integers(0, 256, (40, 48, 3), dtype=np.uint8)
with ThreadPoolExecutor(8) as pool:  # each of them may be the first to import
    list(pool.map(lambda name: Shift("fog")(image, name), "abcdefgh"))
assert sys.path == before
assert not hasattr(sys, "OpenCV_LOADER")
"""
        done = subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            env=os.environ | {"PYTHONPATH": str(tmp_path)},
        )
        assert done.returncode == 0, done.stderr
        assert done.stdout == ""

    def test_same_images_with_and_without(self, picture: np.ndarray) -> None:
        pytest.importorskip("cv2")
        corruptions = import_corruptions().corruptions
        real = corruptions.cv2
        for name in ("defocus_blur", "snow"):
            with_opencv = Shift(name)(picture, "a").astype(int)
            corruptions.cv2 = stand_in()
            try:
                without = Shift(name)(picture, "a").astype(int)
            finally:
                corruptions.cv2 = real
            assert np.abs(with_opencv - without).max() <= 1
