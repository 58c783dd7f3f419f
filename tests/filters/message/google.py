"""Google's CEL evaluator, which defines what a text of CEL means."""

from cel_expr_python import cel  # type: ignore[import-untyped, unused-ignore]

from headrace.filters.message.instants import milliseconds
from headrace.filters.truth import UNKNOWN

ENVIRONMENT = cel.NewEnv(
    variables={
        "ce": cel.Type.Map(cel.Type.STRING, cel.Type.DYN),
        "publishTime": cel.Type.INT,
        "eventTime": cel.Type.INT,
    }
)


def google_says(text, recorded):
    """The value of the text on an event; an error stands for unknown."""
    attributes = dict(recorded.event.attributes)
    variables = {"ce": attributes, "publishTime": recorded.publish_time // 1000}
    instant = milliseconds(attributes.get("time", ""))
    if instant is not None:
        variables["eventTime"] = instant
    result = ENVIRONMENT.compile(text).eval(data=variables)
    return result.value() if result.type() == cel.Type.BOOL else UNKNOWN
