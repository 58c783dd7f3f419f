"""The CEL text of a predicate tree."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.filters.backends.cel import write_cel
from headrace.filters.message.lowering import lower
from headrace.filters.rewrites.flatten import flatten

if TYPE_CHECKING:
    from headrace.filters.message.tree import Expr


def to_cel(tree: Expr) -> str:
    """Return the text, over the variables `ce`, `publishTime` and `eventTime`."""
    return write_cel(flatten(lower(tree)))
