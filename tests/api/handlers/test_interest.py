"""The interest of a channel over HTTP."""

import asyncio
import time

import pytest

from headrace.api.app import build_app
from headrace.api.handlers.interest import InterestHandler
from headrace.client import Client
from headrace.filters.upstream.bloom import ExportedBloom
from headrace.interest import InterestSettings

PATH = "/api/channels/default/default/interest"


async def subscribe(api, subject):
    wish = {"sink": "http://127.0.0.1:1/", "filters": [{"exact": {"subject": subject}}]}
    answer = await api.send_json("POST", "/subscriptions", wish)
    assert answer.status == 201
    return answer.json["id"]


async def test_it_is_shown_with_all_that_is_needed_to_use_it(api):
    await subscribe(api, "x")
    answer = await api.call("GET", PATH)
    assert answer.status == 200
    assert answer.json == {
        "channel": "default/default",
        "revision": api.store.revision(),
        "subscriptions": 1,
        "cel": 'ce.subject == "x"',
        "exact": True,
        "variables": ["ce"],
        "maxAge": 10.0,
        "bloom": f"{PATH}/bloom",
    }
    assert answer.headers["cache-control"] == "no-cache"
    assert answer.headers["headrace-revision"] == str(api.store.revision())


@pytest.mark.parametrize("path", [PATH, f"{PATH}/bloom"])
async def test_who_has_it_is_told_that_it_is_the_same(api, path):
    await subscribe(api, "x")
    first = await api.call("GET", path)
    tag = first.headers["etag"]
    for known in (tag, f"W/{tag}", f'"other", {tag}', "*"):
        again = await api.call("GET", path, {"if-none-match": known})
        assert (again.status, again.body, again.headers["etag"]) == (304, b"", tag)
    assert (await api.call("GET", path, {"if-none-match": '"other"'})).status == 200
    await subscribe(api, "y")
    changed = await api.call("GET", path, {"if-none-match": tag})
    assert changed.status == 200
    assert changed.headers["etag"] != tag


async def test_the_bloom_filter_comes_as_bytes(api):
    await subscribe(api, "x")
    answer = await api.call("GET", f"{PATH}/bloom")
    assert answer.headers["content-type"] == "application/vnd.headrace.bloom"
    assert answer.headers["headrace-max-age"] == "10"
    assert ExportedBloom.from_bytes(answer.body).header.channel == ("default", "default")


async def test_who_waits_hears_of_a_change_when_it_happens(api):
    tag = (await api.call("GET", PATH)).headers["etag"]
    waiting = asyncio.create_task(api.call("GET", PATH, {"if-none-match": tag, "prefer": "wait=60"}))
    await asyncio.sleep(0.2)
    assert not waiting.done()
    await subscribe(api, "x")
    began = time.monotonic()
    answer = await waiting
    assert time.monotonic() - began < 10
    assert (answer.status, answer.json["subscriptions"]) == (200, 1)
    assert answer.headers["preference-applied"] == "wait=60"
    same = await api.call("GET", PATH, {"if-none-match": answer.headers["etag"], "prefer": "wait=1"})
    assert same.status == 304


async def test_who_goes_away_is_not_waited_for(api):
    async with api.served() as url, Client(url) as client:
        _, headers, _ = await client.ask("GET", PATH)
        asked = [("if-none-match", headers["etag"]), ("prefer", "wait=60")]
        waiting = asyncio.create_task(client.ask("GET", PATH, headers=asked))
        await asyncio.sleep(0.2)
        waiting.cancel()
        began = time.monotonic()
    assert time.monotonic() - began < 20, "the service ends without it"


async def test_those_who_wait_share_their_looks(api, monkeypatch):
    looks = []
    real = api.store.revision

    def counted():
        looks.append(1)
        return real()

    monkeypatch.setattr(api.store, "revision", counted)
    tag = (await api.call("GET", PATH)).headers["etag"]
    headers = {"if-none-match": tag, "prefer": "wait=1"}
    await asyncio.gather(*(api.call("GET", PATH, headers) for _ in range(20)))
    assert len(looks) < 20 + 60


async def test_an_unknown_channel(api):
    answer = await api.call("GET", "/api/channels/default/nowhere/interest")
    assert (answer.status, answer.json["code"]) == (404, "not-found")
    assert "default/nowhere" in answer.json["detail"]


async def test_where_it_is_not_told_the_refusal_says_what_to_do(api):
    closed = InterestHandler(api.interests, api.channels, InterestSettings(enabled=False))
    api.app = build_app(api.ingress, closed)
    answer = await api.call("GET", PATH)
    assert (answer.status, answer.json["code"]) == (403, "interest-refused")
    assert "send every event" in answer.json["detail"]
