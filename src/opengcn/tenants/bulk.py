"""Thresholds for many tenants from one model."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from opengcn import __version__
from opengcn.calibrators.opengcn import load
from opengcn.curve import OperatingCurve
from opengcn.errors import DataError, OpenGCNWarning
from opengcn.pairs import GRID
from opengcn.progress import progress_bar
from opengcn.tenants.batch import Batch, Tenants
from opengcn.tenants.columns import ColumnTenants
from opengcn.tenants.engine import EngineName, Failure, open_engine
from opengcn.tenants.gather import gather, is_scattered
from opengcn.tenants.layout import data_files, open_tenants
from opengcn.tenants.parts import Parts
from opengcn.tenants.row import Question, error_row, row_schema, rows_of

if TYPE_CHECKING:
    from opengcn.calibrators.opengcn import OpenGCN

__all__ = ["calibrate_tenants"]


def calibrate_tenants(
    model: OpenGCN | str | os.PathLike[str],
    data: str | os.PathLike[str],
    out: str | os.PathLike[str],
    *,
    tpr: float | None = None,
    tnr: float | None = None,
    confidence: float | None = None,
    curves: bool = False,
    engine: EngineName = "local",
    workers: int | None = None,
    address: str | None = None,
    tenant: str = "tenant",
    embedding: str | None = None,
    progress: bool = True,
) -> dict[str, int]:
    """Find a threshold for each of many tenants, from their unlabelled embeddings.

    Every row equals what ``model.estimate`` says of that tenant's rows alone, whatever the
    engine and the number of workers; of a tenant with more than 131,072 rows of 128 dimensions
    (as many numbers in others) of a random sample of so many, drawn by a hash of its name.

    Finished rows are kept in a folder beside the result until all are there; the same call again
    goes on where an earlier one was interrupted, and tries tenants again that had an error. Once
    all is done it does nothing, unless model, data or target have changed.

    Parameters
    ----------
    model : OpenGCN or path
        Fitted, or its file.
    data : path
        A parquet file with a tenant column, or a folder: of such files; of folders
        ``tenant=NAME`` with parquet files; or of a file (.npy, .npz, .parquet) or a folder of
        parquet files a tenant, named after it.
    out : path
        Where the result goes, in .parquet: a row a tenant with ``tenant``, ``status`` ("ok",
        "too few samples" or "error: ..."), ``distance``, ``cosine``, ``squared_l2``,
        ``tpr`` and ``tnr`` with their 90 % intervals (``tpr_low`` ...), ``samples``, ``graphs``,
        ``seconds`` of the estimate, and ``note`` for warnings.
    tpr, tnr, confidence : float, optional
        The target, as for `OperatingCurve.threshold`.
    curves : bool, default False
        Whether to add the whole curves, as lists of 201 numbers ``curve_tpr``, ``curve_tnr``,
        ``curve_tpr_low``, ...
    engine : {"local", "ray"}, default "local"
        Processes of this machine, or tasks of a Ray cluster.
    workers : int, optional
        Tasks at a time; by default one a core.
    address : str, optional
        Of a running Ray cluster; without it Ray is started on this machine and stopped.
    tenant : str, default "tenant"
        Name of the tenant column, or of the key of the folders.
    embedding : str, optional
        Column (.parquet) or array (.npz) of the vectors, where it is not the usual one.
    progress : bool, default True
        Show a bar when it takes more than two seconds.

    Returns
    -------
    counts : dict of str to int
        Tenants by status: "ok", "too few samples", "error".

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import opengcn as og
    >>> data = og.datasets.synthetic(n_classes=30, samples=8, dim=16)
    >>> train, rest = data.split_classes(0.5)
    >>> cal, test = rest.split_classes(0.3)
    >>> model = og.OpenGCN("paper", finetune=False, pretrain_steps=50).fit(train, cal)
    >>> users = og.EmbeddingSet(test.embeddings, tenants=["ann", "bob"] * (len(test) // 2))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     users.save(Path(folder) / "users.parquet")
    ...     out = Path(folder) / "thresholds.parquet"
    ...     og.calibrate_tenants(model, Path(folder) / "users.parquet", out, tpr=0.9, workers=1)
    {'ok': 2}
    """
    target: dict[str, Any] = {"tpr": tpr, "tnr": tnr, "confidence": confidence}
    _check_target(target)
    runner = open_engine(engine, workers=workers, address=address)
    data, out = Path(data), Path(out)
    _check_place(out, data)
    if isinstance(model, str | os.PathLike):
        model = load(model)
    question = Question(model, target, curves)
    tenants = open_tenants(data, tenant=tenant, embedding=embedding, dim=model.dim_)
    job = {
        "model": _fingerprint(model),
        "data": _stamp(data),
        "target": repr(target),
        "columns": repr((tenant, embedding, curves)),
        "version": __version__,
    }
    parts = Parts(out, job, row_schema(tenants.names, curves=curves))
    left = tenants.without(parts.done())
    todo: Tenants = left
    if isinstance(left, ColumnTenants):
        _tell_unowned(left, data)
        if left.names and is_scattered(left):
            # Absolute, since workers of a cluster are in some other folder.
            todo = gather(left, parts.folder.absolute() / "gathered.npy", progress=progress)

    with progress_bar("Tenants", len(todo.names), unit="tenants", show=progress) as advance:

        def answer(batches: Iterable[Batch]) -> list[tuple[Batch, Failure]]:
            """Commit what is answered; return the rest."""
            failed = []
            for batch, rows in runner.run(rows_of, question, batches):
                if isinstance(rows, Failure):
                    failed.append((batch, rows))
                else:
                    parts.commit(rows)
                    advance(len(rows))
            return failed

        # What fails together is tried apart, so that a tenant can spoil its own row only.
        failed = answer(todo.batches()) if todo.names else []
        failed = answer(one for batch, _ in failed for one in batch.split()) if failed else []
        if failed:
            parts.commit([error_row(b.names[0], None, f.reason) for b, f in failed])
    return parts.finish(tenants.names)


def _check_target(target: dict[str, Any]) -> None:
    """Refuse a target before any work is done: try it on a curve that meets all of them."""
    line = GRID / 2
    certain = OperatingCurve(
        line, 1 - line, tpr_low=line, tpr_high=line, tnr_low=1 - line, tnr_high=1 - line
    )
    certain.threshold(**target)


def _check_place(out: Path, data: Path) -> None:
    """Refuse a place where the result would be no table, or would become part of the data."""
    if out.suffix.lower() != ".parquet":
        raise DataError(f"{out}: expected a name in .parquet to write to")
    if data.is_dir() and out.resolve().is_relative_to(data.resolve()):
        raise DataError(f"{out}: expected a place outside {data}, received one among the data")
    if out.resolve() == data.resolve():
        raise DataError(f"{out}: expected another place than the data, received the same")


def _tell_unowned(tenants: ColumnTenants, data: Path) -> None:
    if tenants.unowned:
        warnings.warn(
            f"{data}: {tenants.unowned:,} rows without a tenant (null) are left out",
            OpenGCNWarning,
            stacklevel=3,
        )


def _fingerprint(model: OpenGCN) -> str:
    """Return what tells a model from others: the hash of its file."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "model.ogcn"
        model.save(path)
        return sha256(path.read_bytes()).hexdigest()


def _stamp(data: Path) -> str:
    """Return what tells a data set from others and from earlier states of its own."""
    stamp = sha256()
    for path in data_files(data):
        state = path.stat()
        stamp.update(os.fsencode(path) + f" {state.st_size} {state.st_mtime_ns}\n".encode())
    return f"{data.absolute()} {stamp.hexdigest()}"
