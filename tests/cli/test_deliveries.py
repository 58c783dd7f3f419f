"""attempts, retry, redrive, pause, resume and test-send, against the real service."""

import threading
import time
from contextlib import contextmanager

import msgspec
import pytest
from tests.ledger.entries import attempt, dead, write
from tests.opening import opening

from headrace.delivery.retry.redrives import RedriveWorker
from headrace.eventlog.local.reader import SegmentReader
from headrace.eventlog.outbox_partitions import WHOLE_OUTBOX
from headrace.ledger.records.probes import ProbeOutcome
from headrace.ledger.records.records import Records
from headrace.ledger.records.status import DeliveryReport
from headrace.subscriptions.store.store import Store

SINK = "http://127.0.0.1:9000/"


@pytest.fixture
def url(service):
    return f"sqlite:///{service.data}/delivery.db"


@pytest.fixture
def subscription(subscribed, run, service):
    id_ = subscribed("--sink", SINK)["id"]
    yield id_
    run("delete", id_, "--url", service.url)


@contextmanager
def dispatcher(service, url, outcome=None):
    """What a dispatcher does besides delivering, in a thread: redrives, and tests that end with the outcome."""
    stop = threading.Event()

    def work():
        with opening(Records, url) as records, opening(Store, f"sqlite:///{service.data}/store.db") as store:
            redriving = RedriveWorker(records, store, SegmentReader(service.data / "log"), WHOLE_OUTBOX)
            while not stop.is_set():
                redriving.move()
                for probe in records.probes.take(1):
                    records.probes.tell(probe.id, outcome)
                time.sleep(0.05)

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def test_attempts(run, service, url, subscription):
    made = attempt(subscription=subscription, verdict="again", status=503, reason="status 503: no [room]", time=time.time(), body=b"no [room]")  # fmt: skip
    write(url, [made, made._replace(verdict="done", status=200, reason="", position=2)])
    which = ("--url", service.url, "--subscription", subscription)
    lines = run("attempts", *which).stdout.splitlines()
    assert lines[0].split() == [
        "id",
        "time",
        "subscription",
        "position",
        "stage",
        "try",
        "verdict",
        "status",
        "ms",
        "reason",
    ]
    assert len(lines) == 3
    result = run(
        "attempts", *which, "--status", "5xx", "--since", "1h", "--stage", "sink", "--verdict", "again"
    )
    [line] = result.stdout.splitlines()[1:]
    assert line.split()[2:] == [
        subscription,
        "1",
        "sink",
        "1",
        "again",
        "503",
        "50.0",
        "status",
        "503:",
        "no",
        "[room]",
    ]
    [found] = msgspec.json.decode(run("attempts", *which, "--json", "--position", "1").stdout)
    shown = msgspec.json.decode(run("attempts", str(found["id"]), "--url", service.url).stdout)
    assert shown == found | {"headers": [], "body": "no [room]"}
    refused = run("attempts", "--url", service.url, "--status", "9xx")
    assert refused.exit_code == 1
    assert "status: '9xx'" in refused.stderr


def test_dead_letters_are_listed_and_redriven(run, service, url, subscription):
    write(url, dead=[dead(subscription, 1, time.time(), type="x"), dead(subscription, 2, time.time())])
    lines = run("get", "dead-letters", "--url", service.url).stdout.splitlines()
    assert lines[0].split() == ["time", "subscription", "position", "stage", "tries", "type", "id", "reason"]
    assert sum(subscription in line for line in lines) == 2
    which = ("redrive", "--url", service.url, "--subscription", subscription)
    assert run(*which, "--dry-run").stdout == "2 deliveries would be made again\n"
    assert msgspec.json.decode(run(*which, "--dry-run", "--json", "--cel", 'type == "x"').stdout) == {
        "found": 1
    }
    declined = run(*which, input="n\n")
    assert declined.exit_code == 1
    assert "2 deliveries will be made again" in declined.stderr
    with dispatcher(service, url):
        result = run(*which, "--cel", 'type == "x"', input="y\n")
        assert (result.exit_code, result.stdout) == (0, "1 deliveries are on their way again\n")
        ended = msgspec.json.decode(run(*which, "--yes", "--json", "--since", "1h", "--rate", "100").stdout)
    assert (ended["state"], ended["moved"]) == ("done", 1)
    listed = run("get", "redrives", "--url", service.url).stdout
    assert ended["id"] in listed
    assert msgspec.json.decode(run("get", "redrives", ended["id"], "--url", service.url).stdout) == ended


