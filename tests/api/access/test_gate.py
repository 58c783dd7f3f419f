"""Who is let in by every handler, and what they leave in the record of changes."""

import asyncio
import logging
import re
import time
import urllib.request

import msgspec
import pytest
from tests.api.application import V1
from tests.api.role import HttpRole
from tests.auth.provider import AUDIENCE, Provider

from headrace.api.access.access import access_of
from headrace.api.access.gate import _ELSEWHERE, Gate
from headrace.api.access.permissions import Target, known
from headrace.api.app import build_app
from headrace.api.openapi.operation import Answer
from headrace.api.requests.documents import json_response
from headrace.api.routes.tags import ACCESS
from headrace.auth.audit.entries import UNKNOWN, AuditQuery
from headrace.auth.authentication import Authentication
from headrace.auth.settings import Issuer
from headrace.auth.tokens.token import Tokens
from headrace.errors import StoreUnavailable
from headrace.telemetry.metrics import UNAUTHORIZED

JSON = {"content-type": "application/json"}
WISH = {"sink": "http://sink/", "protocol": "HTTP"}


@pytest.fixture
async def closed(open_api):
    """An API at which everybody is asked."""
    return open_api(auth=True)


async def _send(api, method, path, document, who):
    return await api.call(method, path, JSON | who, msgspec.json.encode(document))


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """What a real process serves, by its own description."""
    with (
        HttpRole(tmp_path_factory.mktemp("http") / "data") as role,
        urllib.request.urlopen(f"{role.url}/openapi.json", timeout=20) as answer,
    ):
        document = msgspec.json.decode(answer.read())
    return {(path, method.upper()) for path, item in document["paths"].items() for method in item}


async def test_the_api_of_these_tests_has_every_route(closed, served):
    """Or what is tried on all of them would leave some out."""
    assert served == {(each.path, each.method) for each in closed.routes()}


def test_a_route_without_a_permission_can_t_be_written():
    with pytest.raises(TypeError, match="permission"):
        ACCESS.route("GET /api/forgotten", answers={})  # type: ignore[call-arg]


async def test_an_answer_whose_handler_forgot_to_ask_is_withheld(closed, monkeypatch):
    answer = Answer("What there is.")

    class Forgetful:
        @ACCESS.route("GET /api/jobs", known(Target.HANDLER), answer)
        async def forgetful(self, _):
            return json_response("everything")

        @ACCESS.route("GET /api/channels", known(Target.HANDLER), answer)
        async def other(self, request):
            return json_response(sorted(access_of(request).namespaces or ()))

    closed.app = build_app(None, Forgetful(), gate=closed.gate)
    who = await closed.key(shop=["subscribe"])
    with pytest.raises(RuntimeError, match="withheld"):
        await closed.call("GET", "/api/jobs", who)
    assert (await closed.call("GET", "/api/channels", who)).json == ["shop"]


async def test_without_a_key_nothing_but_health_is_answered(closed):
    for each in closed.routes():
        if each.permission.is_open:
            continue
        answer = await closed.call(each.method, re.sub(r"\{\w+\}", "x", each.path))
        assert (answer.status, answer.json["code"]) == (401, "unauthenticated"), each
        assert answer.headers["www-authenticate"] == 'Bearer realm="headrace"'
    for path in ("/healthz", "/readyz", "/openapi.json"):
        assert (await closed.call("GET", path)).status == 200
    assert "details" not in (await closed.call("GET", "/readyz")).json, "it names folders and addresses"
    assert (await closed.post(V1)).status == 401
    assert (await closed.post(V1, path="/channels/no/where")).status == 401, "it doesn't tell what there is"


async def test_why_a_role_is_not_ready_is_for_those_who_may_look_everywhere(closed):
    some, all_ = await closed.key(shop=["admin"]), await closed.key(everywhere=["subscribe"])
    assert "details" not in (await closed.call("GET", "/readyz", some)).json
    assert "details" not in (await closed.call("GET", "/readyz", {"authorization": "Bearer nonsense"})).json
    assert set((await closed.call("GET", "/readyz", all_)).json["details"]) == set(closed.roles)


