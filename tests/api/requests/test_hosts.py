"""Where nobody is asked who they are, only names that no stranger can own are answered to."""

import msgspec
import pytest
from tests.api.application import ADDRESS, CHANNEL, V1
from tests.api.ingress.test_ingress import assert_problem

from headrace.api.requests.hosts import Hosts, hosts_of
from headrace.config import load_config
from headrace.errors import InvalidRequest, WrongHost

BODY = b'{"sink": "http://127.0.0.1:9/"}'
OWN = [
    "localhost",
    "LOCALHOST:8080",
    "localhost.:8080",
    "headrace.localhost:8080",
    "127.0.0.1",
    "127.0.0.1:8080",
    "127.8.9.1:1",
    "[::1]",
    "[::1]:8080",
]
FOREIGN = [
    "evil.example",
    "evil.example:8080",
    "127.0.0.1.evil.example",
    "localhost.evil.example",
    "evil-kn-channel.default.evil.example",
    "evil-kn-channel.default.svc.evil.example",
    "192.168.1.7:8080",
    "169.254.169.254",
    "[fe80::1]",
    "0x7f.1",
]
GARBAGE = [
    "",
    "a b",
    "a/b",
    "a?b",
    "a#b",
    "evil@localhost",
    "localhost:8080:1",
    "[::1",
    "a\tb",
    "ä",
    "a,b",
    "x:port",
]


def scope(*hosts, server=("127.0.0.1", 8080), path="/subscriptions"):
    return {"path": path, "headers": [(b"host", each.encode("utf-8")) for each in hosts], "server": server}


def test_a_short_name_of_a_channel_is_good_for_its_events_alone():
    """Somebody may own it."""
    Hosts(["x"]).check(scope("orders-kn-channel.shop:80", path="/"))
    for path in ("/subscriptions", "/channels/shop/orders", "/api/channels"):
        with pytest.raises(WrongHost):
            Hosts(["x"]).check(scope("orders-kn-channel.shop:80", path=path))


async def test_a_page_of_a_stranger_that_leads_its_name_here_creates_nothing(api):
    """The name and the origin of the page are the same, so that the browser and the check of origins see one site."""
    stranger = {"host": "evil.example", "origin": "http://evil.example"}
    refused = await api.call("POST", "/subscriptions", stranger, BODY)
    problem = assert_problem(refused, 421, "wrong-host")
    assert "'evil.example'" in problem["detail"]
    assert "api.allowed_hosts" in problem["detail"]
    assert (await api.call("GET", "/subscriptions")).json == []


@pytest.mark.parametrize("path", ["/", "/healthz", "/metrics", "/openapi.json", CHANNEL, "/no/such"])
async def test_every_address_is_behind_it(api, path):
    assert_problem(await api.call("GET", path, {"host": "evil.example"}), 421, "wrong-host")
    assert (await api.post(V1 | {"host": "evil.example"}, b"")).status == 421
    assert api.recorded() == []


@pytest.mark.parametrize("host", OWN)
def test_names_of_this_machine_are_answered_to(host):
    hosts_of(load_config(None, {}, {}).api, auth=False).check(scope(host))


@pytest.mark.parametrize("host", FOREIGN)
def test_other_names_are_refused_again_and_again(host):
    hosts = hosts_of(load_config(None, {}, {}).api, auth=False)
    for _ in range(2):
        with pytest.raises(WrongHost):
            hosts.check(scope(host))


@pytest.mark.parametrize("auth", [False, True])
@pytest.mark.parametrize("host", GARBAGE)
def test_what_is_no_name_is_refused_whoever_may_come(host, auth):
    with pytest.raises(InvalidRequest):
        hosts_of(load_config(None, {}, {}).api, auth=auth).check(scope(host))


@pytest.mark.parametrize("given", [[], ["localhost", "localhost"], ["localhost", "evil.example"]])
def test_one_host_is_named(given):
    with pytest.raises(InvalidRequest):
        Hosts().check(scope(*given))


def test_the_address_that_a_probe_connects_to_is_a_name():
    hosts = Hosts(["localhost"])
    hosts.check(scope("10.0.0.7:8080", server=("10.0.0.7", 8080)))
    with pytest.raises(WrongHost):
        hosts.check(scope("10.0.0.7:8080", server=("10.0.0.8", 8080)))


def settings(**given):
    return load_config(None, {f"api.{name}": value for name, value in given.items()}, {}).api


def test_names_can_be_allowed():
    hosts = hosts_of(
        settings(allowed_hosts=["Events.example", "*.shop.example"], address="https://api.example/x"),
        auth=False,
    )
    for name in ("events.example", "a.shop.example:1", "a.b.shop.example", "api.example", "localhost"):
        hosts.check(scope(name))
    for name in ("shop.example", "other.example", "xshop.example", "a.events.example"):
        with pytest.raises(WrongHost):
            hosts.check(scope(name))


def test_all_names_can_be_allowed():
    hosts_of(settings(allowed_hosts=["*"]), auth=False).check(scope("evil.example"))


def test_with_authentication_names_count_where_some_are_allowed():
    hosts_of(settings(), auth=True).check(scope("evil.example"))
    with pytest.raises(WrongHost):
        hosts_of(settings(allowed_hosts=["events.example"]), auth=True).check(scope("evil.example"))


def test_the_environment_says_it():
    config = load_config(None, {}, {"HEADRACE_API_ALLOWED_HOSTS": '["a.example", "b.example"]'})
    assert config.api.allowed_hosts == ("a.example", "b.example")


async def test_nothing_that_is_shown_repeats_the_host(open_api):
    """Whoever reads an answer takes the addresses in it for the service's, not for those a request came up with."""
    api = open_api(allowed_hosts=["*"])
    host = {"host": "evil.example"}
    body = msgspec.json.encode({"namespace": "shop", "name": "orders"})
    answers = [await api.call("POST", "/api/channels", host, body)]
    answers += [await api.call("POST", "/subscriptions", host, BODY) for _ in range(2)]
    paths = [each.path for each in api.routes() if each.method == "GET" and "{" not in each.path]
    answers += [await api.call("GET", path, host) for path in [*paths, "/subscriptions?limit=1", "/no/such"]]
    assert (await api.call("GET", "/api/channels/shop/orders", host)).json["url"].startswith(ADDRESS)
    for answer in answers:
        assert b"evil.example" not in answer.body
        assert "evil.example" not in str(answer.headers)
