"""Notes on filters, shown with their subscription: filters are compiled once for that, and the result is cached."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from headrace.errors import FilterError
from headrace.filters.compiled import digest_of, read_compiled

if TYPE_CHECKING:
    from collections.abc import Sequence

_REMEMBERED = 200_000


class FilterReview(NamedTuple):
    """Notes for the author of filters, and the reason why this version can't use them, if so."""

    notes: tuple[str, ...]
    unusable: str | None


_GOOD = FilterReview((), None)


class FilterReviews:
    """A cache by content, so changes need no invalidation. Threads may share it."""

    def __init__(self, most: int = _REMEMBERED) -> None:
        self._most = most
        self._reviews: dict[bytes, FilterReview] = {}

    def of(self, filters: Sequence[Any], compiled: bytes | None = None) -> FilterReview:
        """Return the review of filters; `compiled` is the compiled form that was kept, if there is one."""
        key = digest_of(filters)
        review = self._reviews.get(key)
        if review is None:
            review = _review(filters, compiled)
            if len(self._reviews) >= self._most:
                self._reviews = {}  # so many are seldom shown again soon
            self._reviews[key] = review
        return review


def _review(filters: Sequence[Any], compiled: bytes | None) -> FilterReview:
    try:
        notes = read_compiled(filters, compiled).notes
    except FilterError as error:
        return FilterReview((), str(error))
    return FilterReview(notes, None) if notes else _GOOD


REVIEWS = FilterReviews()
"""Shared by the whole process."""
