"""The roster follows the store."""

from headrace.events.batch import Arrival, Recorded
from headrace.events.event import Event
from headrace.matching.programs import Programs
from headrace.matching.settings import BloomSettings, CelSettings, MatchingSettings
from headrace.pipeline.roster import RosterWriter, load_roster
from headrace.subscriptions.channel import ChannelName
from headrace.subscriptions.subscription import parse_subscription


def _event(position: int, type_: str, channel: tuple[str, str] = ("default", "default")) -> Recorded:
    event = Event({"specversion": "1.0", "id": "1", "source": "/s", "type": type_})
    return Recorded(position, 0, Arrival(event, *channel))


def _roster(deployment) -> RosterWriter:
    return RosterWriter(deployment.folder / "rosters", deployment.store, deployment.log.end)


def test_a_roster_holds_what_the_store_holds(deployment):
    deployment.append("a", "b")
    orders = deployment.subscribe({"prefix": {"type": "order."}})
    everything = deployment.subscribe()
    matcher = load_roster(_roster(deployment).current(0))
    assert matcher.match(_event(2, "order.x")) == [orders.id, everything.id]
    assert matcher.match(_event(2, "other")) == [everything.id]
    assert matcher.match(_event(1, "order.x")) == []  # accepted before they were created


def test_an_unchanged_store_gives_the_same_file(deployment):
    deployment.subscribe()
    roster = _roster(deployment)
    first = roster.current(0)
    written = first.stat().st_mtime_ns
    assert roster.current(0) == first
    assert first.stat().st_mtime_ns == written


def test_a_new_channel_changes_nothing(deployment):
    deployment.subscribe()
    roster = _roster(deployment)
    first = roster.current(0)
    deployment.store.create_channel(ChannelName("shop", "orders"))
    assert roster.current(0) == first


def test_a_deleted_subscription_keeps_its_last_events_and_then_goes(deployment):
    subscription = deployment.subscribe()
    roster = _roster(deployment)
    deployment.append("a", "b", "c")
    deployment.store.delete(subscription.id, lambda: deployment.writer.end)
    matcher = load_roster(roster.current(0))
    assert matcher.match(_event(2, "x")) == [subscription.id]
    assert matcher.match(_event(3, "x")) == []
    deployment.subscribe()
    assert subscription.id not in load_roster(roster.current(3))


def test_a_subscription_without_a_position_gets_one_from_the_pipeline(deployment):
    """The row is there, its creator has not come to read the end of the log yet."""
    deployment.append("before")
    roster = _roster(deployment)
    seen = []

    def end_of_log():
        """Runs inside create, after the row was committed: the pipeline comes first."""
        deployment.append("between")
        seen.append(load_roster(roster.current(0)))
        deployment.append("after")
        return deployment.writer.end

    made = deployment.store.create(
        parse_subscription({"sink": "http://sink/", "protocol": "HTTP"}), end_of_log
    )
    assert made.created == 2
    final = load_roster(roster.current(0))
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
        current = roster.current(0)
    left = list((deployment.folder / "rosters").glob("*.json"))
    assert current in left
    assert len(left) <= 3


def test_a_roster_carries_the_settings_of_matching(deployment):
    wanted = MatchingSettings(bloom=BloomSettings(fp_rate=0.25), cel=CelSettings(cache_size=1))
    deployment.subscribe({"exact": {"type": "a"}})
    deployment.subscribe({"exact": {"type": "b"}})
    roster = RosterWriter(deployment.folder / "rosters", deployment.store, deployment.log.end, wanted)
    programs = Programs(100)
    matcher = load_roster(roster.current(0), programs)
    assert (matcher._bloom, matcher._cel) == (wanted.bloom, wanted.cel)
    assert (programs.size, len(programs)) == (1, 1)


def test_a_changed_roster_compiles_only_what_is_new(deployment):
    deployment.subscribe({"exact": {"type": "a"}})
    deployment.subscribe({"exact": {"type": "b"}})
    roster, programs = _roster(deployment), Programs()
    load_roster(roster.current(0), programs)
    third = deployment.subscribe({"exact": {"type": "c"}})
    matcher = load_roster(roster.current(0), programs)
    assert (programs.hits, programs.misses) == (2, 3)
    assert matcher.match(_event(0, "c")) == [third.id]
