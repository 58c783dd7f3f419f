import asyncio
import socket
import threading
import time

import pytest

from headrace.delivery.attempt.outcome import Verdict
from headrace.delivery.sinks.guard import Guard, refusal
from headrace.delivery.sinks.networks import Network
from headrace.errors import RefusedAddress

REFUSED = {
    "0.0.0.0": "unspecified",
    "0.1.2.3": "reserved",
    "10.0.0.1": "private",
    "172.16.0.1": "private",
    "172.31.255.255": "private",
    "192.168.1.1": "private",
    "100.64.0.1": "carrier-grade NAT",
    "100.127.255.255": "carrier-grade NAT",
    "100.100.100.200": "metadata",
    "127.0.0.1": "loopback",
    "127.255.255.254": "loopback",
    "169.254.1.1": "link-local",
    "169.254.169.254": "metadata",
    "169.254.170.2": "metadata",
    "168.63.129.16": "metadata",
    "192.0.0.192": "metadata",
    "192.0.0.8": "reserved",
    "192.0.2.1": "documentation",
    "198.18.0.1": "benchmarks",
    "198.51.100.7": "documentation",
    "203.0.113.7": "documentation",
    "224.0.0.1": "multicast",
    "239.255.255.255": "multicast",
    "240.0.0.1": "reserved",
    "255.255.255.255": "reserved",
    "::": "unspecified",
    "::1": "loopback",
    "::127.0.0.1": "IPv4-compatible",
    "::8.8.8.8": "IPv4-compatible",
    "::ffff:127.0.0.1": "IPv4-mapped",
    "::ffff:8.8.8.8": "IPv4-mapped",
    "::ffff:0:8.8.8.8": "IPv4-translated",
    "64:ff9b::8.8.8.8": "NAT64",
    "64:ff9b::7f00:1": "NAT64",
    "64:ff9b:1::1": "NAT64",
    "64:ff9b:1:ffff::1": "NAT64",
    "2002:7f00:1::": "6to4",
    "2002:808:808::1": "6to4",
    "2001:0:4136:e378:8000:63bf:3fff:fdd2": "Teredo",
    "2001:db8::1": "documentation",
    "2001:10::1": "reserved",
    "3fff::1": "documentation",
    "fc00::1": "private",
    "fd12:3456::1": "private",
    "fd00:ec2::254": "metadata",
    "fd20:ce::254": "metadata",
    "fe80::1": "link-local",
    "fe80::1%eth0": "link-local",
    "fec0::1": "site-local",
    "ff02::1": "multicast",
    "100::1": "reserved",
    "4000::1": "reserved",
    "5f00::1": "reserved",
}
PUBLIC = [
    "8.8.8.8", "1.0.0.0", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0", "126.255.255.255", "128.0.0.1",
    "172.15.255.255", "172.32.0.0", "192.167.255.255", "192.169.0.0", "223.255.255.255", "2606:4700::1111", "2a00::1",
]  # fmt: skip
LITERALS_OF_LOOPBACK = [
    "127.0.0.1",
    "2130706433",
    "0x7f.1",
    "0x7f000001",
    "017700000001",
    "127.1",
    "0177.0.0.1",
]


@pytest.fixture
def guarding():
    made = []

    def guard(*allow, **options):
        made.append(Guard([Network(text) for text in allow], **options))
        return made[-1]

    yield guard
    for each in made:
        each.close()


@pytest.fixture
def listener():
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def answers(*addresses):
    """What getaddrinfo says about a name with these addresses."""
    return [
        (socket.AF_INET6, socket.SOCK_STREAM, 6, "", (address, 0, 0, 0))
        if ":" in address
        else (socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, 0))
        for address in addresses
    ]


@pytest.mark.parametrize(("address", "rule"), REFUSED.items())
def test_what_is_not_public_is_refused_by_its_rule(guarding, address, rule):
    with pytest.raises(RefusedAddress, match=rule) as caught:
        guarding().check(address)
    assert caught.value.address == address
    assert address in str(caught.value)
    assert "delivery.allow_networks" in str(caught.value)


