import pytest

from headrace.filters import compile_filter
from headrace.filters.backends.cel import write_cel
from headrace.filters.ir.expression import And, all_of, any_of
from headrace.filters.upstream.covers import cover

COVERS = [
    (["data.a == 1", "data.a == 5", "data.a == 9"], "data.a >= 1 && data.a <= 9"),
    (
        ["data.a > 1 && data.b == 'x'", "data.a >= 1 && data.b == 'x' && data.c"],
        'data.a >= 1 && data.b == "x"',
    ),
    (["data.a > 1 && data.a < 3", "data.a == 7.5"], "data.a > 1 && data.a <= 7.5"),
    (["data.a > 1 && data.b < 1", "data.a < 3 && data.b < 2"], "has(data.a) && data.b < 2"),
    (["data.a == 'ab1'", "data.a == 'ab2'", "data.a.startsWith('abc')"], 'data.a.startsWith("ab")'),
    (["data.a == 'ab'", "data.a == 'abc'"], 'data.a.startsWith("ab")'),
    (["has(ce.x) && ce.x == 'ab'", "has(ce.x) && ce.x == 'ac'"], 'ce.x.startsWith("a")'),
]


@pytest.mark.parametrize(("texts", "expected"), COVERS)
def test_covers_hold_wherever_something_they_cover_does(texts, expected):
    compiled = [compile_filter({"cel": text}).expression for text in texts]
    alternatives = [each.parts if isinstance(each, And) else (each,) for each in compiled]
    covers = cover(alternatives, 1)
    assert write_cel(any_of(tuple(map(all_of, covers)))) == expected


def test_the_largest_groups_of_texts_are_told_apart_first():
    texts = [f"data.a == 'com.example.{kind}.{i}'" for kind in ("order", "item") for i in range(50)]
    alternatives = [(compile_filter({"cel": text}).expression,) for text in [*texts, "data.a == 'org.one'"]]
    (found,) = cover(alternatives, 4)
    assert write_cel(all_of(found)) == (
        'data.a == "org.one" || data.a.startsWith("com.example.item.") || data.a.startsWith("com.example.order.")'
    )
