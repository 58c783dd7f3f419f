"""The roster follows the store."""

import threading

import msgspec
import pyarrow as pa
import pytest
from tests.pipeline.conftest import spoil_document, spoil_filters
from tests.subscriptions.stores import listed

from headrace.errors import SnapshotRefused
from headrace.events.event import Event
from headrace.events.positions import LogPosition
from headrace.events.recorded import Arrival, Recorded
from headrace.filters import compiled
from headrace.matching import Matcher
from headrace.matching.settings import BloomSettings, CelSettings, MatchingSettings
from headrace.pipeline.roster.reader import RosterReader
from headrace.pipeline.roster.writer import RosterWriter
from headrace.subscriptions.channels.name import ChannelName
from headrace.subscriptions.subscription import parse_subscription


def _event(position: int, type_: str, channel: tuple[str, str] = ("default", "default")) -> Recorded:
    event = Event({"specversion": "1.0", "id": "1", "source": "/s", "type": type_})
    return Recorded(position, 0, Arrival(event, *channel))


class Loaded:
    """What a worker finds by a roster: matches within their bounds."""

    def __init__(self, path) -> None:
        self._reader = RosterReader()
        self.matcher = self._reader.matcher(path)

    def match(self, recorded: Recorded) -> list[str]:
        ids = self.matcher.match(recorded)
        positions = pa.array([recorded.position] * len(ids), pa.int64())
        _, kept = self._reader.bounds.keep(positions, pa.array(ids, pa.string()))
        return list(kept.to_pylist())


def _roster(deployment) -> RosterWriter:
    return RosterWriter(deployment.folder / "rosters", deployment.store, deployment.log.end)


def test_a_roster_holds_what_the_store_holds(deployment):
    deployment.append("a", "b")
    orders = deployment.subscribe({"prefix": {"type": "order."}})
    everything = deployment.subscribe()
    matcher = Loaded(_roster(deployment).current(LogPosition()))
    assert matcher.match(_event(2, "order.x")) == [orders.id, everything.id]
    assert matcher.match(_event(2, "other")) == [everything.id]
    assert matcher.match(_event(1, "order.x")) == []  # accepted before they were created


def test_a_worker_compiles_nothing_that_was_compiled_on_its_way_in(deployment, monkeypatch):
    deployment.append("a", "b")
    orders = deployment.subscribe({"cel": "ce.type.startsWith('order.')"})
    monkeypatch.setattr(compiled, "compile_filter", None)
    matcher = Loaded(_roster(deployment).current(LogPosition()))
    assert matcher.match(_event(2, "order.x")) == [orders.id]
    assert matcher.match(_event(2, "other")) == []


def test_bounds_are_listed_as_long_as_a_batch_may_touch_them(deployment):
    deployment.append("a", "b")
    subscription = deployment.subscribe()
    roster = _roster(deployment)
    early = roster.current(LogPosition.at(1))
    assert list(msgspec.json.decode(early.read_bytes())["bounds"]) == [subscription.id]
    late = roster.current(LogPosition.at(2))
    assert late != early, "a worker knows a roster by its name"
    assert msgspec.json.decode(late.read_bytes())["bounds"] == {}
    assert Loaded(late).match(_event(2, "x")) == [subscription.id]
    assert roster.current(LogPosition.at(2)) == late


def test_a_base_of_an_earlier_start_has_its_bounds_again(deployment, few_changes):
    deployment.append("a", "b")
    made = [deployment.subscribe() for _ in range(5)]
    assert msgspec.json.decode(_roster(deployment).current(LogPosition()).read_bytes())["base"] is not None
    again = Loaded(_roster(deployment).current(LogPosition()))
    assert again.match(_event(1, "x")) == []
    assert again.match(_event(2, "x")) == [each.id for each in made]


def test_an_unchanged_store_gives_the_same_file(deployment):
    deployment.subscribe()
    roster = _roster(deployment)
    first = roster.current(LogPosition())
    written = first.stat().st_mtime_ns
    assert roster.current(LogPosition()) == first
    assert first.stat().st_mtime_ns == written