@pytest.mark.parametrize("address", PUBLIC)
def test_what_is_public_passes(guarding, address):
    guarding().check(address)


def test_a_range_that_is_allowed_passes_and_its_neighbours_do_not(guarding):
    guard = guarding("10.1.0.0/16", "fd12::/16")
    guard.check("10.1.255.255")
    guard.check("fd12::7")
    for address in ("10.2.0.0", "10.0.255.255", "fd13::1", "127.0.0.1", "::ffff:10.1.0.1"):
        with pytest.raises(RefusedAddress):
            guard.check(address)


@pytest.mark.parametrize("address", ["169.254.169.254", "100.100.100.200", "fd00:ec2::254"])
def test_a_metadata_address_is_allowed_by_itself_only(guarding, address):
    for wide in ("0.0.0.0/0", "169.254.0.0/16", "100.64.0.0/10", "::/0"):
        with pytest.raises(RefusedAddress, match="metadata"):
            guarding(wide).check(address)
    guarding(address).check(address)


@pytest.mark.parametrize(
    ("form", "allowed"),
    [
        ("64:ff9b::/96", "64:ff9b::"),
        ("::ffff:0:0/96", "::ffff:"),
        ("::/96", "::"),
        ("2002::/16", None),
    ],
)
def test_an_allowed_form_is_checked_for_what_it_carries(guarding, form, allowed):
    public, private, metadata = (
        [f"{allowed}{carried}" for carried in ("8.8.8.8", "10.0.0.1", "169.254.169.254")]
        if allowed
        else ["2002:808:808::1", "2002:a00:1::1", "2002:a9fe:a9fe::1"]
    )
    guarding(form).check(public)
    with pytest.raises(RefusedAddress, match=r"carries 10\.0\.0\.1, a private address"):
        guarding(form).check(private)
    with pytest.raises(RefusedAddress, match=r"carries 169\.254\.169\.254, a metadata address"):
        guarding(form, "0.0.0.0/0").check(metadata)
    guarding(form, "10.0.0.0/8").check(private)


def test_the_addresses_inside_teredo_are_checked_both(guarding):
    with pytest.raises(RefusedAddress, match=r"carries 192\.168\.0\.1"):  # the client's, stored inverted
        guarding("2001::/32").check("2001:0:808:808:0:0:3f57:fffe")
    with pytest.raises(RefusedAddress, match=r"carries 10\.0\.0\.1"):  # the server's
        guarding("2001::/32").check("2001:0:a00:1:0:0:f7f7:f7f7")


@pytest.mark.parametrize("text", ["10.0.0.1/8", "10.0.0.0/33", "example.com", "", "::1/129"])
def test_what_is_no_range_is_named(text):
    with pytest.raises(ValueError, match="is no range of addresses"):
        Network(text)


@pytest.mark.parametrize("host", LITERALS_OF_LOOPBACK)
async def test_every_spelling_of_an_address_is_checked(guarding, host):
    for attempt in (guarding().resolve(host, 80), guarding().connect(host, 80, 1.0)):
        with pytest.raises(RefusedAddress, match="loopback") as caught:
            await attempt
        assert caught.value.literal
        assert refusal(caught.value).verdict is Verdict.NEVER
    with pytest.raises(RefusedAddress):
        guarding().create_connection(host, 80, 1.0)
    assert [address.host for address in await guarding("127.0.0.0/8").resolve(host, 80)] == ["127.0.0.1"]


async def test_a_name_is_refused_by_what_it_leads_to_and_may_be_asked_again(guarding):
    with pytest.raises(RefusedAddress, match="'localhost' leads to") as caught:
        await guarding().resolve("localhost", 80)
    assert not caught.value.literal
    outcome = refusal(caught.value)
    assert outcome.verdict is Verdict.AGAIN
    assert "loopback" in outcome.reason
    assert "delivery.allow_networks" in outcome.reason


async def test_of_a_name_with_many_addresses_only_the_allowed_ones_are_left(guarding):
    guard = guarding(lookup=lambda *_, **__: answers("10.0.0.1", "8.8.8.8", "::1", "2606:4700::1111"))
    assert [each.host for each in await guard.resolve("mixed.example", 80)] == ["8.8.8.8", "2606:4700::1111"]
    assert [each.host for each in guard.resolve_blocking("mixed.example", 80)] == [
        "8.8.8.8",
        "2606:4700::1111",
    ]


