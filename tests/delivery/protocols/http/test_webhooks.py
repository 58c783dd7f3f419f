import asyncio
import time
from dataclasses import replace

import pytest
from tests.delivery.guards import LOOPBACK
from tests.delivery.protocols.contract import numbered, payloads
from tests.delivery.raw_sink import RawSink, answer, silence

from headrace.database.database import Database
from headrace.delivery.attempt.outcome import Verdict
from headrace.delivery.attempt.target import Target
from headrace.delivery.protocols.http import webhooks
from headrace.delivery.protocols.http.sender import HttpSender
from headrace.delivery.sinks.callbacks import Callbacks
from headrace.ledger.records.records import Records
from headrace.secrets.credential import Token


@pytest.fixture
async def sender():
    sender = HttpSender(LOOPBACK, origin="headrace.example")
    yield sender
    await sender.close()


def target(sink, webhook=True, **changes):
    settings = {"method": "POST", "mode": "binary", "webhook": webhook}
    return replace(Target("owner", "HTTP", sink.url + "/hook", settings, 5.0), **changes)


def consenting(*headers, status=200):
    """Answer OPTIONS with these headers, and everything else with 202."""
    return lambda request: answer(status, b"", *headers) if request.method == "OPTIONS" else answer(202)


def methods(sink):
    return [request.method for request in sink.requests]


@pytest.mark.parametrize("allowed", ["headrace.example", "HEADRACE.example", "*"])
async def test_a_sink_is_asked_once_and_then_delivered_to(sender, sink, allowed):
    sink.reply = consenting(f"WebHook-Allowed-Origin: {allowed}", "WebHook-Allowed-Rate: *", "Allow: POST")
    for _ in range(3):
        assert (await sender.send(target(sink), payloads())).verdict is Verdict.DONE
    assert methods(sink) == ["OPTIONS", "POST", "POST", "POST"]
    asked = sink.requests[0]
    assert (asked.target, asked["webhook-request-origin"], asked.body) == ("/hook", "headrace.example", b"")
    assert asked.values("webhook-request-rate") == asked.values("ce-id") == []


async def test_the_wishes_of_the_settings(sender, sink):
    sink.reply = consenting("WebHook-Allowed-Origin: mine.example", "WebHook-Allowed-Rate: *")
    wish = {"origin": "mine.example", "rate": 600}
    credential = Token("Bearer", "t0ken", time.time() + 60)
    outcome = await sender.send(target(sink, wish, credential=credential), payloads())
    assert outcome.verdict is Verdict.DONE
    asked, delivered = sink.requests
    assert (asked["webhook-request-origin"], asked["webhook-request-rate"]) == ("mine.example", "600")
    assert asked["authorization"] == delivered["authorization"] == "Bearer t0ken"


@pytest.mark.parametrize("status", [200, 204])
@pytest.mark.parametrize(
    "header", [None, "WebHook-Allowed-Origin: other.example", "WebHook-Allowed-Rate: 10"]
)
async def test_without_consent_nothing_is_delivered_whatever_the_status(sender, sink, header, status):
    sink.reply = consenting(*([header] if header else []), status=status)
    for _ in range(3):
        outcome = await sender.send(target(sink), payloads())
        assert (outcome.verdict, outcome.attempted) == (Verdict.AGAIN, True)
        assert "has not agreed to deliveries from 'headrace.example'" in outcome.reason
        assert outcome.retry_after is not None
        assert 0 < outcome.retry_after <= webhooks.REFUSED_SECONDS
    assert methods(sink) == ["OPTIONS"]


@pytest.mark.parametrize("status", [204, 404, 405, 500])
async def test_consent_does_not_depend_on_the_status(sender, sink, status):
    sink.reply = consenting("WebHook-Allowed-Origin: *", status=status)
    assert (await sender.send(target(sink), payloads())).verdict is Verdict.DONE


async def test_who_refused_is_asked_again_later(sender, sink, monkeypatch):
    monkeypatch.setattr(webhooks, "REFUSED_SECONDS", 0.05)
    sink.reply = consenting()
    assert (await sender.send(target(sink), payloads())).verdict is Verdict.AGAIN
    sink.reply = consenting("WebHook-Allowed-Origin: *")
    await asyncio.sleep(0.06)
    assert (await sender.send(target(sink), payloads())).verdict is Verdict.DONE
    assert methods(sink) == ["OPTIONS", "OPTIONS", "POST"]


