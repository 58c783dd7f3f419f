"""A publisher that drops what nobody wants: never what somebody does, and nothing when it doesn't know."""

import asyncio
import json
import time

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.api.application import Application
from tests.filters.every_dialect import every_event, every_filter

from headrace.api.app import build_app
from headrace.api.handlers.interest import InterestHandler
from headrace.client import Client
from headrace.client.interest import may_be_wanted
from headrace.errors import InvalidEvent, ServiceRefused, ServiceUnreachable
from headrace.events.bindings.http import decode, encode_batch, encode_binary, encode_structured
from headrace.events.event import DataKind, Event
from headrace.events.recorded import Arrival, Recorded
from headrace.filters import compile_filter
from headrace.filters.upstream.sieve import Sieve
from headrace.interest import InterestSettings
from headrace.interest.criteria import criterion_of
from headrace.interest.union import BuildTask, write_bloom, write_text
from headrace.matching import Matcher
from headrace.subscriptions.channels.name import ChannelName
from headrace.subscriptions.subscription import Subscription

HERE = ChannelName("default", "default")
BASE = {"specversion": "1.0", "source": "/s", "type": "t"}


def event(subject, id_="1", **more):
    return Event(BASE | {"id": id_, "subject": subject} | more)


def wish(subject):
    return {"sink": "http://127.0.0.1:1/", "filters": [{"exact": {"subject": subject}}]}


def leave_alone(publisher):
    """Let it hear of nothing in the background."""
    publisher._following.cancel()


@pytest.fixture
async def api(tmp_path):
    api = Application(tmp_path)
    yield api
    await api.close()


@pytest.fixture
async def client(api):
    async with api.served() as url, Client(url) as client:
        yield client


@pytest.mark.parametrize("kind", ["cel", "bloom"])
async def test_what_nobody_wants_is_not_sent(api, client, kind):
    await client.subscribe(wish("x"))
    async with client.publisher(interest=kind) as publisher:
        assert await publisher.publish(event("x", "1"))
        assert not await publisher.publish(event("y", "2"))
        assert await publisher.publish(event("x", "3"), structured=True)
        batch = [event("y", "4"), event("x", "5"), event("z", "6")]
        assert await publisher.publish_batch(batch) == 1
        assert await publisher.publish_batch([event("y")]) == 0
        assert (publisher.sent, publisher.dropped) == (3, 4)
    assert api.ids() == ["1", "3", "5"]


async def test_without_interest_everything_is_sent(api, client):
    async with client.publisher(interest=None) as publisher:
        assert not publisher.is_informed
        assert await publisher.publish(event("y"))
        assert await publisher.publish_batch([event("y"), event("z")]) == 2
    assert len(api.ids()) == 3


@pytest.mark.parametrize("kind", ["cel", "bloom"])
async def test_who_subscribes_is_heard_of_long_before_the_interest_is_too_old(client, kind):
    async with client.publisher(interest=kind, max_age=10.0) as publisher:
        assert not publisher.wants(event("x"))
        await client.subscribe(wish("x"))
        began = time.monotonic()
        while not publisher.wants(event("x")):
            assert time.monotonic() - began < 10
            await asyncio.sleep(0.01)
        assert publisher.is_informed
        assert not publisher.wants(event("y"))


@pytest.mark.parametrize("kind", ["cel", "bloom"])
async def test_who_has_subscribed_misses_nothing_from_the_next_event_on(api, client, kind):
    """The publisher has heard of nothing yet; it asks before it drops."""
    async with client.publisher(interest=kind) as publisher:
        for number in range(10):
            leave_alone(publisher)
            assert not publisher.wants(event(f"s{number}"))
            await client.subscribe(wish(f"s{number}"))
            assert await publisher.publish(event(f"s{number}", str(number)))
            assert not await publisher.publish(event("nobody"))
        await client.subscribe(wish("late"))
        assert await publisher.publish_batch([event("nobody"), event("late", "late"), event("nobody")]) == 1
    assert api.ids() == [*map(str, range(10)), "late"]


async def test_who_drops_at_once_asks_once(client, monkeypatch):
    asked = []
    real = client.ask

    async def ask(*arguments, **options):
        asked.append(arguments)
        return await real(*arguments, **options)

    async with client.publisher() as publisher:
        leave_alone(publisher)
        monkeypatch.setattr(client, "ask", ask)
        sent = await asyncio.gather(*(publisher.publish(event("nobody")) for _ in range(100)))
        assert not any(sent)
        assert 1 <= len(asked) <= 3
        before = len(asked)
        assert await publisher.publish_batch([event("nobody")] * 100) == 0
        assert len(asked) == before + 1


async def test_what_can_t_be_asked_about_is_sent(api, monkeypatch):
    async with api.served() as url, Client(url) as client, client.publisher() as publisher:
        leave_alone(publisher)

        async def fails(*_, **__):
            raise ServiceUnreachable(url, "gone for a moment")

        assert not publisher.wants(event("y"))
        monkeypatch.setattr(client, "ask", fails)
        assert await publisher.publish(event("y"))
        assert (await publisher.publish_batch([event("y"), event("z")]), publisher.is_informed) == (2, False)
    assert len(api.ids()) == 3


async def test_an_answer_to_an_earlier_question_does_not_undo_a_later_one(client):
    async with client.publisher() as publisher:
        leave_alone(publisher)
        waiting = asyncio.create_task(publisher._ask(wait=True))
        await asyncio.sleep(0.2)
        asked = time.monotonic()
        assert await publisher._confirm(asked)
        await client.subscribe(wish("x"))
        await waiting  # it was answered, because something has changed, but was asked before
        assert publisher._asked >= asked
        assert await publisher.publish(event("x"))


