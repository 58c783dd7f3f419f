"""Objects become channels and subscriptions, on both databases."""

import pytest
from tests.controlplane.manifests import (
    EVENTING,
    MESSAGING,
    OWN,
    broker,
    channel,
    generic,
    manifest,
    ref_to,
    subscription,
    trigger,
)
from tests.subscriptions.stores import listed

from headrace.controlplane.kinds import (
    BROKER,
    CHANNEL,
    HEADRACE_CHANNEL,
    IN_MEMORY_CHANNEL,
    SUBSCRIPTION,
    TRIGGER,
)
from headrace.controlplane.objects import ObjectKey
from headrace.errors import Conflict, InvalidManifest, NotFound
from headrace.events.positions import LogPosition
from headrace.subscriptions.channels.name import ChannelName

URL = "http://headrace.example/channels/default/"


def key(kind, name):
    return ObjectKey(kind, "default", name)


def conditions(document):
    return {each["type"]: each for each in document["status"]["conditions"]}


def ready(document):
    return conditions(document)["Ready"]["status"]


def test_a_broker_and_a_trigger(plant):
    plant.end = 7
    dead = {"uri": "http://dead.example/"}
    made = plant.apply(
        trigger(filter={"attributes": {"type": "a"}}, delivery={"retry": 2}),
        broker(delivery={"retry": 5, "deadLetterSink": dead}),
    )
    assert [each.outcome for each in made] == ["created", "created"]
    assert [ready(each.document) for each in made] == ["True", "True"]
    assert made[1].document["status"]["address"] == {"url": URL + "default"}
    assert made[1].document["status"]["addressable"] == "True"
    assert made[0].document["status"]["subscriberUri"] == "http://sink.example/in"
    assert plant.store.channel_deliveries() == {
        ChannelName("default", "default"): {"retry": 5, "deadLetterSink": dead}
    }
    [subscribed] = listed(plant.store)
    assert subscribed.created == LogPosition.at(7)
    assert subscribed.filters == ({"attributes": {"type": "a"}},)
    assert subscribed.delivery == {"retry": 2}
    assert subscribed.reply == URL + "default"  # what a trigger's subscriber answers goes back to the broker


def test_applying_twice_changes_nothing(plant):
    objects = [
        broker(),
        trigger(),
        generic(),
        subscription(),
        channel("own", subscribers=[{"uid": "u", "subscriberUri": "http://x/"}]),
    ]
    plant.apply(*objects)
    before = [plant.store.revision(), *plant.registry.find()]
    assert plant.outcomes(*objects) == ["unchanged"] * 5
    assert [plant.store.revision(), *plant.registry.find()] == before


def test_what_was_got_can_be_applied(plant):
    plant.apply(broker(), trigger(), generic(), subscription())
    for kind in (BROKER, TRIGGER, CHANNEL, HEADRACE_CHANNEL, SUBSCRIPTION):
        [shown] = plant.plane.list(kind)
        outcome = plant.outcomes(shown)
        [again] = plant.plane.list(kind)
        assert again["spec"] == shown["spec"]
        assert outcome == ["unchanged"] or kind == HEADRACE_CHANNEL
    assert len(listed(plant.store)) == 2


def test_a_changed_trigger_keeps_its_subscription_and_where_it_began(plant):
    plant.end = 3
    plant.apply(broker(), trigger(filter={"attributes": {"type": "old"}}))
    [old] = listed(plant.store)
    plant.end = 9
    [changed] = plant.apply(
        trigger(filters=[{"exact": {"type": "new"}}], subscriber={"uri": "http://other.example/"})
    )
    [new] = listed(plant.store)
    assert (new.id, new.created) == (old.id, LogPosition.at(3))
    assert (new.filters, new.sink) == (({"exact": {"type": "new"}},), "http://other.example/")
    assert changed.outcome == "configured"
    assert changed.document["metadata"]["generation"] == changed.document["status"]["observedGeneration"] == 2


def test_labels_alone_are_no_new_generation(plant):
    plant.apply(broker())
    labelled = broker()
    labelled["metadata"]["labels"] = {"team": "a"}
    [changed] = plant.apply(labelled)
    assert (changed.outcome, changed.document["metadata"]["generation"]) == ("configured", 1)
    assert changed.document["metadata"]["labels"] == {"team": "a"}


def test_a_trigger_waits_for_its_broker_and_loses_it(plant):
    [waiting] = plant.apply(trigger(broker="late"))
    assert ready(waiting.document) == "False"
    assert conditions(waiting.document)["BrokerReady"]["reason"] == "BrokerDoesNotExist"
    assert conditions(waiting.document)["Ready"]["message"] == "Broker default/late does not exist"
    assert listed(plant.store) == []
    plant.apply(broker("late"))
    assert ready(plant.plane.get(key(TRIGGER, "t"))) == "True"
    plant.plane.delete(key(BROKER, "late"))
    assert ready(plant.plane.get(key(TRIGGER, "t"))) == "False"
    assert listed(plant.store) == []
    assert ChannelName("default", "late") not in plant.store.channels()