def test_a_new_channel_changes_nothing(deployment):
    deployment.subscribe()
    roster = _roster(deployment)
    first = roster.current(LogPosition())
    deployment.store.create_channel(ChannelName("shop", "orders"))
    assert roster.current(LogPosition()) == first


def test_a_deleted_subscription_keeps_its_last_events_and_then_goes(deployment):
    subscription = deployment.subscribe()
    roster = _roster(deployment)
    deployment.append("a", "b", "c")
    deployment.store.delete(subscription.id, lambda: LogPosition.at(deployment.writer.end))
    matcher = Loaded(roster.current(LogPosition()))
    assert matcher.match(_event(2, "x")) == [subscription.id]
    assert matcher.match(_event(3, "x")) == []
    deployment.subscribe()
    assert subscription.id not in Loaded(roster.current(LogPosition.at(3))).matcher


def test_a_subscription_without_a_position_gets_one_from_the_pipeline(deployment):
    """The row is there, its creator has not come to read the end of the log yet."""
    deployment.append("before")
    roster = _roster(deployment)
    seen = []

    def end_of_log():
        """Runs inside create, after the row was committed: the pipeline comes first."""
        deployment.append("between")
        seen.append(Loaded(roster.current(LogPosition())))
        deployment.append("after")
        return LogPosition.at(deployment.writer.end)

    made = deployment.store.create(
        parse_subscription({"sink": "http://sink/", "protocol": "HTTP"}), end_of_log
    )
    assert made.created == LogPosition.at(2)
    final = Loaded(roster.current(LogPosition()))
    assert [made.id in final.match(_event(position, "x")) for position in range(4)] == [
        False,
        False,
        True,
        True,
    ]
    assert seen[0].match(_event(2, "x")) == [made.id]


def test_old_rosters_are_removed(deployment):
    roster = _roster(deployment)
    for _ in range(8):
        deployment.subscribe()
        current = roster.current(LogPosition())
    left = list((deployment.folder / "rosters").glob("*.json"))
    assert current in left
    assert len(left) <= 3


def _wait_for_a_base(roster):
    if roster._build is not None:
        roster._build.wait()


@pytest.fixture
def few_changes(monkeypatch):
    monkeypatch.setattr("headrace.pipeline.roster.writer._FEW_CHANGES", 3)


def test_many_changes_become_a_base_that_workers_map(deployment, few_changes):
    made = [deployment.subscribe({"exact": {"type": f"t{number % 2}"}}) for number in range(5)]
    roster = _roster(deployment)
    path = roster.current(LogPosition())
    content = msgspec.json.decode(path.read_bytes())
    assert content["base"] is not None
    assert content["changes"] == {}
    assert Loaded(path).match(_event(0, "t1")) == [made[1].id, made[3].id]


def test_changes_after_a_base_are_listed_until_the_next_one(deployment, few_changes):
    made = [deployment.subscribe() for _ in range(5)]
    roster = _roster(deployment)
    first = roster.current(LogPosition())
    old_base = msgspec.json.decode(first.read_bytes())["base"]
    reader = RosterReader()
    assert reader.matcher(first).match(_event(0, "x")) == [each.id for each in made]
    made.append(deployment.subscribe())
    second = roster.current(LogPosition())
    assert len(msgspec.json.decode(second.read_bytes())["changes"]) == 1
    assert reader.matcher(second).match(_event(0, "x")) == [each.id for each in made]
    made += [deployment.subscribe() for _ in range(4)]
    third = roster.current(LogPosition())
    assert reader.matcher(third).match(_event(0, "x")) == [each.id for each in made]
    _wait_for_a_base(roster)
    fourth = roster.current(LogPosition())
    content = msgspec.json.decode(fourth.read_bytes())
    assert content["changes"] == {}
    assert content["base"] != old_base
    assert reader.matcher(fourth).match(_event(0, "x")) == [each.id for each in made]
    assert reader.matcher(second).match(_event(0, "x")) == [each.id for each in made[:6]]


