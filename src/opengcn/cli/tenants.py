"""`opengcn tenants`: a threshold for each of many users' data, from one model."""

from __future__ import annotations

import time
from typing import Annotated

import typer

from opengcn.cli.app import app
from opengcn.cli.engine import Address, Engine, Workers
from opengcn.cli.model import ModelFile
from opengcn.cli.output import Json, check_writable, collecting_warnings, facts, people, print_json
from opengcn.cli.sets import EmbeddingColumn
from opengcn.cli.target import Tnr, Tpr, check_target

__all__ = ["tenants"]


@app.command()
def tenants(
    model_file: ModelFile,
    data: Annotated[
        str,
        typer.Argument(
            metavar="DATA",
            help="A parquet file or folder with a `tenant` column; a folder of `tenant=NAME` "
            "folders; or a folder with a file (.npy, .npz, .parquet) or a folder a tenant.",
        ),
    ],
    output: Annotated[
        str,
        typer.Option("--output", "-o", metavar="FILE.parquet", help="Where the table goes."),
    ],
    tpr: Tpr = None,
    tnr: Tnr = None,
    confidence: Annotated[
        float | None,
        typer.Option(
            min=0.5, max=0.999, help="Reach the target with this confidence, as in `0.9`."
        ),
    ] = None,
    curves: Annotated[
        bool, typer.Option("--curves", help="Add the whole curves to the table, 10 kB a tenant.")
    ] = False,
    engine: Engine = "local",
    address: Address = None,
    workers: Workers = None,
    tenant_column: Annotated[
        str,
        typer.Option(metavar="NAME", help="Column, or key of the folders, that names the tenant."),
    ] = "tenant",
    embedding_column: EmbeddingColumn = None,
    json: Json = False,
) -> None:
    """Find a threshold for each tenant (user, shop, camera, ...) from one model.

    No tenant needs labels. The table has one row a tenant: the threshold as `distance`,
    `cosine` and `squared_l2`, the `tpr` and `tnr` to expect with 90 % intervals (`tpr_low`,
    ...), `samples`, `graphs`, `seconds`, and a `status`: `ok`, `too few samples` (under 8), or
    `error: ...`. What is wrong with a tenant spoils its own row only.

        opengcn tenants model.ogcn users.parquet --tpr 0.90 -o thresholds.parquet

        opengcn tenants model.ogcn users/ --reject 99.9% --curves -o thresholds.parquet

        opengcn tenants model.ogcn users/ --find 90% --engine ray --address auto -o t.parquet

    Tenants may have ten rows or ten million; large ones are sampled while they are read.
    Finished rows are kept in `FILE.parquet.parts` until all are there: after a crash the same
    command goes on from where it was, and tries tenants with an error again. The numbers do not
    depend on the engine or on the number of workers.
    """
    check_target(tpr, tnr)
    check_writable(output)

    from opengcn.tenants.bulk import calibrate_tenants

    begin = time.monotonic()
    with collecting_warnings() as notes:
        counts = calibrate_tenants(
            model_file,
            data,
            output,
            tpr=tpr,
            tnr=tnr,
            confidence=confidence,
            curves=curves,
            engine=engine,
            workers=workers,
            address=address,
            tenant=tenant_column,
            embedding=embedding_column,
        )
    seconds = time.monotonic() - begin
    total = sum(counts.values())
    if json:
        print_json(
            {
                "tenants": total,
                "status": counts,
                "seconds": seconds,
                "output": output,
                "notes": notes,
            }
        )
        return
    done = ", ".join(f"{count:,} {status}" for status, count in counts.items())
    people().print(
        facts([("tenants", f"{total:,}: {done}"), ("seconds", f"{seconds:.1f}"), ("table", output)])
    )
