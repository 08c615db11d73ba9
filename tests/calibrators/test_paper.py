from __future__ import annotations

import json
import struct
from pathlib import Path

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from safetensors.numpy import save_file
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import opengcn as og
from opengcn.graph.inference import Sampling, _standard_error, subgraph_estimate
from opengcn.graph.losses import LossWeights
from opengcn.graph.network import NetworkShape
from opengcn.graph.tau import TAUS, PairTable, tau_errors
from opengcn.model_file import SCHEMA
from opengcn.pairs import GRID


def make(
    classes: int, first: int, n: int = 12, noise: float = 0.35, dim: int = 12
) -> og.EmbeddingSet:
    rng = np.random.default_rng(first + 1)
    y = np.repeat(np.arange(first, first + classes), n)
    X = unit(rng.standard_normal((classes, dim)))[y - first] + noise * unit(
        rng.standard_normal((len(y), dim))
    )
    return og.EmbeddingSet(X, y)


def unit(X: NDArray[np.float64]) -> NDArray[np.float64]:
    return X / np.linalg.norm(X, axis=1, keepdims=True)


TRAIN, CAL, TEST = make(20, 0), make(6, 100), make(30, 200, 20)
QUICK = {
    "shape": NetworkShape(hidden=8, head_hidden=16),
    "pretrain_steps": 60,
    "finetune_steps": 40,
    "sampling": Sampling(nodes=128, tolerance=0.02),
}


@pytest.fixture(scope="module")
def model() -> og.OpenGCN:
    return og.OpenGCN("paper", **QUICK).fit(TRAIN, CAL)


def test_it_learns_something() -> None:
    """Unseen classes twice as loose as those of D_train: better than D_train's own curve."""
    train, cal, test = make(40, 0, noise=0.5), make(8, 100, 20, noise=1.0), make(30, 200, noise=1.0)
    model = og.OpenGCN("paper", pretrain_steps=300, finetune_steps=200).fit(train, cal)
    truth = og.OperatingCurve.from_labels(test)
    closed_world = og.OperatingCurve.from_labels(train).mae(truth)
    assert model.estimate(test).mae(truth) < 0.75 * closed_world


def test_what_it_says_of_itself(model: og.OpenGCN) -> None:
    curve = model.estimate(TEST)
    assert 0 < model.tau_ < 1
    assert curve.source == "OpenGCN (paper)"
    assert curve.info["subgraphs"] >= 8
    assert curve.info["nodes"] == 128
    assert [len(h) for h in model.history_.values()] == [60, 40]


def test_same_seed_same_curve(model: og.OpenGCN) -> None:
    again = og.OpenGCN("paper", **QUICK).fit(
        TRAIN.embeddings, TRAIN.labels, CAL.embeddings, CAL.labels
    )
    assert again.estimate(TEST.embeddings) == model.estimate(TEST)
    other = og.OpenGCN("paper", seed=1, **QUICK).fit(TRAIN, CAL)
    assert other.estimate(TEST) != model.estimate(TEST)


def test_save_and_load_is_the_identity(model: og.OpenGCN, tmp_path: Path) -> None:
    model.save(tmp_path / "model.ogcn")
    back = og.load(tmp_path / "model.ogcn")
    assert back.estimate(TEST) == model.estimate(TEST)
    assert back.get_params() == model.get_params()
    assert back.history_ == model.history_
    assert back.summary_ == {
        "train": {"rows": 240, "classes": 20},
        "cal": {"rows": 72, "classes": 6},
    }
    np.testing.assert_array_equal(back.tau_errors_, model.tau_errors_)
    with pytest.raises(og.DataError, match="expected classes that are not in D_train or D_cal"):
        back.estimate(CAL)
    with pytest.raises(og.DataError, match="expected dimension 12 as in D_train, received 5"):
        back.estimate(np.ones((4, 5)))
    assert [p.name for p in tmp_path.iterdir()] == ["model.ogcn"]


def header_of(path: Path) -> dict[str, object]:
    """Read the JSON by hand: the format is open."""
    with path.open("rb") as file:
        (size,) = struct.unpack("<Q", file.read(8))
        return json.loads(json.loads(file.read(size))["__metadata__"]["opengcn"])


