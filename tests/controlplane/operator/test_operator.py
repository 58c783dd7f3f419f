"""The operator against an API server, real or fake as the test's name says, and against the real http role."""

import asyncio

import pytest
from tests.controlplane.operator.kube import channel, cluster_of, create_channel, path_of
from tests.controlplane.operator.real_apiserver import OPERATOR

from headrace.client import Client
from headrace.errors import ClusterRefused, ServiceRefused

SUBSCRIBER = {
    "uid": "11111111-2222-3333-4444-555555555555",
    "generation": 3,
    "subscriberUri": "http://sink.example/",
}


async def ready(cluster, name, generation=None, namespace="default"):
    found = await cluster.get(path_of(name, namespace))
    conditions = {each["type"]: each for each in found["status"]["conditions"]}
    is_new = generation in (None, found["status"]["observedGeneration"])
    return found if conditions["Ready"]["status"] == "True" and is_new else None


async def test_a_channel_gets_an_address_a_status_and_the_annotation(
    kube, cluster, operator, headrace, eventually
):
    await create_channel(cluster, channel("orders", delivery={"retry": 3}))
    found = await eventually(lambda: ready(cluster, "orders"))
    status = found["status"]
    assert status["address"] == {"url": f"{headrace.url}/channels/default/orders"}
    assert status["addressable"] == "True"
    assert status["observedGeneration"] == found["metadata"]["generation"] == 1
    assert status["subscribers"] == []
    assert {each["type"] for each in status["conditions"]} == {"Ready", "Addressable"}
    assert all(each["lastTransitionTime"] for each in status["conditions"])
    assert found["metadata"]["annotations"]["messaging.knative.dev/subscribable"] == "v1"
    assert found["metadata"]["finalizers"] == ["messaging.headrace.dev/operator"]
    async with Client(headrace.url) as client:
        [made] = [each for each in await client.channels() if each["name"] == "orders"]
    assert made["delivery"] == {"retry": 3}
    assert (await cluster.get(path_of("orders", version="v1beta1")))["status"] == status


async def test_subscribers_come_change_and_go(kube, cluster, operator, headrace, eventually):
    await create_channel(cluster, channel("news"))
    await eventually(lambda: ready(cluster, "news"))
    await cluster.patch(path_of("news"), {"spec": {"subscribers": [SUBSCRIBER]}})
    found = await eventually(lambda: ready(cluster, "news", 2))
    assert found["status"]["subscribers"] == [
        {"uid": SUBSCRIBER["uid"], "observedGeneration": 3, "ready": "True"}
    ]
    async with Client(headrace.url) as client:

        async def subscribed():
            return [
                each for each in await client.subscriptions() if each["config"]["channel"] == "default/news"
            ]

        [first] = await subscribed()
        assert first["sink"] == "http://sink.example/"
        changed = SUBSCRIBER | {
            "generation": 4,
            "subscriberUri": "http://other.example/",
            "replyUri": "http://r.example/",
        }
        await cluster.patch(path_of("news"), {"spec": {"subscribers": [changed]}})
        found = await eventually(lambda: ready(cluster, "news", 3))
        assert found["status"]["subscribers"][0]["observedGeneration"] == 4
        [second] = await subscribed()
        assert (second["id"], second["sink"]) == (first["id"], "http://other.example/")
        assert second["config"]["reply"] == {"uri": "http://r.example/"}
        await cluster.patch(path_of("news"), {"spec": {"subscribers": []}})
        found = await eventually(lambda: ready(cluster, "news", 4))
        assert found["status"]["subscribers"] == []
        assert await subscribed() == []


async def test_a_subscription_that_ends_by_hand_is_told_of_and_made_anew(
    kube, cluster, operator, headrace, eventually
):
    await create_channel(cluster, channel("mended", subscribers=[SUBSCRIBER | {"uid": "mended"}]))
    await eventually(lambda: ready(cluster, "mended"))
    async with Client(headrace.url) as client:

        async def subscribed():
            return [
                each for each in await client.subscriptions() if each["config"]["channel"] == "default/mended"
            ]

        [first] = await subscribed()
        await client.unsubscribe(first["id"])

        async def made_anew():
            return [each for each in await subscribed() if each["id"] != first["id"]]

        assert len(await eventually(made_anew)) == 1


