"""`opengcn benchmark` as a user meets it, killed half way included."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import opengcn as og

COMMAND = [sys.executable, "-m", "opengcn", "benchmark"]
ENVIRONMENT = os.environ | {"COLUMNS": "120", "NO_COLOR": "1", "TERM": "dumb"}


def run(
    *arguments: str | Path, cwd: Path | None = None, **environment: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*COMMAND, *map(str, arguments)],
        capture_output=True,
        text=True,
        cwd=cwd,
        env=ENVIRONMENT | environment,
        check=False,
    )


def write_folder(folder: Path) -> Path:
    """Write a folder as a stranger may have it: a pack with corruptions, and a file of labels."""
    folder.mkdir()
    data = og.datasets.synthetic(24, 8, dim=16, concentration=30.0)
    train = data.labels < 12
    shifted = og.datasets.synthetic(24, 6, dim=16, concentration=20.0, seed=1)
    kept = shifted.labels >= 12
    np.savez(folder / "birds.npz", E=data.embeddings, y=data.labels, train=train)
    np.savez(
        folder / "birds_shifted.npz",
        y=shifted.labels[kept],
        **dict.fromkeys(("snow", "fog", "sketch"), shifted.embeddings[kept]),
    )
    # Classes of one row each: D_test of this one has no same-class pair.
    lonely = og.datasets.synthetic(30, 1, dim=16, seed=2)
    labels = np.where(lonely.labels < 20, lonely.labels // 2, lonely.labels)
    og.EmbeddingSet(lonely.embeddings, labels).save(folder / "lonely.npz")
    return folder


def lines(file: Path) -> list[dict]:
    return [json.loads(line) for line in file.read_text().splitlines()]


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with data and the output of a whole run."""
    place = tmp_path_factory.mktemp("benchmark")
    write_folder(place / "data")
    result = run(
        *("--data", place / "data", "--methods", "platt,hard", "--splits", "2"),
        *("--jobs", "2", "--out", place / "out"),
    )
    assert result.returncode == 0, result.stderr
    (place / "stdout").write_text(result.stdout)
    (place / "stderr").write_text(result.stderr)
    return place


def test_every_scenario_runs(finished: Path) -> None:
    done = [r for r in lines(finished / "out" / "results.jsonl") if not r["failure"]]
    settings = {(r["cell"]["scenario"], r["cell"]["test"]) for r in done}
    assert settings == {
        *(("samedist", "same"), ("shiftdist", "snow"), ("shiftdist", "fog")),
        *(("diffdist", "sketch"), ("diffdist", "tail"), ("diffdist", "zipf")),
    }
    shown = (finished / "stdout").read_text()
    for expected in ("SameDist", "birds: Weather: Snow", "birds: Zipf tail", "platt "):
        assert expected in shown
    assert len({len(line) for line in shown.split("\n") if "birds" in line}) == 1  # none is wrapped
    for page in ("index.md", "samedist.md", "shiftdist.md", "diffdist.md"):
        assert (finished / "out" / page).stat().st_size > 500


def test_a_failing_cell_does_not_stop_the_others(finished: Path) -> None:
    results = lines(finished / "out" / "results.jsonl")
    failed = [r for r in results if r["failure"]]
    assert {r["cell"]["data"] for r in failed} == {"lonely"}
    assert {r["cell"]["method"] for r in failed} == {"platt", "hard"}
    assert all("\n" not in r["failure"] and "pair" in r["failure"] for r in failed)
    done = {json.dumps(r["cell"]) for r in results if not r["failure"]}
    assert len([c for c in done if '"birds"' in c and '"truth"' not in c]) == 22
    assert "failed: samedist, lonely (same), split 0" in (finished / "stderr").read_text()
    assert "Traceback" not in (finished / "stderr").read_text()


def test_tables_only_makes_the_same_files_without_the_data(finished: Path, tmp_path: Path) -> None:
    results = finished / "out" / "results.jsonl"
    before = results.read_bytes()
    again = run("--tables-only", "--results", results, "--out", tmp_path / "again")
    assert again.returncode == 0, again.stderr
    assert results.read_bytes() == before
    files = [f for f in (finished / "out").rglob("*.*") if f.suffix in (".md", ".svg")]
    assert len(files) > 6
    for file in files:
        other = tmp_path / "again" / file.relative_to(finished / "out")
        assert other.read_bytes() == file.read_bytes(), file


