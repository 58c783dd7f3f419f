"""Ingress and control API as processes of their own: they share the log and the database, nothing else."""

import time
import urllib.error
import urllib.request

import msgspec
import pytest
from tests.api.application import CHANNEL, V1
from tests.api.role import HttpRole
from tests.opening import opening

from headrace.events.positions import LogPosition
from headrace.subscriptions.store.store import Store


def _ask(role, path, body=None, headers=()):
    request = urllib.request.Request(role.url + path, data=body, headers=dict(headers))
    try:
        with urllib.request.urlopen(request, timeout=20) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read()


@pytest.fixture(scope="module")
def roles(tmp_path_factory):
    data = tmp_path_factory.mktemp("roles") / "data"
    settings = {"roles": ["ingress", "api"]}
    with HttpRole(data, "ingress", **settings) as ingress, HttpRole(data, "api", **settings) as api:
        yield ingress, api


def test_each_answers_what_is_its_own_and_nothing_else(roles):
    ingress, api = roles
    assert _ask(ingress, CHANNEL, b"x", V1.items())[0] == 202
    assert _ask(api, CHANNEL, b"x", V1.items())[0] == 404
    assert _ask(api, "/subscriptions")[0] == 200
    status, body = _ask(ingress, "/subscriptions")
    detail = msgspec.json.decode(body)["detail"]
    assert status == 404
    assert "POST /channels/{namespace}/{name}" in detail
    assert "GET /subscriptions" not in detail, "it points to nothing that it doesn't serve"
    assert "GET /subscriptions" in msgspec.json.decode(_ask(api, "/nowhere")[1])["detail"]


def test_each_tells_of_the_roles_on_its_machine(roles):
    for role in roles:
        status, body = _ask(role, "/readyz")
        told = msgspec.json.decode(body)
        assert status == 200, told
        assert (told["ready"], told["roles"]) == (True, {"api": "ready", "ingress": "ready"})
        assert set(told["details"]) == {"api", "ingress"}
        assert _ask(role, "/healthz")[0] == 200
        assert _ask(role, "/metrics")[0] == 200


def test_a_subscription_begins_where_the_other_process_s_log_ends(roles):
    ingress, api = roles
    for _ in range(3):
        _ask(ingress, CHANNEL, b"x", V1.items())
    wish = msgspec.json.encode({"sink": "http://sink/", "protocol": "HTTP"})
    status, body = _ask(api, "/subscriptions", wish)
    assert status == 201
    with opening(Store, f"sqlite:///{api.data}/store.db") as store:
        created = store.get(msgspec.json.decode(body)["id"]).created
    assert created is not None
    assert created >= LogPosition.at(3)


def test_a_channel_made_at_one_is_soon_known_at_the_other(roles):
    ingress, api = roles
    assert _ask(api, "/api/channels", b'{"namespace": "shop", "name": "orders"}')[0] == 201
    for _ in range(200):
        time.sleep(0.05)
        status, _ = _ask(ingress, "/channels/shop/orders", b"x", V1.items())
        if status == 202:
            return
    pytest.fail("the ingress does not know it")