def test_model_files_of_others_are_refused(model: og.OpenGCN, tmp_path: Path) -> None:
    path = tmp_path / "m.ogcn"
    with pytest.raises(
        og.DataError, match="expected a model file, received a path where there is none"
    ):
        og.load(path)
    save_file({"a": np.ones(3)}, path)
    with pytest.raises(og.DataError, match="received another safetensors file"):
        og.load(path)
    model.save(path)
    header = header_of(path)
    assert (header["schema"], header["metric"], header["dim"]) == (SCHEMA, "l2", 12)
    save_file({"a": np.ones(3)}, path, {"opengcn": json.dumps(header | {"schema": 99})})
    with pytest.raises(
        og.DataError, match=f"expected schema {SCHEMA}, received 99.*another version"
    ):
        og.load(path)
    save_file({"a": np.ones(3)}, path, {"opengcn": json.dumps(header)})
    with pytest.raises(og.DataError, match="expected a whole OpenGCN model"):
        og.load(path)
    for data in (b"", b"\x80\x04pickle", b"0" * 100):
        path.write_bytes(data)
        with pytest.raises(og.DataError, match="truncated, damaged or of another format"):
            og.load(path)
    with pytest.raises(NotFittedError, match="expected fit before save"):
        og.OpenGCN().save(path)


def test_pretraining_alone() -> None:
    model = og.OpenGCN("paper", finetune=False, **QUICK).fit(TRAIN, CAL)
    assert list(model.history_) == ["pretraining"]
    assert model.estimate(TEST).tpr[-1] == 1


def test_pretraining_is_shared_between_splits(monkeypatch: pytest.MonkeyPatch) -> None:
    model = og.OpenGCN("paper", **QUICK).fit(TRAIN, CAL)
    monkeypatch.setattr(
        type(model), "_pretrain", lambda *_: pytest.fail("trained on D_train again")
    )
    other = og.OpenGCN("paper", **QUICK).fit(TRAIN, make(5, 150))
    assert other.history_["pretraining"] == model.history_["pretraining"]


def test_interrupted_fit_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = QUICK | {"pretrain_steps": 150, "finetune_steps": 20}
    expected = og.OpenGCN("paper", **settings).fit(make(8, 0), CAL)
    from opengcn.graph import checkpoint

    original, saves = checkpoint.Checkpoint.save, []

    def save_once(self: object, *rest: object) -> None:
        original(self, *rest)
        saves.append(rest)
        if len(saves) == 1:
            raise KeyboardInterrupt

    monkeypatch.setattr(checkpoint.Checkpoint, "save", save_once)
    with pytest.raises(KeyboardInterrupt):
        og.OpenGCN("paper", checkpoint=tmp_path, **settings).fit(make(8, 0), CAL)
    assert [p.name for p in tmp_path.iterdir()] == ["pretrain.safetensors"]
    resumed = og.OpenGCN("paper", checkpoint=tmp_path, **settings).fit(make(8, 0), CAL)
    assert resumed.estimate(TEST) == expected.estimate(TEST)
    with pytest.raises(og.DataError, match="received one of other data or settings"):
        og.OpenGCN("paper", checkpoint=tmp_path, **settings).fit(make(9, 0), CAL)


def test_two_classes_in_cal_are_handled_and_said() -> None:
    with pytest.warns(og.OpenGCNWarning, match="D_cal has 2 classes, too few to hold any out"):
        model = og.OpenGCN("paper", **QUICK).fit(TRAIN, make(2, 100))
    assert model.estimate(TEST).tpr[-1] == 1


def test_small_test_sets(model: og.OpenGCN) -> None:
    curve = model.estimate(TEST.subset(np.arange(50)))
    assert curve.info == {"subgraphs": 1, "nodes": 50}


def test_the_cap_on_sub_graphs_warns(model: og.OpenGCN) -> None:
    strict = clone(model).set_params(sampling=Sampling(nodes=64, tolerance=1e-9, most=10))
    strict.fit(TRAIN, CAL)
    with pytest.warns(og.OpenGCNWarning, match="not converged after 10 sub-graphs"):
        assert strict.estimate(TEST).info["subgraphs"] == 10


