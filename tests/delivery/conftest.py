"""Delivery is tested on the event loop that the service runs on: uvloop's transports are not asyncio's."""

import pytest
import uvloop
from tests.delivery.harness import Harness
from tests.delivery.raw_sink import RawSink


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
