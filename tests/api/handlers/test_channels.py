import asyncio
import uuid

import msgspec
import pytest
from tests.api.application import ADDRESS, V1

from headrace.api.ingress.channels import KnownChannels
from headrace.events.positions import LogPosition
from headrace.subscriptions.channels.name import ChannelName
from headrace.subscriptions.store.set_aside import Kind, SetAside
from headrace.telemetry.readiness import RoleState, RoleStatus

WISH = {"sink": "http://127.0.0.1:9/", "protocol": "HTTP"}


def assert_problem(answer, status, code):
    assert answer.status == status, answer
    assert answer.headers["content-type"] == "application/problem+json"
    problem = answer.json
    assert (problem["status"], problem["code"]) == (status, code)
    assert problem["title"]
    assert problem["detail"]
    return problem


# Subscriptions


async def test_a_subscription_is_created_shown_listed_and_ended(api):
    wish = WISH | {"filters": [{"prefix": {"type": "com."}}], "types": ["a", "b"], "source": "/s"}
    created = await api.send_json("POST", "/subscriptions", wish)
    assert (created.status, created.headers["content-type"]) == (201, "application/json")
    document = created.json
    assert document == wish | {
        "id": document["id"],
        "config": {"channel": "default/default"},
        "protocolsettings": {"method": "POST", "mode": "binary"},
        "status": {
            "ready": {"status": True},
            "position": 0,
            "lag": {"positions": 0, "waiting": 0},
            "delivery": {"state": "active", "waiting": 0, "dead": 0},
            "notes": [],
        },
    }
    place = created.headers["location"]
    assert place == f"/subscriptions/{document['id']}"
    assert (await api.call("GET", place)).json == document
    assert (await api.call("GET", "/subscriptions")).json == [document]
    ended = await api.call("DELETE", place)
    del document["status"]
    assert (ended.status, ended.json) == (200, document)
    assert (await api.call("GET", "/subscriptions")).json == []
    assert_problem(await api.call("GET", place), 404, "not-found")
    assert_problem(await api.call("DELETE", place), 404, "not-found")


async def test_a_subscription_begins_and_ends_where_the_log_is_at_that_moment(api):
    await api.post(V1)
    id_ = (await api.send_json("POST", "/subscriptions", WISH)).json["id"]
    await api.post(V1)
    await api.post(V1)
    assert api.store.get(id_).created == LogPosition.at(1)
    await api.call("DELETE", f"/subscriptions/{id_}")
    (ended,) = [each for each in api.store.changes(0)[1] if each.id == id_]
    assert (ended.created, ended.deleted) == (LogPosition.at(1), LogPosition.at(3))


async def test_an_id_that_is_sent_along_is_not_taken(api):
    created = await api.send_json("POST", "/subscriptions", WISH | {"id": "mine"})
    assert uuid.UUID(created.json["id"])


async def test_every_fault_of_a_subscription_is_listed_with_its_path(api):
    wish = {
        "sink": "ftp://x",
        "protocol": "HTTP",
        "colour": "red",
        "types": "a",
        "config": {"channel": "nonsense"},
        "protocolsettings": {"mode": "bulk", "headers": {"ce-id": "1"}},
        "filters": [{"exact": {"type": "t"}, "prefix": {"type": "t"}}],
    }
    problem = assert_problem(await api.send_json("POST", "/subscriptions", wish), 400, "invalid-subscription")
    assert {fault["path"] for fault in problem["faults"]} == {
        "sink",
        "colour",
        "types",
        "config.channel",
        "protocolsettings.mode",
        "protocolsettings.headers.ce-id",
        "filters[0]",
    }
    assert all(fault["problem"] for fault in problem["faults"])
    assert (await api.call("GET", "/subscriptions")).json == []


@pytest.mark.parametrize("body", [b"", b"not json", b"{", b"\xff", b'{"sink": "\\ud800"}', b"[" * 100_000])
async def test_a_body_that_is_not_json(api, body):
    problem = assert_problem(await api.call("POST", "/subscriptions", {}, body), 400, "invalid-subscription")
    assert "JSON" in problem["detail"]
    assert_problem(await api.call("POST", "/api/channels", {}, body), 400, "invalid-channel")


@pytest.mark.parametrize("document", [None, 1, "x", [], [WISH]])
async def test_json_that_is_no_object(api, document):
    assert_problem(await api.send_json("POST", "/subscriptions", document), 400, "invalid-subscription")
    assert_problem(await api.send_json("POST", "/api/channels", document), 400, "invalid-channel")


@pytest.mark.parametrize("path", ["/subscriptions", "/api/channels"])
async def test_a_document_that_is_too_large(api, path):
    answer = await api.call("POST", path, {}, [b" " * 600_000, b" " * 600_000])
    assert_problem(answer, 413, "payload-too-large")