def test_standard_error_is_that_of_repeated_runs(model: og.OpenGCN) -> None:
    """The stated error of a curve from 20 graphs matches its spread over many runs."""
    sampling = Sampling(nodes=64, tolerance=0.0, most=24)
    runs = [
        subgraph_estimate(model.network_, TEST, model.tau_, sampling, seed) for seed in range(40)
    ]
    curves = np.stack([np.cumsum(r.pairs.same) / r.pairs.same.sum() for r in runs])
    spread = curves.std(axis=0, ddof=1).max()
    stated = np.mean([r.error[0] for r in runs])
    assert 0.6 * spread < stated < 1.6 * spread
    assert np.isnan(_standard_error(np.zeros((9, 201))))


def test_estimate_is_the_hard_count_of_the_paper(model: og.OpenGCN) -> None:
    """Eq. 3-4 by a double loop over one graph."""
    part = TEST.subset(np.arange(0, 100))
    with torch.inference_mode():
        p = model.network_(torch.from_numpy(np.array(part.embeddings))[None])[0].sigmoid().numpy()
    X = part.embeddings.astype(float)
    near: dict[bool, list[float]] = {True: [], False: []}
    for i in range(100):
        for j in range(i + 1, 100):
            near[bool(p[i, j] > model.tau_)].append(float(np.linalg.norm(X[i] - X[j])))
    curve = model.estimate(part.unlabelled())
    np.testing.assert_allclose(
        curve.tpr, [np.mean(np.array(near[True]) < d) for d in GRID], atol=2e-3
    )
    np.testing.assert_allclose(
        curve.tnr, [np.mean(np.array(near[False]) >= d) for d in GRID], atol=2e-3
    )


def test_tau_is_the_candidate_with_the_smallest_error() -> None:
    rng = np.random.default_rng(0)
    X = make(6, 0).embeddings
    codes = np.repeat(np.arange(6), 12)
    logits = np.where(codes[:, None] == codes[None], 2.0, -2.0) + rng.standard_normal((72, 72))
    logits = ((logits + logits.T) / 2).astype(np.float32)
    held = codes < 2
    table = PairTable()
    table.add(X @ X.T, logits, codes, held[: len(codes)])
    errors = tau_errors([table])
    i, j = np.triu_indices(72, 1)
    touched = held[i] | held[j]
    i, j = i[touched], j[touched]
    d = np.sqrt(np.maximum(2 - 2 * (X[i].astype(float) * X[j]).sum(1), 0))
    same = codes[i] == codes[j]
    for k in (100, 110, 120, 140):
        positive = logits[i, j] > np.log(TAUS[k] / (1 - TAUS[k]))
        rates = [
            [np.mean(d[rows] < t) for t in GRID] for rows in (positive, same, ~positive, ~same)
        ]
        gap = np.abs(np.subtract(rates[0], rates[1])) + np.abs(np.subtract(rates[2], rates[3]))
        assert errors[k] == pytest.approx(0.5 * np.trapezoid(gap, GRID), abs=2e-3)
    assert np.isnan(errors[0])  # nothing is predicted different at the smallest candidate


def test_settings() -> None:
    with pytest.raises(og.OpenGCNError, match="preset: expected 'default' or 'paper', received"):
        og.OpenGCN("best")
    assert og.OpenGCN("paper", loss=LossWeights(1, 0, 0)).get_params()["loss"].average == 0
    with pytest.raises(TypeError, match="loss"):
        og.OpenGCN(loss=LossWeights(1, 0, 0))


def test_it_takes_no_hint(model: og.OpenGCN) -> None:
    with pytest.raises(og.OpenGCNError, match="preset 'paper': expected no hint"):
        model.estimate(TEST, n_classes=30)


def test_history_can_be_drawn(model: og.OpenGCN) -> None:
    import matplotlib.pyplot as plt

    ax = model.plot_history()
    assert [t.get_text() for t in ax.get_legend().get_texts()] == ["pretraining", "fine-tuning"]
    plt.close(ax.figure)


def test_cuda_gives_the_same_curve(model: og.OpenGCN, tmp_path: Path) -> None:
    if not torch.cuda.is_available():
        pytest.skip("no CUDA here")
    model.save(tmp_path / "m.ogcn")
    there = og.load(tmp_path / "m.ogcn", device="cuda").estimate(TEST)
    assert there.mae(model.estimate(TEST)) < 1e-3
