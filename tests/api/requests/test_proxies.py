"""Anybody can write X-Forwarded-For; it is believed of configured proxies alone."""

import aiohttp
import pytest

from headrace.api.requests.proxies import Proxies
from headrace.errors import ConfigError

PROXIES = ["10.0.0.0/8", "::1"]


def client(peer, *values, networks=PROXIES, name=b"x-forwarded-for"):
    headers = [(name, value.encode()) for value in values]
    return Proxies(networks).client({"client": (peer, 4711), "headers": headers})


@pytest.mark.parametrize(
    ("values", "address"),
    [
        (["203.0.113.9"], "203.0.113.9"),
        (["1.2.3.4, 203.0.113.9"], "203.0.113.9"),
        (["1.2.3.4, 203.0.113.9, 10.1.1.1"], "203.0.113.9"),
        (["1.2.3.4", "203.0.113.9", "10.1.1.1"], "203.0.113.9"),
        (["203.0.113.9:55555"], "203.0.113.9"),
        (["[2001:db8::1]:55555"], "2001:db8::1"),
        (["2001:db8::1"], "2001:db8::1"),
        (["::ffff:203.0.113.9"], "203.0.113.9"),
        (["10.1.1.1, 10.2.2.2"], "10.1.1.1"),
        ([], "10.0.0.1"),
        ([""], "10.0.0.1"),
        (["1.2.3.4, nonsense"], "10.0.0.1"),
        (["1.2.3.4, nonsense, 10.9.9.9"], "10.9.9.9"),
        (["1.2.3.4, <script>, 203.0.113.9"], "203.0.113.9"),
    ],
)
def test_the_last_address_that_no_proxy_has(values, address):
    found = client("10.0.0.1", *values)
    assert found is not None
    assert found[0] == address


def test_nobody_else_is_believed():
    assert client("192.0.2.1", "1.2.3.4") == ("192.0.2.1", 4711)
    assert client("127.0.0.1", "1.2.3.4", networks=[]) == ("127.0.0.1", 4711)


@pytest.mark.parametrize("name", [b"forwarded", b"x-real-ip", b"x-forwarded-host", b"x-forwarded-proto"])
def test_other_headers_say_nothing(name):
    assert client("10.0.0.1", "for=1.2.3.4", name=name) == ("10.0.0.1", 4711)


def test_what_is_no_network_is_refused():
    with pytest.raises(ConfigError, match=r"api\.trusted_proxies.*nonsense"):
        Proxies(["nonsense"])


@pytest.mark.parametrize(("proxies", "recorded"), [([], "127.0.0.1"), (["127.0.0.1"], "203.0.113.9")])
async def test_the_record_of_changes_has_who_it_was(open_api, proxies, recorded):
    api = open_api(trusted_proxies=proxies)
    headers = {
        "x-forwarded-for": "203.0.113.9",
        "x-forwarded-host": "evil.example",
        "x-forwarded-proto": "https",
    }
    async with api.served() as url:
        host, _, port = url.removeprefix("http://").partition(":")
        await _post(host, int(port), headers)
    (change,) = (await api.call("GET", "/api/audit")).json["changes"]
    assert change["address"] == recorded


async def _post(host, port, headers):
    async with (
        aiohttp.ClientSession() as session,
        session.post(
            f"http://{host}:{port}/subscriptions", json={"sink": "http://127.0.0.1:9/"}, headers=headers
        ) as response,
    ):
        assert response.status == 201