@pytest.mark.parametrize(
    "header",
    ["Basic YTpi", "Bearer", "Bearer  ", "Bearer hr_x", "Bearer hr_0123456789_" + "0" * 49, "Bearer a.b.c"],
)
async def test_what_is_no_good_credential_is_refused(closed, header):
    answer = await closed.call("GET", "/subscriptions", {"authorization": header})
    assert answer.status == 401
    assert 'error="invalid_token"' in answer.headers["www-authenticate"]


async def test_two_credentials_are_none(closed):
    who = await closed.key(everywhere=["admin"])
    answer = await closed.call("GET", "/subscriptions", [*who.items(), *who.items()])
    assert answer.status == 401


async def test_roles_in_a_namespace(closed):
    publisher, subscriber = await closed.key(default=["publish"]), await closed.key(default=["subscribe"])
    admin = await closed.key(default=["admin"])
    assert (await closed.post(V1 | publisher)).status == 202
    assert (await closed.post(V1 | admin)).status == 202
    refused = await closed.post(V1 | subscriber)
    assert (refused.status, refused.json["code"]) == (403, "forbidden")
    assert "'publish' in namespace 'default'" in refused.json["detail"]
    assert (await _send(closed, "POST", "/subscriptions", WISH, subscriber)).status == 201
    assert (await _send(closed, "POST", "/subscriptions", WISH, publisher)).status == 403
    made = {"namespace": "default", "name": "more"}
    assert (await _send(closed, "POST", "/api/channels", made, subscriber)).status == 403
    assert (await _send(closed, "POST", "/api/channels", made, admin)).status == 201
    elsewhere = {"namespace": "shop", "name": "more"}
    assert (await _send(closed, "POST", "/api/channels", elsewhere, admin)).status == 403
    for who in (publisher, subscriber, admin):
        assert (await closed.call("GET", "/api/channels", who)).status == 200
        assert (await closed.call("GET", "/metrics", who)).status == 403, "they tell of all namespaces"
    assert (await closed.call("GET", "/metrics", await closed.key(everywhere=["subscribe"]))).status == 200
    assert len(closed.ids()) == 2


async def test_a_channel_is_not_looked_for_before_it_is_known_who_asks(closed):
    who = await closed.key(shop=["publish"])
    there, nowhere = await closed.post(V1 | who), await closed.post(V1 | who, path="/channels/default/none")
    assert there.status == nowhere.status == 403
    assert there.body == nowhere.body, "who may not publish there doesn't learn what there is"


async def test_keys_over_http(closed):
    first = await closed.key(everywhere=["admin"])
    wish = {"name": "ci", "grants": {"default": ["publish"]}, "expires": "2099-01-01T00:00:00Z"}
    made = await _send(closed, "POST", "/api/keys", wish, first)
    assert made.status == 201
    assert made.headers["cache-control"] == "no-store"
    await closed.ring.refresh()
    who = {"authorization": f"Bearer {made.json['key']}"}
    assert (await closed.post(V1 | who)).status == 202
    shown = (await closed.call("GET", made.headers["location"], first)).json
    assert shown == {name: value for name, value in made.json.items() if name != "key"}
    assert made.json["key"] not in (await closed.call("GET", "/api/keys", first)).body.decode()
    mine = await closed.call("GET", "/api/whoami", who)
    assert mine.json == {"id": f"key:{made.json['id']}", "grants": {"default": ["publish"]}}
    assert (await closed.call("DELETE", made.headers["location"], first)).status == 200
    await closed.ring.refresh()
    assert (await closed.post(V1 | who)).status == 401
    assert (await closed.call("DELETE", made.headers["location"], first)).status == 409


