"""Test-sends: one attempt each, through the same senders, with the same target and the same guard as a delivery."""

from __future__ import annotations

import asyncio
import logging
import time
from typing import TYPE_CHECKING

from headrace.delivery.attempt.outcome import Outcome, Verdict
from headrace.delivery.attempt.payload import Payload
from headrace.delivery.attempt.stages import sink_target
from headrace.delivery.step import PolledStep
from headrace.errors import HeadraceError, StoreUnavailable
from headrace.events.json_format import decode
from headrace.events.recorded import Arrival, Recorded
from headrace.ledger.records.probes import ProbeOutcome
from headrace.ledger.texts import storable
from headrace.subscriptions.delivery.spec import resolve
from headrace.subscriptions.store.rows import from_document

if TYPE_CHECKING:
    from collections.abc import Mapping

    from headrace.delivery.attempt.outcome import Sender
    from headrace.delivery.attempt.target import Credentials, Target
    from headrace.ledger.records.probes import Probe
    from headrace.ledger.records.records import Records
    from headrace.subscriptions.delivery.spec import DeliverySpec
    from headrace.subscriptions.store.store import Store
    from headrace.subscriptions.subscription import Subscription

_log = logging.getLogger(__name__)
_LOOK_SECONDS = 0.1
_AT_A_TIME = 16


class ProbeWorker(PolledStep):
    """For one event loop. `defaults` is how a subscription is delivered that says nothing about it."""

    def __init__(
        self,
        records: Records,
        store: Store,
        senders: Mapping[str, Sender],
        credentials: Credentials,
        defaults: DeliverySpec,
    ) -> None:
        self._records = records
        self._store = store
        self._senders = senders
        self._credentials = credentials
        self._defaults = defaults
        self._under_way: set[asyncio.Task[None]] = set()
        self._is_closed = False

    def close(self) -> None:
        """Begin no attempts, and give up those under way."""
        self._is_closed = True
        for task in self._under_way:
            task.cancel()

    async def join(self) -> None:
        """Wait until the attempts under way have ended, also one that was begun at the last moment."""
        self.close()
        await asyncio.gather(*self._under_way, return_exceptions=True)

    async def poll(self) -> float:
        """Begin the attempts that are asked for."""
        room = 0 if self._is_closed else _AT_A_TIME - len(self._under_way)
        try:
            probes = await asyncio.to_thread(self._records.probes.take, room) if room > 0 else []
        except StoreUnavailable as error:
            _log.warning("tests of sinks wait: %s", error)
            return _LOOK_SECONDS
        for probe in probes:
            task = asyncio.create_task(self._probe(probe))
            self._under_way.add(task)
            task.add_done_callback(self._under_way.discard)
        return _LOOK_SECONDS

    async def _probe(self, probe: Probe) -> None:
        began = time.perf_counter()
        outcome = await self._attempt(probe)
        told = ProbeOutcome(
            outcome.verdict.value,
            time.perf_counter() - began,
            outcome.status,
            storable(outcome.reason),
            tuple((storable(name), storable(value)) for name, value in outcome.headers),
            outcome.body,
        )
        try:
            await asyncio.to_thread(self._records.probes.tell, probe.id, told)
        except StoreUnavailable as error:
            _log.warning("what came of a test is lost: %s", error)

    async def _attempt(self, probe: Probe) -> Outcome:
        """Make one attempt; whoever asked wants to know what went wrong, whatever it was."""
        try:
            subscription = await asyncio.to_thread(self._subscription, probe)
            sender = self._senders.get(subscription.protocol)
            if sender is None:
                return Outcome(Verdict.NEVER, f"this dispatcher can't deliver over {subscription.protocol}")
            recorded = Recorded(
                0, int(time.time() * 1e6), Arrival(decode(probe.event), *subscription.channel)
            )
            target = await self._target(subscription)
            try:
                return await sender.send(target, [Payload(recorded)])
            finally:
                if probe.proposal is not None:
                    await sender.forget(subscription.id)
        except HeadraceError as error:
            return Outcome(Verdict.NEVER, str(error))
        except Exception as error:  # noqa: BLE001  logged, and told
            _log.exception("a test of a sink failed")
            return Outcome(Verdict.AGAIN, f"{type(error).__name__}: {error}")

    async def _target(self, subscription: Subscription) -> Target:
        of_channel = (await asyncio.to_thread(self._store.channel_deliveries)).get(subscription.channel)
        spec = resolve(subscription.delivery, of_channel, self._defaults)
        credential = await self._credentials.current(subscription)
        signing = self._credentials.signing(subscription)
        return sink_target(subscription, spec, credential, signing, self._credentials.settings(subscription))

    def _subscription(self, probe: Probe) -> Subscription:
        if probe.subscription is not None:
            return self._store.get(probe.subscription)
        return from_document(probe.id, probe.proposal or "{}")
