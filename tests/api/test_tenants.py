"""Two tenants, and every route of the service tried with what is the other's: nothing leaks.

The requests are made from the table of permissions, so a new route is tried as well, or fails here.
"""

import re
import time
import uuid

import msgspec
import pytest
from tests.api.application import V1, Application

from headrace.api.access.permissions import Target, known
from headrace.database.database import Database
from headrace.events.event import Event
from headrace.events.json_format import encode
from headrace.events.positions import LogPosition
from headrace.ledger.ledger import Changes, GivenUp, Key, Ledger
from headrace.ledger.records.attempts import Attempt
from headrace.subscriptions.imports.kept_ids import id_within
from headrace.subscriptions.store.set_aside import Kind, SetAside

JSON = {"content-type": "application/json"}
SHOP, BANK = "shop", "bank"
SECRET = "bank-secret"
"""Stands in everything of the bank, so that it is seen wherever it comes out."""


def _trigger(namespace, name):
    spec = {
        "broker": f"{name}-broker",
        "subscriber": {"uri": f"http://{SECRET if namespace == BANK else 'sink'}/"},
    }
    return {
        "apiVersion": "eventing.knative.dev/v1",
        "kind": "Trigger",
        "metadata": {"name": name, "namespace": namespace},
        "spec": spec,
    }


def _broker(namespace, name):
    return {
        "apiVersion": "eventing.knative.dev/v1",
        "kind": "Broker",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {},
    }


class Tenant:
    """A namespace with one of everything, and somebody who may do everything in it."""

    def __init__(self, api, namespace):
        self.api = api
        self.namespace = namespace
        self.word = SECRET if namespace == BANK else "shop-word"
        self.ids = {}

    async def settle(self):
        api = self.api
        self.who = await api.key(**{self.namespace: ["admin"]})
        self.key_id = self.who["authorization"][len("Bearer hr_") :][:10]
        self.channel = f"{self.namespace}/{self.word}"
        assert (
            await self.send("POST", "/api/channels", {"namespace": self.namespace, "name": self.word})
        ).status == 201
        wish = {"sink": f"http://{self.word}/", "protocol": "HTTP", "config": {"channel": self.channel}}
        made = await self.send("POST", "/subscriptions", wish)
        assert made.status == 201, made.json
        self.subscription = made.json["id"]
        pulled = {"protocol": "PULL", "config": {"channel": self.channel}}
        self.pulled = (await self.send("POST", "/subscriptions", pulled)).json["id"]
        manifests = [_broker(self.namespace, f"{self.word}-broker"), _trigger(self.namespace, self.word)]
        assert (await self.send("POST", "/api/apply", manifests)).status == 200
        job = await self.send(
            "POST",
            "/api/filters/backtest",
            {"filter": {"exact": {"type": self.word}}, "channel": self.channel},
        )
        assert job.status == 202, job.json
        redrive = await self.send("POST", "/api/redrive", {"channel": self.channel})
        assert redrive.status == 202, redrive.json
        event = Event({"specversion": "1.0", "id": self.word, "source": "/s", "type": self.word}, b"{}")
        self._write(event)
        api.store.set_aside(
            [
                SetAside(
                    Kind.EVENT,
                    hash(self.namespace) % 1000,
                    hash(self.namespace) % 1000 + 1,
                    f"because of {self.word}",
                    self.namespace,
                    self.word,
                )
            ]
        )
        attempts = await self.send("GET", "/api/attempts", None)
        (attempt,) = attempts.json["attempts"]
        self.ids = {
            Target.SUBSCRIPTION: self.subscription,
            Target.JOB: job.json["id"],
            Target.REDRIVE: redrive.json["id"],
            Target.ATTEMPT: str(attempt["id"]),
            Target.KEY: self.key_id,
        }

    def _write(self, event):
        """Write what a dispatcher would have written."""
        ledger = Ledger(Database(self.api.delivery_url))
        key = Key(self.subscription, 0, "", "sink")
        attempt = Attempt(
            self.subscription,
            0,
            "",
            "sink",
            1,
            time.time(),
            0.1,
            "never",
            400,
            self.word,
            (),
            self.word.encode(),
        )
        ledger.commit(
            Changes(
                (),
                [GivenUp(key, 1, time.time(), self.word, encode(event))],
                (),
                ledger.cursor(),
                {},
                [attempt],
            )
        )
        ledger.database.close()

    async def send(self, method, path, document):
        body = b"" if document is None else msgspec.json.encode(document)
        return await self.api.call(method, path, JSON | self.who, body)

    def path(self, template, of):
        """Fill a route's address with what is this tenant's."""
        filled = template.replace("{namespace}", self.namespace).replace("{kind}", "triggers")
        name = f"{self.word}-broker" if "broker" in template else self.word
        filled = filled.replace("{name}", name)
        if "endpoints" in template:
            return filled.replace("{id}", f"{self.namespace}.{self.word}.producer")
        if template.endswith(("/events", "/ack")):
            return filled.replace("{id}", self.pulled)
        return filled.replace("{id}", self.ids.get(of, self.subscription))


