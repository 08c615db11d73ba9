"""The running service: an address, workers, an HTTP server, and an orderly end."""

from __future__ import annotations

import logging
import signal
import socket
from collections.abc import Mapping

from opengcn.errors import OpenGCNError
from opengcn.service.app import create_app
from opengcn.service.pool import Pool

__all__ = ["serve_models"]

log = logging.getLogger(__name__)

# Longer than clients and proxies keep a connection: whoever closes it first must not be the
# one that does not know whether a request is on its way.
KEEP_ALIVE_SECONDS = 75
GRACE_SECONDS = 360  # to finish in: above the five minutes after which a worker counts as stuck


def serve_models(
    models: Mapping[str, str],
    *,
    host: str,
    port: int,
    workers: int,
    queue: int,
    max_rows: int,
    max_body: int,
    token: str | None,
) -> None:
    """Serve until SIGTERM or SIGINT, then finish what was taken.

    Parameters
    ----------
    models : mapping of str to str
        Model files by name.
    host, port : str, int
        Where to listen; port 0 picks a free one.
    workers, queue : int
        Worker processes, and requests that may wait for them.
    max_rows, max_body : int
        Rows and bytes that a request may hold.
    token : str or None
        What clients must send, if anything.
    """
    import uvicorn

    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    # Bound first, since that fails fast; but listening only when it can answer, so that
    # whoever waits for the port waits for the models as well.
    with _bound(host, port) as listener, Pool(models, workers, queue) as pool:
        app = create_app(pool, max_body=max_body, max_rows=max_rows, token=token)
        place = f"[{host}]" if ":" in host else host
        log.info(
            "serving %s on http://%s:%d with %d workers%s",
            ", ".join(models),
            place,
            listener.getsockname()[1],
            workers,
            "" if token else ", open to whoever reaches that address: no token is set",
        )
        # uvicorn sends itself the signal once more when all is done, as if it had not been
        # caught; done is done.
        for one in (signal.SIGTERM, signal.SIGINT):
            signal.signal(one, lambda *_: None)
        config = uvicorn.Config(
            app,
            log_config=None,
            server_header=False,
            timeout_keep_alive=KEEP_ALIVE_SECONDS,
            timeout_graceful_shutdown=GRACE_SECONDS,
        )
        uvicorn.Server(config).run(sockets=[listener])


def _bound(host: str, port: int) -> socket.socket:
    listener = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
    except OSError as error:
        listener.close()
        raise OpenGCNError(
            f"{host} port {port}: expected an address to listen on, received {error.strerror}"
        ) from error
    return listener
