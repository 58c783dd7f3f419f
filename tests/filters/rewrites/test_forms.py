"""What each rewrite makes of small trees."""

import pytest

from headrace.filters import compile_filter
from headrace.filters.backends.cel import write_cel
from headrace.filters.rewrites.deduplicate import deduplicate
from headrace.filters.rewrites.distribute import distribute
from headrace.filters.rewrites.fold import fold
from headrace.filters.rewrites.negate import push_negations


def tree(text):
    return compile_filter({"cel": text}).expression


FORMS = [
    (fold, "data.a && true", "data.a"),
    (fold, "data.a && false", "false"),
    (fold, "data.a || true", "true"),
    (fold, "data.a || false", "data.a"),
    (fold, "!(data.a && true || !false)", "false"),
    (fold, "1 + 1 == 2 && data.a", "data.a"),
    (fold, "[1, 2].exists(x, x > 5) || data.a", "data.a"),
    (fold, "1 / 0 == 1 || data.a", "1 / 0 == 1 || data.a"),
    (fold, "data.a in []", "data.a in []"),
    (push_negations, "!(data.a && data.b)", "!data.a || !data.b"),
    (push_negations, "!(data.a || !data.b)", "!data.a && data.b"),
    (push_negations, "!(data.a == 1)", "data.a != 1"),
    (push_negations, "!(data.a != data.b)", "data.a == data.b"),
    (push_negations, "!(data.a < 1)", "!(data.a < 1)"),
    (push_negations, "!data.l.all(x, x == 1 && x.b)", "data.l.exists(x, x != 1 || !x.b)"),
    (push_negations, "!data.l.exists(x, !x)", "data.l.all(x, x)"),
    (deduplicate, "data.a && data.b && data.a", "data.a && data.b"),
    (deduplicate, "data.a || data.a", "data.a"),
    (deduplicate, "data.a == 1 || data.a == 1.0", "data.a == 1 || data.a == 1.0"),
]


@pytest.mark.parametrize(("rewrite", "text", "expected"), FORMS)
def test_forms(rewrite, text, expected):
    assert write_cel(rewrite(tree(text))) == expected


def test_distributes():
    form = distribute(tree("(data.a || data.b) && (data.c || data.d) && data.e"), 4)
    assert form.complete
    assert write_cel(form.expression) == (
        "data.a && data.c && data.e || data.a && data.d && data.e || "
        "data.b && data.c && data.e || data.b && data.d && data.e"
    )


def test_says_where_it_stopped():
    form = distribute(tree("(data.a || data.b) && (data.c || data.d) && data.e"), 3)
    assert not form.complete
    assert write_cel(form.expression) == (
        "data.a && (data.c || data.d) && data.e || data.b && (data.c || data.d) && data.e"
    )


def test_does_not_explode():
    text = " && ".join(f"(data.a == {i} || data.b == {i})" for i in range(200))
    form = distribute(tree(text), 1000)
    assert len(form.alternatives) <= 1000
    assert not form.complete
