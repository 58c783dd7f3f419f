"""What `deploy/knative` installs, as an API server takes it: real or fake, as the test's name says."""

import asyncio

import msgspec
import pytest
from tests.controlplane.operator.conftest import operators_at_rest
from tests.controlplane.operator.kube import (
    PATHS,
    channel,
    cluster_of,
    create,
    create_channel,
    documents,
    path_of,
)

from headrace.client import Client
from headrace.controlplane.manifest_text import read_manifests
from headrace.errors import ClusterRefused

CRD = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/headracechannels.messaging.headrace.dev"
ROLES = "/apis/rbac.authorization.k8s.io/v1/clusterroles"
REVIEWS = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
SHELF = "shelf"


@pytest.fixture(scope="module")
def shelf(kube):
    """A namespace at whose channels no operator looks."""
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": SHELF}}
    asyncio.run(cluster_of(kube).create("/api/v1/namespaces", namespace))
    with operators_at_rest():
        yield SHELF


async def test_the_definition_is_established_and_structural(kube, cluster, eventually):
    async def established():
        found = await cluster.get(CRD)
        conditions = {each["type"]: each["status"] for each in found["status"]["conditions"]}
        return found if conditions["Established"] == "True" else None

    found = await eventually(established)
    conditions = {each["type"]: each["status"] for each in found["status"]["conditions"]}
    assert conditions == {"NamesAccepted": "True", "Established": "True"}, "no NonStructuralSchema among them"
    assert found["status"]["storedVersions"] == ["v1"]
    for version in ("v1", "v1beta1"):
        served = (await cluster.get(f"/apis/messaging.headrace.dev/{version}"))["resources"]
        named = {each["name"]: each for each in served}
        assert {"headracechannels", "headracechannels/status"} <= set(named)
        shown = named["headracechannels"]
        assert (shown["kind"], shown["namespaced"], shown["shortNames"]) == (
            "HeadraceChannel",
            True,
            ["hrch"],
        )
        assert "channel" in shown["categories"]


@pytest.mark.parametrize(
    ("label", "verbs"),
    [
        ("channelable", {"create", "get", "list", "watch", "patch", "update"}),
        ("addressable", {"get", "list", "watch"}),
    ],
)
async def test_the_aggregated_roles_have_what_the_specification_asks(kube, cluster, label, verbs):
    """Knative's roles gather the roles that have its labels: what they select has to be ours, and may do no more."""
    [role] = (await cluster.get(f"{ROLES}?labelSelector=duck.knative.dev%2F{label}%3Dtrue"))["items"]
    [rule] = role["rules"]
    assert (rule["apiGroups"], set(rule["verbs"])) == (["messaging.headrace.dev"], verbs)
    assert set(rule["resources"]) == {"headracechannels", "headracechannels/status"}


