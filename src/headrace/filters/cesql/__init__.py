"""CloudEvents SQL 1.0: parser, evaluator, and translation to CEL."""

from headrace.filters.cesql.expression import Expression, Result, parse
from headrace.filters.cesql.faults import ErrorKind, EvaluationError
from headrace.filters.cesql.functions import require_functions
from headrace.filters.cesql.predicate import CesqlPredicate
from headrace.filters.cesql.text.writer import write_cesql
from headrace.filters.cesql.translation import to_cel

__all__ = [
    "CesqlPredicate",
    "ErrorKind",
    "EvaluationError",
    "Expression",
    "Result",
    "parse",
    "require_functions",
    "to_cel",
    "write_cesql",
]
