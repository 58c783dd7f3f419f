"""Dead letters and replies: a delivery goes on to its next stage, or is kept, whatever crashes in between."""

import asyncio
import base64
import json
from collections import Counter
from dataclasses import replace

import pytest
from tests.delivery.guards import LOOPBACK
from tests.delivery.harness import eventually, sample
from tests.delivery.raw_sink import RawSink, answer
from tests.delivery.replying import ReplyingSender

from headrace.delivery.attempt.outcome import Verdict
from headrace.delivery.attempt.stages import NO_RESPONSE
from headrace.delivery.protocols.http.sender import HttpSender
from headrace.events.bindings.http import encode_structured
from headrace.events.positions import LogPosition
from headrace.telemetry.metrics import REPLIES


class EndingSender(HttpSender):
    """Takes 410 for the end, whatever the protocol makes of it."""

    async def send(self, target, payloads):
        outcome = await super().send(target, payloads)
        return replace(outcome, verdict=Verdict.GONE) if outcome.status == 410 else outcome


def reply_to(harness, subscription, uri):
    harness.store.wish(subscription, config={"reply": {"uri": uri}})


async def test_what_is_given_up_goes_to_the_dead_letter_sink_with_the_reason(harness):
    event = sample(1, subject="é", datacontenttype="application/json")
    async with (
        RawSink(lambda _: answer(503, b"\x00busy" * 500)) as sink,
        RawSink() as messages,
        harness.delivering(retries=2),
    ):
        harness.send(
            [event], harness.subscribe(sink.url + "/a", {"dead_letter_sink": messages.url + "/dead"})
        )
        await eventually(lambda: messages.requests and harness.settled())
        assert len(sink.requests) == 3
    (message,) = messages.requests
    assert (message.method, message.target, message.body) == ("POST", "/dead", event.data)
    assert message["ce-knativeerrordest"] == sink.url + "/a"
    assert message["ce-knativeerrorcode"] == "503"
    told = base64.b64decode(message["ce-knativeerrordata"])
    assert told == (b"\x00busy" * 500)[: len(told)]
    assert 0 < len(told) <= 1024
    assert (message["ce-id"], message["ce-subject"]) == ("1", "%C3%A9")
    assert message["ce-knativebrokerttl"] == "254"
    assert harness.ledger.count() == (0, 0)
    assert [(row.stage, row.attempt, row.verdict) for row in harness.attempts()] == [
        ("sink", 1, "again"),
        ("sink", 2, "again"),
        ("sink", 3, "again"),
        ("dead-letter", 1, "done"),
    ]


async def test_where_nobody_answered_the_code_says_so(harness):
    async with RawSink() as messages, harness.delivering(retries=0):
        harness.send(
            [sample(1)], harness.subscribe("http://127.0.0.1:1/", {"dead_letter_sink": messages.url})
        )
        await eventually(lambda: messages.requests and harness.settled())
    (message,) = messages.requests
    assert (message["ce-knativeerrorcode"], message["ce-knativeerrordata"]) == (str(NO_RESPONSE), "")


async def test_a_dead_letter_sink_has_the_same_retries_and_then_the_event_is_kept(harness):
    event = sample(1, subject="x")
    async with (
        RawSink(lambda _: answer(400, b"bad")) as sink,
        RawSink(lambda _: answer(500, b"full")) as messages,
        harness.delivering(retries=2),
    ):
        harness.send([event], harness.subscribe(sink.url, {"dead_letter_sink": messages.url}))
        await eventually(lambda: harness.settled() and harness.ledger.count() == (0, 1))
        assert (len(sink.requests), len(messages.requests)) == (1, 3)
    (row,) = harness.dead()
    assert (row.stage, row.attempts, row.event) == ("sink", 1, encode_structured(event).body)
    assert row.reason == "status 400: bad; and the dead-letter sink: status 500: full"


@pytest.mark.parametrize("way", ["delivering", "crashing"])
async def test_dead_letters_survive_a_crash(harness, way):
    """They wait while the dead-letter sink is down; every one arrives in the end, with what it has to say."""
    down = asyncio.Event()
    down.set()
    async with (
        RawSink(lambda _: answer(422, b"no")) as sink,
        RawSink(lambda _: answer(503 if down.is_set() else 200)) as messages,
    ):
        harness.send(
            [sample(number) for number in range(50)],
            harness.subscribe(sink.url, {"dead_letter_sink": messages.url}),
        )
        async with getattr(harness, way)(retries=1000, backoff_max_seconds=0.1):
            await eventually(
                lambda: len(messages.requests) >= 60 and harness.ledger.cursor() == LogPosition.at(50)
            )
        down.clear()
        messages.requests.clear()
        async with harness.delivering(retries=1000):
            await eventually(harness.settled)
        assert len(sink.requests) == 50, "what became a dead letter isn't sent to the sink again"
        assert set(map(int, messages.ids)) == set(range(50))
        assert {request["ce-knativeerrorcode"] for request in messages.requests} == {"422"}


