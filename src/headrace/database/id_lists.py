"""Many ids in one parameter: a statement is the same however many are asked for, and is compiled once."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, NamedTuple

import msgspec
from sqlalchemy import JSON, BigInteger, Text, bindparam, cast, func

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from sqlalchemy import ColumnElement, FromClause

_PARAMETER = "asked"


class Asked(NamedTuple):
    """A table that is made from the parameter, and its columns: ids, and a number for each."""

    table: FromClause
    id: ColumnElement[str]
    number: ColumnElement[int]


@cache
def asked(dialect: str) -> Asked:
    """Return the table as this kind of database makes it, for statements that are made once."""
    given = bindparam(_PARAMETER, type_=Text)
    if dialect == "postgresql":
        pairs = func.json_each_text(cast(given, JSON)).table_valued("key", "value")
    else:
        pairs = func.json_each(given).table_valued("key", "value")
    table = pairs.render_derived(_PARAMETER) if dialect == "postgresql" else pairs.alias(_PARAMETER)
    return Asked(table, table.c.key, cast(table.c.value, BigInteger))


def asking(ids: Iterable[str] | Mapping[str, int]) -> dict[str, str]:
    """Return the parameter: ids, with the number 0 unless they come with another."""
    numbers = ids if isinstance(ids, dict) else dict.fromkeys(ids, 0)
    return {_PARAMETER: msgspec.json.encode(numbers).decode()}
