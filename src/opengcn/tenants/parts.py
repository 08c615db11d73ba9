"""Finished rows, safe on disk: committed in parts, merged at the end.

Parts lie in a folder beside the result. A part is there whole or not at all, so whatever is
killed, the next run of the same job finds what was finished and goes on from there.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from secrets import token_hex
from typing import Any

from opengcn.atomic import replacing
from opengcn.errors import DataError
from opengcn.tenants.batch import Name
from opengcn.tenants.row import ERROR

__all__ = ["Parts"]

KEY = b"opengcn.job"


class Parts:
    """The rows of one job.

    Parameters
    ----------
    out : Path
        Where the result goes, in .parquet.
    job : mapping of str to str
        What makes a job this one: its model, data, target. Rows of another are not taken up.
    schema : pyarrow.Schema
        Columns of the result.

    Attributes
    ----------
    folder : Path
        Where parts lie until the result is written.
    """

    def __init__(self, out: Path, job: Mapping[str, str], schema: Any) -> None:
        self.out = out
        self.folder = out.with_name(f"{out.name}.parts")
        self._job = dict(job)
        self._schema = schema.with_metadata({KEY: json.dumps(self._job)})
        self._take_up()

    def _take_up(self) -> None:
        """Check that parts of an earlier run are of this job; clear what it left half-done."""
        note = self.folder / "job.json"
        theirs = json.loads(note.read_text()) if note.exists() else {}
        other = [name for name in self._job if theirs.get(name) != self._job[name]]
        if other and any(self.folder.glob("part-*")):
            raise DataError(
                f"{self.folder}: expected parts of this job, received those of one with another "
                f"{', '.join(other)}; go on with that one, or remove the folder"
            )
        for path in self.folder.glob(".*"):
            path.unlink()
        with replacing(note) as temporary:
            temporary.write_text(json.dumps(self._job, indent=1))

    def done(self) -> set[Name]:
        """Return the tenants that need not be done again: all but those with an error.

        Returns
        -------
        names : set of str or int
            The tenants.
        """
        import pyarrow.parquet as pq

        names: set[Name] = set()
        for path in self._files():
            table = pq.read_table(path, columns=["tenant", "status"])
            pairs = zip(*(column.to_pylist() for column in table.columns), strict=True)
            names.update(name for name, status in pairs if not status.startswith(ERROR))
        return names

    def commit(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """Write rows, whole or not at all.

        Parameters
        ----------
        rows : sequence of dict
            Finished rows.
        """
        import pyarrow as pa
        import pyarrow.parquet as pq

        table = pa.Table.from_pylist(list(rows), self._schema)
        with replacing(self.folder / f"part-{token_hex(8)}.parquet") as temporary:
            pq.write_table(table, temporary)

    def finish(self, names: Sequence[Name]) -> dict[str, int]:
        """Merge all parts into the result, in the order of `names`, and remove the folder.

        Parameters
        ----------
        names : sequence of str or int
            All tenants. A tenant that was tried again after an error has its last row.

        Returns
        -------
        counts : dict of str to int
            Tenants by status; all errors as "error".
        """
        import pyarrow as pa
        import pyarrow.parquet as pq

        files = sorted(self._files(), key=lambda path: path.stat().st_mtime_ns)
        table = pa.concat_tables([pq.read_table(path) for path in files])
        place = {name: i for i, name in enumerate(table.column("tenant").to_pylist())}
        table = table.take([place[name] for name in names])
        with replacing(self.out) as temporary:
            pq.write_table(table.replace_schema_metadata(self._schema.metadata), temporary)
        shutil.rmtree(self.folder)
        counts: dict[str, int] = {}
        for status in table.column("status").to_pylist():
            kind = "error" if status.startswith(ERROR) else status
            counts[kind] = counts.get(kind, 0) + 1
        return counts

    def _files(self) -> list[Path]:
        """Return parts and, when it is of this job, the result of an earlier run."""
        import pyarrow.parquet as pq

        files = list(self.folder.glob("part-*.parquet"))
        if self.out.exists():
            try:
                metadata = pq.read_schema(self.out).metadata or {}
            except (OSError, ValueError):  # something else, which the result replaces
                metadata = {}
            if json.loads(metadata.get(KEY, "null")) == self._job:
                files.append(self.out)
        return files