def test_the_time_of_a_condition_is_when_its_status_changed(plant):
    [made] = plant.apply(trigger(broker="late"))
    first = conditions(made.document)["Ready"]["lastTransitionTime"]
    assert conditions(plant.plane.get(key(TRIGGER, "t")))["Ready"]["lastTransitionTime"] == first
    plant.apply(broker("late"))
    changed = conditions(plant.plane.get(key(TRIGGER, "t")))
    assert changed["Ready"]["lastTransitionTime"] > first
    assert (
        changed["SubscriberResolved"]["lastTransitionTime"]
        == conditions(made.document)["SubscriberResolved"]["lastTransitionTime"]
    )


def test_a_subscription_appends_itself_to_the_channel_behind_the_generic_one(plant):
    _, made = plant.apply(generic(delivery={"retry": 4}), subscription(reply={"uri": "http://r/"}))
    shown = plant.plane.get(key(CHANNEL, "c"))
    assert "subscribers" not in shown["spec"]
    assert shown["status"]["channel"] == {
        "apiVersion": OWN,
        "kind": "HeadraceChannel",
        "name": "c",
        "namespace": "default",
    }
    assert shown["status"]["address"] == {"url": URL + "c"}
    backing = plant.plane.get(key(HEADRACE_CHANNEL, "c"))
    uid = made.document["metadata"]["uid"]
    expected = {
        "uid": uid,
        "name": "s",
        "generation": 1,
        "subscriberUri": "http://sink.example/in",
        "replyUri": "http://r/",
    }
    assert backing["spec"] == {"delivery": {"retry": 4}, "subscribers": [expected]}
    assert backing["status"]["subscribers"] == [{"uid": uid, "observedGeneration": 1, "ready": "True"}]
    assert shown["status"]["subscribers"] == backing["status"]["subscribers"]
    assert shown["metadata"]["annotations"] == {"messaging.knative.dev/subscribable": "v1"}
    assert backing["metadata"]["ownerReferences"][0]["uid"] == shown["metadata"]["uid"]
    assert backing["metadata"]["generation"] == backing["status"]["observedGeneration"] == 2
    assert made.document["status"]["physicalSubscription"] == {
        "subscriberUri": "http://sink.example/in",
        "replyUri": "http://r/",
    }
    [subscribed] = listed(plant.store)
    assert (subscribed.sink, subscribed.reply, subscribed.delivery) == (
        "http://sink.example/in",
        "http://r/",
        None,
    )
    plant.plane.delete(key(SUBSCRIPTION, "s"))
    backing = plant.plane.get(key(HEADRACE_CHANNEL, "c"))
    assert backing["spec"] == {"delivery": {"retry": 4}}
    assert (backing["status"]["subscribers"], backing["metadata"]["generation"]) == ([], 3)
    assert listed(plant.store) == []


def test_a_generic_channel_stands_on_the_kind_of_its_template_and_takes_it_along(plant):
    plant.apply(
        generic(
            channelTemplate={
                "apiVersion": MESSAGING,
                "kind": "InMemoryChannel",
                "spec": {"delivery": {"retry": 1}},
            }
        ),
        subscription(),
    )
    assert plant.plane.get(key(IN_MEMORY_CHANNEL, "c"))["spec"]["delivery"] == {"retry": 1}
    with pytest.raises(Conflict, match="delete that one"):
        plant.plane.delete(key(IN_MEMORY_CHANNEL, "c"))
    plant.plane.delete(key(CHANNEL, "c"))
    assert plant.plane.list(IN_MEMORY_CHANNEL) == []
    assert ChannelName("default", "c") not in plant.store.channels()
    assert ready(plant.plane.get(key(SUBSCRIPTION, "s"))) == "False"


@pytest.mark.parametrize("version", ["v1", "v1beta1"])
@pytest.mark.parametrize(
    ("kind", "group"),
    [("HeadraceChannel", "messaging.headrace.dev"), ("InMemoryChannel", "messaging.knative.dev")],
)
def test_a_channel_with_subscribers_of_its_own_in_both_versions(plant, kind, group, version):
    first = {"uid": "u1", "generation": 4, "subscriberUri": "http://one/", "delivery": {"retry": 9}}
    second = {"uid": "u2", "generation": 1, "replyUri": "http://two/"}
    [made] = plant.apply(channel("c", kind, f"{group}/{version}", subscribers=[first, second]))
    shown = made.document
    assert shown["apiVersion"] == f"{group}/{version}"
    assert shown["metadata"]["annotations"] == {"messaging.knative.dev/subscribable": version}
    assert shown["spec"]["subscribers"] == [first, second]
    assert shown["status"]["subscribers"] == [
        {"uid": "u1", "observedGeneration": 4, "ready": "True"},
        {"uid": "u2", "observedGeneration": 1, "ready": "True"},
    ]
    assert {each.sink: each.delivery for each in listed(plant.store)} == {
        "http://one/": {"retry": 9},
        "http://two/": None,
    }
    plant.apply(channel("c", kind, f"{group}/{version}", subscribers=[second]))
    assert [each.sink for each in listed(plant.store)] == ["http://two/"]