async def test_deleting_removes_the_channel_and_only_then_the_object(
    kube, cluster, operator, headrace, eventually
):
    await create_channel(cluster, channel("gone", subscribers=[SUBSCRIBER | {"uid": "gone"}]))
    await eventually(lambda: ready(cluster, "gone"))
    await cluster._call("DELETE", path_of("gone"))

    async def is_gone():
        return await cluster.get(path_of("gone")) is None

    await eventually(is_gone)
    async with Client(headrace.url) as client:
        assert "gone" not in [each["name"] for each in await client.channels()]
        assert "default/gone" not in [each["config"]["channel"] for each in await client.subscriptions()]
        with pytest.raises(ServiceRefused, match="there is no HeadraceChannel"):
            await client.object("headracechannels", "default", "gone")


async def test_what_happened_while_it_was_dead_is_made_up_for(kube, cluster, operator, headrace, eventually):
    await create_channel(cluster, channel("kept"))
    await create_channel(cluster, channel("left"))
    for name in ("kept", "left"):
        await eventually(lambda name=name: ready(cluster, name))
    operator.kill()
    await cluster.patch(path_of("kept"), {"spec": {"subscribers": [SUBSCRIBER | {"uid": "kept"}]}})
    await cluster._call("DELETE", path_of("left"))
    assert (await cluster.get(path_of("left")))["metadata"]["deletionTimestamp"]  # the finalizer holds it
    await create_channel(cluster, channel("new"))
    operator.start()
    found = await eventually(lambda: ready(cluster, "kept", 2))
    assert found["status"]["subscribers"][0]["ready"] == "True"
    await eventually(lambda: ready(cluster, "new"))

    async def is_gone():
        return await cluster.get(path_of("left")) is None

    await eventually(is_gone)


async def test_a_dead_letter_sink_is_looked_up_in_the_cluster(kube, cluster, operator, headrace, eventually):
    service = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "morgue"},
        "spec": {"ports": [{"port": 80}]},
    }
    ref = {"apiVersion": "v1", "kind": "Service", "name": "morgue"}
    await create_channel(
        cluster, channel("careful", delivery={"retry": 1, "deadLetterSink": {"ref": ref, "uri": "/in"}})
    )

    async def unresolved():
        found = await cluster.get(path_of("careful"))
        return [each for each in found["status"]["conditions"] if each["type"] == "DeadLetterSinkResolved"]

    [condition] = await eventually(unresolved)
    assert (condition["status"], condition["message"]) == ("False", "Service default/morgue has no address")
    await cluster.create("/api/v1/namespaces/default/services", service)
    found = await eventually(lambda: ready(cluster, "careful"))
    assert found["status"]["deadLetterSinkUri"] == "http://morgue.default.svc.cluster.local/in"


async def test_a_channel_whose_name_is_taken_says_so(kube, cluster, operator, headrace, eventually):
    async with Client(headrace.url) as client:
        broker = {"apiVersion": "eventing.knative.dev/v1", "kind": "Broker", "metadata": {"name": "taken"}}
        await client.apply([broker])
    await create_channel(cluster, channel("taken"))

    async def refused():
        found = await cluster.get(path_of("taken"))
        return found["status"]["conditions"]

    [is_ready, _] = await eventually(refused)
    assert (is_ready["status"], is_ready["reason"]) == ("False", "Refused")
    assert "belongs to Broker default/taken already" in is_ready["message"]


async def test_an_object_that_fares_as_before_is_not_written(kube, cluster, operator, headrace, eventually):
    await create_channel(cluster, channel("quiet"))
    await eventually(lambda: ready(cluster, "quiet"))
    await asyncio.sleep(1.5)  # what follows the first handling is written
    before = await cluster.get(path_of("quiet"))
    await asyncio.sleep(2.5)  # it looks every second
    assert (await cluster.get(path_of("quiet")))["metadata"]["resourceVersion"] == before["metadata"][
        "resourceVersion"
    ]


async def test_it_may_do_no_more_than_its_role_says(kube):
    if not kube.is_real:
        pytest.skip("the fake has no RBAC")
    as_operator = cluster_of(kube, OPERATOR)
    for path in (
        "/api/v1/namespaces/default/secrets",
        "/api/v1/namespaces/headrace/secrets/headrace-database",
    ):
        with pytest.raises(ClusterRefused, match="forbidden"):
            await as_operator.get(path)
    with pytest.raises(ClusterRefused, match="forbidden"):
        await as_operator._call("DELETE", path_of("quiet"))
