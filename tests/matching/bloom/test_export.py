"""The exported Bloom filter: it never says no to an event that someone wants, and no to most that nobody does."""

import hashlib
import json
import subprocess
import sys

import msgspec
import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from tests.examples import examples
from tests.filters.every_dialect import every_event, every_filter
from tests.filters.strategies import expressions, odd_events

from headrace.errors import UnreadableExport
from headrace.events.event import Event
from headrace.events.recorded import Arrival, Recorded
from headrace.filters import compile_filter
from headrace.filters.filter import Filter
from headrace.filters.upstream.key_hash import DEFINITION
from headrace.matching import Matcher
from headrace.matching.bloom.export import ExportedBloom, export_bloom
from headrace.matching.scope import Scope
from headrace.matching.settings import BloomSettings

HERE = ("a", "b")
ATTRIBUTES = {"specversion": "1.0", "id": "1", "source": "/s", "type": "t"}


def exported(*texts, channel=HERE, **options):
    matcher = Matcher()
    matcher.add_many((str(number), compile_filter({"cel": text})) for number, text in enumerate(texts))
    return ExportedBloom.from_bytes(export_bloom(matcher, channel, **options))


def event(data=None, **attributes):
    return Event(ATTRIBUTES | attributes, None if data is None else json.dumps(data).encode())


def recorded(bare, channel=HERE):
    return Recorded(7, 1_700_000_000_000_000, Arrival(bare, *channel))


def assert_nobody_is_missed(filters, events):
    for filter_ in filters:  # alone, or the others would let everything pass
        matcher = Matcher()
        matcher.add("x", filter_, scope=Scope(*HERE))
        matcher.add("y", filter_)
        sieve = ExportedBloom.from_bytes(export_bloom(matcher, HERE))
        for each in events:
            as_sent = each.event if isinstance(each, Recorded) else each
            if matcher.match(recorded(as_sent)) or matcher.match(each):
                assert sieve.may_match(each)
                assert sieve.may_match(as_sent)


@examples(300, suppress_health_check=list(HealthCheck), deadline=None)
@given(st.lists(every_filter, min_size=1, max_size=3), st.lists(every_event(), min_size=1, max_size=4))
def test_every_dialect(specs, events):
    assert_nobody_is_missed([compile_filter(spec) for spec in specs], events)


@examples(300, suppress_health_check=list(HealthCheck), deadline=None)
@given(st.lists(expressions, min_size=1, max_size=3), st.lists(odd_events, min_size=1, max_size=4))
def test_trees(trees, events):
    assert_nobody_is_missed([Filter(tree) for tree in trees], events)


def scattered(number):
    return hashlib.sha256(b"%d" % number).hexdigest()[:10]


MANY = {
    "equality": (lambda n: f'data.v == "value-{n}"', lambda n: f"value-{n}"),
    "integer": (lambda n: f"data.v == {n}", lambda n: n),
    "fraction": (lambda n: f"data.v == {n}.5", lambda n: n + 0.5),
    "set": (lambda n: f'data.v in ["value-{n}", "other"]', lambda n: f"value-{n}"),
    "prefix": (lambda n: f'data.v.startsWith("value-{n}/")', lambda n: f"value-{n}/rest"),
    "suffix": (lambda n: f'data.v.endsWith("/value-{n}")', lambda n: f"rest/value-{n}"),
    "element": (lambda n: f'"value-{n}" in data.v', lambda n: [f"a{n}", f"value-{n}", n]),
    "key": (lambda n: f'"value-{n}" in data.v', lambda n: {f"value-{n}": 1}),
    "substring": (lambda n: f'data.v.contains("{scattered(n)}")', lambda n: f"({scattered(n)})"),
    "with a clause that has no key": (
        lambda n: f'data.w != "a" && data.v == "value-{n}"',
        lambda n: f"value-{n}",
    ),
    "one of two": (lambda n: f'data.v == "value-{n}" || data.w == "value-{n}"', lambda n: f"value-{n}"),
}


@pytest.mark.parametrize(("text", "value"), MANY.values(), ids=MANY)
def test_what_nobody_wants_is_dropped_mostly_and_nothing_else(text, value):
    sieve = exported(*map(text, range(3_000_000, 3_001_000)))
    wanted = [event({"v": value(n), "w": "b"}) for n in range(3_000_000, 3_001_000)]
    others = [event({"v": value(n), "w": "b"}) for n in range(5_000_000, 5_001_000)]
    assert not sieve.header.bypass
    assert all(map(sieve.may_match, wanted))
    assert sum(map(sieve.may_match, others)) < 0.3 * len(others)
    assert not sieve.may_match(event())