@pytest.fixture
async def tenants(tmp_path):
    api = Application(tmp_path, auth=True)
    shop, bank = Tenant(api, SHOP), Tenant(api, BANK)
    await bank.settle()
    await shop.settle()
    yield shop, bank
    await api.close()


def _routes(api):
    return [(each.path, each.method, each.permission) for each in api.routes()]


# What a body says of the other one, by route: all that a request may name in it.
def _bodies(bank):
    subscription = {"sink": "http://sink/", "protocol": "HTTP", "config": {"channel": bank.channel}}
    return {
        "/subscriptions": [subscription],
        "/api/subscriptions/import": [subscription],
        "/subscriptions/{id}": [{"sink": "http://sink/", "protocol": "HTTP"}],
        "/subscriptions/{id}/secrets": [{"headers": {"x": "y"}}],
        "/api/deliveries/test": [{"subscription": subscription}],
        "/api/channels": [
            {"namespace": bank.namespace, "name": "new"},
            {"namespace": bank.namespace, "name": bank.word},
        ],
        "/api/channels/{namespace}/{name}": [{"delivery": {"retry": 1}}],
        "/api/subscriptions/{id}/seek": [{"to": "earliest"}],
        "/api/subscriptions/{id}/replay": [{"from": "earliest"}],
        "/api/filters/backtest": [{"filter": {"exact": {"type": "t"}}, "channel": bank.channel}],
        "/api/redrive": [
            {"subscription": bank.subscription},
            {"channel": bank.channel},
            {"namespace": bank.namespace},
        ],
        "/api/apply": [
            [_trigger(bank.namespace, bank.word)],
            [_broker(bank.namespace, "new")],
            [_trigger(SHOP, "x"), _trigger(bank.namespace, "x")],
        ],
        "/api/objects/{kind}": [[_trigger(bank.namespace, bank.word)]],
        "/api/objects/{kind}/{namespace}/{name}": [_trigger(bank.namespace, bank.word)],
        "/api/triggers": [[_trigger(bank.namespace, bank.word)]],
        "/api/triggers/{namespace}/{name}": [_trigger(bank.namespace, bank.word)],
        "/api/brokers": [[_broker(bank.namespace, bank.word)]],
        "/api/brokers/{namespace}/{name}": [_broker(bank.namespace, f"{bank.word}-broker")],
        "/api/keys": [
            {"name": "x", "grants": {bank.namespace: ["subscribe"]}},
            {"name": "x", "grants": {"*": ["publish"]}},
        ],
        "/api/quotas/{namespace}": [{"subscriptions": 1}],
    }


