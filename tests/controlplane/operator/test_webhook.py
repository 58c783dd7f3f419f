"""The admission webhook, called by an API server, real or fake as the test's name says."""

import base64

import pytest
from tests.controlplane.operator.conftest import REVIEWED
from tests.controlplane.operator.kube import channel, create, create_channel, path_of

from headrace.errors import ClusterRefused

TRIGGERS = f"/apis/eventing.knative.dev/v1/namespaces/{REVIEWED}/triggers"


def trigger(name, **spec):
    subscriber = {"ref": {"apiVersion": "serving.knative.dev/v1", "kind": "Service", "name": "s"}}
    return {
        "apiVersion": "eventing.knative.dev/v1",
        "kind": "Trigger",
        "metadata": {"name": name, "namespace": REVIEWED},
        "spec": {"broker": "default", "subscriber": subscriber, **spec},
    }


async def test_a_good_channel_is_let_in(reviewed, cluster):
    sink = {"ref": {"apiVersion": "serving.knative.dev/v1", "kind": "Service", "name": "morgue"}}
    await create_channel(cluster, channel("good", REVIEWED, delivery={"deadLetterSink": sink}))
    with pytest.raises(ClusterRefused, match="retry"):
        await cluster.patch(path_of("good", REVIEWED), {"spec": {"delivery": {"retry": 1001}}})


@pytest.mark.parametrize(
    ("spec", "reason"),
    [
        ({"delivery": {"retry": 1001}}, "spec.delivery.retry: 1001 is no whole number from 0 to 1000"),
        ({"delivery": {"backoffDelay": "P1Y"}}, "spec.delivery.backoffDelay: 'P1Y' is no duration"),
        ({"subscribers": [{"uid": "a"}]}, r"spec.subscribers\[0\]: has neither subscriberUri nor replyUri"),
        (
            {"subscribers": [{"uid": "a", "subscriberUri": "ftp://x/"}]},
            r"spec.subscribers\[0\].subscriberUri: 'ftp://x/' does not fit protocol HTTP",
        ),
        (
            {"subscribers": [{"uid": "a", "subscriberUri": "http://x/"}] * 2},
            r"spec.subscribers\[1\].uid: 'a' is given twice",
        ),
    ],
)
async def test_a_bad_channel_is_refused_with_the_reason(reviewed, cluster, spec, reason):
    with pytest.raises(ClusterRefused, match=reason) as refused:
        await create_channel(cluster, channel("bad", REVIEWED, **spec))
    assert refused.value.status == 400
    assert "channels.validation.messaging.headrace.dev" in str(refused.value)
    assert await cluster.get(path_of("bad", REVIEWED)) is None


async def test_a_name_that_is_no_channel_s_is_refused(reviewed, cluster):
    with pytest.raises(ClusterRefused, match=r"metadata.name: 'with\.dots' is not a DNS label"):
        await create_channel(cluster, channel("with.dots", REVIEWED))


async def test_a_trigger_whose_expression_can_t_be_compiled_is_refused_with_the_place(reviewed, cluster):
    with pytest.raises(ClusterRefused) as refused:
        await create(cluster, TRIGGERS, trigger("bad", filter={"expression": "ce.type == 'a' &&"}))
    message = str(refused.value)
    assert "spec.filter.expression" in message
    assert "ce.type == 'a' &&\n" in message
    assert message.rstrip().endswith("^")


async def test_a_trigger_with_two_top_level_filters_is_refused(reviewed, cluster):
    two = {"attributes": {"type": "a"}, "expression": "true"}
    with pytest.raises(ClusterRefused, match=r"spec\.filter: .*exactly one key"):
        await create(cluster, TRIGGERS, trigger("two", filter=two))


async def test_a_trigger_of_another_broker_is_judged_by_its_filters_alone(reviewed, cluster):
    made = await create(
        cluster, TRIGGERS, trigger("good", filters=[{"cesql": "type = 'a'"}, {"exact": {"source": "/s"}}])
    )
    assert made["metadata"]["name"] == "good"


async def test_its_certificates_are_kept_and_its_authority_announced(reviewed, cluster):
    secret = await cluster.get("/api/v1/namespaces/headrace/secrets/headrace-webhook-certs")
    assert set(secret["data"]) == {"ca.crt", "tls.crt", "tls.key"}
    hooks = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/validation.messaging.headrace.dev"
    configuration = await cluster.get(hooks)
    for hook in configuration["webhooks"]:
        assert hook["clientConfig"]["caBundle"] == secret["data"]["ca.crt"]
    assert b"BEGIN CERTIFICATE" in base64.b64decode(secret["data"]["ca.crt"])
