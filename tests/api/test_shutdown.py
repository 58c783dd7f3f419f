"""The real http role: what it answered with 202 is in the log, however it ends."""

import asyncio
import signal
import socket
import time
from typing import NamedTuple

import aiohttp
import pytest
from tests.api.application import CHANNEL, V1
from tests.api.role import HttpRole

from headrace.eventlog.local.reader import SegmentReader
from headrace.eventlog.local.writer import SegmentWriter
from headrace.events.batch import from_batch
from headrace.service.role import EXIT_REFUSED


class Producer:
    """Posts from many tasks as fast as it is let, until the service is gone."""

    def __init__(self, url):
        self._url = url + CHANNEL
        self.accepted: list[str] = []
        self.other: list[int] = []

    async def run(self, session, worker):
        for number in range(1_000_000):
            id_ = f"{worker}-{number}"
            try:
                async with session.post(self._url, headers=V1 | {"ce-id": id_}, data=b"x" * 500) as response:
                    if response.status == 202:
                        self.accepted.append(id_)
                    else:
                        self.other.append(response.status)
            except (aiohttp.ClientError, OSError):
                return


def logged(role):
    reader = SegmentReader(role.data / "log")
    return [each.event.id for batch in reader.read(0, reader.end()[0]) for each in from_batch(batch)]


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
async def test_every_202_is_in_the_log(tmp_path, how):
    with HttpRole(tmp_path / "data") as role:
        producer = Producer(role.url)
        async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:
            posting = [asyncio.create_task(producer.run(session, worker)) for worker in range(16)]
            async with asyncio.timeout(20):
                while len(producer.accepted) < 300:
                    await asyncio.sleep(0.005)
                role.process.send_signal(how)
                await asyncio.gather(*posting)
        await asyncio.to_thread(role.process.wait, 20)
        assert "Traceback" not in role.output
        assert ("Finished server process" in role.output) is (how is not signal.SIGKILL)
        if how is signal.SIGKILL:
            SegmentWriter(role.data / "log", 1 << 20).close()  # recovers, as the next start would
        ids = logged(role)
        assert set(producer.accepted) <= set(ids)
        assert len(set(ids)) == len(ids)
        assert set(producer.other) <= {503}


class Stopped(NamedTuple):
    role: HttpRole
    seconds: float


@pytest.fixture(scope="module")
def stopped(tmp_path_factory):
    """A role that was told to stop while a client kept an idle connection."""
    with (
        HttpRole(tmp_path_factory.mktemp("stopped") / "data") as role,
        socket.create_connection(("127.0.0.1", role.port)) as idle,
    ):
        idle.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert idle.recv(100).startswith(b"HTTP/1.1 200")
        began = time.monotonic()
        role.stop()
        yield Stopped(role, time.monotonic() - began)


def test_an_idle_connection_does_not_hold_up_the_stop(stopped):
    assert stopped.seconds < 5
    assert "Finished server process" in stopped.role.output


def test_a_stop_in_order_ends_with_status_0(stopped):
    assert stopped.role.process.returncode == 0


@pytest.fixture(scope="module")
def refused(tmp_path_factory):
    """A role whose port is taken, after it has ended."""
    tmp_path = tmp_path_factory.mktemp("refused")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        role = HttpRole(tmp_path / "data", api__port=taken.getsockname()[1])
        role.start()
        role.process.wait(20)
        yield role
        role.process.communicate()


def test_a_port_that_is_taken_is_refused_in_words(refused):
    assert "can't listen on 127.0.0.1" in refused.output
    assert "--port" in refused.output
    assert "Traceback" not in refused.output


def test_a_port_that_is_taken_is_refused_with_the_status_that_says_so(refused):
    assert refused.process.returncode == EXIT_REFUSED
