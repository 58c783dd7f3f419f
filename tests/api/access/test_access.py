"""Answers that take long, and a key or a token that expires before they are over."""

import asyncio
import time
from contextlib import closing
from dataclasses import replace

import aiohttp
import msgspec
import pytest
from starlette.requests import Request
from tests.api.consumers import Consumers
from tests.auth.provider import AUDIENCE, Provider

from headrace.api.access import access
from headrace.api.access.access import access_of
from headrace.api.access.gate import Gate
from headrace.auth.audit.entries import by_command
from headrace.auth.authentication import Authentication
from headrace.auth.grants import granted
from headrace.auth.keys.requests import KeyRequest
from headrace.auth.principal import Principal
from headrace.auth.settings import Issuer
from headrace.auth.tokens.token import Tokens
from headrace.errors import Unauthenticated

STREAM = {"accept": "text/event-stream"}
SUBSCRIBE = {"default": ["subscribe"]}


class Guest:
    """Somebody with a key that can be taken away."""

    def __init__(self, api):
        self.api = api

    async def arrive(self, expires=None):
        key, record = KeyRequest("guest", granted(SUBSCRIBE), expires).make("test", time.time())
        self.api.keys.add(record, by_command("test", "key", key.id, None))
        await self.api.ring.refresh()
        self.key_id, self.who = key.id, {"authorization": f"Bearer {key.text}"}

    async def leave(self):
        self.api.keys.revoke(self.key_id, by_command("test", "key", self.key_id, None))
        await self.api.ring.refresh()


@pytest.fixture
async def guest(open_api):
    made = Guest(open_api(auth=True))
    await made.arrive()
    return made


async def _create(guest, **members):
    headers = guest.who | {"content-type": "application/json"}
    made = await guest.api.call("POST", "/subscriptions", headers, msgspec.json.encode(members))
    assert made.status == 201, made.body
    return made.json["id"]


@pytest.fixture
async def consumers(guest):
    with closing(Consumers(guest.api, await _create(guest, protocol="PULL"))) as made:
        yield made


@pytest.mark.parametrize("end", ["revoked", "expired"])
async def test_a_stream_ends_with_the_key(guest, consumers, end):
    if end == "expired":
        await guest.arrive(expires=time.time() + 1)
    async with (
        guest.api.served() as url,
        aiohttp.ClientSession(url) as session,
        session.get(consumers.path, headers=STREAM | guest.who) as answer,
    ):
        assert (await answer.content.readline()).startswith(b"retry:")
        if end == "revoked":
            await guest.leave()
        async with asyncio.timeout(5):
            rest = await answer.read()
    assert b"no longer valid" in rest
    assert b"data:" not in rest


async def test_a_poll_that_waits_is_refused_then(guest, consumers):
    waiting = asyncio.create_task(consumers.poll("?wait=60", guest.who))
    await asyncio.sleep(0.1)
    await guest.leave()
    async with asyncio.timeout(5):
        answer = await waiting
    assert (answer.status, answer.json["code"]) == (401, "unauthenticated")


async def test_a_token_expires_while_its_holder_waits(guest, consumers):
    provider = Provider()
    async with provider.served():
        guest.api.gate._authentication = Authentication(
            guest.api.ring, Tokens([Issuer(provider.url, AUDIENCE)], 0.0)
        )
        token = provider.token(exp=time.time() + 2, headrace=SUBSCRIBE)
        async with asyncio.timeout(8):
            answer = await consumers.poll("?wait=60", {"authorization": f"Bearer {token}"})
    assert answer.status == 401
    assert answer.json["detail"].startswith("the token has expired")


async def test_so_is_who_waits_for_a_job(guest):
    body = msgspec.json.encode({"filter": {"exact": {"type": "t"}}})
    headers = guest.who | {"content-type": "application/json"}
    path = (await guest.api.call("POST", "/api/filters/backtest", headers, body)).headers["location"]
    waiting = asyncio.create_task(guest.api.call("GET", path, guest.who | {"prefer": "wait=60"}))
    await asyncio.sleep(0.1)
    await guest.leave()
    async with asyncio.timeout(5):
        assert (await waiting).status == 401


@pytest.mark.parametrize("path", ["/api/subscriptions/export", "/subscriptions"])
async def test_an_export_breaks_off_and_doesn_t_look_whole(guest, monkeypatch, path):
    monkeypatch.setattr(access, "_RENEW_SECONDS", 0.0)
    for number in range(3):
        await _create(guest, sink=f"http://sink{number}/")
    left = guest.api.store.page

    def page(query):
        found = left(replace(query, limit=1))
        asyncio.run_coroutine_threadsafe(guest.leave(), loop).result()
        return found

    loop = asyncio.get_running_loop()
    monkeypatch.setattr(guest.api.store, "page", page)
    async with (
        guest.api.served() as url,
        aiohttp.ClientSession(url) as session,
        session.get(path, headers=guest.who) as answer,
    ):
        with pytest.raises(aiohttp.ClientPayloadError):
            await answer.read()


async def test_an_import_ends_as_well(guest, monkeypatch):
    monkeypatch.setattr(access, "_RENEW_SECONDS", 0.0)
    line = b'{"sink": "http://sink/"}\n'

    async def lines():
        yield line
        await guest.leave()
        yield line

    async with (
        guest.api.served() as url,
        aiohttp.ClientSession(url) as session,
        session.post("/api/subscriptions/import", data=lines(), headers=guest.who) as answer,
    ):
        assert answer.status == 401
    assert guest.api.store.ids() == set()


async def test_a_token_with_other_roles_is_another_caller(guest, monkeypatch):
    """What was narrowed to some namespaces at the beginning must not go on with fewer."""
    monkeypatch.setattr(access, "_RENEW_SECONDS", 0.0)
    holders = [Principal("token:x", granted({name: ["subscribe"]})) for name in ("shop", "bank")]

    class Changing(Authentication):
        async def principal(self, _headers):
            return holders.pop(0)

    async def handler(request):
        assert access_of(request).namespaces == frozenset({"shop"})
        with pytest.raises(Unauthenticated):
            await access_of(request).renew()

    gate = Gate(Changing(guest.api.ring, Tokens((), 0.0)))
    scope = {"type": "http", "method": "GET", "path": "/subscriptions", "headers": [], "path_params": {}}
    (route,) = (each for each in guest.api.routes() if each.operation == "querySubscriptions")
    await gate.guard(route, handler)(Request(scope))
