"""Requests that a page of another origin lets a browser send.

Where authentication is off, whoever reaches the port may do everything; without this, so might every page that somebody
on the machine looks at. Browsers say where a request comes from, and other programs say nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from starlette.requests import Request

_HARMLESS = ("GET", "HEAD", "OPTIONS")
_OWN = ("same-origin", "none")


def is_foreign(request: Request) -> bool:
    """Tell whether a page of another origin asks for a change. What it asks to see, browsers keep from it."""
    if request.method in _HARMLESS:
        return False
    site = request.headers.get("sec-fetch-site")
    if site is not None:
        return site not in _OWN
    origin = request.headers.get("origin")
    return origin is not None and urlsplit(origin).netloc != request.headers.get("host")