async def test_nothing_of_the_other_can_be_seen_or_changed(tenants):
    shop, bank = tenants
    before = await _everything_of(bank)
    bodies, tried = _bodies(bank), 0
    for template, method, permission in _routes(shop.api):
        if permission.is_open:
            continue
        path = bank.path(template, permission.target)
        for document in bodies.get(template, [None]) if method in ("POST", "PUT") else [None]:
            headers = V1 if template.startswith("/channels/") else JSON
            body = b"" if document is None else msgspec.json.encode(document)
            answer = await shop.api.call(method, path, headers | shop.who, body)
            tried += 1
            about = (method, template, answer.status, answer.body)
            if method == "GET" and not re.search(r"\{(id|namespace)\}", template):
                assert answer.status in (200, 403), about
            elif template == "/api/subscriptions/import":
                assert answer.status == 400, about  # channels of others are not there for an import
            elif permission == known():
                assert answer.status in (200, 400), about
            elif "{id}" in template or (
                isinstance(document, dict) and document.get("subscription") == bank.subscription
            ):
                assert (answer.status, answer.json["code"]) == (404, "not-found"), about
            else:
                assert (answer.status, answer.json["code"]) == (403, "forbidden"), about
            told = path + body.decode()  # what the caller said itself may be repeated to it
            for each in (SECRET, *(each for each in bank.ids.values() if len(each) > 8)):
                assert each in told or each not in answer.body.decode(), about
    assert tried > 50
    assert await _everything_of(bank) == before, "and nothing was changed by it"
    assert shop.api.ids() == []


class Nobody(Tenant):
    """A tenant that there is not, with ids that nobody has."""

    def __init__(self, api):
        super().__init__(api, "void")
        self.word, self.channel = "void-word", "void/void-word"
        self.subscription, self.pulled, self.key_id = str(uuid.uuid4()), str(uuid.uuid4()), "AAAAAAAAAA"
        self.ids = {
            Target.SUBSCRIPTION: self.subscription,
            Target.JOB: str(uuid.uuid4()),
            Target.REDRIVE: str(uuid.uuid4()),
            Target.ATTEMPT: "987654",
            Target.KEY: self.key_id,
        }


def _without_names(tenant, text):
    """Leave out what the caller said itself; a number is known by its quotation marks."""
    names = (tenant.word, tenant.namespace, tenant.pulled, *tenant.ids.values())
    for each in sorted(names, key=len, reverse=True):
        text = text.replace(f"'{each}'" if each.isdigit() else each, "…")
    return text


_IGNORED = frozenset({"content-length"})


async def test_what_is_another_s_answers_as_what_is_nobody_s(tenants):
    """Byte for byte, but for the names that were asked with: so no answer tells whether there is anything."""
    shop, bank = tenants
    nobody, tried = Nobody(shop.api), 0
    for template, method, permission in _routes(shop.api):
        if permission.is_open or permission == known():
            continue
        bodies = zip(*(_bodies(each).get(template, [None]) for each in (bank, nobody)), strict=True)
        for pair in bodies if method in ("POST", "PUT") else [(None, None)]:
            answers = []
            for other, document in zip((bank, nobody), pair, strict=True):
                body = b"" if document is None else msgspec.json.encode(document)
                headers = (V1 if template.startswith("/channels/") else JSON) | {"if-match": '"1"'}
                answer = await shop.api.call(
                    method, other.path(template, permission.target), headers | shop.who, body
                )
                said = {name: value for name, value in answer.headers.items() if name not in _IGNORED}
                answers.append((answer.status, said, _without_names(other, answer.body.decode())))
            if permission.target is Target.HANDLER and method == "GET" and "{" not in template:
                continue  # a list of what is one's own, which other tests look at
            assert answers[0] == answers[1], (method, template)
            tried += 1
    assert tried > 50


_CHANGING = ("/api/audit", "/metrics")


async def _everything_of(tenant):
    """Look at all that a tenant sees, without what only the time changes."""
    seen = {}
    for template, method, permission in _routes(tenant.api):
        if method != "GET" or permission.is_open or template in _CHANGING:
            continue
        answer = await tenant.api.call("GET", tenant.path(template, permission.target), tenant.who)
        if answer.status == 404:
            continue
        assert answer.status in (200, 204), (template, answer.body)
        seen[template] = re.sub(rb'"lastUsed":"[^"]*",?', b"", answer.body)
    return seen


