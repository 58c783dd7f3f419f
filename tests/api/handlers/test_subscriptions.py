"""Query, update and optimistic concurrency; what creating and deleting do is in test_management."""

from typing import Any

import msgspec
import pytest
from tests.api.handlers.test_channels import WISH, assert_problem
from tests.subscriptions.test_credentials import PLAIN, REFRESH

from headrace.api.handlers import subscriptions
from headrace.api.routes.parameters import write_cursor
from headrace.events.positions import LogPosition
from headrace.secrets.credential import Plain
from headrace.subscriptions.channels.config_keys import parse_declarations
from headrace.subscriptions.channels.name import ChannelName

SINK = "https://example.com/in"
KEPT = {"credentialType": "PLAIN", "identifier": "***", "secret": "***"}


async def create(api, **properties):
    answer = await api.send_json("POST", "/subscriptions", WISH | properties)
    assert answer.status == 201, answer
    return answer


async def put(api, id_, document, **headers):
    body = msgspec.json.encode(document)
    headers = {name.replace("_", "-"): value for name, value in headers.items()}
    return await api.call("PUT", f"/subscriptions/{id_}", headers, body)


# Query


def next_of(answer):
    link = answer.headers.get("link")
    if link is None:
        return None
    assert link.endswith('>; rel="next"')
    return link[1 : link.index(">")]


async def pages(api, path):
    found = []
    while path is not None:
        answer = await api.call("GET", path)
        assert answer.status == 200, answer
        found.append([each["id"] for each in answer.json])
        path = next_of(answer)
    return found


async def test_pages_are_linked(api):
    made = [(await create(api)).json["id"] for _ in range(5)]
    assert await pages(api, "/subscriptions?limit=2") == [made[:2], made[2:4], made[4:]]
    assert await pages(api, "/subscriptions?limit=5") == [made]
    assert await pages(api, "/subscriptions") == [made]


async def test_a_link_keeps_what_was_asked_for(api):
    sink = "http://127.0.0.1:9/?a=b&c=ü"
    made = [(await create(api, sink=sink)).json["id"] for _ in range(3)]
    await create(api)
    sent = "http%3A%2F%2F127.0.0.1%3A9%2F%3Fa%3Db%26c%3D%C3%BC"
    assert await pages(api, f"/subscriptions?sink={sent}&limit=2") == [made[:2], made[2:]]


async def test_all_are_listed_without_having_all_at_once(api, monkeypatch):
    monkeypatch.setattr(subscriptions, "MOST_LISTED", 2)
    for count in range(6):
        listed = await api.call("GET", "/subscriptions")
        assert (listed.status, listed.headers["content-type"]) == (200, "application/json")
        assert len(listed.json) == count, "whatever the pages are, it is one array"
        await create(api)


async def test_lists_are_filtered(api):
    api.store.create_channel(ChannelName("shop", "orders"))
    plain = (await create(api)).json["id"]
    shop = (await create(api, config={"channel": "shop/orders"})).json["id"]
    nats = {"sink": "nats://example.com", "protocol": "NATS", "protocolsettings": {"subject": "a"}}
    other = (await create(api, **nats)).json["id"]
    await api.call("POST", f"/api/subscriptions/{plain}/pause")
    api.store.end(other, "status 410")
    for query, expected in {
        "channel=shop/orders": [shop],
        "namespace=shop": [shop],
        "namespace=default": [plain, other],
        "sink=nats://example.com": [other],
        "protocol=HTTP": [plain, shop],
        "state=active": [shop],
        "state=paused": [plain],
        "state=ended": [other],
        "state=ended&protocol=HTTP": [],
        "namespace=nobody": [],
    }.items():
        assert await pages(api, f"/subscriptions?{query}") == [expected], query
        assert await pages(api, f"/subscriptions?{query}&limit=10") == [expected], query


@pytest.mark.parametrize(
    ("query", "path"),
    [
        ("limit=0", "limit"),
        ("limit=1001", "limit"),
        ("cursor=nonsense", "cursor"),
        ("cursor=WzEsMl0=", "cursor"),
        (f"cursor={write_cursor([2**63, 'x'])}", "cursor"),
        (f"cursor={write_cursor([1, 'x' + chr(0)])}", "cursor"),
        ("namespace=%00", "namespace"),
        ("channel=orders", "channel"),
        ("protocol=http", "protocol"),
        ("state=asleep", "state"),
        ("colour=red", "colour"),
    ],
)
async def test_a_query_that_can_t_be_answered(api, query, path):
    problem = assert_problem(await api.call("GET", f"/subscriptions?{query}"), 400, "invalid-request")
    assert [fault["path"] for fault in problem["faults"]] == [path]


