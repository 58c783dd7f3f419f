"""What a predicate tree means, defined a second time: from the proposal and this project's rules, not from CEL.

It shares nothing with the package but the trees and the connectives of three-valued logic.
"""

import re
from datetime import UTC, datetime, timedelta

from tests.filters.message.folding import fold

from headrace.filters.message import And, Not, Operator, Or, Predicate, Property, Time, ValueType
from headrace.filters.truth import UNKNOWN, conjunction, disjunction, negation

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
DECIMAL = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?\Z")
HEXADECIMAL = re.compile(
    r"[+-]?0x(?:[0-9a-f]+(?:\.[0-9a-f]*)?|\.[0-9a-f]+)(?:p[+-]?[0-9]+)?\Z", re.IGNORECASE
)
NAMED = re.compile(r"([+-]?)(?:(inf(?:inity)?)|nan(?:\([a-z0-9_]*\))?)\Z", re.IGNORECASE)
OFFICIAL = {"specversion", "id", "source", "type", "subject", "time", "datacontenttype", "dataschema"}


def like(value, pattern):
    """The rules as a backtracking regular expression."""
    regex = re.sub(
        r"\\[%_]|.",
        lambda token: {"%": ".*", "_": "."}.get(token[0], re.escape(token[0][-1])),
        pattern,
        flags=re.DOTALL,
    )
    return re.fullmatch(regex, value, re.DOTALL) is not None


QUESTIONS = {
    Operator.EQUALS: lambda value, given: value == given[0],
    Operator.NOT_EQUALS: lambda value, given: value != given[0],
    Operator.IN: lambda value, given: any(value == each for each in given),
    Operator.NOT_IN: lambda value, given: all(value != each for each in given),
    Operator.GREATER_THAN: lambda value, given: value > given[0],
    Operator.GREATER_THAN_EQUALS: lambda value, given: value >= given[0],
    Operator.LESS_THAN: lambda value, given: value < given[0],
    Operator.LESS_THAN_EQUALS: lambda value, given: value <= given[0],
    Operator.BETWEEN: lambda value, given: given[0] <= value <= given[1],
    Operator.LIKE: lambda value, given: like(value, given[0]),
    Operator.NOT_LIKE: lambda value, given: not like(value, given[0]),
    Operator.CONTAINS_ALL: lambda value, given: all(each in value for each in given),
    Operator.CONTAINS_ANY: lambda value, given: any(each in value for each in given),
    Operator.CONTAINS_NONE: lambda value, given: not any(each in value for each in given),
    Operator.STARTS_WITH: lambda value, given: value.startswith(given[0]),
    Operator.STARTS_WITH_IGNORE_CASE: lambda value, given: fold(value).startswith(fold(given[0])),
    Operator.CONTAINS: lambda value, given: given[0] in value,
    Operator.CONTAINS_IGNORE_CASE: lambda value, given: fold(given[0]) in fold(value),
    Operator.DOES_NOT_CONTAIN: lambda value, given: given[0] not in value,
    Operator.DOES_NOT_CONTAIN_IGNORE_CASE: lambda value, given: fold(given[0]) not in fold(value),
}


def meaning(tree, recorded):
    """The truth of the tree on an event of the log."""
    match tree:
        case And(parts):
            return conjunction(meaning(part, recorded) for part in parts)
        case Or(parts):
            return disjunction(meaning(part, recorded) for part in parts)
        case Not(part):
            return negation(meaning(part, recorded))
        case Predicate(reference, question, values):
            value = value_of(reference, tree.value_type, recorded)
            return UNKNOWN if value is None else QUESTIONS[question](value, values)


def value_of(reference, value_type, recorded):
    attributes = recorded.event.attributes
    match reference:
        case Property(name):
            return read(text_of(name, attributes.get(name)), value_type)
        case Time.PUBLISH:
            time = recorded.publish_time // 1000
        case Time.EVENT:
            time = milliseconds(attributes.get("time", ""))
    return float(time) if value_type is ValueType.DOUBLE and time is not None else time


def milliseconds(text):
    try:
        return (datetime.fromisoformat(text) - EPOCH) // timedelta(milliseconds=1)
    except (ValueError, TypeError):
        return None


def text_of(name, value):
    if name in OFFICIAL or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int):
        return str(value)
    return shortest(value) if isinstance(value, float) else None


def shortest(value):
    """The fewest digits that read back, with an exponent below 1e-4 and from a million on."""
    if value in (float("inf"), float("-inf")):
        return str(value)
    digits = next(count for count in range(18) if float(f"{value:.{count}e}") == value)
    text = f"{value:.{digits}e}"
    exponent = int(text.partition("e")[2])
    return f"{value:.{max(digits - exponent, 0)}f}" if -4 <= exponent < 6 else text


def read(text, value_type):
    if text is None or value_type is ValueType.STRING:
        return text
    digits = text.strip(" \t\n\v\f\r")
    return read_long(digits) if value_type is ValueType.LONG else read_double(digits)


def read_long(digits):
    if not re.match(r"[+-]?[0-9]+\Z", digits):
        return None
    return int(digits) if -(2**63) <= int(digits) < 2**63 else None


def read_double(digits):
    if DECIMAL.match(digits):
        return float(digits)
    if HEXADECIMAL.match(digits):
        try:
            return float.fromhex(digits)
        except OverflowError:
            return float("-inf" if digits.startswith("-") else "inf")
    named = NAMED.match(digits)
    return float(named[1] + ("inf" if named[2] else "nan")) if named else None
