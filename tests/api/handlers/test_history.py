import asyncio

import pytest

from headrace.database.work_queue import State
from headrace.filters import message
from headrace.jobs.replays import Replay
from headrace.jobs.requests import parse_backtest, parse_replay, parse_seek

SINK = {"sink": "http://127.0.0.1:9/"}
LONG = 60.0


@pytest.fixture
async def subscription(api):
    return (await api.send_json("POST", "/subscriptions", SINK)).json["id"]


async def test_a_seek_is_written_down_as_a_job(api, subscription):
    path = f"/api/subscriptions/{subscription}/seek"
    to = {"filter": {"cel": "int(ce.tso) >= 7"}, "time": "2026-01-01T00:00:00Z"}
    answer = await api.send_json("POST", path, {"to": to, "dryRun": True})
    assert answer.status == 202
    assert answer.headers["location"] == f"/api/jobs/{answer.json['id']}"
    job = api.jobs.get(answer.json["id"])
    assert (job.kind, job.subscription, job.state) == ("seek", subscription, State.WAITING)
    assert job.request == {"to": {"filter": to["filter"], "time": 1767225600000}, "dryRun": True}
    assert parse_seek(job.request).document() == job.request
    assert (await api.call("GET", answer.headers["location"])).json == answer.json


@pytest.mark.parametrize("version", message.Version)
async def test_a_seek_may_come_as_protobuf(api, subscription, version):
    wanted = message.property("tso").greater_than_equals(9)
    command = message.Seek(7, 8, 17, 1700000000000, wanted)
    headers = {"content-type": f"application/protobuf; version={version.value}"}
    body = message.encode_seek(command, version)
    answer = await api.call("POST", f"/api/subscriptions/{subscription}/seek", headers, body)
    assert answer.status == 202
    assert answer.json["request"] == {
        "to": {
            "position": {"0": 17},
            "time": 1700000000000,
            "filter": {"message": message.to_json(wanted)},
        },
        "consumerId": 7,
        "requestId": 8,
    }


@pytest.mark.parametrize(
    ("content_type", "body", "status", "text"),
    [
        ("application/protobuf", b"\xff", 400, "seek"),
        ("application/protobuf; version=3", b"", 415, "version=2"),
        ("text/plain", b"{}", 415, "application/json"),
        ("application/json", b"{", 400, "the body is not JSON"),
    ],
)
async def test_what_is_no_seek_is_refused(api, subscription, content_type, body, status, text):
    path = f"/api/subscriptions/{subscription}/seek"
    answer = await api.call("POST", path, {"content-type": content_type}, body)
    assert (answer.status, text in answer.json["detail"]) == (status, True)
    assert api.jobs.list() == []


FAULTY = [
    ("seek", {}, ["to"]),
    ("seek", {"to": "middle"}, ["to"]),
    ("seek", {"to": {}}, ["to"]),
    ("seek", {"to": {"position": -1, "time": "noon", "where": 1}}, ["to.where", "to.position", "to.time"]),
    ("seek", {"to": {"filter": {"cel": "1 +"}}, "dryRun": 1, "why": 0}, ["why", "to.filter.cel", "dryRun"]),
    ("replay", {"rate": 0}, ["rate"]),
    ("replay", {"from": {"position": {"x": 1}}, "to": 5, "filter": {"a": 1, "b": 2}}, ["from.position", "to", "filter"]),
    ("replay", [], [""]),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "document", "paths"), FAULTY)
async def test_every_fault_of_a_request_is_listed(api, subscription, kind, document, paths):
    answer = await api.send_json("POST", f"/api/subscriptions/{subscription}/{kind}", document)
    assert (answer.status, answer.json["code"]) == (400, "invalid-request")
    assert [fault["path"] for fault in answer.json["faults"]] == paths


@pytest.mark.parametrize("kind", ["seek", "replay"])
async def test_nobody_travels_without_a_subscription(api, kind):
    answer = await api.send_json("POST", f"/api/subscriptions/none/{kind}", {"to": "earliest"})
    assert (answer.status, answer.json["code"]) == (404, "not-found")


async def test_a_replay_and_a_backtest_are_read_back_as_they_were_asked(api, subscription):
    replay = {"from": "earliest", "to": {"position": 9}, "filter": {"exact": {"type": "t"}}, "rate": 5}
    asked = (await api.send_json("POST", f"/api/subscriptions/{subscription}/replay", replay)).json
    assert asked["request"] == replay | {"to": {"position": {"0": 9}}, "rate": 5.0}
    assert parse_replay(asked["request"]).document() == asked["request"]
    backtest = {"filter": {"cel": "true"}, "channel": "a/b", "from": 5, "to": "2026-01-01T00:00:00Z"}
    unknown = await api.send_json("POST", "/api/filters/backtest", backtest)
    assert (unknown.status, "'a/b'" in unknown.json["detail"]) == (404, True)
    await api.send_json("POST", "/api/channels", {"namespace": "a", "name": "b"})
    asked = (await api.send_json("POST", "/api/filters/backtest", backtest)).json
    assert asked["request"]["filters"] == [{"cel": "true"}]
    assert parse_backtest(asked["request"]).document() == asked["request"]


