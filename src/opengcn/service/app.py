"""The application: which requests there are, and what each does."""

from __future__ import annotations

import hmac
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Depends, FastAPI, HTTPException, Query, Request, Response, Security
from fastapi.exceptions import RequestValidationError
from fastapi.responses import FileResponse, JSONResponse
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from fastapi.staticfiles import StaticFiles
from fastapi_offline import FastAPIOffline
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

from opengcn import __version__
from opengcn.service.bodies import ARROW, FILES, JSON, SETS, NamedSet, OneSet
from opengcn.service.front import Front
from opengcn.service.intake import Intake
from opengcn.service.metrics import Metrics
from opengcn.service.pool import FullError, GoneError, Pool
from opengcn.service.question import Question, in_one_line
from opengcn.service.shapes import Answer, Answers, ModelInfo, Problem
from opengcn.service.worker import Job, Kind

__all__ = ["create_app"]

PAGE = Path(__file__).with_name("page")
# Nothing from elsewhere; inline, because the page shows the report, which is one file.
POLICY = (
    "default-src 'none'; connect-src 'self'; frame-ancestors 'none'; img-src data:; "
    "script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'"
)

BEARER = HTTPBearer(auto_error=False)
PROBLEMS: dict[int | str, dict[str, Any]] = {
    404: {"model": Problem, "description": "No model of that name is served."},
    408: {"model": Problem, "description": "The body took too long to arrive."},
    413: {"model": Problem, "description": "More bytes or rows than the service takes."},
    415: {"model": Problem, "description": "Not a media type that is read here."},
    422: {"model": Problem, "description": "The question or the data cannot be used as it is."},
    500: {"model": Problem, "description": "The service is at fault; `id` finds it in the log."},
    503: {
        "model": Problem,
        "description": "Too many requests at once.",
        "headers": {"Retry-After": {"schema": {"type": "integer"}, "description": "Seconds."}},
    },
}


def create_app(pool: Pool, *, max_body: int, max_rows: int, token: str | None = None) -> FastAPI:
    """Make the application.

    Parameters
    ----------
    pool : Pool
        The workers, ready.
    max_body : int
        Bytes of a body that are taken.
    max_rows : int
        Rows of a body that are taken.
    token : str, optional
        What clients must send as bearer token.

    Returns
    -------
    app : FastAPI
        To be run by an ASGI server.
    """
    app = FastAPIOffline(
        title="OpenGCN",
        version=__version__,
        summary="Distance thresholds for unlabelled embeddings.",
        redoc_url=None,
        static_url="/docs-assets",
        swagger_ui_parameters={"validatorUrl": None},  # it would ask a host on the internet
        swagger_ui_oauth2_redirect_url="/docs/oauth2-redirect",
    )
    metrics, intake = Metrics(pool), Intake(max_body)
    app.add_middleware(Front, metrics=metrics)
    _add_error_handlers(app)
    guarded = APIRouter(
        dependencies=[Security(_bearer(token))] if token else [],
        responses={401: {"model": Problem, "description": "No valid token."}} if token else {},
    )

    async def run(kind: Kind, request: Request, question: Question) -> Response:
        _refuse_repeated(request)
        media = _media_type(request)
        pool.check_room()  # before a body is sent in vain
        async with intake.body(request) as body:
            job = Job(kind, body, media, question, max_rows)
            done = await pool.run(job, lambda: _connected(request))
        metrics.worked(done)
        return Response(done.body, done.status, media_type=done.media)

    @guarded.post(
        "/v1/threshold",
        tags=["thresholds"],
        responses={200: {"model": Answer}, **PROBLEMS},
        openapi_extra=_body(OneSet.model_json_schema()),
    )
    async def threshold(request: Request, question: Annotated[Question, Query()]) -> Response:
        """Estimate the operating curve of a set, and the threshold that meets a target.

        The body is the set: JSON, an Arrow IPC stream, parquet, .npy or .npz. In Arrow and
        parquet a column `embedding` holds lists of floats.
        """
        return await run("threshold", request, question)

    @guarded.post(
        "/v1/thresholds",
        tags=["thresholds"],
        responses={200: {"model": Answers}, **PROBLEMS},
        openapi_extra=_body(_several_schema()),
    )
    async def thresholds(request: Request, question: Annotated[Question, Query()]) -> Response:
        """Do the same for several sets in one request; a set at fault spoils only its answer.

        JSON has a list of sets, each with an `id` and, where it differs, a question of its
        own. In Arrow and parquet a column `tenant` tells the sets apart.
        """
        return await run("thresholds", request, question)

    @guarded.post(
        "/v1/report",
        tags=["thresholds"],
        response_class=Response,  # without a media type: FastAPI would give it to problems too
        responses={200: {"content": {"text/html": {"schema": {"type": "string"}}}}, **PROBLEMS},
        openapi_extra=_body(OneSet.model_json_schema()),
    )
    async def report(request: Request, question: Annotated[Question, Query()]) -> Response:
        """Return the same as a page to look at, complete in itself."""
        return await run("report", request, question)

    @guarded.get("/v1/models", tags=["thresholds"])
    async def models() -> list[ModelInfo]:
        """List the models that are served."""
        return [ModelInfo(**one) for one in pool.models]

    @guarded.get("/metrics", tags=["operation"], response_class=Response)
    async def prometheus() -> Response:
        """Return counters and timings for Prometheus."""
        return Response(generate_latest(metrics.registry), media_type=CONTENT_TYPE_LATEST)

    app.include_router(guarded)

    @app.get("/", include_in_schema=False)
    async def page() -> Response:
        return FileResponse(PAGE / "index.html", headers={"Content-Security-Policy": POLICY})

    @app.get("/assets/report.css", include_in_schema=False)
    async def style() -> Response:
        return FileResponse(PAGE.parents[1] / "report" / "report.css")

    @app.get("/healthz", tags=["operation"])
    async def health() -> dict[str, str]:
        """Say that the service is alive."""
        return {"status": "alive"}

    @app.get("/readyz", tags=["operation"], responses={503: {"model": Problem}})
    async def readiness() -> dict[str, str]:
        """Say whether the service can answer questions now."""
        if pool.alive == 0:
            raise HTTPException(503, "expected a worker, received none: they are being replaced")
        return {"status": "ready"}

    app.mount("/assets", StaticFiles(directory=PAGE))
    return app