async def test_a_dead_sink_does_not_hold_up_its_dead_letters(harness):
    """The breaker of the sink is open for good; what was given up goes out all the same."""
    async with (
        RawSink(lambda _: answer(500)) as sink,
        RawSink() as messages,
        harness.delivering(retries=0, breaker_failures=5, breaker_seconds=0.02, breaker_max_seconds=0.02),
    ):
        harness.send(
            [sample(number) for number in range(20)],
            harness.subscribe(sink.url, {"dead_letter_sink": messages.url}),
        )
        await eventually(lambda: len(messages.requests) == 20 and harness.settled())


async def test_a_reply_is_delivered_to_the_reply_address(harness):
    async with RawSink() as sink, RawSink() as answers, harness.delivering(ReplyingSender(LOOPBACK)):
        subscription = harness.subscribe(sink.url + "/asks")
        reply_to(harness, subscription, answers.url + "/replies")
        harness.send([sample(1)], subscription)
        await eventually(lambda: answers.requests and harness.settled())
    (request,) = answers.requests
    assert (request.target, request["ce-id"], request.body) == ("/replies", "901", sample(901).data)
    assert [(row.stage, row.verdict) for row in harness.attempts()] == [("sink", "done"), ("reply", "done")]


async def test_without_a_reply_address_a_reply_is_discarded_and_counted(harness):
    counter = REPLIES.labels("discarded")
    before = counter._value.get()
    async with RawSink() as sink, harness.delivering(ReplyingSender(LOOPBACK)):
        harness.send([sample(1)], harness.subscribe(sink.url + "/asks"))
        await eventually(lambda: sink.requests and harness.settled())
    assert counter._value.get() == before + 1


@pytest.mark.parametrize(
    ("event", "reply"),
    [
        ({}, "254"),
        ({"knativebrokerttl": "7"}, "6"),
        ({"knativebrokerttl": 7}, "6"),
        ({"knativebrokerttl": "1"}, "0"),
        ({"knativebrokerttl": "1000"}, "254"),
        ({"knativebrokerttl": "9" * 5000}, "254"),
        ({"knativebrokerttl": "many"}, "254"),
        ({"knativebrokerttl": True}, "254"),
    ],
    ids=["none", "text", "number", "last", "above", "huge", "word", "boolean"],
)
async def test_a_reply_has_one_hop_less_than_the_event_that_was_answered(harness, event, reply):
    """Whatever the sink itself wrote there; the event goes out as it came."""
    sent = sample(1, **event)
    sender = ReplyingSender(LOOPBACK, knativebrokerttl="250")
    async with RawSink() as sink, RawSink() as answers, harness.delivering(sender):
        subscription = harness.subscribe(sink.url + "/asks", mode="structured")
        reply_to(harness, subscription, answers.url)
        harness.send([sent], subscription)
        await eventually(lambda: answers.requests and harness.settled())
    assert sink.requests[0].body == encode_structured(sent).body
    (request,) = answers.requests
    assert (request["ce-knativebrokerttl"], request["ce-subject"]) == (reply, "the%20answer")


@pytest.mark.parametrize("hops", ["0", "-1", 0])
async def test_a_reply_to_an_event_without_hops_left_is_discarded_and_counted(harness, hops):
    counter = REPLIES.labels("looped")
    before = counter._value.get()
    async with RawSink() as sink, RawSink() as answers, harness.delivering(ReplyingSender(LOOPBACK)):
        subscription = harness.subscribe(sink.url + "/asks")
        reply_to(harness, subscription, answers.url)
        harness.send([sample(1, knativebrokerttl=hops)], subscription)
        await eventually(lambda: sink.requests and harness.settled())
    assert not answers.requests
    assert counter._value.get() == before + 1
    assert harness.ledger.count() == (0, 0)


async def test_replies_that_go_round_come_to_an_end(harness):
    """The reply address publishes what it gets, so the sink is asked again."""

    def publish(request):
        event = sample(int(request["ce-id"]), knativebrokerttl=request["ce-knativebrokerttl"])
        harness.send([event], subscription)
        return answer(202)

    async with (
        RawSink() as sink,
        RawSink(publish) as channel,
        harness.delivering(ReplyingSender(LOOPBACK)),
    ):
        subscription = harness.subscribe(sink.url + "/asks")
        reply_to(harness, subscription, channel.url)
        harness.send([sample(1, knativebrokerttl="3")], subscription)
        await eventually(lambda: len(sink.requests) == 4 and harness.settled())
    assert [request["ce-knativebrokerttl"] for request in sink.requests] == ["3", "2", "1", "0"]
    assert len(channel.requests) == 3


