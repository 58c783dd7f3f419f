"""What is refused, each with the path and the reason."""

import pytest
from tests.controlplane.manifests import (
    MESSAGING,
    broker,
    channel,
    generic,
    manifest,
    ref_to,
    subscription,
    trigger,
)

from headrace.controlplane.admission.table import admit
from headrace.controlplane.manifest import read_manifest
from headrace.errors import InvalidManifest

KNATIVE_SERVICE = {"ref": {"apiVersion": "serving.knative.dev/v1", "kind": "Service", "name": "x"}}
GOOD = [
    broker(),
    broker(
        delivery={
            "retry": 3,
            "backoffPolicy": "linear",
            "backoffDelay": "PT1S",
            "deadLetterSink": ref_to("Channel", "d"),
        }
    ),
    trigger(),
    trigger(filter={"attributes": {"type": "a"}}),
    trigger(filter={"expression": 'ce.type == "a"'}),
    trigger(filter={"sourceAndType": {"type": "a"}}),
    trigger(
        filters=[{"cesql": "type = 'a'"}, {"any": [{"exact": {"type": "a"}}, {"prefix": {"type": "b"}}]}]
    ),
    trigger(filters=[]),
    trigger(subscriber=ref_to("Channel", "c") | {"uri": "/more"}),
    {**trigger(), "apiVersion": "eventing.knative.dev/v1beta1"},
    channel(),
    channel(api_version="messaging.headrace.dev/v1beta1"),
    channel(kind="InMemoryChannel", api_version=MESSAGING),
    channel(
        subscribers=[
            {"uid": "a", "subscriberUri": "http://x/", "replyUri": "http://y/", "delivery": {"retry": 1}}
        ]
    ),
    channel(subscribers=[{"uid": "a", "replyUri": "http://y/", "auth": None}]),
    generic(),
    generic(
        channelTemplate={
            "apiVersion": MESSAGING,
            "kind": "InMemoryChannel",
            "spec": {"delivery": {"retry": 1}},
        }
    ),
    subscription(),
    subscription(
        reply=ref_to("Broker", "default", "eventing.knative.dev/v1"),
        delivery={"deadLetterSink": {"uri": "http://d/"}},
    ),
    subscription(subscriber=None, reply={"uri": "http://x/"}),
    subscription(reply=ref_to("Channel", "c")),
]
BAD = [
    (trigger(filter={"expression": "ce.type =="}), "spec.filter.expression", "ce.type ==\n"),
    (trigger(filter={"attributes": {"type": "a"}, "expression": "true"}), "spec.filter", "exactly one key"),
    (trigger(filter=["x"]), "spec.filter", "an object with one filter"),
    (trigger(filters={"exact": {"type": "a"}}), "spec.filters", "a list of filters"),
    (trigger(filters=[{"exact": {"type": "a"}}, {"sql": "nonsense nonsense"}]), "spec.filters[1].sql", "^"),
    (trigger(subscriber=None), "spec.subscriber", "is required"),
    (trigger(subscriber={}), "spec.subscriber", "neither uri nor ref"),
    (trigger(subscriber="http://x/"), "spec.subscriber", "has to be an object"),
    (trigger(subscriber={"uri": "/path"}), "spec.subscriber.uri", "does not fit protocol HTTP"),
    (trigger(subscriber=KNATIVE_SERVICE), "spec.subscriber.ref", "can't be looked up outside its cluster"),
    (trigger(subscriber=ref_to("Channel", "c") | {"uri": "http://x/"}), "spec.subscriber.uri", "uri has to be a path"),
    (trigger(subscriber={"uri": "http://x/", "CACerts": "pem"}), "spec.subscriber.CACerts", "not supported"),
    (trigger(subscriber={"url": "http://x/"}), "spec.subscriber.url", "unknown member"),
    (trigger(subscriber={"ref": {"apiVersion": MESSAGING, "kind": "Channel", "name": "c", "namespace": "other"}}), "spec.subscriber.ref.namespace", "another namespace"),
    (trigger(subscriber={"ref": {"apiVersion": MESSAGING, "kind": "Channel"}}), "spec.subscriber.ref.name", "is required"),
    (trigger(broker="Not A Name"), "spec.broker", "is not a DNS label"),
    (trigger(brokerRef={"apiVersion": "eventing.knative.dev/v1", "kind": "Broker", "name": "b"}), "spec.brokerRef", "either"),
    (trigger(filtre={}), "spec.filtre", "unknown member"),
    (trigger(delivery={"retry": -1}), "spec.delivery.retry", "no whole number"),
    (trigger(delivery={"deadLetterSink": KNATIVE_SERVICE}), "spec.delivery.deadLetterSink.ref", "can't be looked up"),
    (trigger(delivery="fast"), "spec.delivery", "has to be an object"),
    (broker(delivery={"backoffPolicy": "never"}), "spec.delivery.backoffPolicy", "not one of linear, exponential"),
    (broker(subscribers=[]), "spec.subscribers", "unknown member"),
    (channel(subscribers="x"), "spec.subscribers", "a list"),
    (channel(subscribers=[{"subscriberUri": "http://x/"}]), "spec.subscribers[0].uid", "is required"),
    (channel(subscribers=["x"]), "spec.subscribers[0]", "has to be an object"),
    (channel(subscribers=[{"uid": "a", "subscriberUri": "http://x/", "generation": -1}]), "spec.subscribers[0].generation", "not a whole number"),
    (channel(subscribers=[{"uid": "a", "subscriberUri": "http://x/", "auth": {}, "subscriberAudience": "y"}]), "spec.subscribers[0].subscriberAudience", "not supported"),
    (channel(subscribers=[{"uid": "a", "subscriberUri": "http://x/", "delivery": {"retry": "3"}}]), "spec.subscribers[0].delivery.retry", "no whole number"),
    (generic(subscribers=[{"uid": "a", "subscriberUri": "http://x/"}]), "spec.subscribers", "must not be set on the generic Channel"),
    (generic(channelTemplate={"apiVersion": "messaging.knative.dev/v1", "kind": "KafkaChannel"}), "spec.channelTemplate", "'KafkaChannel' can't back a Channel"),
    (generic(channelTemplate={"apiVersion": MESSAGING, "kind": "InMemoryChannel", "spec": {"partitions": 3}}), "spec.channelTemplate.spec.partitions", "unknown member"),
    (subscription(channel=None), "spec.channel", "is required"),
    (subscription(kind="Broker", api_version="eventing.knative.dev/v1"), "spec.channel", "refer to one of Channel"),
    (subscription(subscriber=None), "spec", "neither subscriber nor reply"),
    (subscription(reply={"uri": "mailto:x"}), "spec.reply.uri", "does not fit protocol HTTP"),
    (subscription(subscriber=ref_to("Channel", "c")), "spec.subscriber", "circulate for ever"),
    (subscription(subscriber=ref_to("HeadraceChannel", "c", "messaging.headrace.dev/v1")), "spec.subscriber", "circulate for ever"),
    (subscription(subscriber=None, reply=ref_to("Channel", "c")), "spec.reply", "circulate for ever"),
    (trigger(subscriber=ref_to("Broker", "default", "eventing.knative.dev/v1")), "spec.subscriber", "circulate for ever"),
]  # fmt: skip
ENVELOPES = [
    ("text", "", "a manifest has to be an object"),
    ({}, "kind", "is not accepted here"),
    ({"apiVersion": "v1", "kind": "Service"}, "kind", "there are HeadraceChannel"),
    ({**trigger(), "apiVersion": "eventing.knative.dev/v2"}, "kind", "in the versions v1 and v1beta1"),
    ({**trigger(), "data": {}}, "data", "unknown member"),
    ({**trigger(), "metadata": "x"}, "metadata", "has to be an object"),
    ({**trigger(), "metadata": {}}, "metadata.name", "is required"),
    ({**trigger(), "metadata": {"generateName": "x-"}}, "metadata.generateName", "give metadata.name"),
    (manifest("Broker", "eventing.knative.dev/v1", "a.b"), "metadata.name", "is not a DNS label"),
    (
        manifest("Broker", "eventing.knative.dev/v1", "a", namespace="A"),
        "metadata.namespace",
        "is not a DNS label",
    ),
    (
        manifest("Broker", "eventing.knative.dev/v1", "a", labels={"x": 1}),
        "metadata.labels",
        "strings to strings",
    ),
    (
        manifest("Broker", "eventing.knative.dev/v1", "a", resourceVersion=7),
        "metadata.resourceVersion",
        "a string",
    ),
    ({**trigger(), "spec": [1]}, "spec", "has to be an object"),
]


