from tests.ledger.entries import dead, wait, write

from headrace.ledger.records import status
from headrace.ledger.records.status import DeliveryReport


def test_a_report_takes_the_place_of_the_one_before(records):
    records.report([DeliveryReport("a", 10.0, 5.0, "status 500", 500), DeliveryReport("b", 1.0)])
    records.report([DeliveryReport("a", 20.0, breaker="open", until=30.0)])
    found = records.statuses()["a"].report
    assert found == DeliveryReport("a", 20.0, 5.0, "status 500", 500, "open", 30.0), "the last error stays"
    records.report([DeliveryReport("a", None, 25.0, "no answer")])
    found = records.statuses(["a"])["a"].report
    assert found == DeliveryReport("a", 20.0, 25.0, "no answer", None, "closed", None)
    assert records.statuses(["a"]).keys() == {"a"}


def test_what_waits_and_what_is_dead_is_counted(records, database_url):
    write(
        database_url,
        dead=[dead("a", 1), dead("a", 2), dead("b", 1)],
        waits=[wait("a", 3, 10.0), wait("c", 1, 10.0)],
    )
    records.report([DeliveryReport("d", 1.0)])
    counts = {each: (known.waiting, known.dead) for each, known in records.statuses().items()}
    assert counts == {"a": (1, 2), "b": (0, 1), "c": (1, 0), "d": (0, 0)}
    assert records.statuses(["b"]).keys() == {"b"}
    assert records.statuses(["nobody"]) == {}


def test_many_are_counted_only_so_far(records, database_url, monkeypatch):
    monkeypatch.setattr(status, "MOST_COUNTED", 3)
    waits = [wait("a", number, 10.0) for number in range(5)] + [
        wait("b", number, 10.0) for number in range(3)
    ]
    write(database_url, waits=waits, dead=[dead("b", number) for number in range(4)])
    shown = {
        "a": {"waiting": 3, "waitingIsMore": True, "dead": 0},
        "b": {"waiting": 3, "dead": 3, "deadIsMore": True},
    }
    for found in (records.statuses(), records.statuses(["a", "b"])):
        assert {each: known.document() for each, known in found.items()} == shown


def test_it_is_shown_as_the_api_shows_it(records):
    records.report([DeliveryReport("a", 0.5, 1.25, "status 503", 503, "open", 2.0)])
    assert records.statuses()["a"].document() == {
        "waiting": 0,
        "dead": 0,
        "breaker": {"state": "open", "until": "1970-01-01T00:00:02.000Z"},
        "lastSuccess": "1970-01-01T00:00:00.500Z",
        "lastError": {"time": "1970-01-01T00:00:01.250Z", "reason": "status 503", "status": 503},
    }


def test_many_reports_at_once_and_those_of_who_is_gone(records):
    records.report([DeliveryReport(str(number), 1.0) for number in range(2500)])
    records.report([DeliveryReport(str(number), 2.0) for number in range(2501)])
    found = records.statuses()
    assert len(found) == 2501
    assert {status.report.succeeded for status in found.values()} == {2.0}
    records.clear(1e12, 1000, ["7", "8"])
    assert len(records.statuses()) == 2499


def test_a_reason_that_no_text_column_can_hold(records):
    records.report([DeliveryReport("a", None, 1.0, "no\0")])
    assert records.statuses()["a"].report.reason == "no\ufffd"
