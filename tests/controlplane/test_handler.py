"""`/api/apply`, `/api/objects`, `/api/triggers` and `/api/brokers`."""

import msgspec
import pytest
from tests.api.application import ADDRESS, V1
from tests.controlplane.manifests import broker, channel, generic, subscription, trigger

from headrace.controlplane.manifest_text import write_manifests
from headrace.secrets.credential import Plain


async def apply(api, *documents, path="/api/apply", method="POST"):
    return await api.send_json(method, path, list(documents))


async def test_yaml_and_json_are_applied_and_shown(api):
    text = write_manifests([broker("orders"), trigger(broker="orders")]).encode()
    answer = await api.call("POST", "/api/apply", {"content-type": "application/yaml"}, text)
    assert answer.status == 200
    assert [(each["kind"], each["namespace"], each["name"], each["outcome"], each["warnings"]) for each in answer.json["results"]] == [
        ("Broker", "default", "orders", "created", []),
        ("Trigger", "default", "t", "created", []),
    ]  # fmt: skip
    shown = (await api.call("GET", "/api/objects/triggers/default/t")).json
    assert shown == answer.json["results"][1]["object"]
    assert (await api.call("GET", "/api/triggers/default/t")).json == shown
    assert (await api.call("GET", "/api/triggers")).json == [shown]
    assert (await api.call("GET", "/api/triggers?namespace=other")).json == []
    again = await apply(api, broker("orders"), trigger(broker="orders"))
    assert [each["outcome"] for each in again.json["results"]] == ["unchanged", "unchanged"]


async def test_a_channel_s_address_takes_events_at_once(api):
    answer = await apply(api, channel("news"))
    url = answer.json["results"][0]["object"]["status"]["address"]["url"]
    assert url == f"{ADDRESS}/channels/default/news"
    assert (await api.post(V1, b"", url.removeprefix(ADDRESS))).status == 202
    deleted = await api.call("DELETE", "/api/objects/headracechannels/default/news")
    assert (deleted.status, deleted.json["metadata"]["name"]) == (200, "news")
    assert (await api.post(V1, b"", url.removeprefix(ADDRESS))).status == 404


async def test_secrets_of_a_trigger_s_subscription_outlast_its_changes(api):
    await apply(api, broker(), trigger())
    [subscribed] = (await api.call("GET", "/subscriptions")).json
    given = {
        "signing": "generate",
        "sinkCredential": {"credentialType": "PLAIN", "identifier": "me", "secret": "hunter2"},
    }
    path = f"/subscriptions/{subscribed['id']}"
    assert (await api.send_json("PUT", f"{path}/secrets", given)).status == 200
    before, revision = api.store.get(subscribed["id"]), api.store.revision()
    again = await apply(api, broker(), trigger())
    assert [each["outcome"] for each in again.json["results"]] == ["unchanged", "unchanged"]
    assert api.store.revision() == revision, "secrets are no difference"
    await apply(api, trigger(subscriber={"uri": "http://sink.example/other"}))
    after = api.store.get(subscribed["id"])
    assert after.sink == "http://sink.example/other"
    assert (after.sink_credential, after.protocolsettings) == (
        before.sink_credential,
        before.protocolsettings,
    )
    assert api.secret_store.open(after.id).secrets.credential == Plain("me", "hunter2")


async def test_an_invalid_trigger_is_refused_with_the_place_of_the_fault(api):
    answer = await apply(api, broker(), trigger(filter={"expression": 'ce.type = "a"'}))
    assert answer.status == 400
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json["code"] == "invalid-manifest"
    [fault] = answer.json["faults"]
    assert fault["path"] == "Trigger default/t spec.filter.expression"
    assert fault["problem"].endswith('\n  ce.type = "a"\n          ^')
    assert (await api.call("GET", "/api/brokers")).json == []


async def test_an_object_is_put_at_its_own_address_only(api):
    await apply(api, broker())
    assert (await apply(api, trigger(), path="/api/triggers")).json["results"][0]["outcome"] == "created"
    assert (await apply(api, trigger(), path="/api/triggers/default/t", method="PUT")).status == 200
    for path, document, wrong in (
        ("/api/triggers", broker("b"), "kind"),
        ("/api/triggers/default/other", trigger(), "metadata.name"),
        ("/api/objects/brokers/default/t", trigger(), "kind"),
    ):
        answer = await apply(api, document, path=path, method="PUT" if path.count("/") > 3 else "POST")
        assert (answer.status, answer.json["faults"][0]["path"]) == (400, wrong)
    placed = trigger()
    placed["metadata"]["namespace"] = "shop"
    answer = await apply(api, placed, path="/api/triggers/default/t", method="PUT")
    assert answer.json["faults"][0]["path"] == "metadata.namespace"
    answer = await apply(api, trigger(), trigger(), path="/api/triggers/default/t", method="PUT")
    assert (answer.status, answer.json["detail"]) == (400, "exactly one object can be put at this address")


async def test_every_kind_has_its_place(api):
    await apply(api, generic(), subscription(), channel("own"), broker("b"))
    kinds = (await api.call("GET", "/api/objects")).json
    assert {each["kind"] for each in kinds} == {
        "HeadraceChannel",
        "InMemoryChannel",
        "Channel",
        "Broker",
        "Subscription",
        "Trigger",
    }
    counts = {
        each["kind"]: len((await api.call("GET", f"/api/objects/{each['plural']}")).json) for each in kinds
    }
    assert counts == {
        "HeadraceChannel": 2,
        "InMemoryChannel": 0,
        "Channel": 1,
        "Broker": 1,
        "Subscription": 1,
        "Trigger": 0,
    }
    unknown = await api.call("GET", "/api/objects/pods")
    assert (unknown.status, unknown.json["detail"]) == (404, "there is no kind of object 'pods'")
    assert (await api.call("GET", "/api/triggers/default/none")).status == 404
    assert (await api.call("DELETE", "/api/triggers/default/none")).status == 404


@pytest.mark.parametrize(
    ("query", "status"), [("dryRun=true", 200), ("dryRun=perhaps", 400), ("namespace=Bad%20Name", 400)]
)
async def test_options_of_applying(api, query, status):
    answer = await apply(api, broker("b"), path=f"/api/apply?{query}")
    assert answer.status == status
    assert (await api.call("GET", "/api/brokers")).json == []


async def test_a_namespace_for_manifests_that_name_none(api):
    await apply(api, broker("b"), path="/api/apply?namespace=shop")
    [shown] = (await api.call("GET", "/api/brokers")).json
    assert shown["metadata"]["namespace"] == "shop"


async def test_a_conflict_and_too_much(api):
    document = broker("b")
    document["metadata"]["resourceVersion"] = "headrace-7"
    assert (await apply(api, document)).status == 409
    huge = msgspec.json.encode([broker("b", delivery={"x": "y" * (17 << 20)})])
    assert (await api.call("POST", "/api/apply", {}, huge)).status == 413
