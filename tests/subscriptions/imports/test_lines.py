import msgspec
import pytest

from headrace.filters.compiled import compile_to_bytes
from headrace.subscriptions.channels.name import DEFAULT_CHANNEL
from headrace.subscriptions.imports import lines as importing
from headrace.subscriptions.imports.lines import Import

GOOD = {"sink": "https://example.com/in", "protocol": "HTTP"}


def line(**members):
    return msgspec.json.encode(GOOD | members)


@pytest.fixture
def reading():
    made = []

    def reading(**options):
        made.append(Import({DEFAULT_CHANNEL: {}}, **options))
        return made[-1]

    yield reading
    for each in made:
        each.lot.__exit__()


def refusals(found):
    return {each.line: dict(each.faults) for each in found.refusals}


def entries(found):
    return [entry for page in found.lot.pages() for entry in page]


def test_every_fault_of_every_line_is_told(reading):
    found = reading()
    bad = line(filters=[{"cel": "1 +"}], types="t")
    found.read(
        [line(), b"{", b"  ", b"[]", bad, line(config={"channel": "default/nowhere"}), b"\xff", line()]
    )
    told = refusals(found)
    assert (found.lines, found.refused, len(found.lot)) == (8, 5, 2)
    assert list(told) == [2, 4, 5, 6, 7], "empty lines count, and are no fault"
    assert "not JSON" in told[2][""]
    assert set(told[5]) == {"types", "filters[0].cel"}
    assert "^" in told[5]["filters[0].cel"]
    assert "'default/nowhere'" in told[6]["config.channel"]


def test_keys_that_nobody_would_see_are_not_made(reading):
    found = reading()
    found.read([line(protocolsettings={"signing": "generate"})])
    assert list(refusals(found)[1]) == ["protocolsettings.signing"]


def test_ids_are_new_unless_they_are_kept(reading):
    new, kept = reading(), reading(keep_ids=True)
    for each in (new, kept):
        each.read([line(id="mine")])
    assert [entry.id for entry in entries(kept)] == ["mine"]
    assert [entry.id for entry in entries(new)] != ["mine"]


@pytest.mark.parametrize("bad", [None, 7, "", "a/b", "x" * 65, "a b", "ä"])
def test_ids_that_can_not_be_kept(reading, bad):
    found = reading(keep_ids=True)
    found.read([line(id=bad), line(), line(id="twice"), line(id="twice", types="t")])
    assert {number: set(faults) for number, faults in refusals(found).items()} == {
        1: {"id"},
        2: {"id"},
        4: {"id", "types"},
    }


def test_a_filter_is_compiled_once_and_a_bad_one_refused_each_time(reading, monkeypatch):
    compiled = []

    def compile_(filters):
        compiled.append(filters)
        return compile_to_bytes(filters)

    monkeypatch.setattr(importing, "compile_to_bytes", compile_)
    found, good, bad = reading(), [{"cel": "ce.type == 'a'"}], [{"cel": "nonsense("}]
    found.read([line(filters=good)] * 3 + [line(filters=bad)] * 2)
    assert (len(found.lot), list(refusals(found))) == (3, [4, 5])
    assert compiled == [good, bad, bad]


def test_so_many_faults_are_not_all_kept(reading):
    found = reading()
    found.read([b"{"] * 1500)
    assert (found.refused, len(found.refusals)) == (1500, 1000)