def _several_schema() -> dict[str, Any]:
    one = NamedSet.model_json_schema()
    sets = {"type": "array", "items": one, "minItems": 1, "maxItems": SETS}
    return {
        "type": "object",
        "properties": {"sets": sets},
        "required": ["sets"],
        "additionalProperties": False,
    }


def _body(json_schema: dict[str, Any]) -> dict[str, Any]:
    """Describe a body for OpenAPI: it is read in a worker, so FastAPI does not see it."""
    content: dict[str, Any] = {JSON: {"schema": json_schema}}
    binary = {"schema": {"type": "string", "format": "binary"}}
    content |= dict.fromkeys((ARROW, *FILES), binary)
    return {"requestBody": {"required": True, "content": content}}


def _media_type(request: Request) -> str:
    media = request.headers.get("content-type", "").split(";")[0].strip().lower()
    known = (JSON, ARROW, *FILES)
    if media not in known:
        raise HTTPException(
            415, f"content-type: expected one of {', '.join(known)}, received {media or 'none'}"
        )
    encoding = request.headers.get("content-encoding", "identity")
    if encoding != "identity":
        raise HTTPException(415, f"content-encoding: expected none, received {encoding}")
    return media


def _refuse_repeated(request: Request) -> None:
    names = [name for name, _ in request.query_params.multi_items()]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise HTTPException(422, f"{twice}: expected it once, received it several times")


async def _connected(request: Request) -> bool:
    return not await request.is_disconnected()


def _bearer(token: str) -> Any:
    """Return a dependency that lets only bearers of the token pass."""
    expected = token.encode()

    async def check(
        given: Annotated[HTTPAuthorizationCredentials | None, Depends(BEARER)],
    ) -> None:
        # In constant time, so that the answer's delay tells nothing about the token.
        if given is None or not hmac.compare_digest(given.credentials.encode(), expected):
            raise HTTPException(
                401, "authorization: expected a valid bearer token", {"WWW-Authenticate": "Bearer"}
            )

    return check


def _add_error_handlers(app: FastAPI) -> None:
    @app.exception_handler(RequestValidationError)
    async def invalid(request: Request, error: RequestValidationError) -> Response:
        return JSONResponse({"detail": in_one_line(error.errors())}, 422)

    @app.exception_handler(FullError)
    async def full(request: Request, error: FullError) -> Response:
        return JSONResponse({"detail": str(error)}, 503, {"Retry-After": str(error.seconds)})

    @app.exception_handler(GoneError)
    async def gone(request: Request, error: GoneError) -> Response:
        return Response(status_code=499)  # nobody reads it; the metrics show it