# Update


async def test_a_subscription_is_replaced_whole(api):
    created = await create(api, types=["a"], config={"delivery": {"retry": 3}})
    id_, before = created.json["id"], api.store.get(created.json["id"])
    wanted = {
        "sink": "http://127.0.0.1:10/",
        "protocol": "HTTP",
        "source": "/s",
        "filters": [{"cel": "true"}],
        "protocolsettings": {"mode": "structured"},
    }
    answer = await put(api, id_, wanted)
    assert answer.status == 200
    assert answer.json == wanted | {
        "id": id_,
        "config": {"channel": "default/default"},
        "protocolsettings": {"method": "POST", "mode": "structured"},
        "status": created.json["status"],
    }
    assert (await api.call("GET", f"/subscriptions/{id_}")).json == answer.json
    after = api.store.get(id_)
    assert (after.created, after.types, after.delivery) == (before.created, (), None)


async def test_what_is_shown_can_be_sent_back(api):
    settings = {"headers": {"x-token": "hunter2"}, "signing": "generate"}
    created = await create(api, sink=SINK, sinkCredential=REFRESH, protocolsettings=settings)
    id_ = created.json["id"]
    opened = api.secret_store.open(id_)
    api.secret_store.report(id_, 1, "nobody answers")
    shown = await api.call("GET", f"/subscriptions/{id_}")
    answer = await put(api, id_, shown.json, if_match=shown.headers["etag"])
    assert (answer.status, answer.json) == (200, shown.json)
    assert answer.headers["etag"] == created.headers["etag"], "nothing has changed"
    assert api.secret_store.open(id_) == opened
    answer = await put(api, id_, shown.json | {"types": ["a"]})
    assert answer.json == shown.json | {"types": ["a"]}
    assert answer.headers["etag"] != created.headers["etag"]
    assert api.secret_store.open(id_).secrets == opened.secrets


async def test_secrets_that_are_left_out_go(api):
    settings = {"headers": {"x-token": "hunter2"}}
    created = await create(api, sink=SINK, sinkCredential=PLAIN, protocolsettings=settings)
    id_ = created.json["id"]
    answer = await put(api, id_, {"sink": SINK, "sinkcredential": KEPT})
    assert (answer.status, answer.json["sinkCredential"]) == (200, KEPT)
    opened = api.secret_store.open(id_).secrets
    assert (opened.credential, opened.headers) == (Plain("somebody", "hunter2"), {})
    assert (await put(api, id_, {"sink": SINK})).status == 200
    assert not api.store.get(id_).has_secrets
    answer = await put(api, id_, {"sink": SINK, "protocolsettings": {"signing": "generate"}})
    (key,) = answer.json["protocolsettings"]["signing"]
    assert api.secret_store.open(id_).secrets.signing == (key["secret"],), "it is shown this once"


@pytest.mark.parametrize(
    "sink", ["https://example.org/in", "http://example.com/in", "https://example.com:8443/in"]
)
async def test_a_mask_stands_for_nothing_at_another_sink(api, sink):
    settings = {"headers": {"x-token": "hunter2"}, "signing": "generate"}
    created = await create(api, sink=SINK, sinkCredential=PLAIN, protocolsettings=settings)
    id_ = created.json["id"]
    shown = (await api.call("GET", f"/subscriptions/{id_}")).json
    problem = assert_problem(await put(api, id_, shown | {"sink": sink}), 400, "invalid-subscription")
    assert [fault["path"] for fault in problem["faults"]] == [
        "sinkCredential.identifier",
        "sinkCredential.secret",
        "protocolsettings.headers.x-token",
        "protocolsettings.signing[0]",
    ]
    assert all("give the secret itself" in fault["problem"] for fault in problem["faults"])
    given = {"sink": sink, "sinkCredential": PLAIN | {"secret": "new"}}
    assert (await put(api, id_, given)).status == 200
    assert api.secret_store.open(id_).secrets.credential == Plain("somebody", "new")


async def test_a_refresh_token_isn_t_sent_to_another_endpoint(api):
    created = await create(api, sink=SINK, sinkCredential=REFRESH)
    shown = created.json
    shown["sinkCredential"]["refreshTokenEndpoint"] = "https://evil.example/token"
    answer = await put(api, shown["id"], shown)
    problem = assert_problem(answer, 400, "invalid-subscription")
    assert [fault["path"] for fault in problem["faults"]] == [
        "sinkCredential.accessToken",
        "sinkCredential.refreshToken",
    ]


