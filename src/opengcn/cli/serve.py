"""`opengcn serve`: models behind HTTP."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Annotated

import typer

from opengcn.cli.app import app
from opengcn.errors import OpenGCNError, require
from opengcn.model_file import read_model

__all__ = ["serve"]


@app.command()
def serve(
    models: Annotated[
        list[str],
        typer.Argument(
            metavar="[NAME=]MODEL...",
            help="Model files that `opengcn fit` wrote. Each is known by its file name without "
            "suffix, unless a name is given.",
        ),
    ],
    host: Annotated[
        str, typer.Option(help="Address to listen on; 0.0.0.0 is every IPv4 one.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port; 0 picks a free one.")] = 8000,
    workers: Annotated[
        int | None, typer.Option(min=1, help="Worker processes; one a core by default.")
    ] = None,
    queue: Annotated[
        int, typer.Option(min=0, help="Requests that may wait; more get 503 and Retry-After.")
    ] = 128,
    max_rows: Annotated[
        int, typer.Option(min=1, help="Rows that a request may hold; more get 413.")
    ] = 100_000,
    max_mb: Annotated[
        int, typer.Option(min=1, help="Megabytes that a body may have; more get 413.")
    ] = 64,
    token_file: Annotated[
        Path | None,
        typer.Option(help="File with a bearer token that clients must send; or set OPENGCN_TOKEN."),
    ] = None,
) -> None:
    """Serve models over HTTP: embeddings in; threshold, curve and band out.

    Answers are those of `opengcn threshold`. Needs `pip install 'opengcn[serve]'`.

        opengcn serve model.ogcn
        opengcn serve faces=f.ogcn products=p.ogcn --host 0.0.0.0 --token-file token.txt

    Then, from anywhere:

        curl 'http://127.0.0.1:8000/v1/threshold?tpr=0.9' --data-binary @new.parquet
        -H 'Content-Type: application/vnd.apache.parquet'

    `/` is a page to drop a file on and `/docs` describes every request; `/healthz`, `/readyz`
    and `/metrics` are for supervisors. SIGTERM and Ctrl-C let it finish what it has taken.
    """
    for module in ("fastapi_offline", "prometheus_client", "uvicorn"):
        require(module, "serve")
    from opengcn.service.server import serve_models
    from opengcn.threads import cores

    serve_models(
        _by_name(models),
        host=host,
        port=port,
        workers=workers or cores(),
        queue=queue,
        max_rows=max_rows,
        max_body=max_mb * 1_000_000,
        token=_token(token_file),
    )


def _by_name(arguments: list[str]) -> dict[str, str]:
    """Return model files by name, from NAME=FILE or FILE."""
    named: dict[str, str] = {}
    for argument in arguments:
        given, _, path = argument.rpartition("=")
        name = given or Path(path).stem
        if not re.fullmatch(r"[\w.-]+", name):
            raise OpenGCNError(
                f"{argument}: expected a name of letters, digits, '.', '_' and '-', "
                f"received {name!r}; give one as in name={path}"
            )
        if name in named:
            raise OpenGCNError(
                f"{argument}: expected each name once, received {name!r} twice; give one as in "
                f"other={path}"
            )
        read_model(path)  # says at once what a worker would say after some seconds
        named[name] = path
    return named


def _token(path: Path | None) -> str | None:
    """Return the token, from a file or the environment: never an argument, which all can see."""
    if path is None and "OPENGCN_TOKEN" not in os.environ:
        return None
    token = (os.environ["OPENGCN_TOKEN"] if path is None else path.read_text()).strip()
    if not token.isascii() or not token.isprintable() or not token or " " in token:
        raise OpenGCNError(
            f"{path or 'OPENGCN_TOKEN'}: expected a token of printable ASCII without spaces, "
            f"received something else or nothing"
        )
    return token
