"""subscribe, get and delete, against the real service."""

import urllib.request

import msgspec
import pytest
from tests.opening import opening

from headrace.subscriptions.status import FilterStatus
from headrace.subscriptions.store.store import Store

SINK = "http://127.0.0.1:9000/"


def test_a_subscription_with_every_option(subscribed):
    made = subscribed(
        "--sink", SINK, "--filter", '{"not": {"exact": {"type": "test"}}}', "--exact", "type=a=b",
        "--prefix", "type=com.", "--suffix", "type=.x", "--source", "/s", "--type", "a", "--type", "b", "--structured",
    )  # fmt: skip
    assert made == {
        "id": made["id"],
        "status": made["status"],
        "sink": SINK,
        "protocol": "HTTP",
        "protocolsettings": {"method": "POST", "mode": "structured"},
        "config": {"channel": "default/default"},
        "source": "/s",
        "types": ["a", "b"],
        "filters": [
            {"not": {"exact": {"type": "test"}}},
            {"exact": {"type": "a=b"}},
            {"prefix": {"type": "com."}},
            {"suffix": {"type": ".x"}},
        ],
    }


@pytest.mark.parametrize(
    ("arguments", "protocol"),
    [
        (("--sink", "KAFKA://127.0.0.1:9092/orders"), "KAFKA"),
        (("--sink", "mqtts://127.0.0.1", "--settings", '{"topicname": "a"}'), "MQTT5"),
        (("--sink", "mqtt://127.0.0.1", "--settings", '{"topicname": "a"}', "--protocol", "MQTT3"), "MQTT3"),
        (("--sink", "amqp://127.0.0.1/queue", "--structured"), "AMQP"),
        (("--sink", "tls://127.0.0.1", "--settings", '{"subject": "a.b"}'), "NATS"),
    ],
)
def test_the_sink_s_scheme_tells_the_protocol(subscribed, arguments, protocol):
    made = subscribed("--type", "com.example.never", *arguments)
    assert made["protocol"] == protocol
    assert made["protocolsettings"]["mode"] == (
        "structured" if {"--structured", "MQTT3"} & set(arguments) else "binary"
    )


def test_the_whole_object_from_a_file(subscribed, tmp_path):
    file = tmp_path / "subscription.json"
    credential = {"credentialType": "PLAIN", "identifier": "me", "secret": "s"}
    file.write_bytes(msgspec.json.encode({"sink": SINK, "types": ["never"], "sinkCredential": credential}))
    made = subscribed("--file", str(file))
    assert (made["types"], made["sinkCredential"]["secret"]) == (["never"], "***")


def test_it_prints_the_id_alone_for_a_shell(run, service):
    result = run("subscribe", "--url", service.url, "--sink", SINK)
    id_ = result.stdout.strip()
    shown = run("get", "subscriptions", id_, "--url", service.url)
    assert msgspec.json.decode(shown.stdout)["id"] == id_


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "--sink"),
        (("--sink", SINK, "--filter", "{nonsense"), "--filter"),
        (("--sink", SINK, "--exact", "type"), "NAME=VALUE"),
        (("--sink", SINK, "--pull"), "give either --sink, --pull or --file"),
        (("--sink", SINK, "--settings", "{"), "--settings"),
        (("--sink", SINK, "--settings", "[]"), "no object"),
        (("--sink", SINK, "--protocol", "http"), "'HTTP'"),
        (("--file", "-", "--type", "a"), "give nothing else beside it"),
    ],
)
def test_wrong_usage(run, arguments, said):
    result = run("subscribe", *arguments)
    assert result.exit_code == 2
    assert said in result.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--sink", "nowhere"), "sink: "),
        (("--sink", SINK, "--filter", '{"nonsense": {}}'), "filters[0]"),
        (("--sink", SINK, "--channel", "no/such"), "no/such"),
    ],
)
def test_what_the_service_refuses_is_said_in_its_words(run, service, arguments, said):
    result = run("subscribe", "--url", service.url, *arguments)
    assert result.exit_code == 1
    assert said in result.stderr
    assert "Traceback" not in result.output


