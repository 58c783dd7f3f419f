import socket

import pytest
from tests.api.application import Application
from tests.delivery.raw_sink import RawSink, answer, silence

from headrace.client import Client
from headrace.errors import ServiceRefused, ServiceUnreachable
from headrace.events import Event
from headrace.telemetry.readiness import RoleState, RoleStatus

EVENT = Event({"specversion": "1.0", "id": "1", "source": "/s", "type": "t"}, b"x")


@pytest.fixture
async def api(tmp_path):
    api = Application(tmp_path)
    yield api
    await api.close()


@pytest.fixture
async def client(api):
    async with api.served() as url, Client(url + "/") as client:
        yield client


async def test_it_publishes_to_the_channel_it_is_told(api, client):
    await client.create_channel("shop", "orders")
    await client.publish(EVENT)
    await client.publish(EVENT, "shop/orders", structured=True)
    await client.publish_batch([EVENT, EVENT], "shop/orders")
    assert [each.arrival.channel for each in api.recorded()] == ["default", "orders", "orders", "orders"]
    assert all(each.event == EVENT for each in api.recorded())


async def test_it_manages_channels_and_subscriptions(client):
    made = await client.create_channel("shop", "orders")
    assert made["url"].endswith("/channels/shop/orders")
    assert [each["name"] for each in await client.channels()] == ["default", "orders"]
    created = await client.subscribe({"sink": "http://127.0.0.1:9/", "config": {"channel": "shop/orders"}})
    assert await client.subscription(created["id"]) == created
    assert await client.subscriptions() == [created]
    status = created.pop("status")
    assert status["ready"] == {"status": True}
    assert await client.unsubscribe(created["id"]) == created
    assert await client.subscriptions() == []


async def test_readiness_is_an_answer_either_way(api, client):
    assert (await client.readiness())["ready"] is True
    api.roles["pipeline"] = RoleStatus(RoleState.STARTING, 5.0, problem="Spark is starting")
    answer = await client.readiness()
    assert (answer["ready"], answer["roles"]["pipeline"]) == (False, "starting")
    assert answer["details"]["pipeline"]["problem"] == "Spark is starting"


async def test_metrics(client):
    assert "# TYPE headrace_events_accepted_total counter" in await client.metrics()


async def test_a_refusal_carries_the_services_own_words(client):
    with pytest.raises(ServiceRefused, match="there is no subscription 'nobody'") as caught:
        await client.subscription("nobody")
    assert (caught.value.status, caught.value.problem["code"]) == (404, "not-found")
    with pytest.raises(ServiceRefused) as caught:
        await client.subscribe({"sink": "nowhere"})
    assert caught.value.problem["faults"][0]["path"] == "sink"
    with pytest.raises(ServiceRefused, match="no channel"):
        await client.publish(EVENT, "no/such")


async def test_nobody_answers():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"
        async with Client(url) as client:
            with pytest.raises(ServiceUnreachable, match=url) as caught:
                await client.channels()
    assert "headrace up" in str(caught.value)


@pytest.mark.parametrize(
    "url", ["", "nonsense", "ftp://x", "http://", "http://nowhere.invalid", "http://x:99999"]
)
async def test_an_address_that_is_none(url):
    async with Client(url) as client:
        with pytest.raises(ServiceUnreachable) as caught:
            await client.publish(EVENT)
    assert "()" not in str(caught.value), "a reason is given"


async def test_no_answer_in_time():
    async with RawSink(lambda _: silence()) as sink, Client(sink.url, timeout_seconds=0.1) as client:
        with pytest.raises(ServiceUnreachable, match="TimeoutError"):
            await client.publish(EVENT)


@pytest.mark.parametrize("body", [b"", b"<html>", b"[1]", b"\xff"])
async def test_a_refusal_that_is_no_problem_document(body):
    async with RawSink(lambda _: answer(502, body)) as sink, Client(sink.url) as client:
        with pytest.raises(ServiceRefused, match="status 502") as caught:
            await client.publish(EVENT)
    assert (caught.value.status, caught.value.problem) == (502, {})


