from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, invariant, multiple, rule
from tests.examples import examples
from tests.filters.every_dialect import every_event, every_filter
from tests.filters.strategies import events, filters

from headrace.errors import NotFound
from headrace.events.batch import to_batch
from headrace.events.event import Event
from headrace.events.recorded import Arrival, Recorded
from headrace.filters import Filter, compile_filter
from headrace.matching import Matcher, Scope
from headrace.matching.matcher import PAIRS

ANY = compile_filter([])


def event(**attributes):
    return Event(attributes={"specversion": "1.0", "id": "1", "source": "/s", "type": "t", **attributes})


def recorded(position, channel=("default", "default"), **attributes):
    return Recorded(position, 0, Arrival(event(**attributes), *channel))


def batch(arrivals, first_position=0):
    return to_batch(arrivals, first_position, 0)


def test_finds_who_wants_an_event_in_the_order_of_adding():
    matcher = Matcher()
    matcher.add("z", compile_filter({"exact": {"type": "t"}}))
    matcher.add_many([("no", compile_filter({"exact": {"type": "u"}})), ("m", ANY)])
    matcher.add("a", compile_filter({"exact": {"type": "t"}}))
    assert matcher.match(event()) == ["z", "m", "a"]
    assert matcher.match_batch([event(), event(type="u")]) == [["z", "m", "a"], ["no", "m"]]
    assert len(matcher) == 4


def test_an_empty_matcher_matches_nothing():
    assert Matcher().match(event()) == []
    assert Matcher().match_batch([event()]) == [[]]
    assert Matcher().match_batch([]) == []


def test_adding_an_id_again_replaces_filter_and_scope():
    matcher = Matcher()
    matcher.add("s", compile_filter({"exact": {"type": "t"}}))
    matcher.add("s", compile_filter({"exact": {"type": "u"}}))
    assert matcher.match_batch([event(), event(type="u")]) == [[], ["s"]]
    matcher.add("s", ANY, scope=Scope("n", "c"))
    assert matcher.match(event(type="u")) == []
    assert matcher.match(recorded(0, ("n", "c"))) == ["s"]
    assert len(matcher) == 1


def test_a_removed_subscription_is_gone():
    matcher = Matcher()
    matcher.add("a", ANY)
    matcher.add("b", ANY)
    assert "a" in matcher
    matcher.remove("a")
    assert "a" not in matcher
    assert matcher.match(event()) == ["b"]


def test_removing_what_is_not_there_is_an_error():
    matcher = Matcher()
    with pytest.raises(NotFound, match="there is no subscription 'a'"):
        matcher.remove("a")
    matcher.add("a", ANY)
    matcher.remove("a")
    with pytest.raises(NotFound):
        matcher.remove("a")


def test_a_bare_event_is_seen_only_without_a_scope():
    matcher = Matcher()
    matcher.add_many([("scoped", ANY, Scope("n", "c")), ("free", ANY, None)])
    assert matcher.match(event()) == ["free"]
    assert matcher.match(recorded(0, ("n", "c"))) == ["scoped", "free"]


def test_positions_at_the_edges_of_a_scope():
    matcher = Matcher()
    matcher.add("s", ANY, scope=Scope("n", "c", created=5, deleted=7))
    seen = [position for position in range(10) if matcher.match(recorded(position, ("n", "c")))]
    assert seen == [5, 6]


def test_tenants_do_not_see_one_another():
    matcher = Matcher()
    channels = [("a", "x"), ("a", "y"), ("b", "x"), ("x", "a")]
    matcher.add_many(("/".join(channel), ANY, Scope(*channel)) for channel in channels)
    arrivals = [Arrival(event(), *channel) for channel in channels]
    assert matcher.match_batch(batch(arrivals)) == [["a/x"], ["a/y"], ["b/x"], ["x/a"]]


def test_pairs_are_ordered_by_position():
    matcher = Matcher()
    matcher.add_many(
        [
            ("b", ANY, Scope("n", "c", created=101)),
            ("a", compile_filter({"exact": {"id": "1"}}), Scope("n", "c")),
        ]
    )
    arrivals = [Arrival(event(id=str(i % 2)), "n", "c") for i in range(4)]
    pairs = matcher.match_pairs(batch(arrivals, 100))
    assert isinstance(pairs, pa.RecordBatch)
    assert pairs.schema == PAIRS
    assert pairs["position"].to_pylist() == [101, 101, 102, 103, 103]
    assert sorted(zip(*pairs.to_pydict().values(), strict=True)) == [
        (101, "a"), (101, "b"), (102, "b"), (103, "a"), (103, "b"),
    ]  # fmt: skip


def test_pairs_of_rows_in_any_order():
    matcher = Matcher()
    matcher.add("a", ANY)
    rows = batch([Arrival(event(id=str(i)), "n", "c") for i in range(3)])
    assert matcher.match_pairs(rows.take(pa.array([2, 0, 1])))["position"].to_pylist() == [0, 1, 2]


def test_no_pairs():
    pairs = Matcher().match_pairs(batch([Arrival(event(), "n", "c")]))
    assert pairs.schema == PAIRS
    assert pairs.num_rows == 0
    assert Matcher().match_pairs(batch([])).num_rows == 0