async def test_who_has_the_roles_may_do_what_they_say_and_nothing_else(kube, cluster):
    if not kube.is_real:
        pytest.skip("the fake has no RBAC")
    for name in ("headrace-channelable-manipulator", "headrace-addressable-resolver"):
        subject = {"kind": "User", "name": name, "apiGroup": "rbac.authorization.k8s.io"}
        binding = {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "ClusterRoleBinding",
            "metadata": {"name": f"try-{name}"},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name},
            "subjects": [subject],
        }
        await cluster.create(PATHS["ClusterRoleBinding"], binding)

    async def may(user, verb, subresource):
        asked = {"group": "messaging.headrace.dev", "resource": "headracechannels", "verb": verb}
        spec = {
            "user": user,
            "resourceAttributes": asked | {"subresource": subresource, "namespace": "default"},
        }
        document = {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": spec}
        return (await cluster.create(REVIEWS, document))["status"]["allowed"]

    read, written = ("get", "list", "watch"), ("create", "patch", "update")
    for part in ("", "status"):
        for verb in (*read, *written, "delete"):
            assert await may("headrace-channelable-manipulator", verb, part) == (verb != "delete"), verb
            assert await may("headrace-addressable-resolver", verb, part) == (verb in read), verb


@pytest.mark.parametrize("version", ["v1", "v1beta1"])
async def test_one_object_is_served_in_both_versions(kube, cluster, shelf, version):
    spec = {
        "delivery": {"retry": 3},
        "subscribers": [{"uid": "u", "generation": 1, "subscriberUri": "http://x/"}],
    }
    document = channel(f"as-{version}", shelf, **spec) | {"apiVersion": f"messaging.headrace.dev/{version}"}
    await create(cluster, path_of(namespace=shelf, version=version), document)
    shown = {each: await cluster.get(path_of(f"as-{version}", shelf, each)) for each in ("v1", "v1beta1")}
    for each, found in shown.items():
        assert (found["apiVersion"], found["spec"]) == (f"messaging.headrace.dev/{each}", spec)
    assert shown["v1"]["metadata"]["uid"] == shown["v1beta1"]["metadata"]["uid"]


async def test_the_status_is_a_place_of_its_own(kube, cluster, shelf):
    await create_channel(cluster, channel("placed", shelf) | {"status": {"addressable": "True"}})
    found = await cluster.get(path_of("placed", shelf))
    assert "status" not in found, "a status can't be made with the object"
    status = {
        "observedGeneration": 1,
        "address": {"url": "http://x/"},
        "addressable": "True",
        "subscribers": [{"uid": "u", "observedGeneration": 1, "ready": "True"}],
        "conditions": [{"type": "Ready", "status": "Unknown", "reason": "R", "message": "m", "lastTransitionTime": "2026-01-01T00:00:00Z"}],
    }  # fmt: skip
    changed = await cluster.patch(
        path_of("placed", shelf) + "/status", {"status": status, "spec": {"delivery": {"retry": 1}}}
    )
    assert (changed["status"], changed.get("spec"), changed["metadata"]["generation"]) == (status, {}, 1)
    changed = await cluster.patch(
        path_of("placed", shelf), {"status": None, "spec": {"delivery": {"retry": 1}}}
    )
    assert (changed["status"], changed["metadata"]["generation"]) == (status, 2)


async def test_what_the_schema_does_not_know_is_not_kept(kube, cluster, shelf):
    made = await create_channel(
        cluster, channel("pruned", shelf, delivery={"retry": 1, "speed": 9}, partitions=3)
    )
    assert made["spec"] == {"delivery": {"retry": 1}}


@pytest.mark.parametrize("version", ["v1", "v1beta1"])
@pytest.mark.parametrize(
    ("spec", "place"),
    [
        ({"delivery": {"retry": "many"}}, "spec.delivery.retry"),
        ({"delivery": {"retry": -1}}, "spec.delivery.retry"),
        ({"delivery": {"backoffPolicy": "never"}}, "spec.delivery.backoffPolicy"),
        ({"delivery": {"backoffDelay": "soon"}}, "spec.delivery.backoffDelay"),
        ({"subscribers": {}}, "spec.subscribers"),
        ({"subscribers": [{"subscriberUri": "http://x/"}]}, r"spec.subscribers\[0\].uid"),
        ({"delivery": {"deadLetterSink": {"ref": {"kind": "Service"}}}}, "spec.delivery.deadLetterSink.ref.name"),
    ],
)  # fmt: skip
async def test_what_does_not_fit_the_schema_is_refused_without_the_web_hook(
    kube, cluster, shelf, version, spec, place
):
    document = channel("misfit", shelf, **spec) | {"apiVersion": f"messaging.headrace.dev/{version}"}
    with pytest.raises(ClusterRefused, match=place) as refused:
        await create(cluster, path_of(namespace=shelf, version=version), document)
    assert refused.value.status == 422


async def test_what_a_cluster_lists_can_be_applied_to_headrace(kube, cluster, shelf, headrace):
    """With all that an API server writes into it, and again: `kubectl get -o yaml | headrace apply -f -`."""
    await create_channel(cluster, channel("moves", shelf, delivery={"retry": 2}))
    listed = await cluster.get(path_of(namespace=shelf))
    assert listed["kind"] == "HeadraceChannelList"
    documents = read_manifests(msgspec.json.encode(listed))
    async with Client(headrace.url) as client:
        for outcome in ("created", "unchanged"):
            applied = await client.apply(documents)
            assert {each["outcome"] for each in applied} == {outcome}
        shown = await client.object("headracechannels", shelf, "moves")
    assert shown["spec"] == {"delivery": {"retry": 2}}
    assert shown["status"]["address"]["url"] == f"{headrace.url}/channels/{shelf}/moves"


async def test_everything_can_be_applied_again_and_again(kube, cluster):
    """As `kubectl apply --server-side` does, the webhook with the address of its Service included."""
    if not kube.is_real:
        pytest.skip("the fake has no server-side apply")
    for document in documents():
        name, namespace = document["metadata"]["name"], document["metadata"].get("namespace")
        path = f"{PATHS[document['kind']].format(namespace=namespace)}/{name}?fieldManager=test&force=true"
        if document["kind"] == "ValidatingWebhookConfiguration":
            path += "&dryRun=All"  # nobody answers there, and other tests have one of their own
        for _ in range(2):
            kept = await cluster._call("PATCH", path, document, "application/apply-patch+yaml")
            assert kept["metadata"]["name"] == name
