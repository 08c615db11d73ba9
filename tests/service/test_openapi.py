"""The OpenAPI description: what it promises is what the service does."""

from __future__ import annotations

from typing import Any

import httpx
import numpy as np
import pytest
import schemathesis
from hypothesis import settings
from hypothesis import strategies as st
from schemathesis.checks import positive_data_acceptance

from opengcn.service.app import create_app
from opengcn.service.bodies import ARROW, FILES

PATHS = {
    "/healthz",
    "/metrics",
    "/readyz",
    "/v1/models",
    "/v1/report",
    "/v1/threshold",
    "/v1/thresholds",
}


class NoPool:
    """Enough of a pool for an application that is described and not run."""

    waiting = busy = alive = replaced = 0


@schemathesis.serializer(ARROW, *FILES)
def as_it_is(context: Any, value: Any) -> bytes:
    """Bodies of binary formats are drawn as bytes."""
    return value if isinstance(value, bytes) else str(value).encode()


app = create_app(NoPool(), max_body=1, max_rows=1)  # type: ignore[arg-type]
described = schemathesis.openapi.from_dict(app.openapi())


@pytest.fixture(scope="module", autouse=True)
def binary_bodies(rows: Any, encode: Any) -> None:
    """Draw bodies of binary formats from real ones, damaged ones and useless ones."""
    tenants = ["a", "b"] * (len(rows) // 2)
    for kind in ("arrow", "parquet", "npy", "npz"):
        whole, headers = encode(kind, rows, tenants)
        bodies = st.sampled_from([whole, whole[:-9], b"", encode(kind, np.ones((9, 2)))[0]])
        schemathesis.openapi.media_type(headers["Content-Type"], bodies)


@described.parametrize()
@settings(max_examples=20, derandomize=True)
def test_requests_made_up_from_the_description(case: schemathesis.Case, service: Any) -> None:
    # Any list of numbers fits the description, and few are embeddings of 16 dimensions.
    case.call_and_validate(
        base_url=service.url, excluded_checks=[positive_data_acceptance], timeout=60
    )


def test_the_description_is_served(service: Any) -> None:
    assert httpx.get(f"{service.url}/openapi.json").json() == app.openapi()


def test_everything_is_described() -> None:
    paths = app.openapi()["paths"]
    assert set(paths) == PATHS
    for path in ("/v1/threshold", "/v1/thresholds", "/v1/report"):
        post = paths[path]["post"]
        assert len(post["requestBody"]["content"]) == 5
        assert {"200", "404", "408", "413", "415", "422", "500", "503"} <= set(post["responses"])
        names = {one["name"] for one in post["parameters"]}
        assert names == {"model", "tpr", "tnr", "confidence", "n_classes", "prior", "curve"}


def test_real_answers_fit_the_description(service: Any, rows: Any) -> None:
    """What made-up requests seldom reach: answers that are estimates."""
    one = {"embeddings": rows.tolist()}
    several = {"sets": [one | {"id": "a"}, {"id": "b", "embeddings": [[1.0]]}]}
    for path, body in (("threshold", one), ("thresholds", several)):
        answer = httpx.post(f"{service.url}/v1/{path}?tpr=0.9", json=body)
        assert answer.status_code == 200
        described[f"/v1/{path}"]["POST"].validate_response(answer)