async def test_a_name_that_changes_its_answer_is_asked_once_and_gains_nothing(guarding, listener):
    """DNS rebinding: the first answer is harmless, every later one is the address behind the guard."""
    asked = []

    def rebinding(host, port, **_):
        asked.append(host)
        family, kind, number, name, _ = answers("127.0.0.2" if len(asked) == 1 else "127.0.0.1")[0]
        return [(family, kind, number, name, ("127.0.0.2" if len(asked) == 1 else "127.0.0.1", listener))]

    guard = guarding("127.0.0.2/32", lookup=rebinding)
    # Nobody listens at 127.0.0.2: had the name been asked again in order to connect, 127.0.0.1 would have answered.
    with pytest.raises(ConnectionRefusedError):
        await guard.connect("rebind.example", listener, 2.0)
    assert asked == ["rebind.example"]
    with pytest.raises(RefusedAddress, match=r"127\.0\.0\.1"):
        await guard.connect("rebind.example", listener, 2.0)
    asked.clear()
    with pytest.raises(ConnectionRefusedError):
        guard.create_connection("rebind.example", listener, 2.0)
    assert asked == ["rebind.example"]


async def test_a_connection_goes_to_the_next_address_where_the_first_fails(guarding, listener):
    def lookup(host, port, **_):
        return [(*each[:4], (each[4][0], port)) for each in answers("127.0.0.9", "127.0.0.1")]

    guard = guarding("127.0.0.0/8", lookup=lookup)
    with await guard.connect("two.example", listener, 5.0) as made:
        assert (made.getpeername(), made.gettimeout()) == (("127.0.0.1", listener), 0.0)
    with guard.create_connection("two.example", listener, 5.0) as made:
        assert (made.getpeername(), made.gettimeout()) == (("127.0.0.1", listener), 5.0)


async def test_an_address_that_is_silent_leaves_time_for_the_next(guarding, listener):
    """A full backlog drops what comes: the connection neither succeeds nor fails."""
    with socket.socket() as full, socket.socket() as first, socket.socket() as second:
        full.bind(("127.0.0.3", listener))
        full.listen(0)
        for filler in (first, second):
            filler.setblocking(False)
            filler.connect_ex(("127.0.0.3", listener))

        def lookup(host, port, **_):
            return [(*each[:4], (each[4][0], port)) for each in answers("127.0.0.3", "127.0.0.1")]

        guard = guarding("127.0.0.0/8", lookup=lookup)
        with await guard.connect("two.example", listener, 1.0) as made:
            assert made.getpeername()[0] == "127.0.0.1"
        with pytest.raises(TimeoutError):
            await guarding("127.0.0.0/8").connect("127.0.0.3", listener, 0.1)


async def test_a_name_server_that_is_silent_is_not_waited_for(guarding):
    answered = threading.Event()

    def silent(*_, **__):
        answered.wait(20)
        return answers("8.8.8.8")

    began = time.monotonic()
    try:
        with pytest.raises(TimeoutError):
            await guarding(lookup=silent).connect("slow.example", 80, 0.1)
        assert time.monotonic() - began < 10
    finally:
        answered.set()


@pytest.mark.parametrize("host", ["nowhere.invalid", "a" * 70 + ".example", "a..b", ""])
async def test_a_host_without_an_address_is_an_os_error(guarding, host):
    with pytest.raises(OSError):
        await guarding().connect(host, 80, 5.0)


async def test_a_cancelled_connection_leaves_no_socket(guarding):
    with socket.socket() as full, socket.socket() as first, socket.socket() as second:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        for filler in (first, second):
            filler.setblocking(False)
            filler.connect_ex(full.getsockname())
        guard = guarding("127.0.0.0/8")
        task = asyncio.create_task(guard.connect("127.0.0.1", full.getsockname()[1], 30.0))
        await asyncio.sleep(0.05)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task  # an open socket would warn, and warnings are errors
