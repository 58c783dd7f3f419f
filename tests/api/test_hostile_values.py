"""Values that nobody foresaw are refused with a sentence; none of them is a failure of the service."""

import copy
import json

import pytest

SINK = "http://127.0.0.1:9/"
EVENT = {"specversion": "1.0", "id": "1", "source": "/s", "type": "t"}
SUBSCRIPTION = {
    "sink": SINK,
    "types": ["a"],
    "source": "/s",
    "protocol": "HTTP",
    "protocolsettings": {"headers": {"a": "b"}, "method": "POST"},
    "filters": [{"exact": {"type": "a"}}],
    "config": {
        "channel": "default/default",
        "start": "latest",
        "delivery": {"retry": 3, "rate": 1.5, "timeout": "PT1S", "backoffDelay": "PT1S", "concurrency": 1},
    },
}
DOCUMENTS = [
    ("POST", "/subscriptions", SUBSCRIPTION),
    ("POST", "/api/deliveries/test", {"subscription": {"sink": 7}, "event": EVENT}),
    ("POST", "/api/channels", {"namespace": "a", "name": "b", "delivery": {"retry": 1}, "config": {"k": "string"}}),
    ("POST", "/api/filters/compile", {"filter": {"exact": {"type": "a"}}}),
    ("POST", "/api/filters/compile", {"filters": [{"streamer": [{"field": "data.a", "op": "==", "value": 1}]}]}),
    ("POST", "/api/filters/explain", {"filter": {"cel": "data.a > 1"}, "event": EVENT, "publishTime": 1}),
    ("POST", "/api/filters/backtest", {"filter": {"sql": "type = 'a'"}, "from": 1, "to": 2, "examples": 1}),
    ("POST", "/api/keys", {"name": "a", "grants": {"a": ["publish"]}, "expires": "2099-01-01T00:00:00Z"}),
    ("PUT", "/api/quotas/a", {"subscriptions": 1, "channels": 1, "eventsPerSecond": 1.5, "filterCost": 1}),
    ("POST", "/api/redrives", {"channel": "default/default", "since": 1, "rate": 5, "dryRun": True}),
    ("POST", "/api/apply", {"apiVersion": "messaging.knative.dev/v1", "kind": "Channel", "metadata": {"name": "c", "labels": {"a": "b"}}, "spec": {"delivery": {"retry": 3, "timeout": "PT1S"}}}),
]  # fmt: skip
DEEP = "[" * 500 + "]" * 500
VALUES = ["9" * 400, "-" + "9" * 400, "9" * 5000, "1e308", "1e400", "-1e400", "1e-400", "NaN", "Infinity", DEEP,
          '"\\u0000"', '"\\ud800"', '"\\uffff"', '"' + "a" * 70_000 + '"', "null", "true", "[]", "{}", '{"a":1,"a":2}',
          "18446744073709551616", "-9223372036854775809", '""', '" "', '"9999-12-31T23:59:60Z"', '"P' + "9" * 400 + 'Y"',
          "0", "-0.0", "1.7976931348623157e308"]  # fmt: skip
MARK = "the value goes here"


def places(document):
    """Yield the document with each of its values in turn replaced, and with each name."""
    yield MARK
    for name in (
        document if isinstance(document, dict) else range(len(document) if isinstance(document, list) else 0)
    ):
        for inner in places(document[name]):
            changed = copy.copy(document)
            changed[name] = inner
            yield changed


@pytest.mark.parametrize(
    ("method", "path", "document"), DOCUMENTS, ids=[f"{each[1]}-{n}" for n, each in enumerate(DOCUMENTS)]
)
async def test_no_value_makes_the_service_fail(api, method, path, document):
    for place in places(document):
        for value in VALUES:
            body = json.dumps(place).replace(json.dumps(MARK), value).encode()
            answer = await api.call(method, path, {"content-type": "application/json"}, body)
            assert answer.status < 500 or answer.json["code"] == "no-dispatcher", (
                value[:60],
                place,
                answer.body[:300],
            )
            assert answer.status < 400 or len(answer.body) < 64 << 10


@pytest.mark.parametrize("value", ["9" * 400, "9" * 5000, "-1", "1e400", "%00", "a" * 9000, "NaN", "%ff"])
@pytest.mark.parametrize("path", ["/subscriptions?limit=", "/subscriptions?cursor=", "/api/audit?since=", "/api/audit?limit=", "/api/attempts?status=", "/api/set-aside?limit=", "/api/jobs?kind=", "/api/attempts?since="])  # fmt: skip
async def test_no_parameter_makes_the_service_fail(api, path, value):
    answer = await api.call("GET", path + value)
    assert answer.status in (200, 400), answer.body[:300]
