from headrace.filters import compile_filter
from headrace.filters.truth import UNKNOWN
from headrace_bench import worst_filters


def test_they_are_at_the_budget_and_above_it():
    answers = {name: compile_filter(spec).explain(event).value for name, spec, event in worst_filters.pairs()}
    assert {name for name, value in answers.items() if value is UNKNOWN} == {
        name for name in answers if name.startswith("above")
    }
    assert True not in answers.values()


def test_each_has_a_figure(monkeypatch):
    first = next(worst_filters.pairs())
    monkeypatch.setattr(worst_filters, "pairs", lambda _: [first])
    (row,) = worst_filters.run()
    assert (row["filter"], row["answer"]) == (first[0], "false")
    assert row["ms"] > 0
