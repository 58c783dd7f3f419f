import re

import pytest

from headrace.errors import FilterError
from headrace.filters.message import from_json, property, publish_time, to_json  # noqa: A004

P = property("p")

WRITTEN = [
    (P.equals("a"), {"property": "p", "op": "equals", "value": "a"}),
    (P.equals(1), {"property": "p", "op": "equals", "value": 1}),
    (P.equals(1.0), {"property": "p", "op": "equals", "value": 1.0, "type": "double"}),
    (P.in_("a"), {"property": "p", "op": "in", "values": ["a"]}),
    (P.between(1, 2), {"property": "p", "op": "between", "values": [1, 2]}),
    (publish_time().less_than(1), {"ref": "publish_time", "op": "less_than", "value": 1}),
    (~P.like("a%"), {"not": {"property": "p", "op": "like", "value": "a%"}}),
    (
        P.equals("a") & P.equals("b") & P.equals("c"),
        {"and": [{"property": "p", "op": "equals", "value": each} for each in "abc"]},
    ),
]


@pytest.mark.parametrize(("tree", "body"), WRITTEN)
def test_written(tree, body):
    assert to_json(tree) == body
    assert from_json(body) == tree


READ = [
    ({"property": "p", "op": "equals", "value": 1.5}, P.equals(1.5)),
    ({"property": "p", "op": "equals", "value": 1, "type": "double"}, P.equals(1.0)),
    ({"property": "p", "op": "equals", "value": "1e3", "type": "double"}, P.equals(1000.0)),
    (
        {"property": "p", "op": "equals", "value": "423045682381619201", "type": "long"},
        P.equals(423045682381619201),
    ),
    ({"property": "p", "op": "in", "values": ["1", 2], "type": "long"}, P.in_(1, 2)),
    ({"property": "p", "op": "equals", "value": "1", "type": "string"}, P.equals("1")),
    ({"property": "p", "op": "equals", "value": 1.0, "type": "long"}, P.equals(1)),
    ({"property": "p", "op": "in", "values": [1, 1.5]}, P.in_(1.0, 1.5)),
    ({"property": "p", "op": "equals", "value": 2**63}, P.equals(float(2**63))),
]


@pytest.mark.parametrize(("body", "tree"), READ)
def test_read(body, tree):
    assert from_json(body) == tree


OK = {"property": "p", "op": "equals", "value": "a"}
REFUSED = [
    # body, path, what the message must say
    ([], "message", "a predicate must be an object, not []"),
    ("a", "message", "not 'a'"),
    ({}, "message", "must have the member `op`"),
    ({"op": "equals"}, "message", "either the member `property` or `ref`"),
    ({**OK, "ref": "event_time"}, "message", "either the member `property` or `ref`"),
    ({**OK, "op": "equal"}, "message.op", "must be one of equals, not_equals"),
    ({**OK, "op": "EQUALS"}, "message.op", "not 'EQUALS'"),
    ({**OK, "op": ["equals"]}, "message.op", "not ['equals']"),
    ({**OK, "op": "in"}, "message", "'value' is not a member"),
    ({"property": "p", "op": "in"}, "message", "in takes its operands in the member `values`"),
    ({"property": "p", "op": "equals", "values": ["a"]}, "message", "'values' is not a member"),
    ({**OK, "valeu": 1}, "message", "'valeu' is not a member"),
    ({**OK, "property": "GTID"}, "message.property", "not 'GTID'"),
    ({**OK, "property": None}, "message.property", "not None"),
    ({"ref": "time", "op": "equals", "value": 1}, "message.ref", "one of event_time, publish_time"),
    ({"ref": "event_time", "op": "equals", "value": "1"}, "message.value", "number of milliseconds"),
    ({**OK, "value": None}, "message.value", "not None"),
    ({**OK, "value": True}, "message.value", "not True"),
    ({**OK, "value": ["a"]}, "message.value", "not ['a']"),
    ({**OK, "op": "like", "value": 1}, "message.value", "like takes strings only"),
    ({**OK, "type": "int"}, "message.type", "one of string, long, double"),
    ({**OK, "type": "long"}, "message.value", "'a' is not a long"),
    ({**OK, "value": 1.5, "type": "long"}, "message.value", "must be a long, not 1.5"),
    ({**OK, "value": True, "type": "long"}, "message.value", "must be a long, not True"),
    ({**OK, "value": 1, "type": "string"}, "message.value", "must be a string, not 1"),
    ({**OK, "value": "1e999", "type": "double"}, "message.value", "finite, not inf"),
    ({"property": "p", "op": "in", "values": []}, "message.values", "at least one"),
    ({"property": "p", "op": "in", "values": "ab"}, "message.values", "must be an array"),
    ({"property": "p", "op": "in", "values": [1, "a"]}, "message.values", "of one type"),
    ({**OK, "value": 10**400}, "message.value", "beyond the range of doubles"),
    ({"property": "p", "op": "between", "values": [1]}, "message.values", "between takes two"),
    ({"and": [OK]}, "message.and", "at least two predicates"),
    ({"or": OK}, "message.or", "at least two predicates"),
    ({"and": [OK, OK], "or": [OK, OK]}, "message", "must have the member `op`"),
    ({"not": [OK]}, "message.not", "a predicate must be an object"),
    (
        {"or": [OK, {"not": {"and": [OK, {**OK, "value": 2**64, "type": "long"}]}}]},
        "message.or[1].not.and[1].value",
        "64 bits",
    ),
]


@pytest.mark.parametrize(("body", "path", "says"), REFUSED)
def test_refuses_with_the_path_to_the_fault(body, path, says):
    with pytest.raises(FilterError, match=re.escape(says)) as refusal:
        from_json(body)
    assert refusal.value.path == path
