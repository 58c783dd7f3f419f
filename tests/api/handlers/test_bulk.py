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
from headrace.events.positions import Cut
from headrace.subscriptions.channels.name import ChannelName
from headrace.subscriptions.imports.batch import Lot
from headrace.subscriptions.subscription import parse_subscription

IMPORT, EXPORT = "/api/subscriptions/import", "/api/subscriptions/export"


def lines(*documents):
    return b"".join(msgspec.json.encode(each) + b"\n" for each in documents)


def wish(**members):
    return WISH | members


async def send(door, query, body):
    return await door.call("POST", IMPORT + query, body=body)


async def exported(door, query=""):
    answer = await door.call("GET", EXPORT + query)
    assert (answer.status, answer.headers["content-type"]) == (200, "application/x-ndjson")
    return [msgspec.json.decode(line) for line in answer.body.splitlines()]


async def test_what_was_exported_can_be_imported(door, open_door):
    documents = [wish(types=[f"t{number}"], filters=[{"prefix": {"type": "t"}}]) for number in range(5)]
    answer = await send(door, "", lines(*documents)[:-1])  # the last line needs no end
    assert (answer.status, answer.json) == (
        200,
        {"accepted": 5, "created": 5, "existing": 0, "renamed": 0, "refused": 0, "lines": []},
    )
    found = await exported(door)
    assert {each["types"][0] for each in found} == {f"t{number}" for number in range(5)}
    shown = (await door.call("GET", "/subscriptions")).json
    assert found == [{name: each[name] for name in each.keys() - {"status"}} for each in shown]
    other = open_door()
    assert (await send(other, "?keepIds=true", lines(*found))).json["created"] == 5
    assert await exported(other) == found
    again = (await send(other, "?keepIds=true", lines(*found))).json
    assert (again["created"], again["existing"]) == (0, 5)


async def test_one_bad_line_and_nothing_is_created(door):
    body = lines(wish(), wish(sink="nowhere"), wish(filters=[{"sql": "1 +"}]))
    problem = assert_problem(await send(door, "", body), 400, "invalid-import")
    assert (problem["refused"], [each["line"] for each in problem["lines"]]) == (2, [2, 3])
    assert problem["lines"][0]["faults"][0]["path"] == "sink"
    assert await exported(door) == []
    outcome = (await send(door, "?skipFaulty=true", body)).json
    assert (outcome["created"], outcome["refused"]) == (1, 2)
    assert [each["line"] for each in outcome["lines"]] == [2, 3]
    assert len(await exported(door)) == 1


async def test_a_dry_run_creates_nothing(door):
    answer = await send(door, "?dryRun=true", lines(wish(), wish()))
    assert (answer.json["accepted"], answer.json["created"]) == (2, 0)
    assert await exported(door) == []
    bad = await send(door, "?dryRun=true", lines(wish(), {}))
    assert_problem(bad, 400, "invalid-import")


async def test_they_begin_where_the_log_is(door):
    await door.post({"ce-specversion": "1.0", "ce-id": "1", "ce-source": "/s", "ce-type": "t"})
    await send(door, "", lines(wish(), wish()))
    assert {each.created for each in listed(door.store)} == {Cut.at(1)}


async def test_secrets_go_in_and_never_out(door):
    secret = {"credentialType": "PLAIN", "identifier": "me", "secret": "hunter2"}
    document = wish(sinkCredential=secret, config={"start": "earliest"})
    assert (await send(door, "", lines(document))).json["created"] == 1
    answer = await door.call("GET", EXPORT)
    assert b"hunter2" not in answer.body
    (found,) = await exported(door)
    assert door.secret_store.open(found["id"]).secrets.credential.secret == "hunter2"
    assert [job.subscription for job in door.jobs.list()] == [found["id"]], (
        "what it wants of the past is asked for"
    )
    problem = assert_problem(await send(door, "", lines(found)), 400, "invalid-import")
    assert problem["lines"][0]["faults"][0]["path"].startswith("sinkCredential")


