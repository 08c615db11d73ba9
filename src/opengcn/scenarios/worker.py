"""A process that runs jobs, one after the other, on one thread."""

from __future__ import annotations

import os
import signal
import sys
import threading
from multiprocessing import parent_process
from multiprocessing.connection import Connection
from pathlib import Path

__all__ = ["serve"]


def serve(connection: Connection) -> None:
    """Run jobs that arrive on a connection until it closes; send back result by result.

    Parameters
    ----------
    connection : multiprocessing.connection.Connection
        Brings a `Job`; takes, for each of its cells, the `Result` of the cell and of its
        exact curve, and None at the end of the job.
    """
    import torch

    from opengcn.scenarios.cells import CellRunner

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides when to stop
    threading.Thread(target=_die_with_parent, daemon=True).start()
    sys.stderr = Path(os.devnull).open("w")  # noqa: SIM115 - for good: bars would overlap
    torch.set_num_threads(1)
    runner = CellRunner()
    while True:
        try:
            job = connection.recv()
        except EOFError:
            return
        for results in runner.run(job):
            connection.send(results)
        connection.send(None)


def _die_with_parent() -> None:
    """End at once when the parent was killed: nobody is there to keep the results."""
    parent = parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)
