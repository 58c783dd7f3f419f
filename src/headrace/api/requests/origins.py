"""Cross-origin requests: those that a page of another origin makes a browser send.

Without authentication whoever reaches the port may do everything; without this check, so could every page that somebody
on the machine visits. Browsers name the origin of a request; other programs send none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from starlette.requests import Request

_SAFE = ("GET", "HEAD", "OPTIONS")
_OWN = ("same-origin", "none")


def is_foreign(request: Request) -> bool:
    """Tell whether a page of another origin requests a change. Browsers themselves keep answers from such pages."""
    if request.method in _SAFE:
        return False
    site = request.headers.get("sec-fetch-site")
    if site is not None:
        return site not in _OWN
    origin = request.headers.get("origin")
    return origin is not None and urlsplit(origin).netloc != request.headers.get("host")