async def test_limits(open_door):
    door = open_door(max_import_bytes=1000)
    assert_problem(await send(door, "", lines(*[wish()] * 50)), 413, "payload-too-large")
    assert_problem(await send(door, "", b"x" * 1001), 413, "payload-too-large")
    long = open_door()
    problem = assert_problem(await send(long, "", b"x" * (2 << 20)), 413, "payload-too-large")
    assert "a line" in problem["detail"]
    for query in ("?dryRun=maybe", "?force=true"):
        assert_problem(await send(long, query, b""), 400, "invalid-request")
    assert_problem(await long.call("GET", f"{EXPORT}?channel=nonsense"), 400, "invalid-request")
    assert (await send(long, "", b"")).json["accepted"] == 0


async def test_imports_take_turns(door):
    body = lines(*[wish(filters=[{"cel": f"data.a == {number}"}]) for number in range(300)])
    first, second = await asyncio.gather(send(door, "", body), send(door, "", body))
    assert sorted([first.status, second.status]) == [200, 409]
    assert_problem(first if first.status == 409 else second, 409, "conflict")
    assert (await send(door, "", lines(wish()))).status == 200, "a refusal leaves no trace"


async def test_who_is_slow_keeps_no_other_tenant_waiting_and_is_given_up(open_door):
    door, coming = open_door(auth=True, import_idle_seconds=0.5), asyncio.Event()
    for namespace in ("shop", "other"):
        door.store.create_channel(ChannelName(namespace, "orders"))
    slow, quick = await door.key(shop=["subscribe"]), await door.key(other=["subscribe"])
    line = lines(wish(config={"channel": "other/orders"}))

    async def standing_still():
        yield lines(wish(config={"channel": "shop/orders"}))
        coming.set()
        await asyncio.sleep(60)

    async with door.served() as url, aiohttp.ClientSession(url) as session:
        sending = asyncio.create_task(session.post(IMPORT, data=standing_still(), headers=slow))
        await coming.wait()
        assert (await door.call("POST", IMPORT, quick, line)).json["created"] == 1
        assert_problem(await door.call("POST", IMPORT, slow, b""), 409, "conflict")
        async with asyncio.timeout(10), await sending as answer:
            assert (answer.status, (await answer.json())["code"]) == (408, "sent-too-slowly")
    assert [each.channel.namespace for each in listed(door.store)] == ["other"], (
        "and nothing of it was created"
    )
    assert (await door.call("POST", IMPORT, slow, b"")).status == 200


async def test_who_hangs_up_halfway_creates_nothing(door):
    assert (await door.call("POST", IMPORT, body=lines(wish()), cut=True)).status == 499  # which nobody hears
    assert await exported(door) == []
    assert (await send(door, "", lines(wish()))).json["created"] == 1


@pytest.mark.parametrize("channel", ["default/orders", "default/default"])
async def test_those_of_a_channel(door, channel):
    await door.send_json("POST", "/api/channels", {"namespace": "default", "name": "orders"})
    both = [wish(config={"channel": each}) for each in ("default/orders", "default/default")]
    await send(door, "", lines(*both))
    (found,) = await exported(door, f"?channel={channel}")
    assert found["config"]["channel"] == channel


async def test_a_tenant_neither_writes_nor_reads_another_s(open_door):
    door, key = open_door(auth=True), new_key()
    for namespace in ("shop", "other"):
        door.store.create_channel(ChannelName(namespace, "orders"))
    record = KeyRecord(key.id, "ci", key.digest, {"shop": frozenset({Role.SUBSCRIBE})}, time.time(), "test")
    door.keys.add(record, by_command("keys create", "key", key.id, None))
    await door.ring.refresh()
    who = {"authorization": f"Bearer {key.text}"}
    shop, other = (wish(config={"channel": f"{each}/orders"}) for each in ("shop", "other"))
    refused = await door.call("POST", IMPORT, who, lines(shop, other))
    problem = assert_problem(refused, 400, "invalid-import")
    assert [each["line"] for each in problem["lines"]] == [2]
    assert "there is no channel" in problem["lines"][0]["faults"][0]["problem"]
    assert (await door.call("POST", IMPORT, who, lines(shop))).json["created"] == 1
    with Lot() as lot:
        lot.add(parse_subscription(other))
        door.store.create_lot(lot, Cut)
    seen = (await door.call("GET", EXPORT, who)).body.splitlines()
    assert [msgspec.json.decode(line)["config"]["channel"] for line in seen] == ["shop/orders"]
    assert_problem(await door.call("GET", EXPORT), 401, "unauthenticated")
