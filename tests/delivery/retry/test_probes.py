"""Test-sends by the dispatcher's side."""

import asyncio
import time
from contextlib import asynccontextmanager

import msgspec
import pytest
from tests.delivery.guards import LOOPBACK
from tests.delivery.harness import delivery_settings, eventually
from tests.delivery.raw_sink import answer
from tests.ledger.entries import event
from tests.opening import opening

from headrace.delivery.attempt.specs import default_spec
from headrace.delivery.attempt.target import NoCredentials
from headrace.delivery.protocols.http.sender import HttpSender
from headrace.delivery.retry.probes import ProbeWorker
from headrace.delivery.step import run_steps
from headrace.ledger.records.probes import Probe
from headrace.ledger.records.records import Records
from headrace.subscriptions.subscription import parse_subscription


@pytest.fixture
def records(database_url):
    with opening(Records, database_url) as opened:
        yield opened


@asynccontextmanager
async def probing(harness, records, senders=None):
    sender = HttpSender(LOOPBACK)
    stop = asyncio.Event()
    senders = {"HTTP": sender} if senders is None else senders
    probing = ProbeWorker(records, harness.store, senders, NoCredentials(), default_spec(delivery_settings()))
    running = asyncio.create_task(run_steps([probing], stop))
    try:
        yield
    finally:
        stop.set()
        await running
        await sender.close()


async def outcome_of(records, probe):
    records.probes.add(probe)
    await eventually(lambda: records.probes.outcome(probe.id) is not None)
    return records.probes.outcome(probe.id)


def soon():
    return time.time() + 30


async def test_a_subscription_s_sink_is_sent_one_event(harness, records, sink):
    sink.reply = lambda _: answer(503, b"not\0today", "retry-after: 7")
    probe = Probe(
        event(1), soon(), subscription=harness.subscribe(sink.url + "/x", headers={"x-team": "shop"})
    )
    async with probing(harness, records):
        outcome = await outcome_of(records, probe)
    assert (outcome.verdict, outcome.status, outcome.body) == ("again", 503, b"not\0today")
    assert outcome.seconds > 0
    [request] = sink.requests
    assert (request.target, request["x-team"], request["ce-id"]) == ("/x", "shop", "1")
    assert request.body == b'{"number":1}'


async def test_a_proposal_needs_no_subscription(harness, records, sink):
    document = parse_subscription({"sink": sink.url, "protocolsettings": {"mode": "structured"}}).document()
    probe = Probe(event(2), soon(), proposal=msgspec.json.encode(document).decode())
    async with probing(harness, records):
        outcome = await outcome_of(records, probe)
    assert (outcome.verdict, outcome.status) == ("done", 200)
    assert sink.requests[0].body == event(2)


async def test_what_can_t_be_sent_is_told(harness, records, sink):
    gone = Probe(event(1), soon(), subscription="nobody")
    mute = Probe(event(1), soon(), subscription=harness.subscribe(sink.url))
    async with probing(harness, records, senders={}):
        assert "no subscription 'nobody'" in (await outcome_of(records, gone)).reason
        assert "can't deliver over HTTP" in (await outcome_of(records, mute)).reason
    assert sink.requests == []


async def test_one_dispatcher_takes_a_test_and_nobody_takes_one_that_is_late(harness, records, sink):
    id_ = harness.subscribe(sink.url)
    late = Probe(event(9), time.time() - 1, subscription=id_)
    records.probes.add(late)
    async with probing(harness, records), probing(harness, records):
        for number in range(10):
            assert (
                await outcome_of(records, Probe(event(number), soon(), subscription=id_))
            ).verdict == "done"
    assert sink.ids == [str(number) for number in range(10)]
    assert records.probes.outcome(late.id) is None


async def test_closed_it_takes_no_test_from_the_others(harness, records, sink):
    probing = ProbeWorker(records, harness.store, {}, NoCredentials(), default_spec(delivery_settings()))
    probing.close()
    records.probes.add(Probe(event(1), soon(), subscription=harness.subscribe(sink.url)))
    await probing.poll()
    await probing.join()
    assert len(records.probes.take(9)) == 1


async def test_a_stop_doesn_t_wait_for_a_sink_that_hangs(harness, records, sink):
    hanging = asyncio.Event()

    def reply(_):
        hanging.set()

        async def never():
            await asyncio.Event().wait()
            yield b""

        return never()

    sink.reply = reply
    async with probing(harness, records):
        records.probes.add(Probe(event(1), soon(), subscription=harness.subscribe(sink.url)))
        await asyncio.wait_for(hanging.wait(), 20)
        began = time.monotonic()
    assert time.monotonic() - began < 4
