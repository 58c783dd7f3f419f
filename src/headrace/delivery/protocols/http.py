"""Delivery over HTTP: one request per event, no redirects, a bounded look at the answer."""

from __future__ import annotations

from io import BytesIO
from typing import TYPE_CHECKING

import aiohttp

from headrace.delivery.outcome import Outcome, Verdict

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headrace.delivery.parcel import Parcel
    from headrace.delivery.target import Target

# Knative's list: what may heal by itself. Any other answer below 500 stays wrong however often it is asked for.
_MAY_HEAL = {404, 408, 409, 429}
_SHOWN_BYTES = 200
_LARGE = 1 << 20


class HttpSender:
    """Connections are reused between events and subscriptions of a host. For one event loop."""

    def __init__(self) -> None:
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0),
            # An event must not gain a content type it did not have.
            skip_auto_headers=("Content-Type", "User-Agent", "Accept-Encoding", "Accept"),
            cookie_jar=aiohttp.DummyCookieJar(),
            auto_decompress=False,  # a broken or exploding encoding must not hide the answer's status
            trust_env=False,
        )

    async def send(self, target: Target, parcels: Sequence[Parcel]) -> Outcome:
        """Make one attempt."""
        [parcel] = parcels
        settings = target.settings
        message = parcel.message(settings["mode"])
        headers = [*settings.get("headers", {}).items(), *message.headers]
        try:
            async with self._session.request(
                settings["method"],
                target.uri,
                data=_payload(message.body),
                headers=headers,
                allow_redirects=False,
                timeout=aiohttp.ClientTimeout(total=target.timeout),
            ) as response:
                return await _judge(response)
        except TimeoutError:
            return Outcome(Verdict.AGAIN, f"no answer within {target.timeout:g} s")
        except (aiohttp.ClientError, OSError, ValueError) as error:
            return Outcome(Verdict.AGAIN, f"{type(error).__name__}: {error}")

    async def forget(self, owner: str) -> None:
        """Keep the connections: none belongs to one subscription."""

    async def close(self) -> None:
        """Close the connections."""
        await self._session.close()


async def _judge(response: aiohttp.ClientResponse) -> Outcome:
    if 200 <= response.status < 300:
        return Outcome(Verdict.DONE, status=response.status)
    start = await response.content.read(_SHOWN_BYTES)
    reason = (
        f"status {response.status}: {start.decode(errors='replace')}"
        if start
        else f"status {response.status}"
    )
    heals = response.status >= 500 or response.status in _MAY_HEAL
    return Outcome(Verdict.AGAIN if heals else Verdict.NEVER, reason, response.status, body=start)


def _payload(body: bytes) -> bytes | BytesIO:
    """Make it a file where it is large: bytes are written in one go, which would hold the event loop."""
    return body if len(body) < _LARGE else BytesIO(body)
