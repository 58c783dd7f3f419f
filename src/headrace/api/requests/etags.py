"""ETags (RFC 9110): a client may name the version of a subscription that it changes, so that no change is lost.

An ETag stands for what the owner of a subscription set, secrets included; not for its status, nor for pausing.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from headrace.errors import PreconditionFailed

if TYPE_CHECKING:
    from starlette.requests import Request

    from headrace.subscriptions.subscription import Subscription

_TAG = re.compile(r'(W/)?("[\x21\x23-\x7e\x80-\xff]*")')
_ANY = "*"


def etag_of(subscription: Subscription) -> str:
    """Return the ETag of a subscription."""
    return f'"{subscription.edited}"'


def check_match(request: Request, subscription: Subscription) -> None:
    """Refuse a change unless `If-Match` names the current version. Weak tags never match here."""
    given = request.headers.getlist("if-match")
    if given and not _names(given, etag_of(subscription), weak=False):
        raise PreconditionFailed("subscription", subscription.id, etag_of(subscription))


def is_known(request: Request, etag: str) -> bool:
    """Tell whether `If-None-Match` names this ETag."""
    return _names(request.headers.getlist("if-none-match"), etag, weak=True)


def _names(given: list[str], etag: str, *, weak: bool) -> bool:
    text = ",".join(given)
    tags = _TAG.findall(text)
    return text.strip() == _ANY or any(tag == etag and (weak or not mark) for mark, tag in tags)