def test_a_subscription_s_delivery_replaces_the_channel_s_whole(plant):
    plant.apply(
        channel(delivery={"retry": 4}),
        subscription("own", kind="HeadraceChannel", api_version=OWN, delivery={"timeout": "PT5S"}),
    )
    [subscribed] = listed(plant.store)
    assert subscribed.delivery == {"timeout": "PT5S"}
    assert plant.store.channel_deliveries() == {ChannelName("default", "c"): {"retry": 4}}


def test_references_become_addresses(plant):
    plant.apply(
        channel("dead"),
        broker("b"),
        trigger(broker="b", subscriber=ref_to("HeadraceChannel", "dead", OWN) | {"uri": "/more"}, delivery={"deadLetterSink": ref_to("HeadraceChannel", "dead", OWN)}),
        generic(),
        subscription(reply=ref_to("Broker", "b", EVENTING)),
    )  # fmt: skip
    by_sink = {each.sink: each for each in listed(plant.store)}
    assert by_sink[URL + "dead/more"].delivery == {"deadLetterSink": {"uri": URL + "dead"}}
    assert by_sink["http://sink.example/in"].reply == URL + "b"
    assert plant.plane.get(key(TRIGGER, "t"))["status"]["deadLetterSinkUri"] == URL + "dead"


def test_what_refers_to_an_object_that_is_not_there_is_not_ready_until_it_is(plant):
    sink = {"deadLetterSink": ref_to("Channel", "dead")}
    plant.apply(
        broker("b", delivery={"retry": 1, **sink}), trigger(broker="b", subscriber=ref_to("Channel", "dead"))
    )
    shown = plant.plane.get(key(BROKER, "b"))
    assert conditions(shown)["Addressable"]["status"] == "True"
    assert conditions(shown)["DeadLetterSinkResolved"]["message"] == "Channel default/dead does not exist"
    assert plant.store.channel_deliveries() == {ChannelName("default", "b"): {"retry": 1}}
    assert listed(plant.store) == []
    plant.apply(generic("dead"))
    assert ready(plant.plane.get(key(BROKER, "b"))) == ready(plant.plane.get(key(TRIGGER, "t"))) == "True"
    assert plant.store.channel_deliveries()[ChannelName("default", "b")]["deadLetterSink"] == {
        "uri": URL + "dead"
    }
    assert [each.sink for each in listed(plant.store)] == [URL + "dead"]


def test_nothing_is_changed_when_one_manifest_is_refused(plant):
    with pytest.raises(InvalidManifest) as refused:
        plant.apply(broker("b"), trigger(filter={"expression": "("}), "nonsense", {"kind": "Pod"})
    paths = [path for path, _ in refused.value.faults]
    assert paths == ["Trigger default/t spec.filter.expression", "document 3", "document 4 kind"]
    assert plant.registry.find() == []
    assert plant.store.channels() == [ChannelName("default", "default")]


def test_a_dry_run_says_what_would_be(plant):
    plant.apply(broker("b"))
    assert plant.outcomes(broker("b"), broker("b2"), trigger(), dry_run=True) == [
        "unchanged",
        "created",
        "created",
    ]
    assert plant.outcomes(broker("b", delivery={"retry": 1}), dry_run=True) == ["configured"]
    assert len(plant.registry.find()) == 1


def test_two_objects_can_t_be_one_channel(plant):
    plant.apply(broker("b"))
    for other in (channel("b"), generic("b"), channel("b", "InMemoryChannel", MESSAGING)):
        with pytest.raises(InvalidManifest, match="belongs to Broker default/b already"):
            plant.apply(other)
    with pytest.raises(InvalidManifest, match="belongs to HeadraceChannel default/x already"):
        plant.apply(channel("x"), broker("x"))
    with pytest.raises(InvalidManifest, match="is given twice"):
        plant.apply(trigger(), trigger())
    plant.apply(generic("c"))
    with pytest.raises(InvalidManifest, match="already"):
        plant.apply(broker("c"))
    assert plant.outcomes(generic("c"), trigger("c")) == ["unchanged", "created"]


