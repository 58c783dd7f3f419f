import asyncio
import base64
import json
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from urllib.parse import unquote

import pytest
from tests.delivery.protocols.contract import Peer, ProtocolContract, read_structured

from headrace.delivery.attempt.target import Target
from headrace.delivery.protocols.http.sender import HttpSender
from headrace.events import Event
from headrace.secrets.credential import Plain, Token
from headrace.service.processes.service import free_port

_SERVER = Path(__file__).with_name("http_server.py")


class HttpPeer(Peer):
    pools = True
    port = 0

    def __init__(self, file, secret=""):
        self.port = free_port()
        self._file = file
        self._secret = secret

    def new_sender(self, guard):
        return HttpSender(guard)

    def target(self, mode="binary", *, owner="owner", **settings):
        return Target(
            owner,
            "HTTP",
            self.uri("127.0.0.1", self.port),
            {"method": "POST", "mode": mode, **settings},
            30.0,
        )

    def uri(self, host, port):
        return f"http://{host}:{port}/in"

    async def start(self):
        command = [sys.executable, "-I", _SERVER, str(self.port), self._file, self._secret]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE)
        assert self._process.stdout is not None
        line = await asyncio.to_thread(self._process.stdout.readline)
        assert line == b"ready\n"

    async def kill(self):
        self._process.kill()
        self._process.wait()
        if self._process.stdout is not None:
            self._process.stdout.close()

    async def received(self, count, seconds=20.0):
        deadline = time.monotonic() + seconds
        while len(lines := self._lines()) < count and time.monotonic() < deadline:
            await asyncio.sleep(0.01)
        return [_read(json.loads(line)) for line in lines]

    def _lines(self):
        return self._file.read_text().splitlines() if self._file.exists() else []


def _read(request):
    body = base64.b64decode(request["body"])
    fields = {name.lower(): value for name, value in request["headers"]}
    if fields.get("content-type", "").startswith("application/cloudevents+json"):
        return read_structured(body)
    attributes = {name[3:]: unquote(value) for name, value in fields.items() if name.startswith("ce-")}
    if "content-type" not in fields:
        return Event(attributes, body or None)
    return Event(attributes | {"datacontenttype": fields["content-type"]}, body)


class TestHttpContract(ProtocolContract):
    @pytest.fixture
    async def peer(self, tmp_path):
        peer = HttpPeer(tmp_path / "requests")
        await peer.start()
        yield peer
        await peer.kill()


class TestHttpContractWithAPassword(ProtocolContract):
    """The same at a sink that asks who it is."""

    @pytest.fixture
    async def peer(self, tmp_path):
        peer = _PeerWithPassword(
            tmp_path / "requests", "Basic " + base64.b64encode("me:geheim ü".encode()).decode()
        )
        await peer.start()
        yield peer
        await peer.kill()


class _PeerWithPassword(HttpPeer):
    def target(self, mode="binary", *, owner="owner", **settings):
        return replace(super().target(mode, owner=owner, **settings), credential=Plain("me", "geheim ü"))

    def wrong_credential(self):
        return replace(super().target(), credential=Token("Bearer", "wr0ng", time.time() + 60))
