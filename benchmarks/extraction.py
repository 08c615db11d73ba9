"""Speed of extraction: images a second from files to features, against the bare forward pass.

    python benchmarks/extraction.py
    python benchmarks/extraction.py --data CUB_200_2011 --images 1000

Without --data, JPEG files of 500 x 375 pixels are made. The bare forward pass is the same network
on the same cores with its input in memory, under ONNX Runtime and under torch (channels last).
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from PIL import Image

from opengcn.threads import cores
from opengcn.vision import ImageSet, NetworkBackbone, load_backbone, read_images
from opengcn.vision.features import BATCH, features
from opengcn.vision.pixels import square


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--data", type=Path, help="a data set of images")
    parser.add_argument("--images", type=int, default=512)
    parser.add_argument("--size", type=int, default=128)
    parser.add_argument("--backbone", default="efficientnet_lite0")
    given = parser.parse_args()
    with TemporaryDirectory() as folder:
        os.environ["OPENGCN_CACHE"] = folder  # nothing that was computed before
        images = read_images(given.data or _made(Path(folder) / "images", given.images))
        images = images.subset(np.arange(min(given.images, len(images))))
        backbone = load_backbone(given.backbone, size=given.size, device="cpu")
        assert isinstance(backbone, NetworkBackbone)
        pixels = np.stack([square(images.image(k, given.size), given.size) for k in range(BATCH)])
        backbone.features(pixels)  # exports the network
        figures = {
            "images": len(images),
            "size": given.size,
            "cores": cores(),
            "load": round(os.getloadavg()[0], 1),
            "extraction": _extraction(backbone, images),
            "bare_onnx_runtime": _rate(lambda: backbone.features(pixels)),
            "bare_torch_channels_last": _rate(_torch(backbone, pixels)),
        }
    figures = {k: round(v, 1) if isinstance(v, float) else v for k, v in figures.items()}
    print(json.dumps(figures))


def _made(folder: Path, count: int) -> Path:
    rng = np.random.default_rng(0)
    for k in range(count):
        coarse = Image.fromarray(rng.integers(0, 256, (12, 16, 3), dtype=np.uint8))
        (folder / f"class{k % 8}").mkdir(parents=True, exist_ok=True)
        coarse.resize((500, 375)).save(folder / f"class{k % 8}" / f"{k}.jpg")
    return folder


def _extraction(backbone: NetworkBackbone, images: ImageSet) -> float:
    begin = time.perf_counter()
    rows = sum(len(block) for block in features(backbone, images, resume=False))
    return rows / (time.perf_counter() - begin)


def _rate(run: Callable[[], object], repeats: int = 15) -> float:
    """Return images a second, at the best of some repeats: others use the machine too."""
    run()
    times = []
    for _ in range(repeats):
        begin = time.perf_counter()
        run()
        times.append(time.perf_counter() - begin)
    return BATCH / min(times)


def _torch(backbone: NetworkBackbone, pixels: np.ndarray) -> Callable[[], object]:
    import torch

    torch.set_num_threads(cores())
    network = backbone.network.eval().to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    batch = torch.from_numpy(backbone.scale(pixels)).contiguous(memory_format=torch.channels_last)

    def run() -> object:
        with torch.inference_mode():
            return network(batch)

    return run


if __name__ == "__main__":
    main()