channels = st.sampled_from([("a", "x"), ("a", "y"), ("b", "x")])
scopes = st.none() | st.builds(
    lambda channel, **rest: Scope(*channel, **rest),
    channels,
    source=st.none() | st.sampled_from(["a", "b"]),
    types=st.none() | st.lists(st.sampled_from(["a", "b", "4"]), max_size=2).map(tuple),
    created=st.integers(0, 4),
    deleted=st.none() | st.integers(0, 6),
)
arrivals = st.lists(
    st.builds(lambda event, channel: Arrival(event, *channel), events(), channels), max_size=5
)


def wants(filter_, scope, position, arrival):
    """The rules of a scope, written a second time."""
    recorded = Recorded(position, 0, arrival)
    if scope is None:
        return filter_.matches(recorded)
    return all(
        [
            scope.namespace == arrival.namespace,
            scope.channel == arrival.channel,
            position in range(scope.created, 1000 if scope.deleted is None else scope.deleted),
            scope.source in (None, arrival.event.source),
            arrival.event.type in (scope.types or [arrival.event.type]),
            filter_.matches(recorded),
        ]
    )


class MatcherEqualsEvaluatingOneByOne(RuleBasedStateMachine):
    subscriptions = Bundle("subscriptions")

    def __init__(self):
        super().__init__()
        self.matcher = Matcher()
        self.model: dict[str, tuple[Filter, Scope | None]] = {}

    @rule(target=subscriptions, subscription=st.sampled_from("abcdef"), spec=filters, scope=scopes)
    def add(self, subscription, spec, scope):
        self._add(subscription, compile_filter(spec), scope)
        return subscription

    @rule(target=subscriptions, subscription=st.sampled_from("abcdef"), other=subscriptions, scope=scopes)
    def add_with_the_filter_of_another(self, subscription, other, scope):
        if other not in self.model:
            return multiple()
        self._add(subscription, self.model[other][0], scope)
        return subscription

    def _add(self, subscription, filter_, scope):
        self.matcher.add(subscription, filter_, scope=scope)
        self.model.pop(subscription, None)
        self.model[subscription] = (filter_, scope)

    @rule(target=subscriptions, subscription=st.sampled_from("abcdef"), spec=every_filter, scope=scopes)
    def add_in_any_dialect(self, subscription, spec, scope):
        self._add(subscription, compile_filter(spec), scope)
        return subscription

    @rule(count=st.integers(1, 80), spec=filters)
    def add_so_many_that_levels_are_joined(self, count, spec):
        for number in range(count):
            self._add(f"many-{number}", compile_filter(spec), None)

    @rule()
    def settle_down(self):
        self.matcher.settle_down()

    @rule()
    def go_on_with_a_snapshot(self):
        with TemporaryDirectory() as folder:
            self.matcher.save(Path(folder) / "index")
            self.matcher = Matcher.open(Path(folder) / "index")

    @rule(subscription=consumes(subscriptions))
    def remove(self, subscription):
        if subscription in self.model:
            self.matcher.remove(subscription)
            del self.model[subscription]

    @rule(arrivals=arrivals)
    def match(self, arrivals):
        expected = [
            [
                subscription
                for subscription, (filter_, scope) in self.model.items()
                if wants(filter_, scope, position, arrival)
            ]
            for position, arrival in enumerate(arrivals)
        ]
        rows = batch(arrivals)
        assert self.matcher.match_batch(rows) == expected
        pairs = self.matcher.match_pairs(rows).to_pylist()
        assert pairs == sorted(pairs, key=lambda pair: pair["position"])
        assert sorted(tuple(pair.values()) for pair in pairs) == sorted(
            (position, subscription)
            for position, subscriptions in enumerate(expected)
            for subscription in subscriptions
        )

    @rule(events=st.lists(every_event(), min_size=1, max_size=3))
    def match_any_events(self, events):
        recorded = [event for event in events if isinstance(event, Recorded)]
        expected = [
            [
                subscription
                for subscription, (filter_, scope) in self.model.items()
                if scope is None and filter_.matches(event)
            ]
            for event in recorded
        ]
        assert self.matcher.match_batch(recorded) == expected

    @rule(event=events())
    def match_bare(self, event):
        expected = [
            subscription
            for subscription, (filter_, scope) in self.model.items()
            if scope is None and filter_.matches(event)
        ]
        assert self.matcher.match(event) == expected

    @invariant()
    def has_as_many(self):
        assert len(self.matcher) == len(self.model)


MatcherEqualsEvaluatingOneByOne.TestCase.settings = examples(
    60, stateful_step_count=25, deadline=None, suppress_health_check=list(HealthCheck)
)
TestMatcherEqualsEvaluatingOneByOne = MatcherEqualsEvaluatingOneByOne.TestCase


@given(st.lists(filters, max_size=6), st.lists(events(), max_size=6))
def test_a_batch_is_its_events_one_by_one(specs, events):
    matcher = Matcher()
    compiled = [compile_filter(spec) for spec in specs]
    matcher.add_many((str(i), each) for i, each in enumerate(compiled))
    assert matcher.match_batch(events) == [
        [str(i) for i, each in enumerate(compiled) if each.matches(event)] for event in events
    ]
