import asyncio
import time

import msgspec
import pytest
from tests.api.application import Application
from tests.delivery.harness import sample
from tests.ledger.entries import attempt, dead, event, wait, write

from headrace.delivery.retry.redrives import RedriveWorker
from headrace.eventlog.local.reader import SegmentReader
from headrace.eventlog.outbox_partitions import WHOLE_OUTBOX
from headrace.events.recorded import Arrival
from headrace.ledger.records.status import DeliveryReport

SINK = {"sink": "http://127.0.0.1:9/"}


@pytest.fixture
async def api(tmp_path, database_url):
    api = Application(tmp_path, delivery_url=database_url)
    yield api
    await api.close()


@pytest.fixture
async def subscription(api):
    return (await api.send_json("POST", "/subscriptions", SINK)).json["id"]


def redriving(api):
    return RedriveWorker(api.records, api.store, SegmentReader(api.folder / "log"), WHOLE_OUTBOX)


# Attempts


async def test_attempts_are_listed_and_shown(api, subscription):
    made = attempt(
        subscription=subscription, verdict="again", status=503, reason="status 503: no", headers=(("a", "b"),), body=b"no"
    )  # fmt: skip
    write(api.delivery_url, [made])
    [shown] = (await api.call("GET", "/api/attempts")).json["attempts"]
    assert shown == {
        "id": shown["id"], "subscription": subscription, "position": 1, "stage": "sink", "attempt": 1,
        "time": "1970-01-01T00:01:40.000Z", "seconds": 0.05, "verdict": "again", "status": 503, "reason": "status 503: no",
    }  # fmt: skip
    whole = (await api.call("GET", f"/api/attempts/{shown['id']}")).json
    assert whole == shown | {"headers": [["a", "b"]], "body": "no"}
    for unknown in ("99", "x", "9" * 30):
        assert (await api.call("GET", f"/api/attempts/{unknown}")).status == 404


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("verdict=again", {1, 2}),
        ("status=5xx", {2}),
        ("status=429&verdict=again", {1}),
        ("stage=reply", {3}),
        ("position=2", {2}),
        ("since=1970-01-01T00:00:02Z&until=3000", {2}),
        ("subscription=other", {3}),
        ("channel=default/default", {1, 2}),
        ("channel=default/default&subscription=other", set()),
        ("", {1, 2, 3}),
    ],
)
async def test_attempts_are_found_by_what_is_asked_for(api, subscription, query, expected):
    write(
        api.delivery_url,
        [
            attempt(subscription=subscription, position=1, time=1.0, verdict="again", status=429),
            attempt(subscription=subscription, position=2, time=2.0, verdict="again", status=502),
            attempt(subscription="other", position=3, time=3.0, stage="reply"),
        ],
    )
    answer = await api.call("GET", f"/api/attempts?{query}")
    assert {each["position"] for each in answer.json["attempts"]} == expected


async def test_pages_of_attempts_and_of_dead_letters(api, subscription):
    write(
        api.delivery_url,
        [attempt(position=number, time=5.0) for number in range(5)],
        [dead(subscription, n) for n in range(5)],
    )
    for path, name, expected in (
        ("/api/attempts", "attempts", [4, 3, 2, 1, 0]),
        ("/api/dead-letters", "deadLetters", [0, 1, 2, 3, 4]),
    ):
        seen, cursor = [], ""
        while True:
            page = (await api.call("GET", f"{path}?limit=2{cursor}")).json
            seen += [each["position"] for each in page[name]]
            if "next" not in page:
                break
            cursor = f"&cursor={page['next']}"
        assert seen == expected


async def test_every_fault_of_a_query_is_listed(api):
    query = "verdict=maybe&status=6xx&stage=x&position=-1&since=noon&channel=a&limit=0&cursor=x&colour=red"
    answer = await api.call("GET", f"/api/attempts?{query}")
    assert (answer.status, answer.json["code"]) == (400, "invalid-request")
    assert {fault["path"] for fault in answer.json["faults"]} == {
        "verdict", "status", "stage", "position", "since", "channel", "limit", "cursor", "colour",
    }  # fmt: skip


async def test_dead_letters_have_their_event_as_it_was(api, subscription):
    write(api.delivery_url, dead=[dead(subscription, 7), dead("other", 8, 60.0)._replace(event=b"")])
    lost, found = (await api.call("GET", "/api/dead-letters")).json["deadLetters"]
    assert "event" not in lost
    assert found == {
        "subscription": subscription, "stage": "sink", "position": 7, "attempts": 4, "time": "1970-01-01T00:00:50.000Z",
        "reason": "status 400", "event": msgspec.json.decode(event(7)),
    }  # fmt: skip
    some = await api.call("GET", f"/api/dead-letters?subscription={subscription}&since=1&until=51000")
    assert len(some.json["deadLetters"]) == 1


# Redrives


async def test_a_redrive_is_counted_begun_and_done(api, subscription):
    write(api.delivery_url, dead=[dead(subscription, 1, type="x"), dead(subscription, 2), dead("deleted", 3)])
    dry = await api.send_json("POST", "/api/redrive", {"filter": {"exact": {"type": "x"}}, "dryRun": True})
    assert (dry.status, dry.json["found"]) == (200, 1)
    assert (await api.call("GET", "/api/redrives")).json == []
    begun = await api.send_json("POST", "/api/redrive", {"channel": "default/default", "rate": 100})
    assert (begun.status, begun.json["found"], begun.json["state"]) == (202, 2, "running")
    place = begun.headers["location"]
    assert (await api.call("GET", place)).json == begun.json
    while redriving(api).move():
        pass
    ended = (await api.call("GET", place, {"prefer": "wait=5"})).json
    assert (ended["state"], ended["moved"]) == ("done", 2)
    assert (await api.call("DELETE", place)).status == 409
    assert [
        each["position"] for each in (await api.call("GET", "/api/dead-letters")).json["deadLetters"]
    ] == [3]