def test_a_channel_that_was_there_before_stays_when_the_object_goes(plant):
    before = ChannelName("default", "before")
    plant.store.create_channel(before)
    plant.apply(broker("before"), broker("after"), broker("default"))
    for name in ("before", "after", "default"):
        plant.plane.delete(key(BROKER, name))
    assert plant.store.channels() == [before, ChannelName("default", "default")]


def test_a_change_at_another_resource_version_is_a_conflict(plant):
    [made] = plant.apply(broker("b"))
    shown = made.document
    plant.apply(broker("b", delivery={"retry": 1}))
    with pytest.raises(Conflict, match="get it again"):
        plant.apply(shown | {"spec": {"delivery": {"retry": 2}}})
    with pytest.raises(Conflict, match="it does not exist"):
        plant.apply(manifest("Broker", EVENTING, "c", {}, resourceVersion="headrace-1"))
    now = plant.plane.get(key(BROKER, "b"))
    assert plant.outcomes(now | {"spec": {"delivery": {"retry": 2}}}) == ["configured"]


def test_what_a_cluster_wrote_into_its_objects_is_passed_over(plant):
    """So that `kubectl get -o yaml | headrace apply -f -` works, and works again."""
    written = {
        "uid": "11111111-2222-3333-4444-555555555555",
        "resourceVersion": "848484",
        "generation": 7,
        "creationTimestamp": "2026-01-01T00:00:00Z",
        "finalizers": ["brokers.eventing.knative.dev"],
        "ownerReferences": [{"kind": "Thing", "name": "x"}],
        "managedFields": [{"manager": "kubectl"}],
    }
    of_cluster = manifest("Broker", EVENTING, "b", {}, **written) | {
        "status": {"address": {"url": "http://k/"}}
    }
    [made] = plant.apply(of_cluster)
    assert (made.outcome, made.document["metadata"]["generation"]) == ("created", 1)
    assert made.document["metadata"]["uid"] != written["uid"]
    assert made.document["status"]["address"] == {"url": URL + "b"}
    assert plant.outcomes(of_cluster) == ["unchanged"]


def test_namespaces_are_apart(plant):
    for namespace in ("a", "b"):
        plant.apply(broker("x"), trigger(broker="x"), namespace=namespace)
    assert [str(each.channel) for each in listed(plant.store)] == ["a/x", "b/x"]
    assert [each["metadata"]["namespace"] for each in plant.plane.list(TRIGGER)] == ["a", "b"]
    assert len(plant.plane.list(TRIGGER, {"a"})) == 1


def test_status_tells_what_happened_to_the_subscription(plant):
    plant.apply(channel(subscribers=[{"uid": "u", "subscriberUri": "http://x/"}]))
    [subscribed] = listed(plant.store)

    def status():
        [found] = plant.plane.get(key(HEADRACE_CHANNEL, "c"))["status"]["subscribers"]
        return found["ready"], found.get("message")

    assert status() == ("True", None)
    plant.store.pause(subscribed.id)
    assert status() == ("False", "it is paused; its events wait")
    plant.store.resume(subscribed.id)
    plant.store.end(subscribed.id, "the sink answered 410")
    assert status() == ("False", "its deliveries ended: the sink answered 410")
    plant.store.delete(subscribed.id, lambda: LogPosition.at(9))
    assert status()[0] == "False"
    plant.apply(channel(subscribers=[{"uid": "u", "subscriberUri": "http://x/"}]))
    assert status() == ("True", None)


def test_a_channel_deleted_by_hand_is_told_of_and_made_anew(plant):
    plant.apply(broker("b"))
    plant.store.delete_channel(ChannelName("default", "b"))
    shown = plant.plane.get(key(BROKER, "b"))
    assert conditions(shown)["Addressable"]["reason"] == "ChannelMissing"
    assert "address" not in shown["status"]
    plant.apply(broker("b"))
    assert ready(plant.plane.get(key(BROKER, "b"))) == "True"


def test_what_a_dead_process_left_is_finished(plant, monkeypatch):
    def dies(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(plant.store, "create", dies)
    with pytest.raises(KeyboardInterrupt):
        plant.apply(broker("b"), trigger(broker="b"))
    monkeypatch.undo()
    assert listed(plant.store) == []
    assert plant.plane.repair() == 1
    assert len(listed(plant.store)) == 1
    assert ready(plant.plane.get(key(TRIGGER, "t"))) == "True"
    assert plant.plane.repair() == 0


def test_what_is_not_there_can_t_be_shown_or_deleted(plant):
    with pytest.raises(NotFound, match="there is no Trigger 'default/t'"):
        plant.plane.get(key(TRIGGER, "t"))
    with pytest.raises(NotFound):
        plant.plane.delete(key(TRIGGER, "t"))
