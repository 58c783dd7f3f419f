"""CloudEvents SQL 1.0: parser, evaluator, and translation to CEL."""

from headrace.filters.cesql.expression import Expression, Result, evaluate, parse, passes
from headrace.filters.cesql.faults import ErrorKind, EvaluationError
from headrace.filters.cesql.functions import require_functions
from headrace.filters.cesql.writer import write_cesql

__all__ = [
    "ErrorKind",
    "EvaluationError",
    "Expression",
    "Result",
    "evaluate",
    "parse",
    "passes",
    "require_functions",
    "write_cesql",
]
