import urllib.request
from datetime import datetime

import msgspec
import pytest

from headrace.events.json_format import encode


def document(**attributes):
    return msgspec.json.encode(
        {"specversion": "1.0", "id": "1", "source": "/s", "type": "t"} | attributes
    ).decode()


def test_one_event(run, service, logged):
    result = run(
        "publish", "--url", service.url, "--type", "com.example.order", "--source", "/shop", "--id", "42",
        "--subject", "ä", "-a", "tier=vip=yes", "--data", '{"amount": 7}',
    )  # fmt: skip
    assert (result.exit_code, result.output) == (0, "accepted 1 event on default/default\n")
    (event,) = (each.event for each in logged())
    time = event.attributes["time"]
    assert datetime.fromisoformat(str(time)).tzinfo is not None
    assert dict(event.attributes) == {
        "specversion": "1.0",
        "id": "42",
        "source": "/shop",
        "type": "com.example.order",
        "subject": "ä",
        "tier": "vip=yes",
        "datacontenttype": "application/json",
        "time": time,
    }
    assert event.data == b'{"amount": 7}'


def test_an_event_without_data_has_no_type_of_it_and_an_id_of_its_own(run, service, logged):
    for _ in range(2):
        assert run("publish", "--url", service.url, "--type", "t").exit_code == 0
    first, second = (each.event for each in logged())
    assert "datacontenttype" not in first.attributes
    assert first.data is None
    assert first.id != second.id


def test_another_type_of_data(run, service, logged):
    run("publish", "--url", service.url, "--type", "t", "--data", "hello", "--datacontenttype", "text/plain")
    assert logged()[0].event.datacontenttype == "text/plain"


def test_a_file_of_events_in_its_order_and_versions(run, service, logged, tmp_path):
    lines = [
        document(id=str(number), specversion="0.3" if number % 100 < 10 else "1.0") for number in range(450)
    ]
    (tmp_path / "events.jsonl").write_text("\n".join(lines) + "\n\n")
    result = run("publish", "--url", service.url, "--file", "events.jsonl")
    assert (result.exit_code, result.stdout) == (0, "accepted 450 events on default/default\n")
    assert [encode(each.event).decode() for each in logged()] == lines


def test_events_from_standard_input(run, service, logged):
    result = run("publish", "--url", service.url, "-f", "-", input=document(id="a") + "\n" + document(id="b"))
    assert result.exit_code == 0
    assert [each.event.id for each in logged()] == ["a", "b"]


def test_a_line_with_faults_is_named_and_nothing_is_sent(run, service, logged):
    text = f"{document()}\n\n{{}}\n{document()}"
    result = run("publish", "--url", service.url, "-f", "-", input=text)
    assert result.exit_code == 1
    assert "line 3: " in result.stderr
    assert "Traceback" not in result.output
    assert logged() == []


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "--type"),
        (("--type", "t", "--file", "-"), "--type"),
        (("--type", "t", "-a", "novalue"), "NAME=VALUE"),
        (("--file", "nowhere.jsonl"), "nowhere.jsonl"),
    ],
)
def test_wrong_usage(run, arguments, said):
    result = run("publish", *arguments)
    assert result.exit_code == 2
    assert said in result.stderr


@pytest.mark.parametrize(
    "arguments", [("--type", ""), ("--type", "t", "-a", "Bad_Name=1"), ("--type", "t", "--source", "")]
)
def test_an_event_with_faults_is_not_sent(run, service, logged, arguments):
    result = run("publish", "--url", service.url, *arguments)
    assert result.exit_code == 1
    assert result.stderr.startswith("Error: ")
    assert logged() == []


@pytest.mark.parametrize("channel", ["no/such", "nonsense", "a/b/c"])
def test_a_channel_that_is_not_there(run, service, channel):
    result = run("publish", "--url", service.url, "--type", "t", "--channel", channel)
    assert result.exit_code == 1
    assert "there is no channel" in result.stderr
    assert channel in result.stderr


@pytest.fixture(scope="module")
def wanting(service):
    """A channel with one subscription, which wants one subject."""
    for path, asked in (
        ("/api/channels", {"namespace": "cli", "name": "wanting"}),
        (
            "/subscriptions",
            {
                "sink": "http://127.0.0.1:1/",
                "config": {"channel": "cli/wanting"},
                "filters": [{"exact": {"subject": "wanted"}}],
            },
        ),
    ):
        headers = {"content-type": "application/json"}
        request = urllib.request.Request(service.url + path, msgspec.json.encode(asked), headers)
        urllib.request.urlopen(request, timeout=20).close()
    return "cli/wanting"


@pytest.mark.parametrize("how", ["--if-wanted", "--if-wanted=bloom"])
def test_only_what_somebody_wants(run, service, logged, wanting, how):
    lines = "\n".join(document(id=str(number), subject=each) for number, each in enumerate(["wanted", "not"]))
    where = "--url", service.url, "--channel", wanting
    result = run("publish", *where, "--file", "-", how, input=lines)
    said = "accepted 1 event on cli/wanting; 1 event that nobody wants stayed here\n"
    assert (result.exit_code, result.stdout) == (0, said)
    alone = run("publish", *where, "--type", "t", how)
    said = "accepted 0 events on cli/wanting; 1 event that nobody wants stayed here\n"
    assert (alone.exit_code, alone.stdout) == (0, said)
    assert [each.event.id for each in logged()] == ["0"]


def test_interest_is_shown(run, service, wanting):
    shown = run("get", "interest", wanting, "--url", service.url)
    assert shown.stdout.strip() == 'ce.subject == "wanted"'
    assert "the events that the 1 subscription of cli/wanting wants at revision" in shown.stderr
    whole = msgspec.json.decode(run("get", "interest", wanting, "--json", "--url", service.url).stdout)
    assert whole["exact"] is True
    wrong = run("get", "interest", "nowhere", "--url", service.url)
    assert (wrong.exit_code, "namespace/name" in wrong.output) == (1, True)