async def test_dead_letters_that_go_round_come_to_an_end(harness):
    """The dead-letter sink publishes what it gets, as a broker does that is its own trigger's dead-letter sink."""

    def publish(request):
        event = sample(int(request["ce-id"]), knativebrokerttl=request["ce-knativebrokerttl"])
        harness.send([event], subscription)
        return answer(202)

    async with (
        RawSink(lambda _: answer(422)) as sink,
        RawSink(publish) as channel,
        harness.delivering(retries=0),
    ):
        subscription = harness.subscribe(sink.url, {"dead_letter_sink": channel.url})
        harness.send([sample(1, knativebrokerttl="2")], subscription)
        await eventually(lambda: len(sink.requests) == 3 and harness.settled())
    assert [request["ce-knativebrokerttl"] for request in sink.requests] == ["2", "1", "0"]
    assert len(channel.requests) == 2
    [dead] = harness.dead()
    assert "status 422" in dead.reason
    assert "too many replies and dead letters" in dead.reason


async def test_a_reply_that_fails_is_tried_again_and_becomes_a_dead_letter(harness):
    async with (
        RawSink() as sink,
        RawSink(lambda _: answer(502)) as answers,
        RawSink() as messages,
        harness.delivering(ReplyingSender(LOOPBACK), retries=2),
    ):
        subscription = harness.subscribe(sink.url + "/asks", {"dead_letter_sink": messages.url})
        reply_to(harness, subscription, answers.url + "/replies")
        harness.send([sample(1)], subscription)
        await eventually(lambda: messages.requests and harness.settled())
        assert (len(sink.requests), len(answers.requests)) == (1, 3)
    (message,) = messages.requests
    assert (message["ce-id"], message["ce-knativeerrordest"]) == ("901", answers.url + "/replies")
    assert message["ce-knativeerrorcode"] == "502"


async def test_a_reply_that_is_given_up_without_a_dead_letter_sink_is_kept_as_a_reply(harness):
    async with RawSink() as sink, harness.delivering(ReplyingSender(LOOPBACK), retries=0):
        subscription = harness.subscribe(sink.url + "/asks")
        reply_to(harness, subscription, "http://127.0.0.1:1/")
        harness.send([sample(1)], subscription)
        await eventually(lambda: harness.settled() and harness.ledger.count() == (0, 1))
    (row,) = harness.dead()
    assert row.stage == "reply"
    assert json.loads(row.event)["id"] == "901"


async def test_replies_survive_a_crash(harness):
    down = asyncio.Event()
    down.set()
    async with (
        RawSink() as sink,
        RawSink(lambda _: answer(503 if down.is_set() else 200)) as answers,
    ):
        subscription = harness.subscribe(sink.url + "/asks")
        reply_to(harness, subscription, answers.url)
        harness.send([sample(number) for number in range(20)], subscription)
        async with harness.crashing(ReplyingSender(LOOPBACK), retries=1000, backoff_max_seconds=0.1):
            await eventually(
                lambda: harness.ledger.count() == (20, 0) and harness.ledger.cursor() == LogPosition.at(20)
            )
        down.clear()
        reply_to(harness, subscription, answers.url + "/after-the-crash")
        async with harness.delivering(ReplyingSender(LOOPBACK), retries=1000):
            await eventually(harness.settled)
        assert len(sink.requests) == 20, "what was answered isn't sent again"
        delivered = [request["ce-id"] for request in answers.requests if request.target == "/after-the-crash"]
        assert sorted(map(int, delivered)) == list(range(900, 920))


async def test_410_ends_the_subscription_until_it_changes(harness):
    status = Counter({"now": 410})
    async with (
        RawSink(lambda _: answer(status["now"])) as sink,
        RawSink() as messages,
        harness.delivering(EndingSender(LOOPBACK)),
    ):
        subscription = harness.subscribe(sink.url, {"dead_letter_sink": messages.url, "concurrency": 1})
        harness.send([sample(number) for number in range(10)], subscription)
        await eventually(harness.settled)
        assert sink.ids == ["0"]
        assert messages.ids == ["0"], "the one that was refused is a dead letter, the others are dropped"
        assert harness.gone == [(subscription, "status 410")]
        harness.send([sample(10)], subscription)
        await eventually(harness.settled)
        assert sink.ids == ["0"]
        status["now"] = 200
        harness.store.wish(subscription)
        await asyncio.sleep(0.7)
        harness.send([sample(11)], subscription)
        await eventually(lambda: sink.ids == ["0", "11"] and harness.settled())


async def test_what_the_store_says_has_ended_gets_nothing(harness, sink):
    async with harness.delivering():
        subscription = harness.subscribe(sink.url)
        harness.store.wish(subscription, ended="status 410")
        harness.send([sample(1)], subscription)
        await eventually(harness.settled)
    assert not sink.requests
