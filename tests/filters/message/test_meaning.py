"""Three definitions of one meaning: the tree that all dialects share, Google's on its CEL text, and the rules."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import examples
from tests.filters.message.google import google_says
from tests.filters.message.meaning import meaning
from tests.filters.message.strategies import predicates, recorded, recorded_events, trees

from headrace.filters.backends.reference import evaluate as evaluate_expression
from headrace.filters.message import event_time, property, publish_time, to_cel  # noqa: A004
from headrace.filters.message.translation import translate
from headrace.filters.truth import UNKNOWN
from headrace.filters.variables import variables_of

EVENT = recorded(
    {
        "specversion": "1.0",
        "id": "1",
        "source": "/s",
        "type": "com.example.order",
        "subject": "",
        "time": "2021-02-22T05:41:00.5Z",
        "gtid": "3e11fa47:23",
        "tso": "423045682381619201",
        "ratio": "0.75",
        "count": 42,
        "urgent": True,
        "note": "Straße\nzwei",
        "in": "x",
        "1st": "y",
    },
    publish_time=1613972460123_456,
)
P = property

CASES = [
    # asked, its CEL, its value
    (P("type").equals("com.example.order"), 'ce.type == "com.example.order"', True),
    (P("type").equals("order"), 'ce.type == "order"', False),
    (P("nosuch").equals("a"), 'string(ce.nosuch) == "a"', UNKNOWN),
    (P("nosuch").not_equals("a"), 'string(ce.nosuch) != "a"', UNKNOWN),
    (P("nosuch").not_in("a"), '!(string(ce.nosuch) in ["a"])', UNKNOWN),
    (P("nosuch").contains_none("a"), '!string(ce.nosuch).contains("a")', UNKNOWN),
    (~P("nosuch").equals("a"), '!(string(ce.nosuch) == "a")', UNKNOWN),
    (P("subject").equals(""), 'ce.subject == ""', True),
    (P("subject").contains(""), 'ce.subject.contains("")', True),
    (P("in").equals("x"), 'string(ce["in"]) == "x"', True),
    (P("1st").equals("y"), 'string(ce["1st"]) == "y"', True),
    # Every property is a text: an integer is read from it only where it is compared with one.
    (P("count").equals("42"), 'string(ce.count) == "42"', True),
    (P("count").equals(42), "int(string(ce.count)) == 42", True),
    (P("count").less_than("5"), 'string(ce.count) < "5"', True),
    (P("count").less_than(5), "int(string(ce.count)) < 5", False),
    (P("count").equals(42.0), "double(string(ce.count)) == 42.0", True),
    (P("urgent").equals("true"), 'string(ce.urgent) == "true"', True),
    (P("urgent").equals(1), "int(string(ce.urgent)) == 1", UNKNOWN),
    (P("ratio").greater_than(0), "int(string(ce.ratio)) > 0", UNKNOWN),
    (P("ratio").greater_than(0.5), "double(string(ce.ratio)) > 0.5", True),
    (P("gtid").greater_than(1), "int(string(ce.gtid)) > 1", UNKNOWN),
    # A double would not tell these two apart.
    (P("tso").greater_than(423045682381619200), "int(string(ce.tso)) > 423045682381619200", True),
    (P("tso").greater_than(423045682381619201), "int(string(ce.tso)) > 423045682381619201", False),
    (P("tso").greater_than_equals(423045682381619201), "int(string(ce.tso)) >= 423045682381619201", True),
    (P("tso").less_than_equals(5), "int(string(ce.tso)) <= 5", False),
    (P("count").in_(1, 42), "int(string(ce.count)) in [1, 42]", True),
    (P("count").not_in(1, 2), "!(int(string(ce.count)) in [1, 2])", True),
    (P("count").between(42, 43), "int(string(ce.count)) >= 42 && int(string(ce.count)) <= 43", True),
    (P("count").between(41, 42), "int(string(ce.count)) >= 41 && int(string(ce.count)) <= 42", True),
    (P("count").between(43, 41), "int(string(ce.count)) >= 43 && int(string(ce.count)) <= 41", False),
    (
        P("ratio").between(0.75, 1.0),
        "double(string(ce.ratio)) >= 0.75 && double(string(ce.ratio)) <= 1.0",
        True,
    ),
    (P("type").between("com", "con"), 'ce.type >= "com" && ce.type <= "con"', True),
    (P("type").like("com.example.order"), 'ce.type == "com.example.order"', True),
    (P("type").like("com.%"), 'ce.type.startsWith("com.")', True),
    (P("type").like("%.order"), 'ce.type.endsWith(".order")', True),
    (P("type").like("%example%"), 'ce.type.contains("example")', True),
    (P("type").like("%%example%%%"), 'ce.type.contains("example")', True),
    (P("type").like("%"), 'ce.type.startsWith("")', True),
    (P("type").like("%%"), 'ce.type.startsWith("")', True),
    (P("type").like(""), 'ce.type == ""', False),
    (P("type").like("com.%.order"), r'ce.type.matches("(?s)^com\\..*\\.order\\z")', True),
    (P("type").like("com_example%"), r'ce.type.matches("(?s)^com.example.*\\z")', True),
    (P("type").like(r"com\_example%"), 'ce.type.startsWith("com_example")', False),
    (P("note").like("Stra_e%zwei"), r'string(ce.note).matches("(?s)^Stra.e.*zwei\\z")', True),
    (P("note").like("stra%"), 'string(ce.note).startsWith("stra")', False),
    (P("type").not_like("net.%"), '!ce.type.startsWith("net.")', True),
    (P("type").not_like("net"), '!(ce.type == "net")', True),
    (P("type").contains_all("com", "order"), 'ce.type.contains("com") && ce.type.contains("order")', True),
    (P("type").contains_all("com", "net"), 'ce.type.contains("com") && ce.type.contains("net")', False),
    (P("type").contains_any("net", "order"), 'ce.type.contains("net") || ce.type.contains("order")', True),
    (
        P("type").contains_none("net", "order"),
        '!ce.type.contains("net") && !ce.type.contains("order")',
        False,
    ),
    (P("type").starts_with("com."), 'ce.type.startsWith("com.")', True),
    (P("type").starts_with("COM."), 'ce.type.startsWith("COM.")', False),
    (P("type").starts_with("COM.", ignore_case=True), r'ce.type.matches("(?i)^COM\\.")', True),
    (P("type").contains("ORDER"), 'ce.type.contains("ORDER")', False),
    (P("type").contains("ORDER", ignore_case=True), 'ce.type.matches("(?i)ORDER")', True),
    (P("type").does_not_contain("ORDER"), '!ce.type.contains("ORDER")', True),
    (P("type").does_not_contain("ORDER", ignore_case=True), '!ce.type.matches("(?i)ORDER")', False),
    (P("note").contains("STRASSE", ignore_case=True), 'string(ce.note).matches("(?i)STRASSE")', False),
    (P("note").contains("STRAẞE", ignore_case=True), 'string(ce.note).matches("(?i)STRAẞE")', True),
    (publish_time().equals(1613972460123), "publishTime == 1613972460123", True),
    (publish_time().less_than(1613972460123.5), "double(publishTime) < 1613972460123.5", True),
    (event_time().equals(1613972460500), "eventTime == 1613972460500", True),
    (event_time().in_(1, 2), "eventTime in [1, 2]", False),
    (
        P("nosuch").equals("a") | P("type").starts_with("com."),
        'string(ce.nosuch) == "a" || ce.type.startsWith("com.")',
        True,
    ),
    (
        P("nosuch").equals("a") & P("urgent").equals("no"),
        'string(ce.nosuch) == "a" && string(ce.urgent) == "no"',
        False,
    ),
    (
        P("type").contains_any("x", "com") & ~(P("count").equals(1) | P("count").equals(2)),
        (
            '(ce.type.contains("x") || ce.type.contains("com"))'
            " && !(int(string(ce.count)) == 1 || int(string(ce.count)) == 2)"
        ),
        True,
    ),
]


def evaluate(tree, event):
    return evaluate_expression(translate(tree), variables_of(event))


@pytest.mark.parametrize(("tree", "text", "value"), CASES)
def test_cases(tree, text, value):
    assert to_cel(tree) == text
    assert evaluate(tree, EVENT) is value
    assert meaning(tree, EVENT) is value
    assert google_says(text, EVENT) is value


def test_event_time_is_unknown_where_the_event_has_none_or_none_that_can_be_read():
    for attributes in ({}, {"time": "yesterday"}):
        event = recorded({"specversion": "1.0", "id": "1", "source": "/s", "type": "t", **attributes})
        assert evaluate(event_time().greater_than(0), event) is UNKNOWN
        assert google_says("eventTime > 0", event) is UNKNOWN


@examples(300)
@given(predicates(), st.lists(recorded_events(), min_size=1, max_size=5))
def test_each_predicate_has_one_meaning(predicate, events):
    text = to_cel(predicate)
    for event in events:
        expected = meaning(predicate, event)
        assert evaluate(predicate, event) is expected, (text, event)
        assert google_says(text, event) is expected, (text, event)


@examples(200)
@given(trees(), st.lists(recorded_events(), min_size=1, max_size=5))
def test_each_tree_has_one_meaning(tree, events):
    text = to_cel(tree)
    for event in events:
        expected = meaning(tree, event)
        assert evaluate(tree, event) is expected, (text, event)
        assert google_says(text, event) is expected, (text, event)
