from __future__ import annotations

import json
from pathlib import Path

import pytest

import opengcn as og


def test_fit_writes_a_model_that_answers(run, files: Path, tmp_path: Path) -> None:
    out = tmp_path / "deep" / "model.ogcn"
    ran = run(
        "fit", "--train", files / "train.parquet", "--cal", files / "cal.npz", "-o", out,
        "--episodes", 10, "--seed", 3,
    )  # fmt: skip
    assert ran.code == 0, ran.err
    assert "360 rows of 30 classes" in ran.out
    assert "108 rows of 9 classes" in ran.out
    assert f"opengcn threshold {out}" in ran.out.replace("\n", " ")
    model = og.load(out)
    assert model.seed == 3
    assert model.get_params()["episodes"] == 10
    model.estimate(og.EmbeddingSet.load(files / "test.npy"))
    assert [path.name for path in out.parent.iterdir()] == ["model.ogcn"]


def test_json_and_labels_beside_npy(run, files: Path, tmp_path: Path) -> None:
    out = tmp_path / "model.ogcn"
    ran = run(
        "fit", "--train", files / "train.npy", "--train-labels", files / "train.txt",
        "--cal", files / "cal.npy", "--cal-labels", files / "cal.txt",
        "-o", out, "--episodes", 10, "--json",
    )  # fmt: skip
    answer = json.loads(ran.out)
    assert answer["train"] == {"source": str(files / "train.npy"), "rows": 360, "classes": 30}
    assert answer["cal"]["classes"] == 9
    assert answer["model"] == str(out)
    assert answer["dim"] == 16
    assert answer["preset"] == "default"


def test_files_that_number_their_classes_alike(run, files: Path, tmp_path: Path) -> None:
    for name in ("train", "cal"):
        data = og.EmbeddingSet.load(files / f"{name}.npz")
        og.EmbeddingSet(data.embeddings, data.codes).save(tmp_path / f"{name}.npz")
    given = ("--train", tmp_path / "train.npz", "--cal", tmp_path / "cal.npz")
    rest = ("-o", tmp_path / "model.ogcn", "--episodes", 10)
    ran = run("fit", *given, *rest)
    assert ran.code == 1
    assert "label_space" in ran.err
    assert not (tmp_path / "model.ogcn").exists()
    assert run("fit", *given, *rest, "--label-space", "separate").code == 0


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("--train", "train.npz", "--cal", "test.npy", "-o", "m"), 1, "expected labels"),
        (("--train", "train.npz", "--cal", "no.npz", "-o", "m"), 1, "no.npz: expected a file"),
        (("--train", "train.npz", "--cal", "cal.npz", "-o", "."), 1, "received a folder"),
        (("--train", "train.npz", "--cal", "cal.npz", "-o", "m", "--episodes", "3"), 2, "--episodes"),
        (
            ("--train", "train.npz", "--cal", "cal.npz", "-o", "m", "--preset", "paper", "--episodes", "30"),
            2,
            "--episodes with the default preset",
        ),
        (("--train", "train.npz", "--cal", "train.npz", "-o", "m"), 1, "30 shared"),
        (("--train", "train.npz", "-o", "m"), 2, "expected --cal or --cal-share, received neither"),
        (("--train", "train.npz", "--cal-share", "x", "-o", "m"), 2, "expected a share such as"),
        (("--train", "-", "--cal", "cal.npz", "-o", "m"), 1, "standard input"),
    ],
)  # fmt: skip
def test_errors(
    run,
    files: Path,
    arguments: tuple[str, ...],
    code: int,
    message: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(files)
    ran = run("fit", *arguments)
    assert ran.code == code
    assert message in ran.err
    assert len(ran.err.splitlines()) == 1
    assert not (files / "m").exists()


def test_one_labelled_set_alone(run, files: Path, tmp_path: Path) -> None:
    ran = run(
        "fit", "--train", files / "train.npz", "--cal-share", "20%", "-o", tmp_path / "model.ogcn",
        "--episodes", 10, "--json",
    )  # fmt: skip
    answer = json.loads(ran.out)
    assert (answer["train"]["classes"], answer["cal"]["classes"]) == (24, 6)


@pytest.mark.slow
def test_a_pipe_from_end_to_end(process, files: Path, tmp_path: Path) -> None:
    """D_train comes from standard input, the model goes to standard output."""
    ran = process(
        "fit", "--train", "-", "--cal", files / "cal.parquet", "-o", "-", "--episodes", 10,
        given=(files / "train.parquet").read_bytes(),
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    assert b"trained on" in ran.stderr
    (tmp_path / "model.ogcn").write_bytes(ran.stdout)
    assert og.load(tmp_path / "model.ogcn").summary_["train"] == {"rows": 360, "classes": 30}
