"""The HTTPS server of the webhook."""

from __future__ import annotations

import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import uvicorn
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from headrace.api.problems import on_error
from headrace.api.requests.documents import json_response, read_document
from headrace.controlplane.operator.review import review
from headrace.errors import HeadraceError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from starlette.requests import Request
    from starlette.responses import Response

    from headrace.controlplane.operator.certificates import Certificates


async def _validate(request: Request) -> Response:
    document = await read_document(request)
    return json_response(await review(document))


async def _healthy(_: Request) -> Response:
    return PlainTextResponse("ok\n")


APP = Starlette(
    routes=[Route("/validate", _validate, methods=["POST"]), Route("/healthz", _healthy)],
    exception_handlers={HeadraceError: on_error},
)


class WebhookServer(uvicorn.Server):
    """A server that leaves the process's signals alone."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:  # noqa: D102
        yield


def make_server(certificates: Certificates, host: str, port: int) -> WebhookServer:
    """Make the server. Its certificates are in memory when this returns, and no longer on disk."""
    with tempfile.TemporaryDirectory() as folder:
        files = {}
        for name, content in (("certificate", certificates.certificate), ("key", certificates.key)):
            files[name] = Path(folder) / name
            files[name].touch(0o600)
            files[name].write_bytes(content)
        config = uvicorn.Config(
            APP,
            host=host,
            port=port,
            http="httptools",
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            ssl_certfile=str(files["certificate"]),
            ssl_keyfile=str(files["key"]),
        )
        config.load()
    return WebhookServer(config)
