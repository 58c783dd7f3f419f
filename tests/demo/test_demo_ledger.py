import math

import pytest

from headrace.client import Received
from headrace.demo.ledger import DemoLedger
from headrace.demo.run import _judge
from headrace.demo.scenario import SUBSCRIPTIONS, sample_events
from headrace.demo.show import Screen
from headrace.events import Event

EVENTS = list(sample_events(100))


def deliver(ledger, name, event, time=10.5):
    ledger.received(Received(f"/{name}", time, event, {}))


@pytest.fixture
def ledger():
    ledger = DemoLedger()
    for event in EVENTS:
        ledger.sending(event, 10.0)
    ledger.accepted = len(EVENTS)
    return ledger


def deliver_all(ledger):
    for subscription in SUBSCRIPTIONS:
        for event in EVENTS:
            if subscription.wanted(event.attributes):
                deliver(ledger, subscription.name, event)


def account(ledger, name):
    (found,) = [each for each in ledger.accounts() if each.name == name]
    return found


def verdict(ledger):
    return _judge(ledger, len(EVENTS), Screen())


def test_when_all_is_right(ledger, capsys):
    deliver_all(ledger)
    assert ledger.arrived == ledger.wanted > len(EVENTS)
    for each in ledger.accounts():
        assert (each.missing, each.unwanted, each.altered, each.repeated) == (0, 0, 0, 0)
        assert each.delivered == each.wanted
        assert each.p50 == each.p99 == pytest.approx(500)
    assert verdict(ledger)
    assert "All that should arrive did" in capsys.readouterr().out


def test_what_is_missing(ledger, capsys):
    assert account(ledger, "everything").missing == len(EVENTS)
    assert math.isnan(account(ledger, "everything").p50)
    assert not verdict(ledger)
    assert "WRONG" in capsys.readouterr().out


def test_what_nobody_wanted(ledger):
    deliver_all(ledger)
    sensor = next(event for event in EVENTS if event.source.startswith("/sensors/"))
    deliver(ledger, "orders", sensor)
    assert account(ledger, "orders").unwanted == 1
    assert ledger.arrived == ledger.wanted
    assert not verdict(ledger)


@pytest.mark.parametrize("change", [{"subject": "other"}, {"time": "2026-01-01T00:00:00.0Z"}])
def test_an_altered_event(ledger, change):
    deliver_all(ledger)
    altered = Event(dict(EVENTS[0].attributes) | change, EVENTS[0].data)
    deliver(ledger, "everything", altered)
    assert account(ledger, "everything").altered == 1
    assert not verdict(ledger)


def test_altered_data(ledger):
    deliver_all(ledger)
    deliver(ledger, "everything", Event(dict(EVENTS[0].attributes), b"{}"))
    assert account(ledger, "everything").altered == 1


def test_a_repetition_is_counted_and_is_no_fault(ledger):
    deliver_all(ledger)
    deliver(ledger, "everything", EVENTS[0])
    assert account(ledger, "everything").repeated == 1
    assert ledger.arrived == ledger.wanted
    assert verdict(ledger)


def test_an_event_that_was_not_accepted(ledger):
    deliver_all(ledger)
    ledger.accepted -= 1
    assert not verdict(ledger)


def test_latencies_are_quantiles(ledger):
    for number, event in enumerate(EVENTS):
        deliver(ledger, "everything", event, 10.0 + number / 1000)
    assert account(ledger, "everything").p50 == pytest.approx(50)
    assert account(ledger, "everything").p99 == pytest.approx(99)
    assert ledger.latency(0.5) == pytest.approx(50)


def test_the_summary_has_a_line_for_each_subscription(ledger, capsys):
    deliver_all(ledger)
    Screen().summary(ledger, 2.0)
    shown = capsys.readouterr().out
    for subscription in SUBSCRIPTIONS:
        assert subscription.name in shown
    assert f"accepted {len(EVENTS)} events in 2.0 s, delivered {ledger.wanted} of {ledger.wanted}" in shown


def test_without_a_terminal_progress_is_plain_lines(ledger, capsys, monkeypatch):
    monkeypatch.setattr("headrace.demo.show._LINE_SECONDS", 0.0)
    screen = Screen()
    with screen.waiting("starting") as change:
        change("still starting")
    with screen.progress(len(EVENTS)) as update:
        update(ledger)
    shown = capsys.readouterr().out
    assert "starting …" in shown
    assert f"accepted {len(EVENTS)}/{len(EVENTS)}, delivered 0/{ledger.wanted}" in shown
    assert "\x1b" not in shown
