"""A request that changes something, as the record of changes tells it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from headrace.auth.audit.entries import UNKNOWN, Entry, difference

if TYPE_CHECKING:
    from collections.abc import Sequence

    from starlette.requests import Request

    from headrace.api.access.access import Access
    from headrace.api.access.resources import Thing


@dataclass(frozen=True, slots=True)
class Change:
    """`kind` is that of what is changed, `before` what it was, where the request names it."""

    request: Request
    kind: str
    access: Access
    before: Thing | None

    @property
    def named(self) -> str:
        """What the request names by its address, or is about to make: an id, or a namespace and a name."""
        params = self.request.path_params
        if "id" in params:
            return str(params["id"])
        named = "/".join(str(params[name]) for name in ("namespace", "name") if name in params)
        return named or self.access.makes

    def entries(self, named: str = "", after: Thing | None = None, status: int = UNKNOWN) -> list[Entry]:
        """Return an entry for each namespace that it is about, with as much as is known now."""
        request = self.request
        things = [thing for thing in (self.before, after) if thing is not None]
        owners: Sequence[str | None] = sorted(
            {*self.access.about, *(each for thing in things for each in thing.namespaces or ())}
        )
        documents = [None if each is None else each.document for each in (self.before, after)]
        client = request.client.host if request.client else ""
        return [
            Entry(
                self.access.principal.id,
                client,
                f"{request.method} {request.url.path}",
                self.kind,
                named or self.named,
                namespace,
                status,
                {} if status == UNKNOWN else difference(*documents),
            )
            for namespace in owners or [None]
        ]


def made_at(path: str, location: str) -> str:
    """Return what stands in the address of a thing that was made: its id, or its namespace and name."""
    below = f"{path}/"
    return location.removeprefix(below) if location.startswith(below) else location.rpartition("/")[2]