def test_a_list_for_people_is_whole_in_a_pipe(run, service, subscribed):
    sink = "http://[fe80::1]:9000/a/rather/long/path/that/does/not/fit/into/eighty/columns?with=[/brackets]"
    made = subscribed("--sink", sink, "--exact", "type=a")
    plain = subscribed("--sink", SINK)
    lines = run("get", "subscriptions", "--url", service.url).stdout.splitlines()
    assert lines[0].split() == ["id", "channel", "sink", "filters"]
    (line,) = [line for line in lines if made["id"] in line]
    assert line.split() == [made["id"], "default/default", sink, '[{"exact":{"type":"a"}}]']
    assert any(plain["id"] in line and "all events" in line for line in lines)


def test_a_filter_that_cost_too_much_is_told_of(run, service, subscribed):
    dear, cheap = subscribed("--sink", SINK, "--exact", "type=a"), subscribed("--sink", SINK)
    now = "2026-01-01T00:00:00.000Z"
    with opening(Store, f"sqlite:///{service.data}/store.db") as store:
        store.report_overruns({dear["id"]: FilterStatus(1, "it loops", 5, now)})
        lines = run("get", "subscriptions", "--url", service.url).stdout.splitlines()
        (line,) = [line for line in lines if dear["id"] in line]
        assert line.rstrip().endswith("filter cost too much once, at position 5: it loops")
        store.report_overruns({dear["id"]: FilterStatus(2, "it costs [more]", 17, now)})
    lines = run("get", "subscriptions", "--url", service.url).stdout.splitlines()
    assert lines[0].split() == ["id", "channel", "sink", "filters", "status"]
    (line,) = [line for line in lines if dear["id"] in line]
    assert line.rstrip().endswith("filter cost too much 3 times, last at position 17: it costs [more]")
    (line,) = [line for line in lines if cheap["id"] in line]
    assert line.rstrip().endswith("all events")
    shown = msgspec.json.decode(run("get", "subscriptions", dear["id"], "--url", service.url).stdout)
    assert shown["status"]["filter"]["overruns"] == 3
    run("delete", dear["id"], "--url", service.url)
    lines = run("get", "subscriptions", "--url", service.url).stdout.splitlines()
    assert "status" not in lines[0]


def test_a_list_for_programs(run, service, subscribed):
    made = subscribed("--sink", SINK)
    listed = msgspec.json.decode(run("get", "subscriptions", "--url", service.url, "--json").stdout)
    assert made in listed


def test_channels(run, service):
    found = msgspec.json.decode(run("get", "channels", "--url", service.url, "--json").stdout)
    its = {"namespace": "default", "name": "default", "url": f"{service.url}/channels/default/default"}
    assert its in found
    assert f"{service.url}/channels/default/default" in run("get", "channels", "--url", service.url).stdout
    assert run("get", "channels", "x", "--url", service.url).exit_code == 2


def test_delete(run, service, subscribed):
    id_ = subscribed("--sink", SINK)["id"]
    assert run("delete", id_, "--url", service.url).stdout == f"deleted {id_}\n"
    again = run("delete", id_, "--url", service.url)
    assert again.exit_code == 1
    assert f"there is no subscription '{id_}'" in again.stderr
    assert run("get", "subscriptions", id_, "--url", service.url).exit_code == 1


def test_lists_are_chosen_and_cut(run, service, subscribed):
    sink = "http://127.0.0.1:9000/chosen?a=b&c"
    made = [subscribed("--sink", sink)["id"] for _ in range(3)]
    run("pause", made[1], "--url", service.url)

    def listed(*arguments):
        result = run("get", "subscriptions", "--sink", sink, "--url", service.url, *arguments)
        assert result.exit_code == 0, result.stderr
        return result

    def ids(*arguments):
        return [each["id"] for each in msgspec.json.decode(listed("--json", *arguments).stdout)]

    assert ids() == ids("-n", "default", "--channel", "default/default", "--protocol", "HTTP") == made
    assert ids("--state", "paused") == [made[1]]
    assert ids("--state", "ended") == []
    assert ids("--limit", "2") == made[:2]
    assert len(listed().stdout.splitlines()) == 4
    cut = listed("--limit", "2")
    assert len(cut.stdout.splitlines()) == 3
    assert "there are more than these 2" in cut.stderr
    assert listed("--limit", "3").stderr == ""
    wrong = run("get", "jobs", "--sink", sink, "--url", service.url)
    assert (wrong.exit_code, "go with lists of subscriptions" in wrong.stderr) == (2, True)