@pytest.mark.parametrize("body", [b"", b"<html>Welcome to nginx", b'"text"', b"\xff"])
async def test_somebody_else_answers(body):
    async with RawSink(lambda _: answer(200, body)) as sink, Client(sink.url) as client:
        for asking in (client.channels(), client.subscription("x"), client.readiness()):
            with pytest.raises(ServiceUnreachable, match="JSON"):
                await asking


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_a_redirect_is_not_taken_for_an_acceptance(status):
    """A POST that is redirected may arrive as a GET, and the answer to that says nothing about the event."""

    def reply(request):
        if request.target == "/login":
            return answer(200)
        return answer(status, b"", "Location: /login")

    async with RawSink(reply) as sink, Client(sink.url) as client:
        with pytest.raises(ServiceRefused, match=str(status)):
            await client.publish(EVENT)


async def test_it_has_to_be_entered():
    with pytest.raises(RuntimeError, match="async with"):
        await Client().channels()


async def test_deliveries(client):
    subscription = (await client.subscribe({"sink": "http://127.0.0.1:9/"}))["id"]
    assert (await client.pause(subscription))["status"]["delivery"]["state"] == "paused"
    assert (await client.resume(subscription))["status"]["delivery"]["state"] == "active"
    assert await client.attempts(subscription=subscription, status="5xx", since=None) == {"attempts": []}
    assert await client.dead_letters(channel="default/default") == {"deadLetters": []}
    counted = await client.redrive(dry_run=True, subscription=subscription, filter={"cel": "true"})
    assert counted["found"] == 0
    begun = await client.redrive(subscription=subscription)
    assert await client.find_redrive(begun["id"], wait_seconds=0) == begun
    assert (await client.cancel_redrive(begun["id"]))["state"] == "cancelled"
    assert [each["id"] for each in await client.redrives()] == [begun["id"]]
    for asking in (client.attempt(1), client.retry(1)):
        with pytest.raises(ServiceRefused, match="no attempt '1'"):
            await asking


async def test_a_channel_s_delivery(client):
    made = await client.create_channel("shop", "orders", {"retry": 3})
    assert made["delivery"] == {"retry": 3}
    assert (await client.change_channel("shop/orders", {"retry": 4}))["delivery"] == {"retry": 4}
    assert "delivery" not in await client.change_channel("shop/orders", None)


async def test_it_goes_through_pages(client):
    made = [(await client.subscribe({"sink": "http://127.0.0.1:9/?a=b&c"}))["id"] for _ in range(5)]
    await client.subscribe({"sink": "http://127.0.0.1:10/"})
    seen = client.each_subscription(2, sink="http://127.0.0.1:9/?a=b&c", state=None)
    assert [each["id"] async for each in seen] == made
    assert len(await client.subscriptions()) == 6
    assert await client.subscriptions(state="paused") == []


async def test_it_updates_what_it_looked_at(client):
    made = await client.subscribe({"sink": "http://127.0.0.1:9/"})
    seen, etag = await client.look_at_subscription(made["id"])
    assert seen == made
    changed = await client.update_subscription(made["id"], seen | {"types": ["a"]}, etag)
    assert changed == made | {"types": ["a"]}
    for attempt in (
        client.update_subscription(made["id"], seen, etag),
        client.unsubscribe(made["id"], etag),
    ):
        with pytest.raises(ServiceRefused, match="was changed since you looked at it") as caught:
            await attempt
        assert caught.value.status == 412
    assert (await client.update_subscription(made["id"], seen)) == made, "without an ETag the last one wins"
    _, etag = await client.look_at_subscription(made["id"])
    assert await client.unsubscribe(made["id"], etag) == {
        name: value for name, value in made.items() if name != "status"
    }
