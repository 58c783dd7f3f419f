"""HTTP/2 against hypercorn, over TLS with an authority of our own."""

import asyncio
import json
import socket
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import trustme
from tests.delivery.guards import LOOPBACK
from tests.delivery.protocols.contract import (
    ProtocolContract,
    connections_to,
    eventually,
    ids,
    numbered,
    payloads,
)
from tests.delivery.protocols.http.test_contract import HttpPeer

from headrace.delivery.attempt.outcome import Verdict
from headrace.delivery.protocols.http.sender import HttpSender
from headrace.delivery.sinks.guard import Guard
from headrace.delivery.sinks.networks import Network

_SERVER = Path(__file__).with_name("http2_server.py")


@pytest.fixture(scope="module")
def certificates(tmp_path_factory):
    folder = tmp_path_factory.mktemp("certificates")
    authority = trustme.CA()
    made = authority.issue_cert("127.0.0.1", "localhost")
    authority.cert_pem.write_to_path(folder / "ca.pem")
    made.private_key_and_cert_chain_pem.write_to_path(folder / "server.pem")
    other = authority.issue_cert("elsewhere.example")
    other.private_key_and_cert_chain_pem.write_to_path(folder / "other.pem")
    return folder


class Http2Peer(HttpPeer):
    def __init__(self, file, certificates, certificate="server.pem", alpn="h2,http/1.1"):
        super().__init__(file)
        self._certificates = certificates
        self._arguments = [certificates / certificate, certificates / certificate, alpn]

    def new_sender(self, guard):
        return HttpSender(guard, str(self._certificates / "ca.pem"))

    def uri(self, host, port):
        return f"https://{host}:{port}/in"

    async def start(self):
        self._process = subprocess.Popen(
            [sys.executable, _SERVER, str(self.port), self._file, *self._arguments]
        )
        for _ in range(1000):
            try:
                _, writer = await asyncio.open_connection("127.0.0.1", self.port)
            except OSError:
                await asyncio.sleep(0.02)
            else:
                writer.close()
                return
        raise AssertionError("it does not listen")

    def heads(self):
        return [json.loads(line)["head"] for line in self._lines()]

    def at(self, path, **changes):
        target = self.target()
        return replace(target, uri=f"https://127.0.0.1:{self.port}{path}", **changes)


@pytest.fixture
async def peer(tmp_path, certificates):
    peer = Http2Peer(tmp_path / "requests", certificates)
    await peer.start()
    yield peer
    await peer.kill()


@pytest.fixture
async def sender(peer):
    sender = peer.new_sender(LOOPBACK)
    yield sender
    await sender.close()


class TestHttp2Contract(ProtocolContract):
    @pytest.fixture
    async def peer(self, peer):
        return peer

    async def test_it_was_http_2(self, peer, sender):
        outcome = await sender.send(peer.target(), payloads())
        assert (outcome.verdict, outcome.status) == (Verdict.DONE, 200)
        assert ("x-mine", "1") in outcome.headers
        assert peer.heads() == ["POST /in HTTP/2"]


async def test_many_requests_share_one_connection(peer, sender):
    assert (await sender.send(peer.target(), payloads())).verdict is Verdict.DONE
    outcomes = await asyncio.gather(*(sender.send(peer.target(), payloads(event)) for event in numbered(50)))
    assert {outcome.verdict for outcome in outcomes} == {Verdict.DONE}
    assert set(peer.heads()) == {"POST /in HTTP/2"}
    assert connections_to(peer.port) == 1


async def test_an_endless_answer_costs_its_connection_and_nobody_else(peer, sender):
    async with asyncio.timeout(20):
        outcome = await sender.send(peer.at("/endless"), payloads())
        assert (outcome.verdict, outcome.status) == (Verdict.DONE, 200)
        assert len(outcome.body) == 1024
        await eventually(lambda: connections_to(peer.port) == 0)
        assert (await sender.send(peer.target(), payloads())).verdict is Verdict.DONE


async def test_a_request_that_hangs_does_not_harm_its_neighbours(peer, sender):
    hanging = asyncio.create_task(sender.send(peer.at("/hang", timeout=1.0), payloads()))
    while not hanging.done():
        assert (await sender.send(peer.target(), payloads())).verdict is Verdict.DONE
    outcome = hanging.result()
    assert (outcome.verdict, outcome.reason) == (Verdict.AGAIN, "no answer within 1 s")
    assert (await sender.send(peer.target(), payloads())).verdict is Verdict.DONE


async def test_a_server_that_ends_connections_costs_no_delivery(peer, sender):
    """Hypercorn ends one after a thousand requests."""
    outcomes = []

    async def deliver(events):
        outcomes.extend([await sender.send(peer.target(), payloads(event)) for event in events])

    events = numbered(2200)
    await asyncio.gather(*(deliver(events[start::8]) for start in range(8)))
    assert {outcome.verdict for outcome in outcomes} == {Verdict.DONE}
    assert ids(await peer.received(2200)) == ids(events)


async def test_a_name_that_is_bound_anew_after_the_question_is_not_connected_to(peer):
    """Every connection is checked, not only the one that finds out about HTTP/2."""
    asked = []

    def rebinding(host, port, **_):
        asked.append(host)
        address = "127.0.0.1" if len(asked) == 1 else "127.0.0.2"
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port))]

    guard = Guard([Network("127.0.0.1")], lookup=rebinding)
    sender = peer.new_sender(guard)
    outcome = await sender.send(replace(peer.target(), uri=f"https://localhost:{peer.port}/in"), payloads())
    assert (outcome.verdict, len(asked)) == (Verdict.AGAIN, 2)
    assert "127.0.0.2, which 'localhost' leads to, is a loopback address" in outcome.reason
    assert peer.heads() == []
    await sender.close()
    guard.close()


async def test_a_server_without_it_is_spoken_to_in_http_1(tmp_path, certificates):
    peer = Http2Peer(tmp_path / "requests", certificates, alpn="http/1.1")
    await peer.start()
    sender = peer.new_sender(LOOPBACK)
    for _ in range(2):
        assert (await sender.send(peer.target(), payloads())).verdict is Verdict.DONE
    assert peer.heads() == ["POST /in HTTP/1.1"] * 2
    await sender.close()
    await peer.kill()


@pytest.mark.parametrize("alpn", ["h2,http/1.1", "http/1.1"])
async def test_a_certificate_for_another_name_is_no_delivery(tmp_path, certificates, alpn):
    peer = Http2Peer(tmp_path / "requests", certificates, "other.pem", alpn)
    await peer.start()
    sender = peer.new_sender(LOOPBACK)
    outcome = await sender.send(peer.target(), payloads())
    assert outcome.verdict is Verdict.AGAIN
    assert "certificate" in outcome.reason.lower()
    assert peer.heads() == []
    await sender.close()
    await peer.kill()


async def test_an_unknown_authority_is_no_delivery(peer):
    sender = HttpSender(LOOPBACK)
    outcome = await sender.send(peer.target(), payloads())
    assert outcome.verdict is Verdict.AGAIN
    assert "certificate" in outcome.reason.lower()
    await sender.close()
    assert peer.heads() == []


async def test_without_the_extra_it_is_http_1(peer, sender, monkeypatch):
    monkeypatch.setitem(sys.modules, "headrace.delivery.protocols.http.http2", None)
    assert (await sender.send(peer.target(), payloads())).verdict is Verdict.DONE
    assert peer.heads() == ["POST /in HTTP/1.1"]
