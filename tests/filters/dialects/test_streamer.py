import json

import pytest

from headrace.errors import FilterError
from headrace.events.event import Event
from headrace.events.recorded import Arrival, Recorded
from headrace.filters import compile_filter

DOCUMENT = {
    "status": "active",
    "priority": 7,
    "amount": 99.5,
    "tags": ["urgent", 3],
    "note": "most urgent",
    "order": {"total": 5, "paid": True, "memo": None},
    "type": "in the data",
    "ghost": 2**70,
}
EVENT = Event(
    attributes={"specversion": "1.0", "id": "1", "source": "/s", "type": "insert", "count": 3},
    data=json.dumps(DOCUMENT).encode(),
)
RECORDED = Recorded(0, 1_600_000_000_000_000, Arrival(EVENT, "acme", "orders"))


def condition(field, op, value):
    return {"streamer": [{"field": field, "op": op, "value": value}]}


CONDITIONS = [
    ("status", "==", "active", 'data.status == "active"', True),
    ("data.status", "==", "active", 'data.status == "active"', True),
    ("status", "!=", "active", 'data.status != "active"', False),
    ("status", "==", "", 'data.status == ""', False),
    ("status", ">", "a", 'data.status > "a"', True),
    ("priority", ">", 5, "data.priority > 5", True),
    ("priority", ">=", 7.0, "data.priority >= 7.0", True),
    ("priority", "<", 7, "data.priority < 7", False),
    ("priority", "<=", 7, "data.priority <= 7", True),
    ("priority", "==", "7", 'data.priority == "7"', False),
    ("amount", ">=", 99, "data.amount >= 99", True),
    ("ghost", "==", 2**70, "data.ghost == 1.1805916207174113e+21", True),
    ("order.total", "==", 5, "data.order.total == 5", True),
    ("order.paid", "==", True, "data.order.paid == true", True),
    ("order.memo", "==", None, "data.order.memo == null", True),
    ("order.missing", "!=", 1, "data.order.missing != 1", False),
    ("missing", "==", None, "data.missing == null", False),
    ("status", "in", ["open", "active"], 'data.status in ["open", "active"]', True),
    ("priority", "in", [1, 7.0], "data.priority in [1, 7.0]", True),
    ("status", "in", [], "data.status in []", False),
    (
        "tags", "contains", "urgent",
        'type(data.tags) == list ? "urgent" in data.tags : data.tags.contains("urgent")', True,
    ),
    (
        "note", "contains", "urgent",
        'type(data.note) == list ? "urgent" in data.note : data.note.contains("urgent")', True,
    ),
    ("tags", "contains", 3, "3 in data.tags", True),
    ("tags", "contains", 4, "4 in data.tags", False),
    ("type", "==", "insert", 'ce.type == "insert"', True),
    ("data.type", "==", "in the data", 'data.type == "in the data"', True),
    ("ce.count", "==", 3, "ce.count == 3", True),
    ("collection", "==", "orders", 'collection == "orders"', True),
    ("collection", "contains", "ord", 'collection.contains("ord")', True),
    ("tenant", "in", ["acme"], 'tenant in ["acme"]', True),
    ("publishTime", ">=", 1_600_000_000_000, "publishTime >= 1600000000000", True),
    ("eventTime", ">", 0, "eventTime > 0", False),
    ("a-b.c d", "==", 1, 'data["a-b"]["c d"] == 1', False),
]  # fmt: skip


@pytest.mark.parametrize(("field", "op", "value", "cel", "expected"), CONDITIONS)
def test_conditions(field, op, value, cel, expected):
    compiled = compile_filter(condition(field, op, value))
    assert compiled.cel == cel
    assert compiled.matches(RECORDED) is expected
    assert compile_filter({"cel": cel}) == compiled


def test_all_must_hold():
    both = {
        "streamer": [
            *condition("status", "==", "active")["streamer"],
            *condition("priority", ">", 9)["streamer"],
        ]
    }
    assert compile_filter(both).cel == 'data.status == "active" && data.priority > 9'
    assert not compile_filter(both).matches(EVENT)


def test_no_conditions_hold_always():
    assert compile_filter({"streamer": []}).matches(EVENT)


def test_contains_is_false_rather_than_unknown_for_what_it_can_be_asked():
    for field in ("tags", "note"):
        assert compile_filter({"not": condition(field, "contains", "calm")}).matches(EVENT)
    assert not compile_filter({"not": condition("priority", "contains", "calm")}).matches(EVENT)


REFUSED = [
    ({"field": "a", "op": "=", "value": 1}, ".op", "not '='"),
    ({"field": "a", "op": "matches", "value": "x"}, ".op", "contains"),
    ({"field": "a", "op": None, "value": 1}, ".op", "not None"),
    ({"field": "a", "op": ["=="], "value": 1}, ".op", "=="),
    ({"field": "", "op": "==", "value": 1}, ".field", "empty"),
    ({"field": "a..b", "op": "==", "value": 1}, ".field", "before and after each dot"),
    ({"field": "ce", "op": "==", "value": 1}, ".field", "ce.name"),
    ({"field": "data", "op": "==", "value": 1}, ".field", "data.name"),
    ({"field": 1, "op": "==", "value": 1}, ".field", "not 1"),
    ({"field": "a", "op": "==", "value": [1]}, ".value", "not [1]"),
    ({"field": "a", "op": "==", "value": {}}, ".value", "not {}"),
    ({"field": "a", "op": "==", "value": float("nan")}, ".value", "nan"),
    ({"field": "a", "op": "==", "value": 10**400}, ".value", "number"),
    ({"field": "a", "op": "<", "value": None}, ".value", "order"),
    ({"field": "a", "op": "in", "value": "x"}, ".value", "array"),
    ({"field": "a", "op": "in", "value": [[]]}, ".value[0]", "not []"),
    ({"field": "a", "op": "==", "value": "\ud800"}, ".value", "surrogate"),
    ({"field": "collection", "op": "==", "value": 1}, ".value", "string"),
    ({"field": "a", "op": "=="}, "", "field, op and value"),
    ({"field": "a", "op": "==", "value": 1, "x": 1}, "", "field, op and value"),
    ("a == 1", "", "field, op and value"),
]


@pytest.mark.parametrize(("body", "path", "says"), REFUSED)
def test_refuses_with_the_path_to_the_fault(body, path, says):
    with pytest.raises(FilterError) as refusal:
        compile_filter({"streamer": [body]})
    assert refusal.value.path == f"filter.streamer[0]{path}"
    assert says in str(refusal.value)


def test_an_unknown_operator_is_never_taken_for_true():
    with pytest.raises(FilterError, match="must be one of ==, !=, <, <=, >, >=, in, contains"):
        compile_filter(condition("a", "like", "x"))