async def test_a_consent_is_asked_for_anew_after_a_while(sender, sink, monkeypatch):
    monkeypatch.setattr(webhooks, "GRANTED_SECONDS", 0.05)
    sink.reply = consenting("WebHook-Allowed-Origin: *")
    assert (await sender.send(target(sink), payloads())).verdict is Verdict.DONE
    sink.reply = consenting()
    await asyncio.sleep(0.06)
    assert (await sender.send(target(sink), payloads())).verdict is Verdict.AGAIN
    assert methods(sink) == ["OPTIONS", "POST", "OPTIONS"]


async def test_many_deliveries_wait_for_one_question(sender, sink):
    asked = asyncio.Event()

    async def late():
        await asked.wait()
        yield answer(200, b"", "WebHook-Allowed-Origin: *")

    sink.reply = lambda request: late() if request.method == "OPTIONS" else answer(200)
    sending = [asyncio.create_task(sender.send(target(sink), payloads(event))) for event in numbered(30)]
    await asyncio.sleep(0.05)
    sending.pop().cancel()  # who gives up does not take the question along
    asked.set()
    assert {outcome.verdict for outcome in await asyncio.gather(*sending)} == {Verdict.DONE}
    assert methods(sink).count("OPTIONS") == 1
    assert methods(sink).count("POST") == 29


async def test_a_question_without_an_answer_costs_all_who_wait_one_timeout(sender):
    async with RawSink(lambda _: silence()) as sink:
        began = time.monotonic()
        waiting = [sender.send(target(sink, timeout=0.3), payloads()) for _ in range(20)]
        outcomes = await asyncio.gather(*waiting)
        assert time.monotonic() - began < 5
    assert {(outcome.verdict, outcome.reason) for outcome in outcomes} == {
        (Verdict.AGAIN, "no answer within 0.3 s")
    }


async def test_the_rate_is_kept_by_all_who_deliver_there(sender, sink):
    sink.reply = consenting("WebHook-Allowed-Origin: *", "WebHook-Allowed-Rate: 1200")  # every 50 ms
    began = time.monotonic()
    targets = [target(sink, owner=f"owner-{number}") for number in range(3)]
    outcomes = await asyncio.gather(
        *(sender.send(targets[index % 3], payloads(event)) for index, event in enumerate(numbered(11)))
    )
    assert {outcome.verdict for outcome in outcomes} == {Verdict.DONE}
    assert time.monotonic() - began >= 10 * 0.05 - 0.01


async def test_what_the_rate_leaves_no_time_for_is_postponed(sender, sink):
    sink.reply = consenting("WebHook-Allowed-Origin: *", "WebHook-Allowed-Rate: 2")
    assert (await sender.send(target(sink), payloads())).verdict is Verdict.DONE
    outcome = await sender.send(target(sink), payloads())
    assert (outcome.verdict, outcome.attempted) == (Verdict.AGAIN, False)
    assert "every 30 s" in outcome.reason
    assert outcome.retry_after == pytest.approx(30, abs=5)
    assert methods(sink) == ["OPTIONS", "POST"]


async def test_the_rate_that_was_asked_for_holds_where_none_is_answered(sender, sink):
    sink.reply = consenting("WebHook-Allowed-Origin: *")
    wish = {"rate": 2}
    assert (await sender.send(target(sink, wish), payloads())).verdict is Verdict.DONE
    assert not (await sender.send(target(sink, wish), payloads())).attempted


@pytest.mark.parametrize("rate", ["0", "-1", "many", "1.5", ""])
async def test_a_rate_that_is_none_is_no_consent(sender, sink, rate):
    sink.reply = consenting("WebHook-Allowed-Origin: *", f"WebHook-Allowed-Rate: {rate}")
    outcome = await sender.send(target(sink), payloads())
    assert outcome.verdict is Verdict.AGAIN
    assert "requests a minute" in outcome.reason
    assert methods(sink) == ["OPTIONS"]


