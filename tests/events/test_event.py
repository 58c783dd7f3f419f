import copy
import pickle

import pytest

from headrace.events import AttributeValue, DataKind, Event

ATTRIBUTES: dict[str, AttributeValue] = {"specversion": "1.0", "id": "1", "source": "/s", "type": "t", "n": 5}


def test_attributes_are_a_frozen_copy():
    given = dict(ATTRIBUTES)
    event = Event(given)
    given["id"] = "2"
    assert event.id == "1"
    with pytest.raises(TypeError):
        event.attributes["id"] = "3"  # type: ignore[index]
    with pytest.raises(AttributeError):
        event.data = b""  # type: ignore[misc]


def test_equality_looks_at_attributes_data_and_kind():
    event = Event(ATTRIBUTES, b"1", DataKind.JSON)
    assert event == Event(dict(reversed(ATTRIBUTES.items())), b"1", DataKind.JSON)
    assert event != Event(ATTRIBUTES, b"1")
    assert event != Event(ATTRIBUTES, b"2", DataKind.JSON)
    assert event != Event({**ATTRIBUTES, "n": 6}, b"1", DataKind.JSON)
    assert Event(ATTRIBUTES, b"") != Event(ATTRIBUTES, None)


@pytest.mark.parametrize("clone", [lambda e: pickle.loads(pickle.dumps(e)), copy.copy, copy.deepcopy])
def test_survives_pickling_and_copying(clone):
    event = Event(ATTRIBUTES, b"\x00", DataKind.TEXT)
    assert clone(event) == event
    assert clone(event).data_kind is DataKind.TEXT


def test_properties():
    event = Event({**ATTRIBUTES, "subject": "x", "time": "2018-04-05T17:31:00Z", "datacontenttype": "a/b"})
    assert (event.id, event.source, event.type, event.specversion) == ("1", "/s", "t", "1.0")
    assert (event.subject, event.time, event.datacontenttype) == ("x", "2018-04-05T17:31:00Z", "a/b")
    bare = Event(ATTRIBUTES)
    assert (bare.subject, bare.time, bare.datacontenttype) == (None, None, None)


def test_odd_events_can_be_made():
    assert Event({"id": 5, "x": [1, {"y": 1.5}]}).attributes["x"] == [1, {"y": 1.5}]
