"""The SQL in a real PostgreSQL with pgvector: PGlite, which npm installs and node runs."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

# The extension is built for exactly this version of PGlite.
PACKAGES = ["@electric-sql/pglite@0.5.14", "@electric-sql/pglite-pgvector@0.0.15"]
SCRIPT = Path(__file__).parent / "pglite.mjs"


@pytest.fixture(scope="session")
def pglite(kept_folder: Callable[[str], Path]) -> Path:
    """Folder with PGlite installed."""
    node, npm = shutil.which("node"), shutil.which("npm")
    if node is None or npm is None:
        pytest.skip(
            "node and npm are not installed; PGlite, a PostgreSQL with pgvector, needs them"
        )
    folder = kept_folder("pglite")
    installed = folder / "installed"
    if not installed.exists() or installed.read_text() != " ".join(PACKAGES):
        command = [npm, "install", "--no-audit", "--no-fund", "--prefix", str(folder), *PACKAGES]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=120)
        except subprocess.TimeoutExpired:
            pytest.skip("npm install of PGlite took more than 120 s; is the registry reachable?")
        if done.returncode:
            why = (done.stderr.strip().splitlines() or ["no message"])[-1]
            pytest.skip(f"npm could not install PGlite (PostgreSQL with pgvector): {why}")
        installed.write_text(" ".join(PACKAGES))
    shutil.copy(SCRIPT, folder)  # node looks for packages beside the script
    return folder


@pytest.mark.slow
def test_pgvector(crowds: list[Any], pglite: Path) -> None:
    jobs, data = [], []
    for crowd in crowds:
        statements = crowd.snippet("pgvector").strip().removesuffix(";").split(";")
        for operator, statement in zip(("<=>", "<->", "<#>"), statements, strict=True):
            assert f"(embedding {operator} $1) <" in statement
            given = crowd.scaled() if operator == "<=>" else crowd
            vectors = {"stored": given.stored.tolist(), "queries": given.queries.tolist()}
            jobs.append(vectors | {"statement": statement})
            data.append(given)
    done = subprocess.run(
        ["node", pglite / SCRIPT.name],
        input=json.dumps(jobs),
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    for given, found in zip(data, json.loads(done.stdout), strict=True):
        given.check(found)
