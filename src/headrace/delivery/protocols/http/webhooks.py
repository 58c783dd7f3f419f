"""The web-hook handshake of CloudEvents: nobody is flooded who has not agreed to it.

Before the first delivery the sink is asked by OPTIONS. Consent is what the headers of the answer say, never its status.
A consent holds for an hour and is then asked for anew; without one, deliveries wait and the sink is asked again after
a minute. Where sinks can reach the API, each is told an address by which it may agree later, and what is for it waits
without losing attempts. The rate that a sink allows, in requests a minute, is kept by all subscriptions of its address
together.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from headrace.delivery.attempt.outcome import Outcome, Verdict
from headrace.delivery.protocols.http.answers import MOST_BYTES
from headrace.delivery.protocols.http.requests import Request, authorization
from headrace.delivery.protocols.questions import Questions

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from headrace.delivery.attempt.target import Target
    from headrace.delivery.protocols.http.answers import Answer
    from headrace.delivery.sinks.callbacks import Callback, Callbacks

GRANTED_SECONDS = 3600.0
REFUSED_SECONDS = 60.0
OPEN_SECONDS = 10.0
CALLED_SECONDS = 30 * 86_400.0
_MAY_CALL = (
    "the web hook has not agreed to deliveries from {origin!r} yet; it may do so by the callback it was given"
)
_MOST_KNOWN = 10_000
_MOST_DIGITS = 9  # of a rate that makes a difference
_Key = tuple[str, str, int | None]


@dataclass(slots=True)
class _Consent:
    """What a sink said, until when that holds, and when its next request may go out. One event loop.

    `is_open`: it has said neither yes nor no, and may still call; `ask_again_at` is when it is asked anew.
    """

    until: float
    refused: str = ""
    interval: float = 0.0
    free_at: float = 0.0
    is_open: bool = False
    ask_again_at: float = 0.0


class Consents:
    """What each sink said. For one event loop."""

    def __init__(
        self,
        exchange: Callable[[Request, int, float], Awaitable[Answer]],
        origin: str,
        callbacks: Callbacks | None = None,
    ) -> None:
        self._exchange = exchange
        self._origin = origin
        self._callbacks = callbacks
        self._known: dict[_Key, _Consent] = {}
        self._questions: Questions[_Consent] = Questions()

    async def wait_for(self, target: Target, deadline: float) -> Outcome | None:
        """Return once a request may go out, or with the reason why it can't yet."""
        async with asyncio.timeout_at(deadline):
            consent = await self._consent(target, deadline)
        now = time.monotonic()
        if consent.refused:
            wait = max(consent.until - now, 0.0)
            return Outcome(Verdict.AGAIN, consent.refused, retry_after=wait, attempted=not consent.is_open)
        pause = consent.free_at - now
        if pause > target.timeout / 2:  # the other half is for the request itself
            reason = f"the web hook allows a request every {consent.interval:g} s"
            return Outcome(Verdict.AGAIN, reason, retry_after=pause, attempted=False)
        consent.free_at = max(consent.free_at, now) + consent.interval
        if pause > 0:
            await asyncio.sleep(pause)
        return None

    async def close(self) -> None:
        """Stop asking."""
        await self._questions.close()

    async def _consent(self, target: Target, deadline: float) -> _Consent:
        webhook = target.settings["webhook"]
        wish = webhook if isinstance(webhook, Mapping) else {}
        key = (target.uri, wish.get("origin", self._origin), wish.get("rate"))
        known = self._known.get(key)
        if known is not None and known.until > time.monotonic():
            return known
        return await self._questions.ask(key, lambda: self._ask(target, key, deadline))

    async def _ask(self, target: Target, key: _Key, deadline: float) -> _Consent:
        uri, origin, rate = key
        before = self._known.get(key)
        callback = await self._callbacks.look(uri, origin, rate) if self._callbacks is not None else None
        if callback is not None and (granted := _granted(callback, rate)) is not None:
            return self._know(key, granted)
        if before is not None and before.is_open and before.ask_again_at > time.monotonic():
            before.until = time.monotonic() + OPEN_SECONDS
            return before
        headers = [("WebHook-Request-Origin", origin)]
        if callback is not None:
            headers.append(("WebHook-Request-Callback", callback.address))
        if rate is not None:
            headers.append(("WebHook-Request-Rate", str(rate)))
        if target.credential is not None:
            headers.append(authorization(target.credential))
        answer = await self._exchange(Request("OPTIONS", uri, headers, b""), MOST_BYTES, deadline)
        return self._know(key, _read(answer, origin, rate, may_call=callback is not None))

    def _know(self, key: _Key, consent: _Consent) -> _Consent:
        if (before := self._known.get(key)) is not None:
            consent.free_at = before.free_at
        self._make_room()
        self._known[key] = consent
        return consent

    def _make_room(self) -> None:
        if len(self._known) >= _MOST_KNOWN:
            now = time.monotonic()
            self._known = {key: each for key, each in self._known.items() if each.until > now}


def _granted(callback: Callback, rate: int | None) -> _Consent | None:
    """Return the consent that a sink gave by calling, as long as that holds."""
    if callback.granted is None or callback.granted + CALLED_SECONDS < time.time():
        return None
    allowed = rate if callback.rate is None else callback.rate
    return _Consent(time.monotonic() + GRANTED_SECONDS, interval=60.0 / allowed if allowed else 0.0)


def _read(answer: Answer, origin: str, rate: int | None, *, may_call: bool) -> _Consent:
    said = {name.lower(): value.decode("latin-1").strip() for name, value in answer.headers}
    allowed = said.get(b"webhook-allowed-origin")
    if allowed is None and may_call:
        now = time.monotonic()
        return _Consent(
            now + OPEN_SECONDS,
            _MAY_CALL.format(origin=origin),
            is_open=True,
            ask_again_at=now + REFUSED_SECONDS,
        )
    if allowed is None or (allowed != "*" and allowed.lower() != origin.lower()):
        names = (
            "no WebHook-Allowed-Origin" if allowed is None else f"WebHook-Allowed-Origin {allowed[:100]!r}"
        )
        return _refused(
            f"the web hook has not agreed to deliveries from {origin!r}: it answered with {names}"
        )
    text = said.get(b"webhook-allowed-rate", "*" if rate is None else str(rate))
    if text == "*":
        return _Consent(time.monotonic() + GRANTED_SECONDS)
    if (allowed_rate := _rate(text)) is None:
        return _refused(
            f"the web hook allows a rate of {text[:100]!r}, which is neither requests a minute nor *"
        )
    return _Consent(time.monotonic() + GRANTED_SECONDS, interval=60.0 / allowed_rate)


def _rate(text: str) -> int | None:
    """Read requests a minute; None where it is no number above 0. More than anybody sends is as good as no limit."""
    if not (text.isascii() and text.isdigit()):
        return None
    digits = text.lstrip("0")
    return (int(digits) if len(digits) <= _MOST_DIGITS else 10**_MOST_DIGITS) if digits else None


def _refused(reason: str) -> _Consent:
    return _Consent(time.monotonic() + REFUSED_SECONDS, reason)