@pytest.mark.parametrize(
    ("wish", "path"),
    [
        ([], ""),
        ({"grants": {"shop": ["publish"]}}, "name"),
        ({"name": "x\n", "grants": {"shop": ["publish"]}}, "name"),
        ({"name": "x"}, "grants"),
        ({"name": "x", "grants": {}}, "grants"),
        ({"name": "x", "grants": {"Shop": ["publish"]}}, "grants.Shop"),
        ({"name": "x", "grants": {"shop": ["fly"]}}, "grants.shop"),
        ({"name": "x", "grants": {"shop": []}}, "grants.shop"),
        ({"name": "x", "grants": {"shop": ["publish"]}, "expires": "soon"}, "expires"),
        ({"name": "x", "grants": {"shop": ["publish"]}, "extra": 1}, "extra"),
    ],
)
async def test_a_key_that_can_t_be_is_refused_with_the_reason(closed, wish, path):
    answer = await _send(closed, "POST", "/api/keys", wish, await closed.key(everywhere=["admin"]))
    assert answer.status == 400
    assert path in [each["path"] for each in answer.json["faults"]]


async def test_nobody_gives_away_what_they_don_t_have(closed):
    admin = await closed.key(shop=["admin"])
    for grants in ({"bank": ["publish"]}, {"*": ["publish"]}, {"shop": ["publish"], "bank": ["publish"]}):
        answer = await _send(closed, "POST", "/api/keys", {"name": "x", "grants": grants}, admin)
        assert answer.status == 403, grants
    wish = {"name": "x", "grants": {"shop": ["admin"]}}
    assert (await _send(closed, "POST", "/api/keys", wish, admin)).status == 201
    subscriber = await closed.key(shop=["subscribe"])
    assert (await _send(closed, "POST", "/api/keys", wish, subscriber)).status == 403


async def test_tokens_open_the_same_routes(closed):
    provider = Provider()
    async with provider.served():
        tokens = Tokens([Issuer(provider.url, AUDIENCE)], 0.0)
        gate = Gate(Authentication(closed.ring, tokens))
        closed.ingress._gate = gate
        who = {"authorization": f"Bearer {provider.token(headrace={'default': ['publish']})}"}
        assert (await closed.post(V1 | who)).status == 202
        assert (await closed.post(V1 | who)).status == 202
        assert provider.fetches == 1
        other = {"authorization": f"Bearer {provider.token(headrace={'shop': ['publish']})}"}
        assert (await closed.post(V1 | other)).status == 403
        late = {"authorization": f"Bearer {provider.token(exp=time.time() - 1)}"}
        answer = await closed.post(V1 | late)
        assert answer.status == 401
        assert 'error_description="the token has expired"' in answer.headers["www-authenticate"]


async def test_refusals_are_counted_and_only_some_are_logged(closed, caplog):
    before = UNAUTHORIZED.labels("events", "unauthenticated")._value.get()
    with caplog.at_level(logging.WARNING):
        for _ in range(100):
            await closed.post(V1)
    assert UNAUTHORIZED.labels("events", "unauthenticated")._value.get() == before + 100
    assert len(caplog.records) <= 20


# The record of changes


async def test_changes_are_recorded_with_who_and_what(closed):
    who = await closed.key(default=["admin"])
    made = await _send(
        closed, "POST", "/subscriptions", WISH | {"protocolsettings": {"headers": {"x": "secret-1"}}}, who
    )
    place = made.headers["location"]
    subscription = made.json["id"]
    await closed.call("GET", place, who)
    changed = WISH | {"sink": "http://other/"}
    assert (await _send(closed, "PUT", place, changed, who)).status == 200
    assert (await closed.call("POST", f"/api/subscriptions/{subscription}/pause", who)).status == 200
    assert (await closed.call("DELETE", place, who)).status == 200
    assert (await closed.call("DELETE", place, who)).status == 404
    answer = await closed.call("GET", f"/api/audit?object={subscription}", who)
    found = answer.json["changes"]
    assert [each["action"] for each in found] == [
        f"DELETE {place}",
        f"POST /api/subscriptions/{subscription}/pause",
        f"PUT {place}",
        "POST /subscriptions",
    ]
    key_id = who["authorization"][len("Bearer hr_") :][:10]
    for each in found:
        assert (each["who"], each["address"], each["namespace"]) == (f"key:{key_id}", "127.0.0.1", "default")
        assert each["kind"] == "subscription"
    deleted, paused, updated, created = (each["change"] for each in found)
    assert set(created) == {"after"}
    assert "sink" in updated["members"]
    assert updated["before"] == created["after"]
    assert paused["members"] == ["paused"]
    assert set(deleted) == {"before"}
    assert "secret-1" not in answer.body.decode()
    assert "other" not in answer.body.decode(), "names and digests, no values"


