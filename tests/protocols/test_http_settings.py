import pytest

from headrace.protocols import check_protocol, check_sink

GOOD_SINKS = [
    "http://example.com",
    "https://example.com/path?query=1#part",
    "http://localhost:8080/in",
    "HTTP://Example.COM/",
    "http://192.0.2.1/",
    "http://[2001:db8::1]:9000/",
    "https://example.com/%C3%BC",
    "https://example.com/a@b",
]
BAD_SINKS = [
    None,
    "",
    7,
    ["http://example.com"],
    {"url": "http://example.com"},
    "example.com",
    "/path",
    "//example.com/",
    "ftp://example.com/",
    "kafka://example.com/",
    "mailto:someone@example.com",
    "javascript:alert(1)",
    "file:///etc/passwd",
    "http://",
    "http:///path",
    "http:example.com",
    "http://:80/",
    "http://example.com:0/",
    "http://example.com:65536/",
    "http://example.com:-1/",
    "http://example.com:http/",
    "http://[::1/",
    "http://[::zz]/",
    "http://exa mple.com/",
    " http://example.com/",
    "http://example.com/\n",
    "http://example.com/a\tb",
    "http://example.com/\r\nHost: other",
    "http://example.com/\x00",
    "http://example.com/\x7f",
    "http://example.com/\u2028",
]


@pytest.mark.parametrize("sink", GOOD_SINKS)
def test_good_sinks(sink):
    assert check_sink("HTTP", sink) == []


@pytest.mark.parametrize("sink", BAD_SINKS, ids=repr)
def test_bad_sinks(sink):
    ((path, problem),) = check_sink("HTTP", sink)
    assert path == "sink"
    assert problem


@pytest.mark.parametrize(
    "sink",
    [
        "http://user:secret@example.com/",
        "https://user@example.com",
        "http://:secret@example.com/",
        "http://@example.com/",
    ],
)
def test_no_user_info_in_sinks(sink):
    ((path, problem),) = check_sink("HTTP", sink)
    assert path == "sink"
    assert "user name or password" in problem
    assert "use sinkCredential" in problem
    assert "secret" not in problem


@pytest.mark.parametrize(
    "protocol", ["http", "Http", "HTTPS", "", "kafka", "MQTT", None, 7, ["HTTP"], {}], ids=repr
)
def test_other_protocols(protocol):
    ((path, problem),) = check_protocol(protocol, {})
    assert path == "protocol"
    assert "this service delivers over: HTTP, KAFKA, MQTT3, MQTT5, AMQP, NATS" in problem


GOOD_SETTINGS = [
    {},
    {"method": "POST"},
    {"method": "PUT", "mode": "structured"},
    {"mode": "binary", "headers": {}},
    {"mode": "batched"},
    {"webhook": True},
    {"webhook": False},
    {"webhook": {}},
    {"webhook": {"origin": "events.example.com", "rate": 120}},
    {"signing": "generate"},
    {"headers": {"X-Token": "a b\tc", "!#$%&'*+.^_`|~-09az": "", "y": "wörld"}},
]


@pytest.mark.parametrize("settings", GOOD_SETTINGS, ids=repr)
def test_good_settings(settings):
    assert check_protocol("HTTP", settings) == []


BAD_SETTINGS: list[tuple[object, list[str]]] = [
    ([], ["protocolsettings"]),
    (None, ["protocolsettings"]),
    ("POST", ["protocolsettings"]),
    ({"verb": "POST"}, ["protocolsettings.verb"]),
    ({"Method": "POST"}, ["protocolsettings.Method"]),
    ({"method": "post"}, ["protocolsettings.method"]),
    ({"method": "GET"}, ["protocolsettings.method"]),
    ({"method": None}, ["protocolsettings.method"]),
    ({"method": ["POST"]}, ["protocolsettings.method"]),
    ({"mode": "Batched"}, ["protocolsettings.mode"]),
    ({"headers": {"Webhook-Signature": "v1,x"}}, ["protocolsettings.headers.Webhook-Signature"]),
    ({"headers": {"x-A": "1", "X-a": "2"}}, ["protocolsettings.headers"]),
    ({"webhook": "yes"}, ["protocolsettings.webhook"]),
    ({"webhook": {"callback": "x"}}, ["protocolsettings.webhook.callback"]),
    (
        {"webhook": {"origin": "a b", "rate": 0}},
        ["protocolsettings.webhook.origin", "protocolsettings.webhook.rate"],
    ),
    ({"signing": "make one"}, ["protocolsettings.signing"]),
    ({"signing": []}, ["protocolsettings.signing"]),
    ({"signing": [7]}, ["protocolsettings.signing[0]"]),
    ({"headers": []}, ["protocolsettings.headers"]),
    ({"headers": None}, ["protocolsettings.headers"]),
    ({"headers": {"": "x"}}, ["protocolsettings.headers."]),
    ({"headers": {"a b": "x"}}, ["protocolsettings.headers.a b"]),
    ({"headers": {"a:": "x"}}, ["protocolsettings.headers.a:"]),
    ({"headers": {"ä": "x"}}, ["protocolsettings.headers.ä"]),
    ({"headers": {"a\r\nb": "x"}}, ["protocolsettings.headers.a\r\nb"]),
    ({"headers": {"Host": "x"}}, ["protocolsettings.headers.Host"]),
    ({"headers": {"content-LENGTH": "1"}}, ["protocolsettings.headers.content-LENGTH"]),
    ({"headers": {"Transfer-Encoding": "chunked"}}, ["protocolsettings.headers.Transfer-Encoding"]),
    ({"headers": {"Content-Type": "x"}}, ["protocolsettings.headers.Content-Type"]),
    ({"headers": {"CE-id": "x"}}, ["protocolsettings.headers.CE-id"]),
    ({"headers": {"traceparent": "x"}}, ["protocolsettings.headers.traceparent"]),
    ({"headers": {"x": 1}}, ["protocolsettings.headers.x"]),
    ({"headers": {"x": None}}, ["protocolsettings.headers.x"]),
    ({"headers": {"x": "a\r\nHost: other"}}, ["protocolsettings.headers.x"]),
    ({"headers": {"x": "a\x00"}}, ["protocolsettings.headers.x"]),
    (
        {"verb": 1, "method": "GET", "mode": "x", "headers": {"Host": 1, "y": 2}},
        [
            "protocolsettings.verb",
            "protocolsettings.method",
            "protocolsettings.mode",
            "protocolsettings.headers.Host",
            "protocolsettings.headers.Host",
            "protocolsettings.headers.y",
        ],
    ),
]


@pytest.mark.parametrize(("settings", "paths"), BAD_SETTINGS, ids=repr)
def test_bad_settings(settings, paths):
    faults = check_protocol("HTTP", settings)
    assert [path for path, _ in faults] == paths
    assert all(problem for _, problem in faults)
