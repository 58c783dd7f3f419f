"""A publisher that drops events that nobody wants, and sends all others."""

from __future__ import annotations

import asyncio
import logging
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Self

from headrace.client.interest import PATHS, READERS, ReceivedInterest, may_be_wanted
from headrace.errors import HeadraceError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headrace.client.client import Client
    from headrace.client.interest import InterestKind
    from headrace.events.event import Event

_log = logging.getLogger(__name__)
_FASTEST, _SLOWEST = 0.2, 10.0
_LONGEST_WAIT = 3


class Publisher:
    """Made by `Client.publisher`; use it as an async context manager, from the client's event loop.

    Before it drops an event it asks the service whether it is still unwanted, so that nobody who had subscribed when it
    was published misses it. With a `max_age` it relies on an answer for so many seconds, at most as long as the service
    allows; new subscriptions may miss what is dropped meanwhile. If it can't find out, because the service is
    unreachable, refuses, or has another version, it sends the event. A dropped event is in no history.
    `sent` and `dropped` count events; those that could not be sent are in neither.
    """

    def __init__(
        self, client: Client, channel: str, interest: InterestKind | None, max_age: float = 0.0
    ) -> None:
        if interest is not None and interest not in READERS:
            raise ValueError(f"interest is {interest!r}; give one of {', '.join(READERS)}, or None")
        if not max_age >= 0:
            raise ValueError(f"max_age is {max_age!r}; give seconds, or 0 to ask before anything is dropped")
        self.sent = 0
        self.dropped = 0
        self._client = client
        self._channel = channel
        self._interest = interest
        self._most_age = max_age
        self._told: ReceivedInterest | None = None
        self._asked = 0.0
        self._is_refused = False
        self._asking = asyncio.Lock()
        self._following: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        if self._interest is not None:
            with suppress(HeadraceError):
                await self._ask(wait=False)
            self._following = asyncio.create_task(self._follow())
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._following is not None:
            self._following.cancel()
            with suppress(asyncio.CancelledError):
                await self._following

    @property
    def is_informed(self) -> bool:
        """Whether it may drop events at this moment, though it may have to ask first."""
        if self._told is None:
            return False
        age = self._max_age(self._told)
        return time.monotonic() - self._asked < age if age else not self._is_refused

    def wants(self, event: Event) -> bool:
        """Tell whether the event would be sent, as far as that is known without a request."""
        return not self.is_informed or self._told is None or may_be_wanted(self._told.wants, event)

    async def publish(self, event: Event, *, structured: bool = False) -> bool:
        """Send an event if somebody wants it, and tell whether it was sent; then it is durable."""
        if not await self._wanted([event]):
            self.dropped += 1
            return False
        await self._client.publish(event, self._channel, structured=structured)
        self.sent += 1
        return True

    async def publish_batch(self, events: Sequence[Event]) -> int:
        """Send the wanted events in one request, and return their number; either all of them are durable, or none."""
        wanted = await self._wanted(events)
        if wanted:
            await self._client.publish_batch(wanted, self._channel)
        self.sent += len(wanted)
        self.dropped += len(events) - len(wanted)
        return len(wanted)

    async def _wanted(self, events: Sequence[Event]) -> list[Event]:
        """Select the events to send; ask the service again about those that seem unwanted."""
        known = [self.wants(event) for event in events]
        if not all(known) and not (self._told and self._max_age(self._told)):
            if not await self._confirm(time.monotonic()):
                return list(events)
            known = [is_known or self.wants(event) for is_known, event in zip(known, events, strict=True)]
        return [event for is_known, event in zip(known, events, strict=True) if is_known]

    async def _confirm(self, since: float) -> bool:
        """Tell whether the interest is known as of `since` or later. Concurrent callers share one request."""
        async with self._asking:
            if self._asked < since:
                with suppress(HeadraceError):
                    await self._ask(wait=False)
            return self._asked >= since

    def _max_age(self, told: ReceivedInterest) -> float:
        return min(self._most_age, told.max_age)

    async def _follow(self) -> None:
        """Ask for ever; the service answers as soon as something has changed."""
        pause = _FASTEST
        while True:
            try:
                began = time.monotonic()
                await self._ask(wait=True)
                # A service that doesn't wait must not be asked without a pause.
                pause = max(0.0, _FASTEST - (time.monotonic() - began))
            except HeadraceError as error:
                pause = min(max(_FASTEST, 2 * pause), _SLOWEST)
                _log.info("the interest of %s is unknown, so everything is sent: %s", self._channel, error)
            await asyncio.sleep(pause)

    async def _ask(self, *, wait: bool) -> None:
        """Ask for the interest. Its age counts from before the request: it includes all who had subscribed by then."""
        assert self._interest is not None  # noqa: S101  the callers have checked
        told = self._told
        headers = [] if told is None else [("if-none-match", told.tag)]
        if wait and told is not None:
            headers.append(("prefer", f"wait={self._patience(told)}"))
        asked = time.monotonic()
        path = f"/api/channels/{self._channel}/{PATHS[self._interest]}"
        try:
            status, answered, content = await self._client.ask("GET", path, headers=headers)
            fresh = told if status == 304 else READERS[self._interest](answered, content)
        except HeadraceError:
            self._is_refused = True
            raise
        if asked >= self._asked:  # otherwise a later request has a newer answer
            self._told, self._asked, self._is_refused = fresh, asked, False

    def _patience(self, told: ReceivedInterest) -> int:
        """Return for how many seconds the service may wait for a change, before the last answer gets too old."""
        age = self._max_age(told)
        return min(_LONGEST_WAIT, int(age / 3)) if age else _LONGEST_WAIT