async def test_a_service_can_have_every_publisher_ask_first(api):
    strict = InterestHandler(api.interests, api.channels, InterestSettings(max_age_seconds=0.0))
    others = [each for each in api.handlers if not isinstance(each, InterestHandler)]
    api.app = build_app(api.ingress, *others, strict)
    async with api.served() as url, Client(url) as client, client.publisher(max_age=60.0) as publisher:
        leave_alone(publisher)
        assert not await publisher.publish(event("x"))
        await client.subscribe(wish("x"))
        assert await publisher.publish(event("x"))


async def test_an_interest_that_is_too_old_drops_nothing(api):
    async with Client("http://127.0.0.1:1") as nowhere, api.served() as url, Client(url) as client:
        publisher = nowhere.publisher(max_age=0.5)
        publisher._client = client
        await publisher.__aenter__()
        assert not publisher.wants(event("x"))
        publisher._client = nowhere
        deadline = time.monotonic() + 20
        while not publisher.wants(event("x")):
            assert time.monotonic() < deadline
            await asyncio.sleep(0.02)
        assert not publisher.is_informed
        publisher._client = client
        while publisher.wants(event("x")):
            assert time.monotonic() < deadline + 20
            await asyncio.sleep(0.02)
        await publisher.__aexit__()


async def test_the_age_counts_from_the_question_not_from_the_answer(client, monkeypatch):
    async with client.publisher(max_age=5.0) as publisher:
        assert publisher.is_informed
        leave_alone(publisher)
        real = client.ask

        async def slow(*arguments, **options):
            answer = await real(*arguments, **options)
            await asyncio.sleep(0.3)
            return answer

        monkeypatch.setattr(client, "ask", slow)
        began = time.monotonic()
        await publisher._ask(wait=False)
        assert publisher._asked - began < 0.2


async def test_a_service_that_does_not_tell_gets_everything(api):
    closed = InterestHandler(api.interests, api.channels, InterestSettings(enabled=False))
    api.app = build_app(api.ingress, closed)
    async with api.served() as url, Client(url) as client, client.publisher() as publisher:
        assert await publisher.publish(event("y"))
        assert not publisher.is_informed
    assert api.ids() == ["1"]


async def test_an_unknown_channel_is_named_and_nothing_is_dropped(client):
    async with client.publisher("default/nowhere") as publisher:
        with pytest.raises(ServiceRefused, match="default/nowhere"):
            await publisher.publish(event("x"))
        assert (publisher.sent, publisher.dropped) == (0, 0)


async def test_nobody_answers():
    async with Client("http://127.0.0.1:1") as client, client.publisher() as publisher:
        with pytest.raises(ServiceUnreachable):
            await publisher.publish(event("x"))


async def test_what_the_service_would_refuse_is_sent_so_that_it_is_heard_of(client):
    async with client.publisher() as publisher:
        assert publisher.is_informed
        with pytest.raises(ServiceRefused, match="source"):
            await publisher.publish(Event({"specversion": "1.0", "id": "1", "type": "t"}))


@pytest.mark.parametrize("options", [{"interest": "sql"}, {"max_age": -1.0}, {"max_age": float("nan")}])
async def test_unusable_options_are_refused(options):
    async with Client() as client:
        with pytest.raises(ValueError, match=next(iter(options))):
            client.publisher(**options)


def as_the_service_may_see(sent):
    for encode in (encode_binary, encode_structured, lambda each: encode_batch([each])):
        message = encode(sent)
        try:
            yield from decode(
                [(name.encode(), text.encode()) for name, text in message.headers], message.body
            )
        except InvalidEvent:
            return


def typed(sent):
    """Attributes as a program may give them, data as structured events have it."""
    yield sent
    yield Event(sent.attributes, sent.data, DataKind.JSON if sent.data is not None else DataKind.BYTES)
    yield Event({**sent.attributes, "datacontenttype": " application/json "}, sent.data)


@settings(max_examples=100, suppress_health_check=list(HealthCheck), deadline=None)
@given(st.lists(every_filter, min_size=1, max_size=2), every_event())
def test_never_drops_what_would_have_matched_in_whichever_way_it_is_sent(filters, found):
    sent = found.event if isinstance(found, Recorded) else found
    sent = Event(
        {**sent.attributes, "specversion": "1.0", "id": "1", "source": "/s", "type": sent.type or "t"},
        sent.data,
    )
    asking = [Subscription("", HERE, "http://x.example/", "HTTP", filters=(each,)) for each in filters]
    wants = sorted({criterion_of(each) for each in asking})
    sieve = Sieve(compile_filter({"cel": write_text(BuildTask(HERE, wants, 20_000, 1.0)).cel}))
    bloom = write_bloom(HERE, wants)
    matcher = Matcher()
    matcher.add_many((str(number), compile_filter(each)) for number, each in enumerate(filters))
    for given_event in typed(sent):
        for seen in as_the_service_may_see(given_event):
            if matcher.match(Recorded(7, 1_700_000_000_000_000, Arrival(seen, *HERE))):
                assert may_be_wanted(sieve.matches, given_event)
                assert may_be_wanted(bloom.may_match, given_event)


async def test_attributes_that_headers_turn_into_texts(client):
    for text in ('ce.count == "5"', "ce.flag == true"):
        await client.subscribe({"sink": "http://127.0.0.1:1/", "filters": [{"cel": text}]})
    async with client.publisher() as publisher:
        assert publisher.wants(event("x", count=5))
        assert publisher.wants(event("x", flag=True))
        assert not publisher.wants(event("x", count=6, flag=False))
        assert not publisher.wants(Event(BASE | {"id": "1"}, json.dumps({"count": 5}).encode()))
