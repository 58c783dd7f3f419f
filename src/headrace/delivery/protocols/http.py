"""Delivery over HTTP: one request per event, no redirects, a bounded look at the answer."""

from __future__ import annotations

from io import BytesIO
from typing import TYPE_CHECKING

import aiohttp

from headrace.delivery.outcome import Outcome, Verdict

if TYPE_CHECKING:
    from headrace.delivery.parcel import Parcel
    from headrace.subscriptions.subscription import Subscription

# Knative's list: what may heal by itself. Any other answer below 500 stays wrong however often it is asked for.
_MAY_HEAL = {404, 408, 409, 429}
_SHOWN_BYTES = 200
_LARGE = 1 << 20


class HttpSender:
    """Connections are reused between events and subscriptions of a host. For one event loop."""

    def __init__(self, timeout_seconds: float) -> None:
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0),
            timeout=aiohttp.ClientTimeout(total=timeout_seconds),
            # An event must not gain a content type it did not have.
            skip_auto_headers=("Content-Type", "User-Agent", "Accept-Encoding", "Accept"),
            cookie_jar=aiohttp.DummyCookieJar(),
            auto_decompress=False,  # a broken or exploding encoding must not hide the answer's status
            trust_env=False,
        )
        self._timeout_seconds = timeout_seconds

    async def send(self, subscription: Subscription, parcel: Parcel) -> Outcome:
        """Make one attempt."""
        settings = subscription.protocolsettings
        message = parcel.message(settings["mode"])
        headers = [*settings.get("headers", {}).items(), *message.headers]
        try:
            async with self._session.request(
                settings["method"],
                subscription.sink,
                data=_payload(message.body),
                headers=headers,
                allow_redirects=False,
            ) as response:
                return await _judge(response)
        except TimeoutError:
            return Outcome(Verdict.AGAIN, f"no answer within {self._timeout_seconds:g} s")
        except (aiohttp.ClientError, OSError, ValueError) as error:
            return Outcome(Verdict.AGAIN, f"{type(error).__name__}: {error}")

    async def close(self) -> None:
        """Close the connections."""
        await self._session.close()


async def _judge(response: aiohttp.ClientResponse) -> Outcome:
    if 200 <= response.status < 300:
        return Outcome(Verdict.DONE)
    start = await response.content.read(_SHOWN_BYTES)
    reason = (
        f"status {response.status}: {start.decode(errors='replace')}"
        if start
        else f"status {response.status}"
    )
    heals = response.status >= 500 or response.status in _MAY_HEAL
    return Outcome(Verdict.AGAIN if heals else Verdict.NEVER, reason)


def _payload(body: bytes) -> bytes | BytesIO:
    """Make it a file where it is large: bytes are written in one go, which would hold the event loop."""
    return body if len(body) < _LARGE else BytesIO(body)
