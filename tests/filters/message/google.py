"""Google's CEL evaluator, which defines what a text of CEL means, on an event of the log."""

from tests.filters import google

from headrace.filters.variables import variables_of


def google_says(text, recorded):
    """The value of the text on an event; an error stands for unknown."""
    return google.evaluate(text, variables_of(recorded))