async def test_the_protocol_may_change(api):
    created = (await create(api)).json
    wanted = {"sink": "nats://example.com", "protocol": "NATS", "protocolsettings": {"subject": "a"}}
    answer = await put(api, created["id"], wanted)
    assert (answer.status, answer.json["protocol"], answer.json["sink"]) == (200, "NATS", wanted["sink"])
    assert await pages(api, "/subscriptions?protocol=NATS&sink=nats://example.com") == [[created["id"]]]
    assert await pages(api, "/subscriptions?protocol=HTTP") == [[]]


async def test_what_belongs_to_its_beginning_stays(api):
    api.store.create_channel(ChannelName("shop", "orders"))
    config = {"channel": "shop/orders", "start": "earliest"}
    id_ = (await create(api, config=config)).json["id"]
    for fine in (WISH, WISH | {"id": id_}, WISH | {"config": config}):
        answer = await put(api, id_, fine)
        assert (answer.status, answer.json["config"]) == (200, config)
    wrong = WISH | {"id": "other", "config": {"channel": "default/default", "start": "latest"}, "types": 1}
    problem = assert_problem(await put(api, id_, wrong), 400, "invalid-subscription")
    assert [fault["path"] for fault in problem["faults"]] == ["id", "config.channel", "config.start", "types"]
    assert len(api.jobs.list()) == 1, "and what was asked of the past at its creation isn't asked again"


async def test_an_update_of_nobody(api):
    assert_problem(await put(api, "nobody", WISH), 404, "not-found")


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"null"])
async def test_an_update_that_is_no_object(api, body):
    id_ = (await create(api)).json["id"]
    answer = await api.call("PUT", f"/subscriptions/{id_}", {}, body)
    assert_problem(answer, 400, "invalid-subscription")


async def test_a_sink_that_was_gone_is_forgotten_with_it(api):
    id_ = (await create(api)).json["id"]
    api.store.end(id_, "status 410")
    assert (await put(api, id_, WISH | {"types": ["a"]})).json["status"]["delivery"]["state"] == "ended"
    assert api.store.get(id_).ended == "status 410"
    await put(api, id_, WISH | {"sink": "http://127.0.0.1:10/"})
    assert api.store.get(id_).ended is None


# ETags


async def test_an_etag_stands_for_the_object_and_not_for_its_status(api):
    created = await create(api, sink=SINK)
    id_, etag = created.json["id"], created.headers["etag"]
    path = f"/subscriptions/{id_}"
    api.store.go_live(id_, LogPosition.at(0), lambda _: None)
    for method, what in (("POST", "pause"), ("POST", "resume")):
        answer = await api.call(method, f"/api/subscriptions/{id_}/{what}")
        assert answer.headers["etag"] == etag
    assert (await api.call("GET", path)).headers["etag"] == etag
    same = await put(api, id_, WISH | {"sink": SINK})
    assert same.headers["etag"] == etag
    edited = await put(api, id_, WISH | {"sink": SINK, "types": ["a"]})
    assert edited.headers["etag"] != etag
    secret = await api.send_json("PUT", f"{path}/secrets", {"sinkCredential": PLAIN})
    again = await api.send_json("PUT", f"{path}/secrets", {"sinkCredential": PLAIN | {"secret": "new"}})
    assert again.json == secret.json
    etags = [etag, edited.headers["etag"], secret.headers["etag"], again.headers["etag"]]
    assert len(set(etags)) == 4, "other secrets are another object, though it looks the same"
    assert (await api.call("GET", path)).headers["etag"] == etags[-1]


async def test_of_two_who_change_the_same_the_second_is_told(api):
    created = await create(api)
    id_, etag = created.json["id"], created.headers["etag"]
    first = await put(api, id_, WISH | {"types": ["a"]}, if_match=etag)
    assert first.status == 200
    refused = await put(api, id_, WISH | {"types": ["b"]}, if_match=etag)
    problem = assert_problem(refused, 412, "precondition-failed")
    assert problem["etag"] == refused.headers["etag"] == first.headers["etag"]
    assert api.store.get(id_).types == ("a",)
    assert_problem(
        await api.call("DELETE", f"/subscriptions/{id_}", {"if-match": etag}), 412, "precondition-failed"
    )
    answer = await api.call(
        "PUT", f"/subscriptions/{id_}/secrets", {"if-match": etag}, b'{"signing": "generate"}'
    )
    assert_problem(answer, 412, "precondition-failed")
    assert not api.store.get(id_).has_secrets
    deleted = await api.call("DELETE", f"/subscriptions/{id_}", {"if-match": problem["etag"]})
    assert deleted.status == 200


