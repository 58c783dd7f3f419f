"""The few calls to the API server that kopf doesn't make."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import aiohttp
import msgspec

from headrace.errors import ClusterRefused

if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable, Mapping

_SECONDS = 20.0
_MERGE, _JSON = "application/merge-patch+json", "application/json"


class ClusterConnection(Protocol):
    """The address of the API server, and the credentials; kopf's ConnectionInfo is one."""

    @property
    def server(self) -> str: ...  # noqa: D102
    def as_http_headers(self) -> Mapping[str, str]: ...  # noqa: D102
    def as_ssl_context(self) -> ssl.SSLContext: ...  # noqa: D102


class Cluster:
    """Logs in for each call, because tokens of a service account are rotated while the process runs."""

    def __init__(self, login: Callable[[], ClusterConnection]) -> None:
        self._login = login

    async def get(self, path: str) -> dict[str, Any] | None:
        """Return an object, or None if it doesn't exist."""
        try:
            return await self._call("GET", path)
        except ClusterRefused as refusal:
            if refusal.status == 404:
                return None
            raise

    async def create(self, path: str, document: Mapping[str, Any]) -> dict[str, Any]:
        """Create an object; ClusterRefused with status 409 if it exists."""
        return await self._call("POST", path, document, _JSON)

    async def patch(self, path: str, document: Mapping[str, Any]) -> dict[str, Any]:
        """Merge into an object."""
        return await self._call("PATCH", path, document, _MERGE)

    async def _call(
        self, method: str, path: str, document: Mapping[str, Any] | None = None, media_type: str = _JSON
    ) -> dict[str, Any]:
        connection = self._login()
        headers = {**connection.as_http_headers(), "content-type": media_type, "accept": _JSON}
        body = None if document is None else msgspec.json.encode(document)
        timeout = aiohttp.ClientTimeout(total=_SECONDS)
        secure = connection.as_ssl_context() if connection.server.startswith("https:") else True
        try:
            async with (
                aiohttp.ClientSession(timeout=timeout) as session,
                session.request(
                    method, connection.server.rstrip("/") + path, data=body, headers=headers, ssl=secure
                ) as response,
            ):
                content = await response.read()
        except (TimeoutError, aiohttp.ClientError, OSError) as error:
            raise ClusterRefused(
                0, f"the API server can't be reached: {error or type(error).__name__}"
            ) from error
        answer = _decode(content)
        if not 200 <= response.status < 300:
            raise ClusterRefused(
                response.status, f"{method} {path}: {answer.get('message', response.status)}"
            )
        return answer


def _decode(content: bytes) -> dict[str, Any]:
    try:
        return msgspec.json.decode(content, type=dict[str, Any])
    except msgspec.DecodeError:
        return {}
