"""Consent of web hooks: each was told an address of its own, and agrees to deliveries by calling it with GET or POST.

Knowing the address is the proof: only the sink has it, or somebody to whom the sink showed it. It serves nothing else.
"""

from __future__ import annotations

import asyncio
import re
from typing import TYPE_CHECKING

from starlette.responses import Response

from headrace.errors import InvalidRequest, NotFound
from headrace.ledger.records.consents import PATH

if TYPE_CHECKING:
    from starlette.requests import Request

    from headrace.api.handlers.handler import Routes
    from headrace.ledger.records.records import Records

_ALLOWED_RATE = "webhook-allowed-rate"
_RATE = re.compile("[1-9][0-9]{0,8}")


class ConsentsHandler:
    """The ledger's calls block, so they run in threads."""

    def __init__(self, records: Records) -> None:
        self._records = records

    def routes(self) -> Routes:
        """Return the endpoints by path and method."""
        return {PATH: {"GET": self.grant, "POST": self.grant}}

    async def grant(self, request: Request) -> Response:
        """Record that a sink agrees, at the rate that it allows: a header, or `rate` in the query for browsers."""
        said = request.headers.get(_ALLOWED_RATE, request.query_params.get("rate", "*")).strip()
        rate = None if said == "*" else _rate(said)
        if not await asyncio.to_thread(self._records.grant_consent, request.path_params["token"], rate):
            raise NotFound("request for consent", "of this address")
        return Response(
            "Thank you: deliveries begin within a minute.\n",
            media_type="text/plain",
            headers={"Cache-Control": "no-store", "Referrer-Policy": "no-referrer"},
        )


def _rate(said: str) -> int:
    if _RATE.fullmatch(said):
        return int(said)
    raise InvalidRequest(
        [("WebHook-Allowed-Rate", f"{said[:100]!r} is neither a number of requests a minute nor *")]
    )