@pytest.mark.parametrize(
    ("given", "status"),
    [
        ("*", 200),
        ('"x", {etag}', 200),
        ('"x",{etag},"y"', 200),
        ("W/{etag}", 412),
        ('"x"', 412),
        ("nonsense", 412),
        ("", 412),
        ('"x,{etag}"', 412),
    ],
)
async def test_how_a_match_is_written(api, given, status):
    created = await create(api)
    header = given.replace("{etag}", created.headers["etag"])
    answer = await put(api, created.json["id"], WISH, if_match=header)
    assert answer.status == status


async def test_what_was_seen_is_not_sent_again(api):
    created = await create(api)
    path, etag = created.headers["location"], created.headers["etag"]
    for header in (etag, f"W/{etag}", f'"x", {etag}', "*"):
        answer = await api.call("GET", path, {"if-none-match": header})
        assert (answer.status, answer.body, answer.headers["etag"]) == (304, b"", etag)
    assert (await api.call("GET", path, {"if-none-match": '"x"'})).status == 200
    await put(api, created.json["id"], WISH | {"types": ["a"]})
    assert (await api.call("GET", path, {"if-none-match": etag})).status == 200


# Discovery, and what is wrong


@pytest.mark.parametrize(
    ("path", "allowed"),
    [
        ("/subscriptions", {"GET", "HEAD", "OPTIONS", "POST"}),
        ("/subscriptions/any", {"DELETE", "GET", "HEAD", "OPTIONS", "PUT"}),
    ],
)
async def test_options_tell_what_is_supported(api, path, allowed):
    answer = await api.call("OPTIONS", path)
    assert (answer.status, set(answer.headers["allow"].split(", "))) == (200, allowed)
    refused = await api.call("PATCH", path)
    assert set(refused.headers["allow"].split(", ")) == allowed
    told = answer.json
    assert set(told["operations"]) == {"Create", "Retrieve", "Query", "Update", "Delete"}
    assert told["protocols"] == ["HTTP", "KAFKA", "MQTT3", "MQTT5", "AMQP", "NATS", "PULL"]
    assert {"exact", "prefix", "suffix", "all", "any", "not", "sql"} <= set(told["dialects"])


async def test_what_options_name_is_served(api):
    told = (await api.call("OPTIONS", "/subscriptions")).json
    id_ = (await create(api)).json["id"]
    for operation in told["operations"].values():
        path = operation["path"].replace("{id}", id_)
        answer = await api.send_json(operation["method"], path, WISH)
        assert answer.status in {200, 201}, operation
    for parameter in told["queryparameters"]:
        problem = (await api.call("GET", f"/subscriptions?{parameter}=%00")).json
        assert "unknown parameter" not in str(problem)
    for key in told["config"]:
        answer = await api.send_json("POST", "/subscriptions", WISH | {"config": {key: 0}})
        assert "unknown key" not in answer.json["detail"]


async def test_where_in_a_filter_s_text_the_fault_lies_stands_in_fields(api):
    wish = WISH | {"filters": [{"all": [{"cel": "data.amount > 5 &&\n  data.name =="}]}], "types": 1}
    answer = await api.send_json("POST", "/subscriptions", wish)
    faults = {fault["path"]: fault for fault in assert_problem(answer, 400, "invalid-subscription")["faults"]}
    assert set(faults) == {"types", "filters[0].all[0].cel"}
    assert set(faults["types"]) == {"path", "problem"}
    fault = faults["filters[0].all[0].cel"]
    assert (fault["line"], fault["column"], fault["text"]) == (2, 15, "  data.name ==")
    assert fault["caret"] == " " * 14 + "^"
    assert fault["problem"].endswith(f"\n  {fault['text']}\n  {fault['caret']}")
    sql = await put(api, (await create(api)).json["id"], WISH | {"filter": {"sql": "type = "}})
    (fault,) = sql.json["faults"]
    assert (fault["path"], fault["line"], fault["text"]) == ("filter.sql", 1, "type = ")


# What channels declare


