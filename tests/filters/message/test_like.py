from hypothesis import given
from hypothesis import strategies as st
from tests.examples import examples
from tests.filters.message.meaning import like
from tests.filters.message.strategies import recorded

from headrace.filters.backends.reference import evaluate
from headrace.filters.message import property  # noqa: A004
from headrace.filters.message.translation import translate
from headrace.filters.truth import UNKNOWN
from headrace.filters.variables import variables_of


@examples(500)
@given(st.text("ab%_\\", max_size=7), st.text("ab%\\\n", max_size=8))
def test_means_what_the_rules_say(pattern, text):
    event = recorded({"p": text})
    assert evaluate(translate(property("p").like(pattern)), variables_of(event)) is like(text, pattern)


def test_many_runs_are_no_catastrophe():
    expression = translate(property("p").like("%a" * 500 + "%b"))
    assert evaluate(expression, variables_of(recorded({"p": "a" * 300}))) is False
    assert evaluate(expression, variables_of(recorded({"p": "a" * 5000}))) is UNKNOWN
