"""The criterion of a subscription: its source, types and filters. Subscriptions with the same one share it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from headrace.filters import compile_filter
from headrace.filters.ir.atoms import Comparison, Operator
from headrace.filters.ir.expression import Constant, all_of
from headrace.filters.ir.literals import Literal
from headrace.filters.ir.operands import attribute
from headrace.filters.rewrites.flatten import flatten
from headrace.filters.rewrites.localize import Localized, localize
from headrace.filters.upstream.covers import one_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from headrace.filters.ir.expression import Expression
    from headrace.subscriptions.channels.name import ChannelName
    from headrace.subscriptions.subscription import Subscription

_encode = msgspec.json.Encoder(order="sorted").encode
_decode = msgspec.json.Decoder(tuple[str | None, list[str], list[Any]]).decode


def criterion_of(subscription: Subscription) -> bytes:
    """Return the criterion of a subscription, encoded."""
    return _encode((subscription.source, sorted(set(subscription.types)), subscription.filters))


def expression_of(criterion: bytes, channel: ChannelName) -> Localized:
    """Return the expression of a criterion, as a producer of the channel can evaluate it.

    A filter that doesn't compile is from another version and may match anything, so everything is let through.
    """
    source, types, filters = _decode(criterion)
    try:
        filtered = compile_filter(filters).expression
    except Exception:  # noqa: BLE001  whatever goes wrong, no wanted event may be dropped
        return Localized(Constant(value=True), exact=False)
    return localize(flatten(all_of((*_scope(source, types), filtered))), *channel)


def _scope(source: str | None, types: list[str]) -> Iterator[Expression]:
    if source is not None:
        yield Comparison(attribute("source"), Operator.EQUAL, Literal(source))
    if types:
        yield one_of(attribute("type"), map(Literal, types))
