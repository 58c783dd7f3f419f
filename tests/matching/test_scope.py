import pytest

from headrace.events.event import Event
from headrace.events.recorded import Arrival, Recorded
from headrace.matching import Scope


def recorded(position=10, namespace="n", channel="c", **attributes):
    event = Event(attributes={"specversion": "1.0", "id": "1", "source": "/s", "type": "t", **attributes})
    return Recorded(position, 0, Arrival(event, namespace, channel))


ADMITTED = [
    (Scope("n", "c"), True),
    (Scope("n", "other"), False),
    (Scope("other", "c"), False),
    (Scope("c", "n"), False),
    (Scope("n", "c", created=9), True),
    (Scope("n", "c", created=10), True),
    (Scope("n", "c", created=11), False),
    (Scope("n", "c", deleted=11), True),
    (Scope("n", "c", deleted=10), False),
    (Scope("n", "c", deleted=9), False),
    (Scope("n", "c", created=10, deleted=11), True),
    (Scope("n", "c", created=10, deleted=10), False),
    (Scope("n", "c", deleted=0), False),
    (Scope("n", "c", source="/s"), True),
    (Scope("n", "c", source="/s/"), False),
    (Scope("n", "c", types=("t",)), True),
    (Scope("n", "c", types=("u", "t")), True),
    (Scope("n", "c", types=("u",)), False),
    (Scope("n", "c", types=("tt",)), False),
    (Scope("n", "c", types=()), True),
    (Scope("n", "c", source="/s", types=("t",), created=10, deleted=11), True),
    (Scope("n", "c", source="/s", types=("u",), created=10, deleted=11), False),
]


@pytest.mark.parametrize(("scope", "expected"), ADMITTED)
def test_admits(scope, expected):
    assert scope.admits(recorded()) is expected


def test_an_event_at_position_zero():
    assert Scope("n", "c").admits(recorded(position=0))
    assert not Scope("n", "c", deleted=0).admits(recorded(position=0))
