"""What is said of filters is found out once."""

from headrace.api.subscriptions.filter_notes import FilterReviews
from headrace.filters import compile_filter as compile_really
from headrace.filters import compiled as compiled_forms
from headrace.filters.compiled import compile_to_bytes


def _counting(monkeypatch):
    compiled = []

    def compile_filter(filters):
        compiled.append(filters)
        return compile_really(filters)

    monkeypatch.setattr(compiled_forms, "compile_filter", compile_filter)
    return compiled


def test_equal_filters_are_compiled_once(monkeypatch):
    compiled, reviews = _counting(monkeypatch), FilterReviews()
    for _ in range(3):
        assert reviews.of(({"exact": {"type": "a"}},)).unusable is None
        assert reviews.of(({"exact": {"type": "b"}},)).notes == ()
        assert reviews.of([]).unusable is None
    assert len(compiled) == 3


def test_a_filter_that_can_t_be_used_says_why_each_time(monkeypatch):
    compiled, reviews = _counting(monkeypatch), FilterReviews()
    first, second = (reviews.of(({"cel": "1 +"},)) for _ in range(2))
    assert first == second
    assert "1 +" in str(first.unusable)
    assert len(compiled) == 1


def test_it_remembers_only_so_many(monkeypatch):
    compiled, reviews = _counting(monkeypatch), FilterReviews(most=2)
    for name in ("a", "b", "c", "c", "a"):
        reviews.of(({"exact": {"type": name}},))
    assert len(compiled) == 4
    assert len(reviews._reviews) <= 2


def test_what_was_kept_is_not_compiled_again(monkeypatch):
    filters = ({"exact": {"type": "a"}},)
    kept = compile_to_bytes(filters)
    compiled = _counting(monkeypatch)
    assert FilterReviews().of(filters, kept).unusable is None
    assert compiled == []
