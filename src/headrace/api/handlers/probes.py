"""Test sends: one event to one sink, now, sent as a delivery would be.

A dispatcher sends it, because only dispatchers may reach sinks; the answer reports the outcome.
"""

from __future__ import annotations

import asyncio
import time
import uuid
from dataclasses import replace
from typing import TYPE_CHECKING

import msgspec

from headrace.api.access.access import access_of
from headrace.api.access.permissions import Target, subscribe
from headrace.api.answers.deliveries import TestOutcome
from headrace.api.answers.events import CLOUD_EVENT
from headrace.api.openapi.operation import Answer, Body
from headrace.api.openapi.request_schemas import SUBSCRIPTION_TEST
from headrace.api.requests.documents import MAX_EVENT, json_response, read_json_body, read_members
from headrace.api.requests.prefer import wait_until
from headrace.api.requests.threads import compute
from headrace.api.routes.tags import DELIVERIES
from headrace.documents.schemas import Named, record
from headrace.errors import Conflict, InvalidRequest, NoDispatcher
from headrace.events.event import DataKind, Event
from headrace.events.json_format import decode, encode
from headrace.ledger.records.probes import Probe, ProbeOutcome
from headrace.subscriptions.delivery.spec import resolve
from headrace.subscriptions.status import timestamp
from headrace.subscriptions.subscription import parse_subscription

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from starlette.requests import Request
    from starlette.responses import Response

    from headrace.ledger.records.records import Records
    from headrace.subscriptions.delivery.spec import DeliverySpec
    from headrace.subscriptions.store.store import Store
    from headrace.subscriptions.subscription import Subscription

SAMPLE_TYPE = "dev.headrace.test"
# Dispatchers look for test sends all the time; a busy or starting one gets a little longer.
_GRACE_SECONDS = 5.0
_LONGEST_WAIT = 60.0
_MEMBERS = {"subscription": SUBSCRIPTION_TEST, "event": CLOUD_EVENT}
_PROPOSAL = Named(
    "TestProposal",
    record(
        _MEMBERS,
        ["subscription"],
        examples=[{"subscription": {"sink": "https://example.com/events", "protocol": "HTTP"}}],
    ),
)
_OUTCOME = {200: Answer("What came of it.", TestOutcome)}
_FORM = 'the body must be a JSON object of the form {"subscription": {…}, "event": {…}}; event may be absent'
_SECRETS = (
    "it has a credential, signing keys or sensitive headers, which are stored, encrypted, only for subscriptions that "
    "exist; create it, and test it by POST /api/subscriptions/{id}/test"
)


class ProbesHandler:
    """`defaults` hold for subscriptions without a delivery object."""

    def __init__(self, store: Store, records: Records, defaults: DeliverySpec) -> None:
        self._store = store
        self._records = records
        self._defaults = defaults

    @DELIVERIES.route(
        "POST /api/subscriptions/{id}/test",
        subscribe(Target.SUBSCRIPTION),
        _OUTCOME,
        records="test-send",
        body=Body(CLOUD_EVENT, "The event; without a body it is a sample.", required=False),
        problems={409},
    )
    async def test_subscription(self, request: Request) -> Response:
        """Send one event to a subscription's sink, now, as a delivery would go."""
        body = await read_json_body(request, extra=MAX_EVENT)
        subscription = await asyncio.to_thread(self._store.get, request.path_params["id"])
        event = decode(body) if body.strip() else sample_event()
        return await self._send(
            request, subscription, Probe(encode(event), 0.0, subscription=subscription.id)
        )

    @DELIVERIES.route(
        "POST /api/deliveries/test",
        subscribe(Target.HANDLER),
        _OUTCOME,
        records="test-send",
        body=Body(_PROPOSAL),
        problems={409},
    )
    async def test_proposal(self, request: Request) -> Response:
        """Send one event to the sink of a subscription that doesn't exist yet."""
        body = await read_json_body(request, extra=MAX_EVENT)
        members = await compute(read_members, body, _MEMBERS, ("subscription",), _FORM)
        document = msgspec.json.decode(members["subscription"])
        declared = access_of(request).allowing(self._store.declared)
        proposal = await compute(parse_subscription, document, declared)
        if proposal.secrets:
            raise InvalidRequest([("subscription", _SECRETS)])
        event = decode(bytes(members["event"])) if "event" in members else sample_event()
        text = msgspec.json.encode(proposal.document()).decode()
        return await self._send(request, proposal, Probe(encode(event), 0.0, proposal=text, id=proposal.id))

    async def _send(self, request: Request, subscription: Subscription, probe: Probe) -> Response:
        if subscription.is_pulled:
            raise Conflict("a subscription of protocol PULL has no sink to send to")
        of_channel = (await asyncio.to_thread(self._store.channel_deliveries)).get(subscription.channel)
        timeout = resolve(subscription.delivery, of_channel, self._defaults).timeout
        seconds = min(timeout + _GRACE_SECONDS, _LONGEST_WAIT)
        probe = replace(probe, deadline=time.time() + seconds)
        await asyncio.to_thread(self._records.probes.add, probe)

        def look() -> Awaitable[ProbeOutcome | None]:
            return asyncio.to_thread(self._records.probes.outcome, probe.id)

        try:
            outcome = await wait_until(request, lambda seen: seen is not None, look, None, seconds)
        finally:
            await asyncio.to_thread(self._records.probes.remove, probe.id)
        if outcome is None:
            raise NoDispatcher(seconds)
        return json_response({"sink": subscription.sink} | outcome.document())


def sample_event() -> Event:
    """Return an event that says that it is a test."""
    attributes = {
        "specversion": "1.0",
        "id": str(uuid.uuid4()),
        "source": "/headrace/test",
        "type": SAMPLE_TYPE,
        "time": timestamp(),
        "datacontenttype": "application/json",
    }
    return Event(attributes, b'{"message":"a test of this sink"}', DataKind.JSON)