async def test_everybody_sees_what_is_theirs(tenants):
    """Or the test above would be passed by a service that shows nothing."""
    shop, _bank = tenants
    for tenant in tenants:
        seen = await _everything_of(tenant)
        for template in (
            "/subscriptions", "/subscriptions/{id}", "/api/channels", "/api/jobs", "/api/jobs/{id}", "/api/attempts",
            "/api/attempts/{id}", "/api/dead-letters", "/api/redrives", "/api/redrives/{id}", "/api/set-aside",
            "/api/triggers", "/api/brokers", "/api/objects/{kind}", "/api/objects/{kind}/{namespace}/{name}",
        ):  # fmt: skip
            assert tenant.word.encode() in seen[template] or tenant.subscription.encode() in seen[template], (
                template
            )
        assert tenant.key_id.encode() in seen["/api/keys"]
    changes = (await shop.send("GET", "/api/audit?limit=1000", None)).json["changes"]
    assert {each["namespace"] for each in changes} == {SHOP}
    assert {"subscription", "channel", "object", "backtest", "redrive"} <= {each["kind"] for each in changes}


async def test_who_is_above_all_sees_both(tenants):
    shop, bank = tenants
    who = await shop.api.key(everywhere=["admin"])
    for path, name in (("/api/attempts", "attempts"), ("/api/dead-letters", "deadLetters")):
        assert len((await shop.api.call("GET", path, who)).json[name]) == 2
    for path in ("/subscriptions", "/api/set-aside", "/api/redrives", "/api/jobs"):
        body = (await shop.api.call("GET", path, who)).body.decode()
        assert bank.ids[Target.SUBSCRIPTION] in body or SECRET in body, path
        assert shop.word in body or shop.subscription in body, path


async def test_who_has_two_namespaces_sees_two(tenants):
    shop, _bank = tenants
    who = await shop.api.key(shop=["subscribe"], bank=["subscribe"])
    assert len((await shop.api.call("GET", "/api/attempts", who)).json["attempts"]) == 2
    only = await shop.api.key(shop=["subscribe"], bank=["publish"])
    assert len((await shop.api.call("GET", "/api/attempts", only)).json["attempts"]) == 1, "the role counts"
    named = await shop.api.call("POST", "/api/redrive", JSON | who, b"{}")
    assert (named.status, named.json["faults"][0]["path"]) == (400, "namespace")


async def test_a_page_is_full_although_others_rows_are_skipped(tenants):
    shop, bank = tenants
    for tenant in (bank, shop, bank, shop, bank, bank, bank):
        wish = {"sink": "http://x/", "protocol": "HTTP", "config": {"channel": tenant.channel}}
        await tenant.send("POST", "/subscriptions", wish)
    page = await shop.send("GET", "/subscriptions?limit=3", None)
    mine = [each for each in page.json if each["config"]["channel"].startswith("shop/")]
    assert len(mine) == len(page.json) == 3
    for _ in range(30):
        bank._write(Event({"specversion": "1.0", "id": "x", "source": "/s", "type": "t"}, b"{}"))
    page = await shop.send("GET", "/api/attempts?limit=1", None)
    assert [each["subscription"] for each in page.json["attempts"]] == [shop.subscription]


async def test_what_is_left_of_a_deleted_subscription_stays_its_tenant_s(tenants):
    shop, bank = tenants
    for tenant in tenants:
        await tenant.send("DELETE", f"/subscriptions/{tenant.subscription}", None)
    gone = shop.api.store.purge(LogPosition.at(10))
    assert set(gone) >= {shop.subscription, bank.subscription}
    for tenant, other in ((shop, bank), (bank, shop)):
        page = await tenant.send("GET", "/api/attempts", None)
        assert [each["subscription"] for each in page.json["attempts"]] == [tenant.subscription]
        assert (await tenant.send("GET", f"/api/attempts/{tenant.ids[Target.ATTEMPT]}", None)).status == 200
        assert (await tenant.send("GET", f"/api/attempts/{other.ids[Target.ATTEMPT]}", None)).status == 404


async def _import(tenant, *ids, dry_run=False):
    wish = {"sink": "http://x/", "protocol": "HTTP", "config": {"channel": tenant.channel}}
    lines = b"\n".join(msgspec.json.encode(wish | {"id": each}) for each in ids)
    path = f"/api/subscriptions/import?keepIds=true&dryRun={str(dry_run).lower()}"
    return await tenant.api.call("POST", path, tenant.who, lines)