def test_a_redrive_is_cancelled_by_its_id(run, service, url, subscription):
    write(url, dead=[dead(subscription, 1, time.time())])
    begun = run("redrive", "--url", service.url, "--subscription", subscription, "--yes", "--detach")
    id_ = begun.stdout.strip()
    assert run("cancel", id_, "--url", service.url).stdout == f"cancelled {id_}\n"
    again = run("cancel", id_, "--url", service.url)
    assert again.exit_code == 1
    assert "cancelled already" in again.stderr


def test_an_attempt_is_retried(run, service, url, subscription):
    write(url, [attempt(subscription=subscription, position=7)], [dead(subscription, 7, time.time())])
    which = ("attempts", "--url", service.url, "--subscription", subscription, "--json")
    [made] = msgspec.json.decode(run(*which).stdout)
    with dispatcher(service, url):
        result = run("retry", str(made["id"]), "--url", service.url)
        assert (result.exit_code, result.stdout) == (0, f"attempt {made['id']} is made again\n")
        write(url, [attempt(subscription=subscription, position=10**6)])
        newest = max(each["id"] for each in msgspec.json.decode(run(*which).stdout))
        failed = run("retry", str(newest), "--url", service.url)
    assert failed.exit_code == 1
    assert "no longer in the log" in failed.stderr


def test_pausing_resuming_and_how_deliveries_fare(run, service, url, subscription):
    assert run("pause", subscription, "--url", service.url).stdout == f"paused {subscription}\n"
    with opening(Records, url) as records:
        records.report([DeliveryReport(subscription, 1.0, 2.0, "status 503", 503, "open", 60.0)])
    lines = run("get", "subscriptions", "--url", service.url).stdout.splitlines()
    (line,) = [line for line in lines if subscription in line]
    assert line.rstrip().endswith(
        "paused, its sink is left alone until 1970-01-01T00:01:00.000Z, last error 1970-01-01T00:00:02.000Z: status 503"
    )
    assert run("resume", subscription, "--url", service.url).stdout == f"resumed {subscription}\n"
    shown = msgspec.json.decode(run("get", "subscriptions", subscription, "--url", service.url).stdout)
    assert shown["status"]["delivery"]["state"] == "active"
    assert run("pause", "none", "--url", service.url).exit_code == 1
    run("delete", subscription, "--url", service.url)


def test_a_sink_is_tested(run, service, url, subscription):
    refused = ProbeOutcome("never", 0.0125, 418, "status 418", (("a", "b"),), b"a teapot")
    with dispatcher(service, url, refused):
        result = run("test-send", subscription, "--url", service.url)
        assert result.exit_code == 1
        assert result.stdout == f"never: status 418, 12.5 ms, {SINK}\nstatus 418\na teapot\n"
    with dispatcher(service, url, ProbeOutcome("done", 0.001, 200, "", (), b"")):
        event = '{"specversion": "1.0", "id": "1", "source": "/s", "type": "t"}'
        result = run("test-send", subscription, "--url", service.url, "--event", event, "--json")
        assert (result.exit_code, msgspec.json.decode(result.stdout)["status"]) == (0, 200)
    assert run("test-send", subscription, "--url", service.url, "--event", "{}").exit_code == 2


def test_a_subscription_with_delivery_and_reply(subscribed, run, service):
    made = subscribed("--sink", SINK, "--delivery", '{"retry": 3}', "--reply", "https://example.com/")
    assert made["config"] == {
        "channel": "default/default", "delivery": {"retry": 3}, "reply": {"uri": "https://example.com/"},
    }  # fmt: skip
    wrong = run("subscribe", "--url", service.url, "--sink", SINK, "--delivery", '{"retry": -3}')
    assert "config.delivery.retry" in wrong.stderr
    assert "--delivery" in run("subscribe", "--sink", SINK, "--delivery", "{").stderr
