"""The HTTP session of a client: requests, answers and their errors."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, NamedTuple, Self, TypeVar
from urllib.parse import urlencode, urlsplit

import aiohttp
import msgspec

from headrace.client.defaults import DEFAULT_URL
from headrace.errors import ServiceRefused, ServiceUnreachable

if TYPE_CHECKING:
    from collections.abc import AsyncIterable, AsyncIterator, Callable, Mapping, Sequence

_Kind = TypeVar("_Kind")
NO_TIMEOUT = aiohttp.ClientTimeout(total=None, sock_connect=30.0)


class _Answer(NamedTuple):
    """An answer of the service; `next` is the query of the next page, if there is one."""

    status: int
    headers: Mapping[str, str]
    content: bytes
    next: str | None


class HttpSession:
    """What every part of the client is built on. For one event loop."""

    def __init__(
        self,
        url: str = DEFAULT_URL,
        *,
        token: str | Callable[[], str] | None = None,
        timeout_seconds: float = 30.0,
    ) -> None:
        self._url = url.rstrip("/")
        self._token = token
        self._timeout = aiohttp.ClientTimeout(total=timeout_seconds)
        self._session: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Self:
        self._session = aiohttp.ClientSession(
            timeout=self._timeout,
            connector=aiohttp.TCPConnector(limit=0),
            skip_auto_headers=("Content-Type",),
            trust_env=False,
        )
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._session is not None:
            await self._session.close()

    async def ask(
        self, method: str, path: str, body: bytes = b"", headers: Sequence[tuple[str, str]] = ()
    ) -> tuple[int, Mapping[str, str], bytes]:
        """Make any request, and return status, headers and content; status 304 is no error."""
        answer = await self._exchange(method, path, body, headers)
        return answer.status, answer.headers, answer.content

    async def _object(
        self, method: str, path: str, document: Any = None, headers: Sequence[tuple[str, str]] = ()
    ) -> dict[str, Any]:
        body = b"" if document is None else msgspec.json.encode(document)
        answer = await self._request(method, path, body, [("content-type", "application/json"), *headers])
        return self._read(answer, dict[str, Any])

    async def _list(self, path: str) -> list[dict[str, Any]]:
        return self._read(await self._request("GET", path), list[dict[str, Any]])

    def _read(self, answer: bytes, kind: type[_Kind]) -> _Kind:
        try:
            return msgspec.json.decode(answer, type=kind)
        except msgspec.DecodeError as error:
            raise ServiceUnreachable(self._url, "what answers there doesn't answer with its JSON") from error

    async def _request(
        self, method: str, path: str, body: bytes = b"", headers: Sequence[tuple[str, str]] = ()
    ) -> bytes:
        return (await self._exchange(method, path, body, headers)).content

    async def _exchange(
        self, method: str, path: str, body: bytes = b"", headers: Sequence[tuple[str, str]] = ()
    ) -> _Answer:
        async with self._answer(method, path, body, headers) as response:
            content = await response.read()
        link = response.links.get("next")
        behind = None if link is None else urlsplit(str(link["url"])).query
        return _Answer(response.status, response.headers, content, behind)

    @asynccontextmanager
    async def _answer(
        self,
        method: str,
        path: str,
        body: bytes | AsyncIterable[bytes] = b"",
        headers: Sequence[tuple[str, str]] = (),
        timeout: aiohttp.ClientTimeout | None = None,  # noqa: ASYNC109  aiohttp's own
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        """Yield a successful answer; raise for any other."""
        if self._session is None:
            raise RuntimeError("use the client as `async with Client(…) as client`")
        try:
            async with self._session.request(
                method,
                self._url + path,
                data=body,
                headers=[*headers, *self._credentials()],
                allow_redirects=False,
                timeout=timeout or self._timeout,
            ) as response:
                if not 200 <= response.status < 300 and response.status != 304:
                    raise ServiceRefused(response.status, _problem(await response.read()))
                yield response
        except (TimeoutError, aiohttp.ClientError, OSError) as error:
            raise ServiceUnreachable(self._url, str(error) or type(error).__name__) from error

    def _credentials(self) -> list[tuple[str, str]]:
        token = self._token() if callable(self._token) else self._token
        return [] if token is None else [("authorization", f"Bearer {token}")]


def query(which: Mapping[str, Any]) -> str:
    """Encode query parameters; those that are None are left out."""
    return urlencode({name: value for name, value in which.items() if value is not None})


def wait_header(seconds: int) -> list[tuple[str, str]]:
    """Ask the service to wait for the end of what is requested."""
    return [("prefer", f"wait={seconds}")] if seconds else []


def _problem(content: bytes) -> dict[str, Any]:
    try:
        return msgspec.json.decode(content, type=dict[str, Any])
    except msgspec.DecodeError:
        return {}