@pytest.mark.parametrize("document", GOOD, ids=lambda each: f"{each['kind']}-{sorted(each['spec'])}")
def test_what_is_good_is_admitted(document):
    admit(read_manifest(document))


@pytest.mark.parametrize(
    ("document", "path", "reason"), BAD, ids=[f"{path}-{reason}" for _, path, reason in BAD]
)
def test_what_is_bad_is_refused_with_path_and_reason(document, path, reason):
    with pytest.raises(InvalidManifest) as refused:
        admit(read_manifest(document))
    assert path in dict(refused.value.faults)
    assert reason in dict(refused.value.faults)[path]


@pytest.mark.parametrize(("document", "path", "reason"), ENVELOPES, ids=[path for _, path, _ in ENVELOPES])
def test_what_is_no_object_is_refused(document, path, reason):
    with pytest.raises(InvalidManifest) as refused:
        read_manifest(document)
    assert reason in dict(refused.value.faults)[path]


def test_all_faults_are_listed():
    document = trigger(filter={"expression": "("}, subscriber={}, delivery={"retry": -1}, more=1)
    with pytest.raises(InvalidManifest) as refused:
        admit(read_manifest(document))
    paths = [path for path, _ in refused.value.faults]
    assert paths == ["spec.more", "spec.filter.expression", "spec.subscriber", "spec.delivery.retry"]


@pytest.mark.parametrize(
    ("old", "new", "path"),
    [
        (trigger(broker="a"), trigger(broker="b"), "spec.broker"),
        (subscription(to="a"), subscription(to="b"), "spec.channel"),
        (
            generic(),
            generic(channelTemplate={"apiVersion": MESSAGING, "kind": "InMemoryChannel"}),
            "spec.channelTemplate",
        ),
    ],
)
def test_what_an_object_hangs_on_can_t_be_changed(old, new, path):
    admit(read_manifest(old), old["spec"])
    with pytest.raises(InvalidManifest, match="delete the object and apply it again") as refused:
        admit(read_manifest(new), old["spec"])
    assert refused.value.faults[0][0] == path


def test_what_is_passed_over_is_warned_of():
    [note] = admit(read_manifest(trigger(filter={"sourceAndType": {"type": "a"}})))
    assert "deprecated" in note
    both = trigger(filter={"attributes": {"type": "a"}}, filters=[{"exact": {"type": "b"}}])
    assert admit(read_manifest(both)) == ["spec.filter is ignored, because there is spec.filters"]
    other = broker(config={"kind": "ConfigMap"})
    other["metadata"]["annotations"] = {"eventing.knative.dev/broker.class": "MTChannelBasedBroker"}
    assert [each.split()[0] for each in admit(read_manifest(other))] == ["the", "spec.config"]
    assert admit(read_manifest(broker())) == []