async def test_what_nobody_is_asked_for_is_recorded_too(open_api):
    api = open_api()
    await api.send_json("POST", "/api/channels", {"namespace": "shop", "name": "orders"})
    await api.send_json("PUT", "/api/channels/shop/orders", {"delivery": {"retry": 3}})
    await api.call("DELETE", "/api/channels/shop/orders")
    found = api.audit.find(AuditQuery(kind="channel"))
    assert [(each.who, each.action.split()[0], each.outcome) for each in found] == [
        ("anyone", "DELETE", 204),
        ("anyone", "PUT", 200),
        ("anyone", "POST", 201),
    ]
    assert found[1].change["members"] == ["delivery"]


_OBJECTS = (("/api/objects/brokers", "Broker"), ("/api/brokers", "Broker"), ("/api/triggers", "Trigger"))


async def _changes(api, subscription):
    """Make one change by every route; yield the kind and the object where that is known before."""
    await _send(api, "POST", "/api/channels", {"namespace": "default", "name": "new"}, {})
    yield "channel", "default/new"
    assert (
        await _send(api, "PUT", "/api/channels/default/new", {"delivery": {"retry": 3}}, {})
    ).status == 200
    yield "channel", "default/new"
    assert (await api.call("DELETE", "/api/channels/default/new")).status == 204
    yield "channel", "default/new"
    made = await _send(api, "POST", "/subscriptions", WISH, {})
    yield "subscription", made.json["id"]
    await _send(api, "PUT", f"/subscriptions/{subscription}", WISH | {"types": ["t"]}, {})
    yield "subscription", subscription
    await _send(api, "PUT", f"/subscriptions/{subscription}/secrets", {"signing": "generate"}, {})
    yield "subscription", subscription
    await api.call("POST", f"/api/subscriptions/{subscription}/pause")
    yield "subscription", subscription
    assert (await api.call("POST", f"/api/subscriptions/{subscription}/resume")).status == 200
    yield "subscription", subscription
    await api.call("POST", "/api/subscriptions/import", {}, msgspec.json.encode(WISH))
    yield "subscription", ""
    job = await _send(api, "POST", "/api/filters/backtest", {"filter": {"exact": {"type": "t"}}}, {})
    yield "backtest", job.json["id"]
    await api.call("DELETE", f"/api/jobs/{job.json['id']}")
    yield "job", job.json["id"]
    await _send(api, "POST", f"/api/subscriptions/{subscription}/seek", {"to": "earliest"}, {})
    yield "seek", subscription
    replay = {"from": "earliest"}
    assert (await _send(api, "POST", f"/api/subscriptions/{subscription}/replay", replay, {})).status == 202
    yield "replay", subscription
    broker = {
        "apiVersion": "eventing.knative.dev/v1",
        "kind": "Broker",
        "metadata": {"name": "b"},
        "spec": {},
    }
    assert (await _send(api, "POST", "/api/apply", [broker], {})).status == 200
    yield "object", ""
    for number, (base, kind) in enumerate(_OBJECTS):
        spec = {"broker": "b", "subscriber": {"uri": "http://sink/"}} if kind == "Trigger" else {}
        manifest = broker | {"kind": kind, "metadata": {"name": f"o{number}"}, "spec": spec}
        changed = manifest | {"spec": spec | {"delivery": {"retry": 3}}}
        address = f"{base}/default/o{number}"
        assert (await _send(api, "POST", base, manifest, {})).status == 200
        yield "object", ""
        assert (await _send(api, "PUT", address, changed, {})).status == 200
        yield "object", f"default/o{number}"
        assert (await api.call("DELETE", address)).status == 200
        yield "object", f"default/o{number}"
    assert (await _send(api, "POST", "/api/redrive", {"channel": "default/default"}, {})).status == 202
    yield "redrive", ""
    await api.call("DELETE", f"/subscriptions/{subscription}")
    yield "subscription", subscription