def test_what_is_given_changes_and_the_rest_stays(run, service, subscribed, tmp_path):
    made = subscribed("--sink", SINK, "--exact", "type=a", "--type", "a", "--delivery", '{"retry": 3}')

    def update(*arguments):
        result = run("update", made["id"], "--url", service.url, "--json", *arguments)
        assert result.exit_code == 0, result.stderr
        return msgspec.json.decode(result.stdout)

    def apart_from_status(document):
        return {name: value for name, value in document.items() if name != "status"}

    changed = update("--sink", f"{SINK}orders", "--source", "/s", "--structured", "--reply", f"{SINK}reply")
    assert apart_from_status(changed) == apart_from_status(made) | {
        "sink": f"{SINK}orders",
        "source": "/s",
        "protocolsettings": {"method": "POST", "mode": "structured"},
        "config": made["config"] | {"reply": {"uri": f"{SINK}reply"}},
    }
    everything = update("--all-events")
    assert (everything["filters"], "source" in everything, "types" in everything) == ([], False, False)
    (tmp_path / "whole.json").write_text(f'{{"sink": "{SINK}", "types": ["b"]}}')
    whole = update("--file", str(tmp_path / "whole.json"))
    assert (whole["types"], whole["config"]) == (["b"], {"channel": "default/default"})
    told = run("update", made["id"], "--url", service.url, "--type", "c").stdout
    assert told == f"updated {made['id']}\n"


def test_an_update_that_can_t_be_made(run, service, subscribed, tmp_path):
    id_ = subscribed("--sink", SINK)["id"]
    (tmp_path / "whole.json").write_text("{}")
    for arguments in ((), ("--sink", SINK, "--file", str(tmp_path / "whole.json"))):
        result = run("update", id_, "--url", service.url, *arguments)
        assert (result.exit_code, "give what changes" in result.stderr) == (2, True)
    for refused, said in (
        (["--sink", "nowhere"], "sink: "),
        (["--type", "a", "--if-match", '"1"'], "was changed since you looked at it"),
        (["--file", str(tmp_path / "whole.json")], "sink: is required"),
    ):
        result = run("update", id_, "--url", service.url, *refused)
        assert (result.exit_code, said in result.stderr) == (1, True), result.stderr


def test_delete_by_kind(run, service, subscribed):
    id_ = subscribed("--sink", "http://127.0.0.1:1/")["id"]
    assert run("delete", "subscription", id_, "--url", service.url).stdout == f"deleted {id_}\n"
    made = urllib.request.Request(
        f"{service.url}/api/channels",
        b'{"namespace": "cli", "name": "gone"}',
        {"content-type": "application/json"},
    )
    urllib.request.urlopen(made, timeout=20).close()
    kept = subscribed("--sink", "http://127.0.0.1:1/", "--channel", "cli/gone")["id"]
    refused = run("delete", "channel", "cli/gone", "--url", service.url)
    assert refused.exit_code == 1
    assert "has subscriptions; delete them first" in refused.stderr
    run("delete", kept, "--url", service.url)
    assert run("delete", "channel", "cli/gone", "--url", service.url).stdout == "deleted channel cli/gone\n"
    again = run("delete", "channel", "cli/gone", "--url", service.url)
    assert (again.exit_code, "no channel 'cli/gone'" in again.stderr) == (1, True)
    assert "not of the form namespace/name" in run("delete", "channel", "gone", "--url", service.url).stderr