async def test_config_is_checked_against_what_the_channel_declares(api):
    shop = {"namespace": "shop", "name": "orders", "subscriptionconfig": {"interval": "integer"}}
    made = await api.send_json("POST", "/api/channels", shop)
    assert made.json["subscriptionconfig"] == {"interval": {"type": "integer", "required": False}}
    assert (await api.call("GET", made.headers["location"])).json == made.json
    assert made.json in (await api.call("GET", "/api/channels")).json
    config = {"channel": "shop/orders", "interval": 5}
    created = await create(api, sink=SINK, config=config, sinkCredential=PLAIN)
    assert created.json["config"] == config
    id_ = created.json["id"]
    for wrong in ({"channel": "shop/orders", "interval": "5"}, {"channel": "shop/orders", "colour": 1}):
        answers = [
            await api.send_json("POST", "/subscriptions", WISH | {"config": wrong}),
            await put(api, id_, WISH | {"config": wrong}),
        ]
        for answer in answers:
            problem = assert_problem(answer, 400, "invalid-subscription")
            assert problem["faults"][0]["path"].startswith("config.")
    answer = await api.send_json("PUT", f"/subscriptions/{id_}/secrets", {"sinkCredential": None})
    assert (answer.status, answer.json["config"]) == (200, config), (
        "secrets are changed without looking at it"
    )
    changed = await api.send_json(
        "PUT",
        "/api/channels/shop/orders",
        {"subscriptionconfig": {"unit": {"type": "string", "required": True}}},
    )
    assert changed.status == 200
    assert (await api.call("GET", f"/subscriptions/{id_}")).json["config"] == config, "what is there stays"
    answer = await put(api, id_, WISH | {"config": config | {"unit": "s"}})
    assert [fault["path"] for fault in answer.json["faults"]] == ["config.interval"]
    assert (await put(api, id_, WISH | {"config": {"unit": "s"}})).status == 200
    plain = await api.send_json("PUT", "/api/channels/shop/orders", {})
    assert "subscriptionconfig" not in plain.json
    bad = await api.send_json("PUT", "/api/channels/shop/orders", {"subscriptionconfig": {"a": "?"}})
    problem = assert_problem(bad, 400, "invalid-channel")
    assert [fault["path"] for fault in problem["faults"]] == ["subscriptionconfig.a.type"]


async def test_a_manifest_leaves_declarations_alone(api):
    api.store.create_channel(ChannelName("shop", "orders"), None, parse_declarations({"a": "string"}, "", []))
    api.store.change_channel(ChannelName("shop", "orders"), {"retry": 1})
    channel = api.store.channel(ChannelName("shop", "orders"))
    assert (channel.delivery, list(channel.config)) == ({"retry": 1}, ["a"])


# The specification's own words


async def test_the_example_of_the_specification(api):
    example: dict[str, Any] = {
        "id": "sub-193-18365",
        "config": {"data": "hello", "interval": 5},
        "filters": [{"prefix": {"type": "com.example."}}],
        "protocol": "HTTP",
        "protocolsettings": {"method": "POST"},
        "sink": "http://example.com/event-processor",
    }
    declared = {"subscriptionconfig": {"data": "string", "interval": "integer"}}
    assert (await api.send_json("PUT", "/api/channels/default/default", declared)).status == 200
    created = await api.send_json("POST", "/subscriptions", example)
    assert created.status == 201
    made = created.json
    assert made.pop("id") != example.pop("id"), "ids are the service's"
    del made["status"]
    assert made == example | {
        "config": example["config"] | {"channel": "default/default"},
        "protocolsettings": {"method": "POST", "mode": "binary"},
    }


@pytest.mark.parametrize("filters", [[{"regex": {"type": "a"}}], [{"all": [{"xpath": "/"}]}]])
async def test_a_dialect_that_is_not_supported_is_refused_at_creation_and_update(api, filters):
    id_ = (await create(api)).json["id"]
    wish = WISH | {"filters": filters}
    for answer in (await api.send_json("POST", "/subscriptions", wish), await put(api, id_, wish)):
        problem = assert_problem(answer, 400, "invalid-subscription")
        assert "exact, prefix, suffix, all, any, not, sql" in problem["faults"][0]["problem"]
    assert api.store.get(id_).filters == ()


async def test_names_of_protocols_and_properties_are_case_sensitive(api):
    answer = await api.send_json("POST", "/subscriptions", WISH | {"protocol": "http", "Sink": "x"})
    problem = assert_problem(answer, 400, "invalid-subscription")
    assert {fault["path"] for fault in problem["faults"]} == {"protocol", "Sink"}


async def test_ids_are_unique(api):
    ids = {(await create(api, id="mine")).json["id"] for _ in range(20)}
    assert len(ids) == 20


async def test_a_query_without_results_is_an_empty_list(api):
    answer = await api.call("GET", "/subscriptions?limit=10")
    assert (answer.status, answer.json, "link" in answer.headers) == (200, [], False)


async def test_a_name_that_no_database_could_have(api):
    for method in ("GET", "PUT", "DELETE"):
        assert_problem(await api.send_json(method, "/subscriptions/a\0b", WISH), 404, "not-found")
