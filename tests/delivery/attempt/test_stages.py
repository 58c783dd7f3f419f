"""Dead letters and replies: a delivery goes on to its next stage, or is kept, whatever crashes in between."""

import asyncio
import base64
import json
from collections import Counter
from dataclasses import replace

import pytest
from tests.delivery.guards import LOOPBACK
from tests.delivery.office import eventually, sample
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

    async def send(self, target, parcels):
        outcome = await super().send(target, parcels)
        return replace(outcome, verdict=Verdict.GONE) if outcome.status == 410 else outcome


def reply_to(office, subscription, uri):
    office.store.wish(subscription, config={"reply": {"uri": uri}})


async def test_what_is_given_up_goes_to_the_dead_letter_sink_with_the_reason(office):
    event = sample(1, subject="é", datacontenttype="application/json")
    async with (
        RawSink(lambda _: answer(503, b"\x00busy" * 500)) as sink,
        RawSink() as letters,
        office.delivering(retries=2),
    ):
        office.send([event], office.subscribe(sink.url + "/a", {"dead_letter_sink": letters.url + "/dead"}))
        await eventually(lambda: letters.requests and office.settled())
        assert len(sink.requests) == 3
    (letter,) = letters.requests
    assert (letter.method, letter.target, letter.body) == ("POST", "/dead", event.data)
    assert letter["ce-knativeerrordest"] == sink.url + "/a"
    assert letter["ce-knativeerrorcode"] == "503"
    told = base64.b64decode(letter["ce-knativeerrordata"])
    assert told == (b"\x00busy" * 500)[: len(told)]
    assert 0 < len(told) <= 1024
    assert (letter["ce-id"], letter["ce-subject"]) == ("1", "%C3%A9")
    assert letter["ce-knativebrokerttl"] == "254"
    assert office.ledger.count() == (0, 0)
    assert [(row.stage, row.attempt, row.verdict) for row in office.attempts()] == [
        ("sink", 1, "again"),
        ("sink", 2, "again"),
        ("sink", 3, "again"),
        ("dead-letter", 1, "done"),
    ]


async def test_where_nobody_answered_the_code_says_so(office):
    async with RawSink() as letters, office.delivering(retries=0):
        office.send([sample(1)], office.subscribe("http://127.0.0.1:1/", {"dead_letter_sink": letters.url}))
        await eventually(lambda: letters.requests and office.settled())
    (letter,) = letters.requests
    assert (letter["ce-knativeerrorcode"], letter["ce-knativeerrordata"]) == (str(NO_RESPONSE), "")


async def test_a_dead_letter_sink_has_the_same_retries_and_then_the_event_is_kept(office):
    event = sample(1, subject="x")
    async with (
        RawSink(lambda _: answer(400, b"bad")) as sink,
        RawSink(lambda _: answer(500, b"full")) as letters,
        office.delivering(retries=2),
    ):
        office.send([event], office.subscribe(sink.url, {"dead_letter_sink": letters.url}))
        await eventually(lambda: office.settled() and office.ledger.count() == (0, 1))
        assert (len(sink.requests), len(letters.requests)) == (1, 3)
    (row,) = office.dead()
    assert (row.stage, row.attempts, row.event) == ("sink", 1, encode_structured(event).body)
    assert row.reason == "status 400: bad; and the dead-letter sink: status 500: full"


@pytest.mark.parametrize("way", ["delivering", "crashing"])
async def test_dead_letters_survive_a_crash(office, way):
    """They wait while the dead-letter sink is down; every one arrives in the end, with what it has to say."""
    down = asyncio.Event()
    down.set()
    async with (
        RawSink(lambda _: answer(422, b"no")) as sink,
        RawSink(lambda _: answer(503 if down.is_set() else 200)) as letters,
    ):
        office.send(
            [sample(number) for number in range(50)],
            office.subscribe(sink.url, {"dead_letter_sink": letters.url}),
        )
        async with getattr(office, way)(retries=1000, backoff_max_seconds=0.1):
            await eventually(
                lambda: len(letters.requests) >= 60 and office.ledger.cursor() == LogPosition.at(50)
            )
        down.clear()
        letters.requests.clear()
        async with office.delivering(retries=1000):
            await eventually(office.settled)
        assert len(sink.requests) == 50, "what became a dead letter isn't sent to the sink again"
        assert set(map(int, letters.ids)) == set(range(50))
        assert {request["ce-knativeerrorcode"] for request in letters.requests} == {"422"}


