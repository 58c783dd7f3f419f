"""The law of interest: it holds for every event that a subscription would match, and for these alone where it is exact."""

import msgspec
import pytest
from hypothesis import HealthCheck, assume, given
from hypothesis import strategies as st
from tests.examples import examples
from tests.filters import google
from tests.filters.every_dialect import every_event, every_filter, is_filter
from tests.filters.strategies import texts

from headrace.errors import FilterError
from headrace.events.event import Event
from headrace.events.recorded import Arrival, Recorded
from headrace.filters import compile_filter
from headrace.filters.upstream.sieve import Sieve
from headrace.filters.variables import variables_of
from headrace.interest.criteria import criterion_of
from headrace.interest.union import BuildProcess, BuildTask, write_bloom, write_text
from headrace.matching import Matcher, Scope
from headrace.subscriptions.channels.name import ChannelName
from headrace.subscriptions.subscription import Subscription

HERE = ChannelName("a", "b")
BASE = {"specversion": "1.0", "id": "1", "source": "/s", "type": "t"}


def subscription(number, filters=(), source=None, types=()):
    return Subscription(
        str(number), HERE, "http://sink.example/", "HTTP", source, tuple(types), tuple(filters)
    )


def text_of(*subscriptions, longest=20_000, share=1.0):
    return write_text(BuildTask(HERE, sorted({criterion_of(each) for each in subscriptions}), longest, share))


def matcher_of(subscriptions):
    """The matcher as the pipeline has it."""
    matcher = Matcher()
    for each in subscriptions:
        scope = Scope(each.channel.namespace, each.channel.name, source=each.source, types=each.types)
        matcher.add(each.id, compile_filter(each.filters), scope=scope)
    return matcher


subscriptions = st.lists(
    st.builds(
        subscription,
        st.just(""),
        st.lists(every_filter, max_size=2).filter(is_filter),
        st.none() | texts.filter(bool),
        st.lists(texts.filter(bool), max_size=2),
    ),
    max_size=4,
).map(lambda found: [subscription(n, each.filters, each.source, each.types) for n, each in enumerate(found)])


@examples(200, suppress_health_check=list(HealthCheck), deadline=None)
@given(subscriptions, every_event(), st.sampled_from([5, 40, 120, 20_000]))
def test_nothing_that_somebody_wants_is_said_to_be_unwanted(asking, event, longest):
    sent = event.event if isinstance(event, Recorded) else event
    time = event.publish_time if isinstance(event, Recorded) else 1_700_000_000_000_000
    is_wanted = bool(matcher_of(asking).match(Recorded(7, time, Arrival(sent, *HERE))))
    told = text_of(*asking, longest=longest)
    assert len(told.cel) <= longest
    union = compile_filter({"cel": told.cel})
    ours = union.matches(sent)
    assert ours >= is_wanted
    assert ours is is_wanted or not told.exact
    assert Sieve(union).matches(sent) >= ours
    assert write_bloom(HERE, {criterion_of(each) for each in asking}).may_match(sent) >= is_wanted
    try:
        theirs = google.evaluate(told.cel, variables_of(sent)) is True
    except google.GaveUp:
        assume(False)
    assert theirs >= is_wanted


UNIONS = [
    ([], "false", True),
    ([subscription(1)], "true", True),
    ([subscription(1, [{"cel": "data.a == 1"}]), subscription(2)], "true", True),
    ([subscription(1, source="/s")], 'ce.source == "/s"', True),
    (
        [subscription(1, [{"exact": {"subject": "x"}}], "/s", ["b", "a"])],
        'ce.source == "/s" && ce.type in ["a", "b"] && ce.subject == "x"',
        True,
    ),
    ([subscription(n, types=[f"t{n}"]) for n in range(3)], 'ce.type in ["t0", "t1", "t2"]', True),
    ([subscription(1, [{"cel": 'collection == "b" && data.a == 1'}])], "data.a == 1", True),
    ([subscription(1, [{"cel": 'collection == "other"'}])], "false", True),
    ([subscription(1, [{"cel": 'tenant == "a" || data.a == 1'}])], "true", True),
    ([subscription(1, [{"cel": "!bool(collection) || data.a == 1"}])], "data.a == 1", True),
    ([subscription(1, [{"cel": "data.a == 1 && publishTime > 5"}])], "data.a == 1", False),
    ([subscription(1, [{"cel": "data.a == 1 && !(publishTime > 5)"}])], "data.a == 1", False),
    ([subscription(1, [{"cel": "data.a == 1 && ce.subject == collection"}])], "data.a == 1", False),
    ([subscription(1, [{"cel": 'ce.source.match("/a*")'}])], 'ce.source.startsWith("/a")', True),
    ([subscription(1, [{"cel": 'data.l.exists(x, x.match("a?"))'}])], "true", False),
    (
        [subscription(1, [{"sql": "LOWER(subject) = 'a'"}])],
        'has(ce.subject) && sqlLower(ce.subject) == "a"',
        True,
    ),
    ([subscription(1, [{"dialect": "of a newer version"}])], "true", False),
]