def test_what_changes_while_a_base_is_written_is_not_lost(deployment, few_changes, monkeypatch):
    made = [deployment.subscribe() for _ in range(5)]
    roster = _roster(deployment)
    roster.current(LogPosition())
    going_on = threading.Event()
    save = Matcher.save

    def slow(self, path):
        going_on.wait(20)
        save(self, path)

    monkeypatch.setattr(Matcher, "save", slow)
    made += [deployment.subscribe() for _ in range(4)]
    roster.current(LogPosition())
    deployment.store.delete(made[0].id, LogPosition)
    made.append(deployment.subscribe())
    during = roster.current(LogPosition())
    assert Loaded(during).match(_event(0, "x")) == [each.id for each in made[1:]]
    going_on.set()
    _wait_for_a_base(roster)
    after = roster.current(LogPosition())
    assert Loaded(after).match(_event(0, "x")) == [each.id for each in made[1:]]
    assert len(msgspec.json.decode(after.read_bytes())["changes"]) == 2


@pytest.mark.parametrize("busy", [False, True])
def test_an_import_becomes_a_base_before_workers_see_it(deployment, few_changes, monkeypatch, busy):
    """Or each of them would compile all of it."""
    monkeypatch.setattr("headrace.pipeline.roster.writer._MANY_CHANGES", 10)
    made = [deployment.subscribe() for _ in range(5)]
    roster = _roster(deployment)
    roster.current(LogPosition())
    going_on = threading.Event()
    save = Matcher.save

    def slow(self, path):
        going_on.wait(20)
        save(self, path)

    monkeypatch.setattr(Matcher, "save", slow)
    if busy:
        made += [deployment.subscribe() for _ in range(4)]
        assert len(msgspec.json.decode(roster.current(LogPosition()).read_bytes())["changes"]) == 4
    made += [deployment.subscribe() for _ in range(11)]
    threading.Timer(0.2, going_on.set).start()
    path = roster.current(LogPosition())
    assert msgspec.json.decode(path.read_bytes())["changes"] == {}
    assert Loaded(path).match(_event(0, "x")) == [each.id for each in made]


def test_the_next_start_begins_with_the_last_base(deployment, few_changes):
    made = [deployment.subscribe() for _ in range(5)]
    first = _roster(deployment).current(LogPosition())
    made.append(deployment.subscribe())
    again = _roster(deployment).current(LogPosition())
    assert msgspec.json.decode(again.read_bytes())["base"] == msgspec.json.decode(first.read_bytes())["base"]
    assert Loaded(again).match(_event(0, "x")) == [each.id for each in made]


def test_who_was_purged_while_nobody_followed_is_gone(deployment, few_changes):
    made = [deployment.subscribe() for _ in range(5)]
    _roster(deployment).current(LogPosition())
    deployment.append("a")
    deployment.store.delete(made[2].id, LogPosition)
    assert deployment.store.purge(LogPosition.at(1)) == [made[2].id]
    assert Loaded(_roster(deployment).current(LogPosition.at(1))).match(_event(0, "x")) == [
        each.id for each in made if each is not made[2]
    ]


def test_a_broken_base_is_written_anew(deployment, few_changes, caplog):
    made = [deployment.subscribe() for _ in range(5)]
    _roster(deployment).current(LogPosition())
    (base,) = (deployment.folder / "rosters").glob("*.index")
    base.write_bytes(base.read_bytes()[:-100])
    assert Loaded(_roster(deployment).current(LogPosition())).match(_event(0, "x")) == [
        each.id for each in made
    ]
    assert "can't be used" in caplog.text


def test_a_base_of_a_store_that_went_back_is_not_used(deployment, few_changes):
    [deployment.subscribe() for _ in range(5)]
    _roster(deployment).current(LogPosition())
    (base,) = (deployment.folder / "rosters").glob("*.index")
    base.rename(base.with_name(f"{10**9:020d}-5.index"))
    assert len(Loaded(_roster(deployment).current(LogPosition())).matcher) == 5
    assert not list((deployment.folder / "rosters").glob(f"{10**9:020d}*"))