def test_the_rate_is_the_one_asked_for():
    filters = [f'data.v == "value-{n}"' for n in range(3_000)]
    others = [event({"v": f"other-{n}"}) for n in range(20_000)]
    passing = sum(map(exported(*filters, settings=BloomSettings(fp_rate=0.05)).may_match, others))
    assert 0.03 < passing / len(others) < 0.06


RANGES = {
    "data.v > 5": [(3, True), (1.5, True), ("a", False), (None, False), ([], False)],
    'data.v > "m"': [("a", True), (3, False), (None, False)],
    'data.v.matches("^a.*b$")': [("x", True), (3, False)],
    "has(data.v)": [("x", True), (None, True), ({}, True)],
    'data.v != "a"': [("x", True), (3, True)],
}


@pytest.mark.parametrize(("text", "cases"), RANGES.items(), ids=RANGES)
def test_ranges_and_patterns_pass_by_what_the_field_is(text, cases):
    sieve = exported(text)
    assert [(value, sieve.may_match(event({"v": value}))) for value, _ in cases] == cases
    assert not sieve.may_match(event({"w": 3}))
    assert not sieve.may_match(event())


@pytest.mark.parametrize("text", ["true", "!has(data.v)", '!(data.v == "a") && !has(ce.subject)'])
def test_a_conjunction_without_a_key_lets_everything_pass(text):
    sieve = exported('data.v == "a"', text)
    assert sieve.header.bypass == (text != '!(data.v == "a") && !has(ce.subject)')
    assert sieve.may_match(event({"v": "b"}))


def test_nobody_subscribed():
    assert not exported().may_match(event({"v": 1}, subject="a"))
    assert not exported("false").may_match(event({"v": 1}, subject="a"))


def test_only_the_channel_and_those_without_a_scope_count():
    matcher = Matcher()
    matcher.add("here", compile_filter({"exact": {"subject": "here"}}), scope=Scope(*HERE))
    matcher.add("there", compile_filter({"exact": {"subject": "there"}}), scope=Scope("a", "c"))
    matcher.add("everywhere", compile_filter({"exact": {"subject": "everywhere"}}))
    for channel, expected in (
        (HERE, [True, False, True]),
        (("a", "c"), [False, True, True]),
        (None, [False, False, True]),
    ):
        sieve = ExportedBloom.from_bytes(export_bloom(matcher, channel))
        found = [sieve.may_match(event(subject=subject)) for subject in ("here", "there", "everywhere")]
        assert found == expected
        assert sieve.header.channel == channel


def test_a_scope_that_names_sources_and_types_is_asked_too():
    matcher = Matcher()
    matcher.add("x", compile_filter({"cel": "true"}), scope=Scope(*HERE, source="/s", types=("t", "u")))
    sieve = ExportedBloom.from_bytes(export_bloom(matcher, HERE))
    assert sieve.may_match(event())
    assert not sieve.may_match(event(source="/other", type="v"))


def test_who_was_removed_is_not_in_it():
    matcher = Matcher()
    matcher.add("x", compile_filter({"exact": {"subject": "a"}}))
    matcher.add("y", compile_filter({"exact": {"subject": "b"}}))
    assert matcher.match(event(subject="a")) == ["x"]
    matcher.remove("x")
    sieve = ExportedBloom.from_bytes(export_bloom(matcher, HERE))
    assert sieve.header.keys == 1
    assert not sieve.may_match(event(subject="a"))
    assert sieve.may_match(event(subject="b"))


def test_what_only_the_log_knows():
    """The channel is the filter's; the time is unknown."""
    assert exported('collection == "b"').may_match(event())
    assert exported('tenant == "a"').may_match(event())
    assert not exported('collection == "c"').may_match(event())
    assert not exported('collection == "c"').may_match(recorded(event()))
    assert exported('collection == "c"').may_match(recorded(event(), ("a", "c")))
    assert exported('collection == "c"', channel=None).may_match(event())
    assert exported("publishTime == 5").may_match(event())
    assert not exported("publishTime == 5").may_match(recorded(event()))


def test_attributes_that_headers_turn_into_texts():
    sieve = exported('ce.count == "5"', 'ce.urgent == "true"')
    assert sieve.may_match(event(count=5))
    assert sieve.may_match(event(urgent=True))
    assert not sieve.may_match(event(count=6, urgent=False))