async def test_a_dead_sink_does_not_hold_up_its_dead_letters(office):
    """The breaker of the sink is open for good; what was given up goes out all the same."""
    async with (
        RawSink(lambda _: answer(500)) as sink,
        RawSink() as letters,
        office.delivering(retries=0, breaker_failures=5, breaker_seconds=0.02, breaker_max_seconds=0.02),
    ):
        office.send(
            [sample(number) for number in range(20)],
            office.subscribe(sink.url, {"dead_letter_sink": letters.url}),
        )
        await eventually(lambda: len(letters.requests) == 20 and office.settled())


async def test_a_reply_is_delivered_to_the_reply_address(office):
    async with RawSink() as sink, RawSink() as answers, office.delivering(ReplyingSender(LOOPBACK)):
        subscription = office.subscribe(sink.url + "/asks")
        reply_to(office, subscription, answers.url + "/replies")
        office.send([sample(1)], subscription)
        await eventually(lambda: answers.requests and office.settled())
    (request,) = answers.requests
    assert (request.target, request["ce-id"], request.body) == ("/replies", "901", sample(901).data)
    assert [(row.stage, row.verdict) for row in office.attempts()] == [("sink", "done"), ("reply", "done")]


async def test_without_a_reply_address_a_reply_is_discarded_and_counted(office):
    counter = REPLIES.labels("discarded")
    before = counter._value.get()
    async with RawSink() as sink, office.delivering(ReplyingSender(LOOPBACK)):
        office.send([sample(1)], office.subscribe(sink.url + "/asks"))
        await eventually(lambda: sink.requests and office.settled())
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
async def test_a_reply_has_one_hop_less_than_the_event_that_was_answered(office, event, reply):
    """Whatever the sink itself wrote there; the event goes out as it came."""
    sent = sample(1, **event)
    sender = ReplyingSender(LOOPBACK, knativebrokerttl="250")
    async with RawSink() as sink, RawSink() as answers, office.delivering(sender):
        subscription = office.subscribe(sink.url + "/asks", mode="structured")
        reply_to(office, subscription, answers.url)
        office.send([sent], subscription)
        await eventually(lambda: answers.requests and office.settled())
    assert sink.requests[0].body == encode_structured(sent).body
    (request,) = answers.requests
    assert (request["ce-knativebrokerttl"], request["ce-subject"]) == (reply, "the%20answer")


@pytest.mark.parametrize("hops", ["0", "-1", 0])
async def test_a_reply_to_an_event_without_hops_left_is_discarded_and_counted(office, hops):
    counter = REPLIES.labels("looped")
    before = counter._value.get()
    async with RawSink() as sink, RawSink() as answers, office.delivering(ReplyingSender(LOOPBACK)):
        subscription = office.subscribe(sink.url + "/asks")
        reply_to(office, subscription, answers.url)
        office.send([sample(1, knativebrokerttl=hops)], subscription)
        await eventually(lambda: sink.requests and office.settled())
    assert not answers.requests
    assert counter._value.get() == before + 1
    assert office.ledger.count() == (0, 0)


async def test_replies_that_go_round_come_to_an_end(office):
    """The reply address publishes what it gets, so the sink is asked again."""

    def publish(request):
        event = sample(int(request["ce-id"]), knativebrokerttl=request["ce-knativebrokerttl"])
        office.send([event], subscription)
        return answer(202)

    async with (
        RawSink() as sink,
        RawSink(publish) as channel,
        office.delivering(ReplyingSender(LOOPBACK)),
    ):
        subscription = office.subscribe(sink.url + "/asks")
        reply_to(office, subscription, channel.url)
        office.send([sample(1, knativebrokerttl="3")], subscription)
        await eventually(lambda: len(sink.requests) == 4 and office.settled())
    assert [request["ce-knativebrokerttl"] for request in sink.requests] == ["3", "2", "1", "0"]
    assert len(channel.requests) == 3