async def test_a_subscription_to_a_channel_that_is_not_there(api):
    wish = WISH | {"config": {"channel": "no/such"}}
    assert_problem(await api.send_json("POST", "/subscriptions", wish), 404, "not-found")


# Channels


async def test_a_channel_is_made_used_listed_and_removed(api):
    assert (await api.post(V1, b"", "/channels/shop/orders")).status == 404
    made = await api.call(
        "POST",
        "/api/channels",
        {"host": "localhost:9999"},
        msgspec.json.encode({"namespace": "shop", "name": "orders"}),
    )
    document = {
        "namespace": "shop",
        "name": "orders",
        "url": f"{ADDRESS}/channels/shop/orders",
    }
    assert (made.status, made.json) == (201, document)
    assert made.headers["location"] == "/api/channels/shop/orders"
    assert (await api.post(V1, b"", "/channels/shop/orders")).status == 202, "at once"
    shown = await api.call("GET", "/api/channels/shop/orders", {"host": "localhost:9999"})
    assert (shown.status, shown.json) == (200, document)
    names = [(each["namespace"], each["name"]) for each in (await api.call("GET", "/api/channels")).json]
    assert names == [("default", "default"), ("shop", "orders")]
    removed = await api.call("DELETE", "/api/channels/shop/orders")
    assert (removed.status, removed.body) == (204, b"")
    assert (await api.post(V1, b"", "/channels/shop/orders")).status == 404
    assert_problem(await api.call("GET", "/api/channels/shop/orders"), 404, "not-found")
    assert_problem(await api.call("DELETE", "/api/channels/shop/orders"), 404, "not-found")


async def test_a_channel_that_exists_is_not_made_twice(api):
    again = await api.send_json("POST", "/api/channels", {"namespace": "default", "name": "default"})
    assert "default/default" in assert_problem(again, 409, "conflict")["detail"]


async def test_a_channel_somebody_listens_to_is_not_removed(api):
    id_ = (await api.send_json("POST", "/subscriptions", WISH)).json["id"]
    assert_problem(await api.call("DELETE", "/api/channels/default/default"), 409, "conflict")
    await api.call("DELETE", f"/subscriptions/{id_}")
    assert (await api.call("DELETE", "/api/channels/default/default")).status == 204


@pytest.mark.parametrize(
    ("document", "said"),
    [
        ({"namespace": "shop"}, "namespace"),
        ({"namespace": "shop", "name": "x", "colour": "red"}, "name"),
        ({"namespace": "shop", "name": "Orders"}, "name: 'Orders'"),
        ({"namespace": "-", "name": "orders"}, "namespace: '-'"),
        ({"namespace": "shop", "name": "x" * 64}, "name"),
        ({"namespace": "shop", "name": 1}, "name: 1"),
    ],
)
async def test_a_channel_with_faults(api, document, said):
    problem = assert_problem(await api.send_json("POST", "/api/channels", document), 400, "invalid-channel")
    assert said in problem["detail"]


async def test_channels_that_another_process_makes_become_known(api):
    channels = KnownChannels(api.store)
    following = asyncio.create_task(channels.follow(0.005))
    new = ChannelName("shop", "orders")
    assert new not in channels
    await asyncio.sleep(0.02)
    api.store.create_channel(new)
    async with asyncio.timeout(5):
        while new not in channels:
            await asyncio.sleep(0.005)
        api.store.delete_channel(new)
        while new in channels:
            await asyncio.sleep(0.005)
    following.cancel()


# The rest


async def test_health(api):
    assert (await api.call("GET", "/healthz")).json == {"status": "ok"}


async def test_readiness_says_who_is_not_ready_and_why(api):
    answer = await api.call("GET", "/readyz")
    assert answer.status == 200
    assert (answer.json["ready"], answer.json["roles"]) == (True, dict.fromkeys(api.roles, "ready"))
    assert answer.json["details"]["pipeline"]["did"] == "it works"
    assert "problem" not in answer.json["details"]["pipeline"]
    api.roles["pipeline"] = RoleStatus(
        RoleState.BLOCKED, 5.0, problem="route: the disk is full; free some space"
    )
    answer = await api.call("GET", "/readyz")
    assert answer.status == 503
    assert answer.json["ready"] is False
    assert answer.json["roles"] == {"http": "ready", "pipeline": "blocked", "dispatcher": "ready"}
    assert answer.json["details"]["pipeline"]["problem"] == "route: the disk is full; free some space"


async def test_metrics_can_be_switched_off(open_api):
    shown = await open_api().call("GET", "/metrics")
    assert shown.status == 200
    assert shown.headers["content-type"].startswith("text/plain")
    for name in ("events_accepted", "requests_malformed", "requests_refused", "deliveries_succeeded"):
        assert f"# TYPE headrace_{name}_total counter".encode() in shown.body
    assert_problem(await open_api(metrics=False).call("GET", "/metrics"), 404, "not-found")