async def test_a_redrive_is_cancelled(api, subscription):
    write(api.delivery_url, dead=[dead(subscription, 1)])
    begun = await api.send_json("POST", "/api/redrive", {"subscription": subscription})
    cancelled = await api.call("DELETE", begun.headers["location"])
    assert (cancelled.status, cancelled.json["state"]) == (200, "cancelled")
    redriving(api).move()
    assert len((await api.call("GET", "/api/dead-letters")).json["deadLetters"]) == 1
    assert (await api.call("GET", "/api/redrives/none")).status == 404


async def test_what_waits_is_counted_by_a_filter_too(api, subscription):
    first = api.writer.append([Arrival(sample(n, type="xy"[n % 2]), "default", "default") for n in range(4)])
    later = time.time() + 1000
    write(api.delivery_url, waits=[wait(subscription, first + n, later) for n in range(4)])
    document = {"state": "waiting", "filter": {"exact": {"type": "x"}}, "dryRun": True}
    assert (await api.send_json("POST", "/api/redrive", document)).json["found"] == 2
    assert (await api.send_json("POST", "/api/redrive", document | {"filter": None})).json["found"] == 4


async def test_one_at_a_time_reads_the_log(api, subscription, monkeypatch):
    first = api.writer.append([Arrival(sample(1), "default", "default")])
    write(api.delivery_url, waits=[wait(subscription, first, time.time() + 1000)])
    reading, most, read = [], [], SegmentReader.read

    def watched(self, *arguments):
        reading.append(self)
        time.sleep(0.05)
        most.append(len(reading))
        yield from read(self, *arguments)
        reading.remove(self)

    monkeypatch.setattr(SegmentReader, "read", watched)
    document = {"state": "waiting", "filter": {"exact": {"specversion": "1.0"}}, "dryRun": True}
    counts = await asyncio.gather(*(api.send_json("POST", "/api/redrive", document) for _ in range(3)))
    assert [each.json["found"] for each in counts] == [1, 1, 1]
    assert most == [1, 1, 1]


async def test_faults_of_a_redrive(api):
    document = {
        "state": "alive",
        "filter": {"cel": "1 +"},
        "since": 9,
        "until": 5,
        "rate": 0,
        "channel": "x",
        "dryRun": 1,
        "why": 1,
    }
    answer = await api.send_json("POST", "/api/redrive", document)
    assert (answer.status, answer.json["code"]) == (400, "invalid-request")
    assert {fault["path"] for fault in answer.json["faults"]} == {
        "state", "filter.cel", "until", "rate", "channel", "dryRun", "why",
    }  # fmt: skip
    assert (await api.send_json("POST", "/api/redrive", {"subscription": "none"})).status == 404
    assert (await api.send_json("POST", "/api/redrive", {"channel": "no/such"})).status == 404


async def test_one_attempt_is_retried(api, subscription):
    write(api.delivery_url, [attempt(subscription=subscription, position=7)], [dead(subscription, 7)])
    [made] = (await api.call("GET", "/api/attempts")).json["attempts"]
    begun = await api.call("POST", f"/api/attempts/{made['id']}/retry")
    assert (begun.status, begun.json["request"]) == (202, {"subscription": subscription, "position": 7})
    redriving(api).move()
    assert (await api.call("GET", begun.headers["location"])).json["state"] == "done"
    assert (await api.call("GET", "/api/dead-letters")).json["deadLetters"] == []
    assert (await api.call("POST", "/api/attempts/99/retry")).status == 404
    await api.call("DELETE", f"/subscriptions/{subscription}")
    assert (await api.call("POST", f"/api/attempts/{made['id']}/retry")).status == 404


# Status


async def test_how_deliveries_fare_is_shown(api, subscription):
    plain = (await api.call("GET", f"/subscriptions/{subscription}")).json
    assert plain["status"]["delivery"] == {"state": "active", "waiting": 0, "dead": 0}
    api.records.report([DeliveryReport(subscription, 1.0)])
    write(api.delivery_url, dead=[dead(subscription, 1)], waits=[wait(subscription, 2, 5.0)])
    shown = (await api.call("GET", f"/subscriptions/{subscription}")).json
    assert shown["status"]["delivery"] == {
        "state": "active", "waiting": 1, "dead": 1, "breaker": {"state": "closed"}, "lastSuccess": "1970-01-01T00:00:01.000Z",
    }  # fmt: skip
    assert (await api.call("GET", "/subscriptions")).json == [shown]


async def test_pausing_and_resuming(api, subscription):
    paused = await api.call("POST", f"/api/subscriptions/{subscription}/pause")
    assert (paused.status, paused.json["status"]["delivery"]) == (
        200,
        {"state": "paused", "waiting": 0, "dead": 0},
    )
    assert api.store.get(subscription).paused
    api.store.end(subscription, "status 410: gone")
    shown = (await api.call("GET", f"/subscriptions/{subscription}")).json["status"]["delivery"]
    assert shown == {"state": "ended", "reason": "status 410: gone", "waiting": 0, "dead": 0}
    resumed = await api.call("POST", f"/api/subscriptions/{subscription}/resume")
    assert resumed.json["status"]["delivery"]["state"] == "active"
    for action in ("pause", "resume"):
        assert (await api.call("POST", f"/api/subscriptions/none/{action}")).status == 404