def test_killed_half_way_it_goes_on(tmp_path: Path) -> None:
    write_folder(tmp_path / "data")
    (tmp_path / "data" / "lonely.npz").unlink()
    results = tmp_path / "results.jsonl"
    arguments = [
        *("--data", tmp_path / "data", "--methods", "platt,isotonic,hard", "--splits", "25"),
        *("--scenario", "samedist,shiftdist", "--jobs", "2", "--results", results),
        *("--out", tmp_path / "out"),
    ]
    planned = 3 * 3 * 25
    with subprocess.Popen(
        [*COMMAND, *map(str, arguments)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=ENVIRONMENT,
        start_new_session=True,  # so that its workers can be found
    ) as process:
        while not results.exists() or results.read_bytes().count(b"\n") < 20:
            assert process.poll() is None
            time.sleep(0.005)
        os.kill(process.pid, signal.SIGKILL)
    kept = results.read_bytes()
    whole = kept[: kept.rfind(b"\n") + 1]
    cells = [r for r in map(json.loads, whole.splitlines()) if r["cell"]["method"] != "truth"]
    assert 10 <= len(cells) < planned

    deadline = time.monotonic() + 60
    while _alive(process.pid) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not _alive(process.pid)  # its workers have gone with it

    result = run(*arguments)
    assert result.returncode == 0, result.stderr
    assert results.read_bytes().startswith(whole)  # what was finished has not run again
    assert f"{len(cells)} of {planned} cells" in " ".join(result.stderr.split())
    keys = [json.dumps(r["cell"]) for r in lines(results)]
    assert len(keys) == len(set(keys))
    assert len([k for k in keys if '"truth"' not in k]) == planned


def _alive(session: int) -> bool:
    """Whether a process of a session is left that is not a zombie."""
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, _, its_session = stat.read_text().rpartition(")")[2].split()[:4]
        except OSError:  # it has ended meanwhile
            continue
        if int(its_session) == session and state != "Z":
            return True
    return False


def test_help_tells_the_whole_story() -> None:
    text = " ".join(run("--help").stdout.split())
    for expected in (
        *("samedist", "shiftdist-augmented", "diffdist", "ablation"),
        *("--data", "--methods", "--splits", "--seeds", "--jobs", "--results", "--out"),
        *("--tables-only", "Killed half way", "opengcn[vision]", ".parquet", "paper-avg-40"),
    ):
        assert expected in text, expected


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("--data", "gone"), 1, "gone: expected a folder of data"),
        (("--data", "."), 1, "expected .npz files with an array"),
        (("--methods", "guess"), 2, "expected methods of platt, beta"),
        (("--scenario", "guess"), 2, "expected scenario of samedist, shiftdist"),
        (("--tables-only",), 1, "results.jsonl: expected the results of an earlier run"),
        (("--splits", "0"), 2, "--splits"),
        (("--severities", "3,9"), 2, "expected severities of 1 to 5"),
    ],
)
def test_errors_are_one_line(
    arguments: tuple[str, ...], code: int, message: str, tmp_path: Path
) -> None:
    result = run(*arguments, cwd=tmp_path)
    assert result.returncode == code
    assert message in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1
    assert list(tmp_path.iterdir()) == []


def test_bad_data_is_refused_before_anything_runs(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    og.datasets.synthetic(8, 4, dim=8).unlabelled().save(tmp_path / "data" / "bare.npz")
    result = run("--data", "data", "--methods", "hard", cwd=tmp_path)
    assert result.returncode == 1
    assert "bare.npz: expected labels, received a set without them" in result.stderr
    assert [p.name for p in tmp_path.iterdir()] == ["data"]


def write_images(folder: Path) -> Path:
    """Write a folder of class folders."""
    rng = np.random.default_rng(0)
    for c in range(8):
        colour = rng.integers(60, 200, 3)
        (folder / f"class {c}").mkdir(parents=True)
        for i in range(5):
            pixels = np.clip(rng.normal(colour, 40, (64, 64, 3)), 0, 255).astype(np.uint8)
            Image.fromarray(pixels).save(folder / f"class {c}" / f"{i}.png")
    return folder


def test_images_without_the_extra(tmp_path: Path) -> None:
    write_images(tmp_path / "birds")
    block = "import sys; sys.modules['efficientnet_lite_pytorch'] = None"
    (tmp_path / "sitecustomize.py").write_text(block)
    result = run("--data", tmp_path / "birds", cwd=tmp_path, PYTHONPATH=str(tmp_path))
    assert result.returncode == 1
    assert "pip install 'opengcn[vision]'" in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1


@pytest.mark.slow
@pytest.mark.skipif(find_spec("efficientnet_lite_pytorch") is None, reason="needs opengcn[vision]")
def test_a_strangers_images(tmp_path: Path) -> None:
    write_images(tmp_path / "birds")
    result = run(
        *("--data", "birds", "--scenario", "samedist,diffdist", "--methods", "isotonic,hard"),
        *("--splits", "1", "--out", "out"),
        cwd=tmp_path,
        OPENGCN_CACHE=str(tmp_path / "cache"),
    )
    assert result.returncode == 0, result.stderr
    assert "birds: Sketch" in result.stdout
    assert "birds" in (tmp_path / "out" / "samedist.md").read_text()