def test_a_roster_carries_the_settings_of_matching(deployment):
    wanted = MatchingSettings(bloom=BloomSettings(fp_rate=0.25), cel=CelSettings(cache_size=1))
    deployment.subscribe({"exact": {"type": "a"}})
    deployment.subscribe({"exact": {"type": "b"}})
    roster = RosterWriter(deployment.folder / "rosters", deployment.store, deployment.log.end, wanted)
    reader = RosterReader()
    matcher = reader.matcher(roster.current(LogPosition()))
    assert (matcher._index.bloom, matcher._cel) == (wanted.bloom, wanted.cel)
    assert (reader._programs.size, len(reader._programs)) == (1, 1)


def test_a_changed_roster_compiles_only_what_is_new(deployment):
    deployment.subscribe({"exact": {"type": "a"}})
    deployment.subscribe({"exact": {"type": "b"}})
    roster, reader = _roster(deployment), RosterReader()
    reader.matcher(roster.current(LogPosition()))
    third = deployment.subscribe({"exact": {"type": "c"}})
    matcher = reader.matcher(roster.current(LogPosition()))
    assert (reader._programs.hits, reader._programs.misses) == (0, 3)
    assert matcher.match(_event(0, "c")) == [third.id]


def test_filters_that_cannot_be_used_are_left_out_of_a_base_and_looked_at_again(deployment, monkeypatch):
    monkeypatch.setattr("headrace.pipeline.roster.writer._FEW_CHANGES", 2)
    broken, good = deployment.subscribe_unchecked({"of a later version": {}}), deployment.subscribe()
    others = [deployment.subscribe({"exact": {"type": f"t{n}"}}) for n in range(4)]
    matcher = Loaded(_roster(deployment).current(LogPosition())).matcher
    assert matcher.ids() == {good.id, *(each.id for each in others)}
    [aside] = deployment.store.what_is_set_aside(10)
    assert (aside.kind, aside.subscription) == ("filter", broken.id)

    deployment.store.forget_filters_set_aside()
    reader = RosterReader()
    assert broken.id not in reader.matcher(_roster(deployment).current(LogPosition()))
    assert [each.subscription for each in reader.take_refused()] == [broken.id]
    spoil_filters(deployment, broken.id, [{"exact": {"type": "a"}}])  # for a version that can read them
    assert broken.id in Loaded(_roster(deployment).current(LogPosition())).matcher


def test_a_document_that_cannot_be_read_is_set_aside(deployment):
    broken, good = deployment.subscribe(), deployment.subscribe()
    spoil_document(deployment, broken.id, '{"sink": ')
    assert Loaded(_roster(deployment).current(LogPosition())).matcher.ids() == {good.id}
    [aside] = deployment.store.what_is_set_aside(10)
    assert (aside.kind, aside.subscription) == ("filter", broken.id)
    assert "can't be read" in aside.reason
    assert [each.id for each in listed(deployment.store)] == [good.id]


@pytest.mark.parametrize("what", ["*.index", "*.json"])
def test_a_damaged_base_or_roster_is_made_anew_by_the_next_start(deployment, monkeypatch, what):
    monkeypatch.setattr("headrace.pipeline.roster.writer._FEW_CHANGES", 1)
    subscriptions = [deployment.subscribe() for _ in range(3)]
    path = _roster(deployment).current(LogPosition())
    for damaged in path.parent.glob(what):
        content = bytearray(damaged.read_bytes())
        content[len(content) // 2 :] = bytes(len(content) - len(content) // 2)
        damaged.write_bytes(content)
    with pytest.raises((SnapshotRefused, msgspec.DecodeError)):
        Loaded(path)
    healed = Loaded(_roster(deployment).current(LogPosition()))
    assert healed.match(_event(0, "x")) == [each.id for each in subscriptions]