def test_a_source_needs_neither_the_index_nor_its_compiler():
    program = (
        "import sys; from headrace.filters.upstream.bloom import ExportedBloom; from headrace.events.event import Event;"
        "sieve = ExportedBloom.from_bytes(sys.stdin.buffer.read());"
        "found = [sieve.may_match(Event({'subject': each})) for each in 'ab'];"
        "assert found == [True, False], found;"
        "loaded = {'numba', 'llvmlite', 'headrace.matching'} & set(sys.modules); assert not loaded, loaded"
    )
    data = exported('ce.subject == "a"').to_bytes()
    subprocess.run([sys.executable, "-c", program], input=data, check=True)


def test_the_header_says_how_to_read_it():
    data = exported('data.v.startsWith("abc") && ce.count > 5', 'data.v.contains("xyz")').to_bytes()
    assert data.startswith(b"HRBLOOM\n\x01\0\0\0")
    header = json.loads(data[48 : 48 + int.from_bytes(data[12:16], "little")])
    assert header["hash"] == DEFINITION
    assert header["channel"] == ["a", "b"]
    assert header["fields"] == [
        {
            "name": "data.v",
            "path": ["data", "v"],
            "text": False,
            "equal": False,
            "elements": False,
            "starts": [3],
            "ends": [],
            "grams": [3],
            "present": [],
        }
    ]
    assert len(data) == 48 + int.from_bytes(data[12:16], "little") + 64 * header["blocks"]


def test_the_seed_is_not_that_of_the_index():
    matcher = Matcher()
    matcher.add("x", compile_filter({"exact": {"subject": "a"}}))
    seeds = {int(ExportedBloom.from_bytes(export_bloom(matcher, HERE)).header.seed, 16) for _ in range(5)}
    assert len(seeds) == 5
    assert matcher._index.seed not in seeds


def test_two_of_one_seed_and_size_are_joined():
    base = exported('data.v == "a"', 'ce.subject.startsWith("abc")', *(f'data.v == "{n}"' for n in range(50)))
    matcher = Matcher()
    for number, text in enumerate(['data.v == "b"', "data.w > 5", 'ce.subject.startsWith("wx")']):
        matcher.add(str(number), compile_filter({"cel": text}))
    beside = ExportedBloom.from_bytes(export_bloom(matcher, HERE, like=base.header))
    both = ExportedBloom.from_bytes(base.joined(beside).to_bytes())
    for wanted in (
        event({"v": "a"}), event({"v": "b"}), event({"w": 7}), event(subject="abcd"), event(subject="wxy"),
    ):  # fmt: skip
        assert both.may_match(wanted)
    assert not both.may_match(event({"v": "c", "w": "text"}, subject="none"))
    assert both.header.keys == base.header.keys + beside.header.keys
    assert not both.header.bypass
    matcher.add("all", compile_filter({"cel": "true"}))
    everything = ExportedBloom.from_bytes(export_bloom(matcher, HERE, like=base.header))
    assert base.joined(everything).may_match(event())
    with pytest.raises(ValueError, match="different channels, seeds or sizes"):
        base.joined(exported('data.v == "b"'))


GOOD = exported('ce.subject == "a"')


def spoiled():
    data = GOOD.to_bytes()
    yield "empty", b""
    yield "other bytes", b"PK" + data
    yield "only its name", data[:8]
    yield "cut", data[:-1]
    yield "cut in the header", data[:100]
    yield "longer", data + b"\0"
    yield "a bit of the header", data[:60] + bytes([data[60] ^ 1]) + data[61:]
    yield "a bit of the bits", data[:-9] + bytes([data[-9] ^ 1]) + data[-8:]
    yield "older", data[:8] + b"\0\0\0\0" + data[12:]
    yield "newer", data[:8] + b"\2\0\0\0" + data[12:]
    yield "too few blocks", ExportedBloom(GOOD.header, GOOD.words[64:]).to_bytes()
    yield "header of another form", ExportedBloom({"channel": None}, GOOD.words).to_bytes()  # type: ignore[arg-type]


@pytest.mark.parametrize("data", [pytest.param(data, id=name) for name, data in spoiled()])
def test_broken_bytes_are_refused(data):
    with pytest.raises(UnreadableExport, match="exported Bloom filter"):
        ExportedBloom.from_bytes(data)


def test_the_version_is_named():
    data = GOOD.to_bytes()
    with pytest.raises(UnreadableExport, match="version 9, not 1"):
        ExportedBloom.from_bytes(data[:8] + b"\x09\0\0\0" + data[12:])


def test_bytes_come_back_as_they_were():
    assert ExportedBloom.from_bytes(GOOD.to_bytes()) == GOOD
    odd = msgspec.structs.replace(
        GOOD.header, fields=(msgspec.structs.replace(GOOD.header.fields[0], path=("ce", "\ud800")),)
    )
    assert ExportedBloom.from_bytes(ExportedBloom(odd, GOOD.words).to_bytes()).header == odd