def _leads_to(route, method, path):
    pattern = re.sub(r"\{\w+\}", "[^/]+", route.path)
    return method == route.method and re.fullmatch(pattern, path) is not None


async def test_no_change_is_without_an_entry_whenever_the_service_stops(open_api, monkeypatch):
    """What came of it can't be written down any more: the entry is there with the change all the same."""
    api = open_api()
    subscription = (await _send(api, "POST", "/subscriptions", WISH, {})).json["id"]

    def stop(_):
        raise StoreUnavailable("the service stops here", unknown=True)

    asked, call = set(), api.call

    async def noting(method, path, *rest):
        asked.add((method, path.partition("?")[0]))
        return await call(method, path, *rest)

    monkeypatch.setattr(api, "call", noting)
    monkeypatch.setattr(api.audit, "complete", stop)
    seen = max(each.number for each in api.audit.find(AuditQuery()))
    async for kind, object_ in _changes(api, subscription):
        new = [each for each in api.audit.find(AuditQuery()) if each.number > seen]
        assert [(each.kind, each.object, each.outcome) for each in new] == [(kind, object_, UNKNOWN)]
        assert "outcome" not in new[0].document()
        seen = new[0].number
    # The gate itself writes the others before the endpoint is asked.
    recorded = [each for each in api.routes() if each.records not in {None, *_ELSEWHERE}]
    lacking = [each.operation for each in recorded if not any(_leads_to(each, *one) for one in asked)]
    assert lacking == [], "make this change too, and hand `along()` to what makes it"


async def test_what_was_refused_leaves_no_entry(open_api):
    api = open_api()
    subscription = (await _send(api, "POST", "/subscriptions", WISH, {})).json["id"]
    before = api.audit.find(AuditQuery())
    stale = {"if-match": '"0"'}
    assert (await _send(api, "PUT", f"/subscriptions/{subscription}", WISH, stale)).status == 412
    assert (await _send(api, "POST", "/subscriptions", WISH | {"sink": "nowhere"}, {})).status == 400
    assert (
        await _send(api, "POST", "/api/channels", {"namespace": "default", "name": "default"}, {})
    ).status == 409
    assert (await api.call("POST", "/api/subscriptions/nobody/pause")).status == 404
    assert api.audit.find(AuditQuery()) == before


async def test_changes_at_once_are_all_recorded(open_api):
    api = open_api()
    wishes = [{"namespace": "shop", "name": f"c{number}"} for number in range(20)]
    answers = await asyncio.gather(*(api.send_json("POST", "/api/channels", wish) for wish in wishes))
    assert {answer.status for answer in answers} == {201}
    assert len(api.audit.find(AuditQuery(kind="channel"))) == 20


async def test_the_record_comes_in_pages_and_is_forgotten(closed):
    who = await closed.key(everywhere=["admin"])
    for number in range(5):
        await _send(closed, "POST", "/api/channels", {"namespace": "shop", "name": f"c{number}"}, who)
    seen, cursor = [], ""
    while True:
        page = (await closed.call("GET", f"/api/audit?kind=channel&limit=2{cursor}", who)).json
        seen += [each["object"] for each in page["changes"]]
        if "next" not in page:
            break
        cursor = f"&cursor={page['next']}"
    assert seen == [f"shop/c{number}" for number in (4, 3, 2, 1, 0)]
    assert (await closed.call("GET", "/api/audit?until=2000-01-01T00:00:00Z", who)).json == {"changes": []}
    assert (await closed.call("GET", "/api/audit?nonsense=1", who)).status == 400
    assert closed.audit.prune(3600) == 0
    assert closed.audit.prune(-1) >= 5
    assert closed.audit.find(AuditQuery()) == []
