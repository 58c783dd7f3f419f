"""Consent of web hooks: each was told an address of its own, and agrees to deliveries by calling it with GET or POST.

Knowing the address is the proof: only the sink has it, or somebody to whom the sink showed it. It serves nothing else.
"""

from __future__ import annotations

import asyncio
import re
from typing import TYPE_CHECKING

from starlette.responses import Response

from headrace.api.access.permissions import OPEN
from headrace.api.openapi.operation import Answer
from headrace.api.routes.parameters import Parameter, header, in_path
from headrace.api.routes.tags import DELIVERIES
from headrace.errors import InvalidRequest, NotFound
from headrace.ledger.records.consents import PATH

if TYPE_CHECKING:
    from starlette.requests import Request

    from headrace.ledger.records.records import Records

_ALLOWED_RATE = "webhook-allowed-rate"
_RATE = re.compile("[1-9][0-9]{0,8}")
_RATES = {"type": "string", "pattern": rf"^(\*|{_RATE.pattern})$"}
_PARAMETERS = (
    in_path("token", "What the web hook was told.", {"type": "string"}),
    Parameter(
        "rate",
        "How many requests a minute it allows, or `*`; for a browser, which sends no such header.",
        _RATES,
        str,
        None,
    ),
    header("WebHook-Allowed-Rate", "The same.", _RATES),
)
_NOTED = {200: Answer("It is noted.", {"text/plain": str})}


class ConsentsHandler:
    """The ledger's calls block, so they run in threads."""

    def __init__(self, records: Records) -> None:
        self._records = records

    @DELIVERIES.route(f"GET {PATH}", OPEN, _NOTED, parameters=_PARAMETERS, problems={404, 503})
    @DELIVERIES.route(
        f"POST {PATH}",
        OPEN,
        _NOTED,
        parameters=_PARAMETERS,
        problems={404, 503},
        operation="grantConsentByPost",
    )
    async def grant_consent(self, request: Request) -> Response:
        """Agree to deliveries, as a web hook that was asked with this address in WebHook-Request-Callback."""
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