@pytest.mark.parametrize("webhook", [False, None])
async def test_nobody_is_asked_where_it_is_not_configured(sender, sink, webhook):
    assert (await sender.send(target(sink, webhook), payloads())).verdict is Verdict.DONE
    assert methods(sink) == ["POST"]


async def test_closing_ends_a_question():
    sender = HttpSender(LOOPBACK)
    async with RawSink(lambda _: silence()) as sink:
        sending = asyncio.create_task(sender.send(target(sink, timeout=30.0), payloads()))
        await asyncio.sleep(0.05)
        async with asyncio.timeout(5):
            await sender.close()
            outcome = await sending
        assert (outcome.verdict, outcome.reason) == (
            Verdict.AGAIN,
            "ConnectionError: closed before an answer came",
        )
        assert (await sender.send(target(sink), payloads())).verdict is Verdict.AGAIN


class TestCallback:
    """A sink that says nothing when it is asked may agree later, by calling the address that it was told."""

    @pytest.fixture
    def records(self, database_url):
        records = Records(Database(database_url))
        yield records
        records.database.close()

    @pytest.fixture
    async def sender(self, records, monkeypatch):
        monkeypatch.setattr(webhooks, "OPEN_SECONDS", 0.0)
        callbacks = Callbacks(records, "https://events.example/")
        sender = HttpSender(LOOPBACK, origin="headrace.example", callbacks=callbacks)
        yield sender
        await sender.close()

    def told(self, sink):
        address = sink.requests[0]["webhook-request-callback"]
        assert address.startswith("https://events.example/webhooks/consents/")
        return address.rpartition("/")[2]

    async def test_what_is_for_it_waits_without_losing_attempts_until_it_called(self, sender, sink, records):
        sink.reply = consenting(status=405)
        for _ in range(3):
            outcome = await sender.send(target(sink), payloads())
            assert (outcome.verdict, outcome.attempted) == (Verdict.AGAIN, False)
        assert methods(sink) == ["OPTIONS"], "it isn't asked again and again"
        token = self.told(sink)
        assert token not in outcome.reason, "who sees attempts could agree in the sink's place"
        assert len(token) > 40
        assert records.grant_consent(token, None)
        assert (await sender.send(target(sink), payloads())).verdict is Verdict.DONE
        assert methods(sink) == ["OPTIONS", "POST"]

    async def test_the_rate_that_it_allows_is_kept(self, sender, sink, records):
        sink.reply = consenting()
        await sender.send(target(sink), payloads())
        records.grant_consent(self.told(sink), 1)
        assert (await sender.send(target(sink), payloads())).verdict is Verdict.DONE
        held = await sender.send(target(sink), payloads())
        assert (held.verdict, held.attempted) == (Verdict.AGAIN, False)
        assert "every 60 s" in held.reason

    async def test_who_says_no_has_said_no(self, sender, sink):
        sink.reply = consenting("WebHook-Allowed-Origin: another.example")
        outcome = await sender.send(target(sink), payloads())
        assert (outcome.verdict, outcome.attempted) == (Verdict.AGAIN, True)

    async def test_it_is_told_the_same_address_when_it_is_asked_again(self, sender, sink, monkeypatch):
        monkeypatch.setattr(webhooks, "REFUSED_SECONDS", 0.0)
        sink.reply = consenting()
        for _ in range(2):
            await sender.send(target(sink), payloads())
        first, second = (request["webhook-request-callback"] for request in sink.requests)
        assert first == second

    async def test_a_consent_by_call_ends(self, sender, sink, records, monkeypatch):
        monkeypatch.setattr(webhooks, "CALLED_SECONDS", -1.0)
        sink.reply = consenting()
        await sender.send(target(sink), payloads())
        records.grant_consent(self.told(sink), None)
        assert (await sender.send(target(sink), payloads())).verdict is Verdict.AGAIN


async def test_without_an_address_of_the_api_no_callback_is_offered(sender, sink):
    sink.reply = consenting()
    outcome = await sender.send(target(sink), payloads())
    assert (outcome.verdict, outcome.attempted) == (Verdict.AGAIN, True)
    assert sink.requests[0].values("webhook-request-callback") == []
