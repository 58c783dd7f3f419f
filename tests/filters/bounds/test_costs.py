import pytest

from headrace.errors import FilterError
from headrace.filters import compile_filter
from headrace.filters.bounds.costs import count_scans
from headrace.filters.bounds.limits import DEFAULT_LIMITS

SCANS = [
    ("data.s.contains('a')", 1),
    ("!data.s.matches('a')", 1),
    ("data.s.match('a*b')", 1),
    ("data.s.match('a*')", 0),
    ("data.s.matches('a(?:[ab]?){900}c')", 8),
    ("'a' in data.l", 1),
    ("data.a == data.b", 1),
    ("data.a + data.b > 5", 1),
    ("data.a + 1 > 5 && data.a % 10 == 3 && int(data.a) < 4", 0),
    ("data.a == 1 || data.a in [1, 2] || data.a.startsWith('x') || has(data.a)", 0),
    ("data.a == 1 ? data.a == data.b : data.s.contains('a')", 2),
    ("data.s.contains('a') == data.s.contains('b')", 1),
    ("data.l.exists(x, data.s.contains('a'))", 0),
    ("data.l[0] == data.m[data.k]", 1),
    ("type(data.a) == string && size(data.a) == size(data.b)", 0),
    ("data.a == [1, 2]", 0),
    ("data.a == [data.b]", 1),
    ("data.m == {'a': data.b}", 1),
    ("duration(data.d) > duration('1s')", 1),
    ("timestamp(data.t).getHours(data.zone) > 1", 1),
    ("timestamp(data.t).getHours() > 1 && timestamp(data.t) > timestamp('2020-01-01T00:00:00Z')", 0),
]


@pytest.mark.parametrize(("text", "count"), SCANS)
def test_what_counts(text, count):
    assert count_scans(compile_filter({"cel": text}).expression) == count


def test_functions_of_cesql_count():
    assert count_scans(compile_filter({"sql": "LOWER(subject) = 'a'"}).expression) == 1


def test_too_many_are_refused():
    most = DEFAULT_LIMITS.scans
    compile_filter({"any": [{"cel": f"data.s.contains('{number}')"} for number in range(most)]})
    with pytest.raises(FilterError, match=f"{most + 1} searches .* the limit `scans` of {most}") as refusal:
        compile_filter({"any": [{"cel": f"data.s.contains('{number}')"} for number in range(most + 1)]})
    assert refusal.value.limit == "scans"
