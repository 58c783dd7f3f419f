"""The contract of the dispatcher's steps, after that of stream processors.

A delivery goes from a source (the outbox, a replay, the ledger) through mailboxes or queues to its settlement. Each of
these steps lives the same life: it is polled until the dispatcher stops, then closed, then joined. Steps that take in
what others hand on have a `submit`, which answers False when there is no room: who is refused keeps what it has and
submits it again, so that memory stays bounded.
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from typing import TYPE_CHECKING, Protocol, TypeVar

from headrace.errors import BrokerUnavailable

if TYPE_CHECKING:
    from collections.abc import Sequence

_log = logging.getLogger(__name__)
T_contra = TypeVar("T_contra", contravariant=True)


class Step(Protocol):
    """For one event loop."""

    async def poll(self) -> float:
        """Do what is due now. Return after how many seconds to poll again."""

    def close(self) -> None:
        """Begin nothing new. What is under way goes on."""

    async def join(self) -> None:
        """Bring what was taken in to its end, or to where the next start finds it. Called once, after `close`."""


class Intake(Protocol[T_contra]):
    """What a step offers to those before it."""

    async def submit(self, work: T_contra, /) -> bool:
        """Take something in, all of it or nothing. False where there is no room now."""


class PolledStep:
    """A step with nothing to close and nothing left over at the end."""

    def close(self) -> None:
        """Nothing has to be kept from beginning."""

    async def join(self) -> None:
        """Nothing is left over."""


async def run_steps(steps: Sequence[Step], stop: asyncio.Event) -> None:
    """Poll these steps until `stop` is set; then close them all, and join them one after the other.

    A step goes on being polled until all before it are joined, so that what comes from those gets through. An error in
    one ends them all at once, like a crash: they are closed, and nothing is joined.
    """
    ends = [asyncio.Event() for _ in steps]
    try:
        async with asyncio.TaskGroup() as polling:
            tasks = [
                polling.create_task(_poll(step, end, stop)) for step, end in zip(steps, ends, strict=True)
            ]
            await stop.wait()
            for step in steps:
                step.close()
            for step, end, task in zip(steps, ends, tasks, strict=True):
                end.set()
                await task
                await step.join()
    except BaseException:
        for step in steps:
            step.close()
        raise


async def _poll(step: Step, end: asyncio.Event, stop: asyncio.Event) -> None:
    while not end.is_set():
        try:
            seconds = await step.poll()
        except BrokerUnavailable as error:
            if not stop.is_set():
                raise
            _log.warning("what was to be read is read after the next start: %s", error)
            return
        if seconds > 0:
            await pause(seconds, end)


async def pause(seconds: float, until: asyncio.Event) -> None:
    """Wait for so long, or until an event is set.

    Not by `asyncio.wait_for`: in Python 3.11, that forgets that it was cancelled when the event is set just then, and
    a step that goes on for ever keeps the others from ending.
    """
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await until.wait()
