"""Requests that somebody may send who means no good, or who doesn't know better."""

import json
from collections.abc import Callable
from typing import NamedTuple

from tests.api.application import BATCHED, CHANNEL, STRUCTURED, V1

JSON = {"content-type": "application/json"}
GOOD = b'{"specversion":"1.0","id":"%d","source":"/s","type":"t","data":{"a":[1,{"b":"c"}]}}'
SMALLEST = b'{"specversion":"1.0","id":"1","source":"a","type":"t"}'
SINK = {"sink": "http://127.0.0.1:9/"}


class Case(NamedTuple):
    """A request, and the statuses that may come of it. Its body is made when it is sent: some are long."""

    name: str
    method: str
    path: str
    headers: dict[str, str]
    body: Callable[[], bytes]
    statuses: tuple[int, ...]


def filled(
    element: bytes, size: int, before: bytes = b"[", between: bytes = b",", after: bytes = b"]"
) -> bytes:
    """Repeat an element up to a size."""
    return before + between.join([element] * (size // (len(element) + len(between)))) + after


def numbered(size: int) -> bytes:
    count = size // (len(GOOD) + 6)
    return b"[" + b",".join(GOOD % number for number in range(count)) + b"]"


def subscription(**members: object) -> bytes:
    return json.dumps(SINK | members).encode()


def manifest(size: int) -> bytes:
    """A manifest of one object, with more labels than it may have."""
    head = b"apiVersion: eventing.knative.dev/v1\nkind: Trigger\nmetadata:\n  name: t\n  labels:\n"
    return head + b"".join(b"    label%d: a\n" % number for number in range(size // 19))


def bomb() -> bytes:
    lines = ["a0: &a0 [x,x,x,x,x,x,x,x,x]"]
    lines += [f"a{n}: &a{n} [{','.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 12)]
    return "\n".join(lines).encode()


def nested(levels: int) -> bytes:
    return b"[" * levels + b"]" * levels


def batch(name: str, body: Callable[[], bytes], *statuses: int) -> Case:
    return Case(f"batch: {name}", "POST", CHANNEL, BATCHED, body, statuses or (400,))


def structured(name: str, body: Callable[[], bytes], *statuses: int) -> Case:
    return Case(f"event: {name}", "POST", CHANNEL, STRUCTURED, body, statuses or (400,))


def apply(name: str, body: Callable[[], bytes], *statuses: int) -> Case:
    return Case(f"apply: {name}", "POST", "/api/apply?dryRun=true", {}, body, statuses or (400,))


def create(name: str, body: Callable[[], bytes], *statuses: int) -> Case:
    return Case(f"subscription: {name}", "POST", "/subscriptions", JSON, body, statuses or (400, 413))


def with_required(**members: object) -> bytes:
    return json.dumps({"specversion": "1.0", "id": "1", "source": "/s", "type": "t", **members}).encode()


MB = 1 << 20
EVENTS = [
    batch("16 MB of good events", lambda: numbered(16 * MB - 100), 202),
    batch("16 MB of faulty events", lambda: filled(b'{"specversion":"1.0","id":"","source":" ","x_":{}}', 16 * MB - 9)),
    batch('3 MB of {"a":1}', lambda: filled(b'{"a":1}', 3 * MB)),
    batch("16 MB of {}", lambda: filled(b"{}", 16 * MB - 9)),
    batch("16 MB of [", lambda: b"[" * (16 * MB - 9)),
    batch("16 MB of backslashes", lambda: b'["' + b"\\" * (16 * MB - 9)),
    batch("16 MB of good events and a fault at the end", lambda: numbered(16 * MB - 500)[:-1] + b",{}]"),
    batch("16 MB that are one string", lambda: b'["' + b"a" * (16 * MB - 9) + b'"]'),
    batch("16 MB that aren't UTF-8", lambda: filled(b'"\xff"', 16 * MB - 9)),
    batch("an object of 16 MB", lambda: b"{" + filled(b'"a":1', 16 * MB - 9, b"", b",", b"}")),
    batch("events of 1 MB", lambda: filled(with_required(data="a" * 900_000), 16 * MB - 9), 202, 503),
    structured("1 MB of attributes", lambda: json.dumps({f"a{n}": 1 for n in range(70_000)}).encode()),
    structured("1 MB of one attribute", lambda: with_required(subject="a" * 1_000_000), 202),
    structured("an attribute that is an array of 1 MB", lambda: with_required(specversion="0.3", a=[1] * 300_000)),
    structured("an attribute of 1 MB that 1.0 hasn't", lambda: with_required(a=[[]] * 200_000)),
    structured("deep data", lambda: b'{"specversion":"1.0","id":"1","source":"/s","type":"t","data":' + nested(200_000) + b"}", 202, 400),
    structured("a deep attribute", lambda: b'{"specversion":"0.3","id":"1","source":"/s","type":"t","a":' + nested(400) + b"}"),
    structured("a number of 400 digits", lambda: with_required(a=10**400)),
    structured("1e400", lambda: b'{"specversion":"1.0","id":"1","source":"/s","type":"t","a":1e400}'),
    structured("NaN", lambda: b'{"specversion":"1.0","id":"1","source":"/s","type":"t","a":NaN}'),
    structured("base64 of 1 MB", lambda: with_required(data_base64="A" * 1_000_000), 202),
    structured("no UTF-8", lambda: b'{"id":"\xff"}'),
    Case("event: 200 headers of 300 bytes", "POST", CHANNEL, V1 | {f"ce-a{n}": "b" * 250 for n in range(200)}, bytes, (202,)),
    Case("event: gzip", "POST", CHANNEL, V1 | {"content-encoding": "gzip"}, lambda: b"\x1f\x8b" * 1000, (415,)),
]  # fmt: skip
MANIFESTS = [
    apply("1.5 MB of a manifest", lambda: manifest(3 * MB // 2)),
    apply("14 MB of a manifest", lambda: manifest(14 * MB), 413),
    apply("1.5 MB of numbers", lambda: filled(b"1", 3 * MB // 2)),
    apply("1.5 MB of objects", lambda: filled(b"{a: 1}", 3 * MB // 2)),
    apply("4 MB in one line", lambda: b"a: " + b"x" * (4 * MB - 9)),
    apply("4 MB of text", lambda: b"a: |\n" + b"  x\n" * (MB - 9)),
    apply("4 MB of brackets", lambda: b"[" * (4 * MB - 9)),
    apply("4 MB of empty documents", lambda: b"---\n" * (MB - 9)),
    apply("a bomb of aliases", bomb),
    apply("a number of a megabyte", lambda: b"a: 1" + b":1" * (MB // 2)),
    apply("no UTF-8", lambda: b"\xff" * 1000),
    Case("object: 1.5 MB put at one address", "PUT", "/api/triggers/default/t", {}, lambda: manifest(3 * MB // 2), (400,)),
]  # fmt: skip
SUBSCRIPTIONS = [
    create("1 MB of filters", lambda: subscription(filters=[{"exact": {"type": "a"}}] * 34_000)),
    create("256 kB of filters", lambda: subscription(filters=[{"exact": {"type": "a"}}] * 8_500)),
    create("256 kB of unknown members", lambda: subscription(**{f"u{n}": 1 for n in range(20_000)})),
    create("256 kB of config", lambda: subscription(config={f"u{n}": "v" for n in range(15_000)})),
    create("256 kB of headers", lambda: subscription(protocolsettings={"headers": {f"h{n}": "v" for n in range(15_000)}}), 201, 400),
    create("256 kB of arrays", lambda: subscription(config={"a": [[]] * 60_000})),
    create("deep nesting", lambda: b'{"sink":' + nested(100_000) + b"}"),
    create("a rate of 400 digits", lambda: subscription(config={"delivery": {"rate": 10**400}})),
    create("1e400", lambda: b'{"sink":"http://127.0.0.1:9/","config":{"delivery":{"retry":1e400}}}'),
    create("NaN", lambda: b'{"sink":NaN}'),
    create("names that stand twice", lambda: b'{"sink":"http://127.0.0.1:9/","sink":"http://127.0.0.1:9/"}'),
    create("no UTF-8", lambda: b'{"sink":"\xff"}'),
    Case("import: 400 kB of lines with faults", "POST", "/api/subscriptions/import", {"content-type": "application/x-ndjson"}, lambda: b'{"x":1}\n' * 50_000, (400,)),
    Case("import: 200 kB of good lines", "POST", "/api/subscriptions/import?dryRun=true", {"content-type": "application/x-ndjson"}, lambda: (subscription() + b"\n") * 6_000, (200,)),
    Case("import: a line of 4 MB", "POST", "/api/subscriptions/import", {"content-type": "application/x-ndjson"}, lambda: b"x" * 4 * MB, (413,)),
    Case("channel: 256 kB of config", "POST", "/api/channels", JSON, lambda: json.dumps({"namespace": "a", "name": "b", "config": {f"u{n}": {"type": "x"} for n in range(8_000)}}).encode(), (400,)),
    Case("quotas: 400 digits", "PUT", "/api/quotas/shop", JSON, lambda: b'{"subscriptions":' + b"9" * 400 + b',"events_per_second":1e400}', (400,)),
    Case("key: 400 digits", "POST", "/api/keys", JSON, lambda: b'{"name":"a","grants":{"a":["publish"]},"expires":' + b"9" * 400 + b"}", (400,)),
    Case("keys: 256 kB of grants", "POST", "/api/keys", JSON, lambda: json.dumps({"name": "a", "grants": {f"n{n}": ["x"] for n in range(14_000)}}).encode(), (400,)),
]  # fmt: skip
K = 64_000
FILTERS = {
    "cel of many comparisons": {"cel": " || ".join(['ce.type=="a"'] * (K // 17))},
    "cel of many names": {"cel": " && ".join(f"(ce.a{n}=={n}||data.b{n}>{n})" for n in range(K // 30))},
    "cel of one text": {"cel": 'ce.type=="' + "a" * K + '"'},
    "cel of parentheses": {"cel": "(" * K + "true" + ")" * (K // 2)},
    "cel of nots": {"cel": "!" * K + "true"},
    "cel of a long list": {"cel": "ce.type in [" + ",".join(f'"{n}"' for n in range(K // 8)) + "]"},
    "cel of additions": {"cel": "1" + "+1" * (K // 2) + "==2"},
    "cel of garbage": {"cel": "$" * 99_000},
    "cel of a long pattern": {"cel": 'ce.type.matches("' + "(a|b)*" * (K // 8) + '")'},
    "cel of 400 digits": {"cel": "1" * 400 + " > 1"},
    "sql of many comparisons": {"sql": " OR ".join(["type='a'"] * 700)},
    "sql of nots": {"sql": "NOT " * 2400 + "TRUE"},
    "sql of parentheses": {"sql": "(" * 9_999},
    "sql of a pattern": {"sql": "type LIKE '" + "%a" * 4900 + "'"},
    "any of many": {"any": [{"exact": {"type": str(n)}} for n in range(K // 32)]},
    "all of any": {"all": [{"any": [{"exact": {"type": str(n)}}, {"prefix": {"source": str(n)}}]} for n in range(K // 80)]},
    "attributes": {"attributes": {f"a{n}": str(n) for n in range(K // 16)}},
    "streamer": {"streamer": [{"field": f"data.a{n}", "op": "==", "value": n} for n in range(K // 48)]},
    "streamer of 400 digits": {"streamer": [{"field": "data.a", "op": "==", "value": 10**400}]},
    "message": {"message": {"and": [{"op": "eq", "property": "a", "value": str(n)} for n in range(K // 48)]}},
    "prefix": {"prefix": {"type": "x" * K}},
}  # fmt: skip
EVENT = {"specversion": "1.0", "id": "1", "source": "/s", "type": "t"}


def look(kind: str, name: str, **members: object) -> Case:
    body = json.dumps(members).encode()
    return Case(f"{kind}: {name}", "POST", f"/api/filters/{kind}", JSON, lambda: body, (200, 202, 400))


LOOKS = [look("compile", name, filter=spec) for name, spec in FILTERS.items()]
for _name in ("cel of many names", "cel of garbage", "cel of a long list", "any of many"):
    LOOKS += [
        look("explain", _name, filter=FILTERS[_name], event=EVENT),
        look("backtest", _name, filter=FILTERS[_name]),
    ]
READS = [
    Case(f"read: {path[:40]}", "GET", path, {}, bytes, (200, 400, 404, 503))
    for path in (
        "/openapi.json", "/docs", "/metrics", "/healthz", "/readyz", "/api/discovery", "/api/discovery/endpoints",
        "/api/channels", "/api/audit", "/api/attempts", "/api/jobs", "/api/keys", "/api/quotas", "/subscriptions",
        "/api/objects", "/api/triggers", "/api/set-aside", "/api/audit?since=" + "9" * 400, "/api/audit?limit=" + "9" * 5000,
        "/subscriptions?cursor=" + "A" * 8000, "/subscriptions?" + "a&" * 4000, "/api/set-aside?limit=" + "9" * 5000,
    )
]  # fmt: skip
CORPUS = [*EVENTS, *MANIFESTS, *SUBSCRIPTIONS, *LOOKS, *READS]