@pytest.mark.parametrize("document", [{}, {"filter": None}, {"filters": None}, {"filter": [], "filters": []}])
async def test_a_backtest_is_of_one_filter(api, document):
    answer = await api.send_json("POST", "/api/filters/backtest", document)
    assert (answer.status, answer.json["faults"][0]["path"]) == (400, "filter")


async def test_faults_of_a_backtest(api):
    document = {"from": 9, "to": 5, "examples": -1, "buckets": 10**9, "channel": "nowhere"}
    answer = await api.send_json("POST", "/api/filters/backtest", document)
    assert [fault["path"] for fault in answer.json["faults"]] == [
        "filter", "to", "channel", "examples", "buckets",
    ]  # fmt: skip


async def test_jobs_are_listed_cancelled_and_then_stay_so(api, subscription):
    replay = (await api.send_json("POST", f"/api/subscriptions/{subscription}/replay", {})).json
    await api.send_json("POST", "/api/filters/backtest", {"filter": {"cel": "true"}})
    of_kind = await api.call("GET", "/api/jobs")
    assert [job["kind"] for job in of_kind.json] == ["backtest", "replay"]
    cancelled = await api.call("DELETE", f"/api/jobs/{replay['id']}")
    assert (cancelled.status, cancelled.json["state"]) == (200, "cancelled")
    again = await api.call("DELETE", f"/api/jobs/{replay['id']}")
    assert (again.status, again.json["code"]) == (409, "conflict")
    assert (await api.call("GET", "/api/jobs/none")).status == 404


async def test_an_answer_may_wait_for_the_end_of_the_job(api):
    async def work():
        while (claim := await asyncio.to_thread(api.jobs.take, LONG)) is None:
            await asyncio.sleep(0.01)
        await asyncio.sleep(0.1)
        claim.finish({"count": 3})

    working = asyncio.create_task(work())
    headers = {"content-type": "application/json", "prefer": "respond-async, wait=30"}
    answer = await api.call("POST", "/api/filters/backtest", headers, b'{"filter": {"cel": "true"}}')
    await working
    assert (answer.status, answer.json["state"], answer.json["result"]) == (200, "done", {"count": 3})
    assert answer.headers["preference-applied"] == "wait=30"


async def test_a_running_replay_tells_what_was_delivered(api, subscription):
    asked = (await api.send_json("POST", f"/api/subscriptions/{subscription}/replay", {})).json
    claim = api.jobs.take(LONG)
    api.replays.begin(claim, Replay(asked["id"], subscription, None, marked=True, found=40), {})
    api.replays.tell(asked["id"], 9, 1)
    claim.progress(0.8, "")
    shown = (await api.call("GET", f"/api/jobs/{asked['id']}")).json
    assert shown["progress"] == pytest.approx(0.2)
    assert shown["note"] == "9 of 40 events found so far are delivered"


async def test_a_subscription_with_a_start_brings_a_catch_up(api):
    start = {"filter": {"cel": "ce.gtid == '3E11FA47:23'"}}
    created = (await api.send_json("POST", "/subscriptions", SINK | {"config": {"start": start}})).json
    assert created["config"]["start"] == start
    (job,) = api.jobs.list()
    assert (job.kind, job.subscription, job.request) == ("catch-up", created["id"], {"from": start})
    for point in ("latest", "earliest"):
        await api.send_json("POST", "/subscriptions", SINK | {"config": {"start": point}})
    assert [each.request for each in api.jobs.list()] == [{"from": "earliest"}, {"from": start}]


async def test_a_start_that_is_none_is_refused_at_its_place(api):
    answer = await api.send_json(
        "POST", "/subscriptions", SINK | {"config": {"start": {"filter": {"cel": "("}}}}
    )
    assert answer.status == 400
    assert [fault["path"] for fault in answer.json["faults"]] == ["config.start.filter.cel"]
    assert api.jobs.list() == []


async def test_nothing_is_written_down_for_a_subscription_that_is_refused(api):
    document = SINK | {"config": {"start": "earliest", "channel": "no/where"}}
    assert (await api.send_json("POST", "/subscriptions", document)).status == 404
    assert api.jobs.list() == []
