import pytest
from hypothesis import HealthCheck, given
from tests.examples import examples
from tests.filters.every_dialect import every_event, every_filter

from headrace.events.recorded import Arrival, Recorded
from headrace.filters import Filter, compile_filter
from headrace.filters.backends.cel import write_cel
from headrace.filters.rewrites.fold import fold
from headrace.filters.rewrites.localize import localize

LAWS = [
    ('collection == "b"', "true", True),
    ('tenant != "a" || data.x', "data.x", True),
    ('collection in ["c", "d"]', "false", True),
    ("!bool(collection) || data.x", "data.x", True),
    ("publishTime > 5", "true", False),
    ("!(publishTime > 5) && data.x", "data.x", False),
    ("publishTime > eventTime || data.x", "true", False),
    ("ce.subject == collection && data.x", "data.x", False),
    ('data.x.match("ab*")', 'data.x.startsWith("ab")', True),
    ('data.x.match("[ab]")', 'data.x.matches("\\\\A[\\\\x{61}-\\\\x{61}\\\\x{62}-\\\\x{62}]\\\\z")', True),
    ('!data.x.match("?")', '!data.x.matches("\\\\A[\\\\x{0}-\\\\x{10FFFF}]\\\\z")', True),
    ('data.l.exists(x, x.match("a?")) && data.x', "data.x", False),
    ("data.x > 5 && !has(data.y)", "data.x > 5 && !has(data.y)", True),
]


@pytest.mark.parametrize(("text", "expected", "is_exact"), LAWS)
def test_laws(text, expected, is_exact):
    found = localize(compile_filter({"cel": text}).expression, "a", "b")
    assert (write_cel(fold(found.expression)), found.exact) == (expected, is_exact)


@examples(200, suppress_health_check=list(HealthCheck), deadline=None)
@given(every_filter, every_event())
def test_it_never_narrows_and_says_when_it_widens(spec, found):
    sent = found.event if isinstance(found, Recorded) else found
    compiled = compile_filter(spec)
    local = localize(compiled.expression, "a", "b")
    wanted = compiled.matches(Recorded(7, 1_700_000_000_000_000, Arrival(sent, "a", "b")))
    matched = Filter(local.expression).matches(sent)
    assert matched >= wanted
    assert matched is wanted or not local.exact