@pytest.mark.parametrize(
    "path", ["/nothing", "/channels", "/api", "/api/channels/only-one", "/subscriptions/a/b", "/"]
)
async def test_what_is_not_there(api, path):
    assert path in assert_problem(await api.call("GET", path), 404, "not-found")["detail"]


@pytest.mark.parametrize(
    ("path", "allowed"),
    [
        ("/subscriptions", {"GET", "HEAD", "POST", "OPTIONS"}),
        ("/subscriptions/x", {"GET", "HEAD", "PUT", "DELETE", "OPTIONS"}),
        ("/api/channels", {"GET", "HEAD", "POST"}),
        ("/api/channels/a/b", {"GET", "HEAD", "PUT", "DELETE"}),
        ("/healthz", {"GET", "HEAD"}),
        ("/readyz", {"GET", "HEAD"}),
        ("/metrics", {"GET", "HEAD"}),
    ],
)
async def test_methods_that_are_not_served(api, path, allowed):
    answer = await api.call("PATCH", path)
    problem = assert_problem(answer, 405, "method-not-allowed")
    assert path in problem["detail"]
    assert "PATCH" in problem["detail"]
    assert set(answer.headers["allow"].split(", ")) == allowed


async def test_head_is_get_without_a_body(api):
    """The server leaves the body out; the application answers as it does to GET."""
    for path in ("/healthz", "/subscriptions", "/api/channels"):
        assert (await api.call("HEAD", path)).status == 200


async def test_a_lost_database_is_503_and_passes(open_api, postgres):
    with postgres.new_url() as url:
        api = open_api(store_url=url)
        wish = msgspec.json.encode({"sink": "http://sink/", "protocol": "HTTP"})
        assert (await api.call("POST", "/subscriptions", body=wish)).status == 201
        postgres.kill()
        try:
            for method, path, body in (("POST", "/subscriptions", wish), ("GET", "/subscriptions", b"")):
                answer = await api.call(method, path, body=body)
                assert (answer.status, answer.json["code"]) == (503, "store-unavailable")
                assert answer.headers["retry-after"] == "2"
            accepted = await api.post(V1)
            assert accepted.status == 202, "events need the log, not the database"
        finally:
            postgres.start()
        assert (await api.call("POST", "/subscriptions", body=wish)).status == 201
        assert len((await api.call("GET", "/subscriptions")).json) == 2
        api.store.database.close()


async def test_what_is_set_aside_is_listed_newest_first(api):
    api.store.set_aside([SetAside(Kind.EVENT, 3, 4, "why", "default", "default")])
    api.store.set_aside([SetAside(Kind.DAMAGE, 7, 9, "a wrong checksum")])
    listed = (await api.call("GET", "/api/set-aside")).json
    assert [(each["kind"], each["position"], each["until"]) for each in listed] == [
        ("damage", 7, 9),
        ("event", 3, 4),
    ]
    assert "channel" not in listed[0]
    assert (await api.call("GET", "/api/set-aside?limit=1")).json == listed[:1]
    for wrong in ("limit=0", "limit=x", "limit=10001", "limit=%C2%B2"):
        assert_problem(await api.call("GET", f"/api/set-aside?{wrong}"), 400, "invalid-request")


async def test_a_channel_has_a_delivery_object(api):
    delivery = {"retry": 3, "backoffDelay": "PT2S"}
    made = await api.send_json(
        "POST", "/api/channels", {"namespace": "shop", "name": "orders", "delivery": delivery}
    )
    assert (made.status, made.json["delivery"]) == (201, delivery)
    place = "/api/channels/shop/orders"
    assert (await api.call("GET", place)).json == made.json
    assert made.json in (await api.call("GET", "/api/channels")).json
    changed = await api.send_json("PUT", place, made.json | {"delivery": {"retry": 4}})
    assert (changed.status, changed.json["delivery"]) == (200, {"retry": 4})
    assert (await api.call("GET", place)).json == changed.json
    cleared = await api.send_json("PUT", place, {})
    assert "delivery" not in cleared.json
    assert "delivery" not in (await api.call("GET", place)).json


async def test_a_channel_s_faulty_delivery_object_is_refused(api):
    document = {"namespace": "shop", "name": "orders", "delivery": {"retry": -1, "timeout": "soon"}}
    answer = await api.send_json("POST", "/api/channels", document)
    assert_problem(answer, 400, "invalid-channel")
    assert [fault["path"] for fault in answer.json["faults"]] == ["delivery.retry", "delivery.timeout"]
    assert_problem(await api.call("GET", "/api/channels/shop/orders"), 404, "not-found")
    assert_problem(await api.send_json("PUT", "/api/channels/shop/orders", {}), 404, "not-found")
    other = {"namespace": "a", "name": "b"}
    assert_problem(await api.send_json("PUT", "/api/channels/default/default", other), 400, "invalid-channel")
