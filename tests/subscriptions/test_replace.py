"""A subscription that becomes another one under its id."""

from contextlib import closing
from dataclasses import replace

import pytest
from tests.subscriptions.stores import proposal

from headrace.errors import NotFound
from headrace.events.positions import Cut
from headrace.subscriptions.channel import ChannelName
from headrace.subscriptions.store import Store


@pytest.fixture
def store(database_url):
    with closing(Store(database_url)) as opened:
        yield opened


def at(position):
    return lambda: Cut.at(position)


def test_it_keeps_its_id_its_cuts_and_its_place(store):
    first, second = store.create(proposal(), at(5)), store.create(proposal(), at(6))
    store.pause(first.id)
    seen = store.revision()
    wanted = replace(
        proposal(filters=[{"exact": {"type": "a"}}], sink="https://example.com/other"), id=first.id
    )
    changed = store.replace(wanted)
    assert changed == store.get(first.id)
    assert (changed.created, changed.deleted, changed.paused) == (Cut.at(5), None, True)
    assert (changed.sink, changed.filters) == ("https://example.com/other", ({"exact": {"type": "a"}},))
    assert [each.id for each in store.changes(seen)[1]] == [first.id]
    assert [each.id for each in store.subscriptions()] == [first.id, second.id]


def test_one_that_ended_can_t_be_changed(store):
    made = store.create(proposal(), at(5))
    store.delete(made.id, at(6))
    with pytest.raises(NotFound):
        store.replace(made)
    with pytest.raises(NotFound):
        store.replace(proposal())


def test_its_channel_stays(store):
    store.create_channel(ChannelName("team-a", "orders"))
    made = store.create(proposal(), at(5))
    with pytest.raises(NotFound):
        store.replace(replace(proposal("team-a/orders"), id=made.id))
    assert str(store.get(made.id).channel) == "default/default"
