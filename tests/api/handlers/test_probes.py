import asyncio
from contextlib import asynccontextmanager

import msgspec
import pytest
from tests.delivery.guards import LOOPBACK
from tests.delivery.raw_sink import RawSink, answer

from headrace.api.handlers import probes as probes_handler
from headrace.config import load_config
from headrace.delivery.attempt.specs import default_spec
from headrace.delivery.attempt.target import NoCredentials
from headrace.delivery.protocols.http.sender import HttpSender
from headrace.delivery.retry.probes import ProbeWorker
from headrace.delivery.step import run_steps


@asynccontextmanager
async def dispatcher(api):
    """The part of a dispatcher that tests sinks, beside the API."""
    sender, stop = HttpSender(LOOPBACK), asyncio.Event()
    defaults = default_spec(load_config(None, {}, {}).delivery)
    probing = ProbeWorker(api.records, api.store, {"HTTP": sender}, NoCredentials(), defaults)
    running = asyncio.create_task(run_steps([probing], stop))
    try:
        yield
    finally:
        stop.set()
        await running
        await sender.close()


@pytest.fixture
async def sink():
    async with RawSink(lambda _: answer(418, b"a teapot", "x-kind: pot")) as sink:
        yield sink


async def test_a_subscription_is_tested_with_a_sample(api, sink):
    id_ = (await api.send_json("POST", "/subscriptions", {"sink": sink.url + "/a"})).json["id"]
    async with dispatcher(api):
        told = await api.call("POST", f"/api/subscriptions/{id_}/test")
    assert told.status == 200
    assert told.json["sink"] == sink.url + "/a"
    assert (told.json["verdict"], told.json["status"], told.json["body"]) == ("never", 418, "a teapot")
    assert told.json["seconds"] > 0
    assert sink.requests[0]["ce-type"] == "dev.headrace.test"


async def test_a_subscription_is_tested_with_an_event(api, sink):
    id_ = (await api.send_json("POST", "/subscriptions", {"sink": sink.url})).json["id"]
    event = {"specversion": "1.0", "id": "mine", "source": "/s", "type": "t", "data": {"amount": 7}}
    async with dispatcher(api):
        told = await api.send_json("POST", f"/api/subscriptions/{id_}/test", event)
        assert told.status == 200
        faulty = await api.send_json("POST", f"/api/subscriptions/{id_}/test", {"id": 1})
    assert (faulty.status, faulty.json["code"]) == (400, "invalid-event")
    assert [(request["ce-id"], request.body) for request in sink.requests] == [("mine", b'{"amount":7}')]


async def test_a_proposal_is_tested_and_not_created(api, sink):
    body = b'{"subscription": {"sink": "%s"}, "event": {"specversion": "1.0", "id": "1", "source": "/s", "type": "t", "data": 1.10}}'
    async with dispatcher(api):
        told = await api.call("POST", "/api/deliveries/test", {}, body % sink.url.encode())
        assert (told.status, told.json["status"]) == (200, 418)
        assert (
            await api.send_json("POST", "/api/deliveries/test", {"subscription": {"sink": sink.url}})
        ).status == 200
    assert sink.requests[0].body == b"1.10", "not altered"
    assert (await api.call("GET", "/subscriptions")).json == []


@pytest.mark.parametrize(
    ("document", "code", "path"),
    [
        ([], "invalid-request", ""),
        ({}, "invalid-request", "subscription"),
        ({"subscription": {"sink": "http://a/"}, "when": "now"}, "invalid-request", "when"),
        ({"subscription": {"sink": "nowhere"}}, "invalid-subscription", "sink"),
    ],
)
async def test_what_is_no_test_is_refused(api, document, code, path):
    refused = await api.call("POST", "/api/deliveries/test", {}, msgspec.json.encode(document))
    assert (refused.status, refused.json["code"], refused.json["faults"][0]["path"]) == (400, code, path)


async def test_without_a_dispatcher_it_is_said_so(api, monkeypatch):
    monkeypatch.setattr(probes_handler, "_GRACE_SECONDS", 0.2)
    sink = {"sink": "http://127.0.0.1:9/", "config": {"delivery": {"timeout": "PT0.1S"}}}
    id_ = (await api.send_json("POST", "/subscriptions", sink)).json["id"]
    told = await api.call("POST", f"/api/subscriptions/{id_}/test")
    assert (told.status, told.json["code"]) == (503, "no-dispatcher")
    assert (await api.call("POST", "/api/subscriptions/none/test")).status == 404


async def test_what_is_pulled_has_no_sink_to_test(api):
    made = await api.send_json("POST", "/subscriptions", {"protocol": "PULL"})
    answers = [
        await api.call("POST", f"/api/subscriptions/{made.json['id']}/test"),
        await api.send_json("POST", "/api/deliveries/test", {"subscription": {"protocol": "PULL"}}),
    ]
    assert [answer.status for answer in answers] == [409, 409]