@pytest.mark.parametrize(("asking", "expected", "is_exact"), UNIONS)
def test_unions(asking, expected, is_exact):
    told = text_of(*asking)
    assert (told.cel, told.exact) == (expected, is_exact)


def test_a_filter_that_errs_does_not_hide_another_that_holds():
    told = text_of(
        subscription(1, [{"cel": "data.missing > 5"}]), subscription(2, [{"cel": "ce.type == 't'"}])
    )
    event = Event(BASE, b"{}")
    assert compile_filter({"cel": told.cel}).matches(event)
    assert google.evaluate(told.cel, variables_of(event)) is True


@pytest.mark.parametrize("pattern", ["a?c", "[ab]*c", "*[!x]", "a.b*?"])
def test_a_shell_pattern_becomes_one_that_plain_cel_has(pattern):
    told = text_of(subscription(1, [{"cel": f'ce.subject.match("{pattern}")'}]))
    assert ".match(" not in told.cel
    for subject in ("abc", "ac", "bc", "a.bc", "a.bcd", "x", "", "a\nc"):
        event = Event(BASE | {"subject": subject})
        wanted = compile_filter({"cel": f'ce.subject.match("{pattern}")'}).matches(event)
        assert compile_filter({"cel": told.cel}).matches(event) is wanted
        assert (google.evaluate(told.cel, variables_of(event)) is True) is wanted


def test_thousands_of_wants_become_a_filter_that_google_reads_and_that_still_drops():
    asking = [
        subscription(n, [{"exact": {"subject": f"order-{n}"}}], f"/shop/{n % 7}", [f"com.example.t{n % 40}"])
        for n in range(3000)
    ]
    told = text_of(*asking)
    assert not told.exact
    assert len(told.cel) <= 20_000
    for number in (0, 1234, 2999):
        wanted = BASE | {
            "subject": f"order-{number}",
            "source": f"/shop/{number % 7}",
            "type": f"com.example.t{number % 40}",
        }
        assert google.evaluate(told.cel, variables_of(Event(wanted))) is True
        for change in ({"source": "/stock"}, {"type": "com.example.z"}, {"subject": "item-1"}):
            assert google.evaluate(told.cel, variables_of(Event(wanted | change))) is not True


def test_what_is_made_apart_is_the_same():
    criteria = sorted(criterion_of(subscription(n, [{"exact": {"subject": f"s{n}"}}])) for n in range(20))
    task = BuildTask(HERE, criteria, 20_000, 1.0)
    built = BuildProcess(task).wait()
    assert built.text == write_text(task)
    assert b"HRBLOOM" in built.bloom


def test_a_share_of_the_limits_keeps_two_texts_together_within_them():
    asking = [subscription(n, [{"cel": f"data.a{n} == {n} && data.b{n} > {n}"}]) for n in range(600)]
    parts = [text_of(*asking[:300], share=0.75), text_of(*asking[300:], share=0.25)]
    with pytest.raises(FilterError, match="atoms"):
        compile_filter({"cel": " || ".join(f"({each.filters[0]['cel']})" for each in asking)})
    compile_filter({"cel": " || ".join(f"({each.cel})" for each in parts)})


def test_wants_are_the_same_however_they_are_written():
    one = subscription(1, [{"exact": {"a": "1", "b": "2"}}], types=["x", "y"])
    other = subscription(2, [{"exact": {"b": "2", "a": "1"}}], types=["y", "x", "y"])
    assert criterion_of(one) == criterion_of(other)
    assert msgspec.json.decode(criterion_of(one)) == [None, ["x", "y"], [{"exact": {"a": "1", "b": "2"}}]]
