"""Delivery is tested on the event loop that the service runs on: uvloop's transports are not asyncio's."""

import asyncio

import pytest
import uvloop
from tests.delivery.harness import Harness, delivery_settings
from tests.delivery.raw_sink import RawSink

from headrace.delivery.attempt.outcome import Outcome, Verdict


def pytest_asyncio_loop_factories():
    return {"uvloop": uvloop.new_event_loop}


@pytest.fixture
def harness(tmp_path, database_url):
    harness = Harness(tmp_path, database_url)
    yield harness
    harness.close()


@pytest.fixture
async def sink():
    async with RawSink() as sink:
        yield sink


class PatientSinks:
    """Acknowledges what it is sent, once it is let to."""

    def __init__(self):
        self.free = asyncio.Event()
        self.begun: list[int] = []

    async def send(self, target, payloads):
        self.begun += [int(payload.recorded.event.id) for payload in payloads]
        await self.free.wait()
        return Outcome(Verdict.DONE)

    async def forget(self, owner):
        pass

    async def close(self):
        pass


@pytest.fixture
async def at_rest(harness):
    """Makes dispatchers whose steps nobody polls but the test."""
    ledger = harness.open_ledger()
    dispatchers = []

    def make(**changes):
        dispatcher = harness.dispatcher(ledger, PatientSinks(), delivery_settings(**changes))
        dispatchers.append(dispatcher)
        return dispatcher

    yield make
    for dispatcher in dispatchers:
        dispatcher._queues.close()
        dispatcher._senders["HTTP"].free.set()
        await dispatcher._queues.join()
        await dispatcher._close()