@pytest.mark.parametrize("dry_run", [True, False])
async def test_kept_ids_don_t_tell_which_ones_others_have(tenants, dry_run):
    """An id of another one, one that is being deleted and one that nobody has: all the same to a tenant."""
    shop, bank = tenants
    await bank.send("DELETE", f"/subscriptions/{bank.pulled}", None)
    ids = (bank.subscription, bank.pulled, "nobody-s")
    answers = [await _import(shop, each, dry_run=dry_run) for each in ids]
    assert {each.status for each in answers} == {200}
    assert len({each.body for each in answers}) == 1, [each.body for each in answers]
    assert answers[0].json["created"] == (0 if dry_run else 1)
    assert (await bank.send("GET", f"/subscriptions/{bank.subscription}", None)).json[
        "sink"
    ] == f"http://{SECRET}/"


async def test_an_import_of_a_tenant_can_be_repeated(tenants):
    shop, bank = tenants
    ids = (shop.subscription, bank.subscription, "one", "two")
    first = (await _import(shop, *ids)).json
    assert (first["created"], first["existing"], first["renamed"]) == (3, 1, 3)
    again = (await _import(shop, *ids)).json
    assert (again["created"], again["existing"], again["renamed"]) == (0, 4, 0)
    mine = [each["id"] for each in (await shop.send("GET", "/subscriptions", None)).json]
    assert (await _import(shop, *mine)).json["existing"] == len(mine), "what it exports it can import"
    assert not set(mine) & {"one", "two", bank.subscription}
    assert (await _import(bank, "one")).json["created"] == 1, "and others may come with the same ids"


async def test_an_id_that_an_operator_gave_away_is_a_conflict(tenants):
    shop, bank = tenants
    operator = Tenant(shop.api, BANK)
    operator.channel, operator.who = bank.channel, await shop.api.key(everywhere=["subscribe"])
    assert (await _import(operator, id_within(SHOP, "mine"))).json["created"] == 1
    assert (await _import(shop, "mine")).status == 409


@pytest.mark.parametrize("path", ["/api/attempts", "/api/dead-letters"])
async def test_lists_can_t_be_asked_for_what_is_another_s(tenants, path):
    shop, bank = tenants
    assert (await shop.send("GET", f"{path}?channel={bank.channel}", None)).status == 403
    assert (await shop.send("GET", f"{path}?channel=bank/nothing", None)).status == 403
    (found,) = (await shop.send("GET", f"{path}?subscription={bank.subscription}", None)).json.values()
    assert found == []


@pytest.mark.parametrize(
    "path", ["/subscriptions?channel=bank/{word}", "/subscriptions?namespace=bank", "/api/jobs?subscription={id}",
             "/api/triggers?namespace=bank"],
)  # fmt: skip
async def test_other_lists_are_empty_then(tenants, path):
    shop, bank = tenants
    asked = path.format(word=SECRET, id=bank.subscription)
    assert (await shop.send("GET", asked, None)).json == []
    assert (await bank.send("GET", asked, None)).status == 200


async def test_a_redrive_that_names_nothing_is_about_one_s_own(tenants):
    shop, _bank = tenants
    answer = await shop.send("POST", "/api/redrive", {"dryRun": True})
    assert (answer.json["found"], answer.json["request"]["namespace"]) == (1, SHOP)
    who = await shop.api.key(everywhere=["subscribe"])
    everything = await shop.api.call("POST", "/api/redrive", JSON | who, b'{"dryRun": true}')
    assert everything.json["found"] == 2


@pytest.mark.parametrize("member", ["reply", "delivery"])
async def test_objects_refer_to_nothing_of_another_namespace(tenants, member):
    shop, _bank = tenants
    ref = {
        "ref": {
            "apiVersion": "eventing.knative.dev/v1",
            "kind": "Broker",
            "name": f"{SECRET}-broker",
            "namespace": BANK,
        }
    }
    subscription = {
        "apiVersion": "messaging.knative.dev/v1",
        "kind": "Subscription",
        "metadata": {"name": "spy", "namespace": SHOP},
        "spec": {
            "channel": {"apiVersion": "messaging.headrace.dev/v1", "kind": "HeadraceChannel", "name": "mine"},
            "subscriber": {"uri": "http://sink/"},
            member: {"deadLetterSink": ref} if member == "delivery" else ref,
        },
    }
    answer = await shop.send("POST", "/api/apply", [subscription])
    assert (answer.status, answer.json["code"]) == (400, "invalid-manifest")