async def test_dead_letters_that_go_round_come_to_an_end(office):
    """The dead-letter sink publishes what it gets, as a broker does that is its own trigger's dead-letter sink."""

    def publish(request):
        event = sample(int(request["ce-id"]), knativebrokerttl=request["ce-knativebrokerttl"])
        office.send([event], subscription)
        return answer(202)

    async with (
        RawSink(lambda _: answer(422)) as sink,
        RawSink(publish) as channel,
        office.delivering(retries=0),
    ):
        subscription = office.subscribe(sink.url, {"dead_letter_sink": channel.url})
        office.send([sample(1, knativebrokerttl="2")], subscription)
        await eventually(lambda: len(sink.requests) == 3 and office.settled())
    assert [request["ce-knativebrokerttl"] for request in sink.requests] == ["2", "1", "0"]
    assert len(channel.requests) == 2
    [dead] = office.dead()
    assert "status 422" in dead.reason
    assert "too many replies and dead letters" in dead.reason


async def test_a_reply_that_fails_is_tried_again_and_becomes_a_dead_letter(office):
    async with (
        RawSink() as sink,
        RawSink(lambda _: answer(502)) as answers,
        RawSink() as letters,
        office.delivering(ReplyingSender(LOOPBACK), retries=2),
    ):
        subscription = office.subscribe(sink.url + "/asks", {"dead_letter_sink": letters.url})
        reply_to(office, subscription, answers.url + "/replies")
        office.send([sample(1)], subscription)
        await eventually(lambda: letters.requests and office.settled())
        assert (len(sink.requests), len(answers.requests)) == (1, 3)
    (letter,) = letters.requests
    assert (letter["ce-id"], letter["ce-knativeerrordest"]) == ("901", answers.url + "/replies")
    assert letter["ce-knativeerrorcode"] == "502"


async def test_a_reply_that_is_given_up_without_a_dead_letter_sink_is_kept_as_a_reply(office):
    async with RawSink() as sink, office.delivering(ReplyingSender(LOOPBACK), retries=0):
        subscription = office.subscribe(sink.url + "/asks")
        reply_to(office, subscription, "http://127.0.0.1:1/")
        office.send([sample(1)], subscription)
        await eventually(lambda: office.settled() and office.ledger.count() == (0, 1))
    (row,) = office.dead()
    assert row.stage == "reply"
    assert json.loads(row.event)["id"] == "901"


async def test_replies_survive_a_crash(office):
    down = asyncio.Event()
    down.set()
    async with (
        RawSink() as sink,
        RawSink(lambda _: answer(503 if down.is_set() else 200)) as answers,
    ):
        subscription = office.subscribe(sink.url + "/asks")
        reply_to(office, subscription, answers.url)
        office.send([sample(number) for number in range(20)], subscription)
        async with office.crashing(ReplyingSender(LOOPBACK), retries=1000, backoff_max_seconds=0.1):
            await eventually(
                lambda: office.ledger.count() == (20, 0) and office.ledger.cursor() == LogPosition.at(20)
            )
        down.clear()
        answers.requests.clear()
        reply_to(office, subscription, answers.url)
        async with office.delivering(ReplyingSender(LOOPBACK), retries=1000):
            await eventually(office.settled)
        assert len(sink.requests) == 20, "what was answered isn't sent again"
        assert len(answers.requests) == 20


async def test_410_ends_the_subscription_until_it_changes(office):
    status = Counter({"now": 410})
    async with (
        RawSink(lambda _: answer(status["now"])) as sink,
        RawSink() as letters,
        office.delivering(EndingSender(LOOPBACK)),
    ):
        subscription = office.subscribe(sink.url, {"dead_letter_sink": letters.url, "concurrency": 1})
        office.send([sample(number) for number in range(10)], subscription)
        await eventually(office.settled)
        assert sink.ids == ["0"]
        assert letters.ids == ["0"], "the one that was refused is a dead letter, the others are dropped"
        assert office.gone == [(subscription, "status 410")]
        office.send([sample(10)], subscription)
        await eventually(office.settled)
        assert sink.ids == ["0"]
        status["now"] = 200
        office.store.wish(subscription)
        await asyncio.sleep(0.7)
        office.send([sample(11)], subscription)
        await eventually(lambda: sink.ids == ["0", "11"] and office.settled())


async def test_what_the_store_says_has_ended_gets_nothing(office, sink):
    async with office.delivering():
        subscription = office.subscribe(sink.url)
        office.store.wish(subscription, ended="status 410")
        office.send([sample(1)], subscription)
        await eventually(office.settled)
    assert not sink.requests
