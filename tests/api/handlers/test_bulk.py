"""Many subscriptions in one request, in and out."""

import asyncio
import time

import aiohttp
import msgspec
import pytest
from tests.api.handlers.test_channels import WISH, assert_problem
from tests.subscriptions.stores import listed

from headrace.auth.audit.entries import by_command
from headrace.auth.keys.key import new_key
from headrace.auth.keys.record import KeyRecord
from headrace.auth.roles import Role
from headrace.events.positions import LogPosition
from headrace.subscriptions.channels.name import ChannelName
from headrace.subscriptions.imports.batch import Lot
from headrace.subscriptions.subscription import parse_subscription

IMPORT, EXPORT = "/api/subscriptions/import", "/api/subscriptions/export"


def lines(*documents):
    return b"".join(msgspec.json.encode(each) + b"\n" for each in documents)


def wish(**members):
    return WISH | members


async def send(api, query, body):
    return await api.call("POST", IMPORT + query, body=body)


async def exported(api, query=""):
    answer = await api.call("GET", EXPORT + query)
    assert (answer.status, answer.headers["content-type"]) == (200, "application/x-ndjson")
    return [msgspec.json.decode(line) for line in answer.body.splitlines()]


async def test_what_was_exported_can_be_imported(api, open_api):
    documents = [wish(types=[f"t{number}"], filters=[{"prefix": {"type": "t"}}]) for number in range(5)]
    answer = await send(api, "", lines(*documents)[:-1])  # the last line needs no end
    assert (answer.status, answer.json) == (
        200,
        {"accepted": 5, "created": 5, "existing": 0, "renamed": 0, "refused": 0, "lines": []},
    )
    found = await exported(api)
    assert {each["types"][0] for each in found} == {f"t{number}" for number in range(5)}
    shown = (await api.call("GET", "/subscriptions")).json
    assert found == [{name: each[name] for name in each.keys() - {"status"}} for each in shown]
    other = open_api()
    assert (await send(other, "?keepIds=true", lines(*found))).json["created"] == 5
    assert await exported(other) == found
    again = (await send(other, "?keepIds=true", lines(*found))).json
    assert (again["created"], again["existing"]) == (0, 5)


async def test_one_bad_line_and_nothing_is_created(api):
    body = lines(wish(), wish(sink="nowhere"), wish(filters=[{"sql": "1 +"}]))
    problem = assert_problem(await send(api, "", body), 400, "invalid-import")
    assert (problem["refused"], [each["line"] for each in problem["lines"]]) == (2, [2, 3])
    assert problem["lines"][0]["faults"][0]["path"] == "sink"
    assert await exported(api) == []
    outcome = (await send(api, "?skipFaulty=true", body)).json
    assert (outcome["created"], outcome["refused"]) == (1, 2)
    assert [each["line"] for each in outcome["lines"]] == [2, 3]
    assert len(await exported(api)) == 1


async def test_a_dry_run_creates_nothing(api):
    answer = await send(api, "?dryRun=true", lines(wish(), wish()))
    assert (answer.json["accepted"], answer.json["created"]) == (2, 0)
    assert await exported(api) == []
    bad = await send(api, "?dryRun=true", lines(wish(), {}))
    assert_problem(bad, 400, "invalid-import")


async def test_they_begin_where_the_log_is(api):
    await api.post({"ce-specversion": "1.0", "ce-id": "1", "ce-source": "/s", "ce-type": "t"})
    await send(api, "", lines(wish(), wish()))
    assert {each.created for each in listed(api.store)} == {LogPosition.at(1)}


async def test_secrets_go_in_and_never_out(api):
    secret = {"credentialType": "PLAIN", "identifier": "me", "secret": "hunter2"}
    document = wish(sinkCredential=secret, config={"start": "earliest"})
    assert (await send(api, "", lines(document))).json["created"] == 1
    answer = await api.call("GET", EXPORT)
    assert b"hunter2" not in answer.body
    (found,) = await exported(api)
    assert api.secret_store.open(found["id"]).secrets.credential.secret == "hunter2"
    assert [job.subscription for job in api.jobs.list()] == [found["id"]], (
        "what it wants of the past is asked for"
    )
    problem = assert_problem(await send(api, "", lines(found)), 400, "invalid-import")
    assert problem["lines"][0]["faults"][0]["path"].startswith("sinkCredential")


async def test_limits(open_api):
    api = open_api(max_import_bytes=1000)
    assert_problem(await send(api, "", lines(*[wish()] * 50)), 413, "payload-too-large")
    assert_problem(await send(api, "", b"x" * 1001), 413, "payload-too-large")
    long = open_api()
    problem = assert_problem(await send(long, "", b"x" * (2 << 20)), 413, "payload-too-large")
    assert "a line" in problem["detail"]
    for query in ("?dryRun=maybe", "?force=true"):
        assert_problem(await send(long, query, b""), 400, "invalid-request")
    assert_problem(await long.call("GET", f"{EXPORT}?channel=nonsense"), 400, "invalid-request")
    assert (await send(long, "", b"")).json["accepted"] == 0


async def test_imports_take_turns(api):
    body = lines(*[wish(filters=[{"cel": f"data.a == {number}"}]) for number in range(300)])
    first, second = await asyncio.gather(send(api, "", body), send(api, "", body))
    assert sorted([first.status, second.status]) == [200, 409]
    assert_problem(first if first.status == 409 else second, 409, "conflict")
    assert (await send(api, "", lines(wish()))).status == 200, "a refusal leaves no trace"


async def test_who_is_slow_keeps_no_other_tenant_waiting_and_is_given_up(open_api):
    api, coming = open_api(auth=True, import_idle_seconds=2.0), asyncio.Event()
    for namespace in ("shop", "other"):
        api.store.create_channel(ChannelName(namespace, "orders"))
    slow, quick = await api.key(shop=["subscribe"]), await api.key(other=["subscribe"])
    line = lines(wish(config={"channel": "other/orders"}))

    async def standing_still():
        yield lines(wish(config={"channel": "shop/orders"}))
        coming.set()
        await asyncio.sleep(60)

    async with api.served() as url, aiohttp.ClientSession(url) as session:
        sending = asyncio.create_task(session.post(IMPORT, data=standing_still(), headers=slow))
        await coming.wait()
        assert (await api.call("POST", IMPORT, quick, line)).json["created"] == 1
        assert_problem(await api.call("POST", IMPORT, slow, b""), 409, "conflict")
        async with asyncio.timeout(10), await sending as answer:
            assert (answer.status, (await answer.json())["code"]) == (408, "sent-too-slowly")
    assert [each.channel.namespace for each in listed(api.store)] == ["other"], (
        "and nothing of it was created"
    )
    assert (await api.call("POST", IMPORT, slow, b"")).status == 200


async def test_who_hangs_up_halfway_creates_nothing(api):
    assert (await api.call("POST", IMPORT, body=lines(wish()), cut=True)).status == 499  # which nobody hears
    assert await exported(api) == []
    assert (await send(api, "", lines(wish()))).json["created"] == 1


@pytest.mark.parametrize("channel", ["default/orders", "default/default"])
async def test_those_of_a_channel(api, channel):
    await api.send_json("POST", "/api/channels", {"namespace": "default", "name": "orders"})
    both = [wish(config={"channel": each}) for each in ("default/orders", "default/default")]
    await send(api, "", lines(*both))
    (found,) = await exported(api, f"?channel={channel}")
    assert found["config"]["channel"] == channel


async def test_a_tenant_neither_writes_nor_reads_another_s(open_api):
    api, key = open_api(auth=True), new_key()
    for namespace in ("shop", "other"):
        api.store.create_channel(ChannelName(namespace, "orders"))
    record = KeyRecord(key.id, "ci", key.digest, {"shop": frozenset({Role.SUBSCRIBE})}, time.time(), "test")
    api.keys.add(record, by_command("keys create", "key", key.id, None))
    await api.ring.refresh()
    who = {"authorization": f"Bearer {key.text}"}
    shop, other = (wish(config={"channel": f"{each}/orders"}) for each in ("shop", "other"))
    refused = await api.call("POST", IMPORT, who, lines(shop, other))
    problem = assert_problem(refused, 400, "invalid-import")
    assert [each["line"] for each in problem["lines"]] == [2]
    assert "there is no channel" in problem["lines"][0]["faults"][0]["problem"]
    assert (await api.call("POST", IMPORT, who, lines(shop))).json["created"] == 1
    with Lot() as lot:
        lot.add(parse_subscription(other))
        api.store.create_lot(lot, LogPosition)
    seen = (await api.call("GET", EXPORT, who)).body.splitlines()
    assert [msgspec.json.decode(line)["config"]["channel"] for line in seen] == ["shop/orders"]
    assert_problem(await api.call("GET", EXPORT), 401, "unauthenticated")
