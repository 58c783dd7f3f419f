"""A request that changes something, as audit entries."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from headrace.auth.audit.entries import UNKNOWN, AuditEntry, difference

if TYPE_CHECKING:
    from collections.abc import Sequence

    from starlette.requests import Request

    from headrace.api.access.access import Access
    from headrace.api.access.resources import Resource


@dataclass(frozen=True, slots=True)
class Change:
    """`kind` is the kind of what is changed, `before` its state before, where the request names it."""

    request: Request
    kind: str
    access: Access
    before: Resource | None

    @property
    def named(self) -> str:
        """What the request addresses: an id, or a namespace and a name; nothing where it creates something."""
        params = self.request.path_params
        if "id" in params:
            return str(params["id"])
        return "/".join(str(params[name]) for name in ("namespace", "name") if name in params)

    def entries(
        self, makes: str = "", after: Resource | None = None, status: int = UNKNOWN
    ) -> list[AuditEntry]:
        """Return an entry for each namespace concerned, with as much as is known now; `makes` is what is created."""
        request = self.request
        resources = [each for each in (self.before, after) if each is not None]
        owners: Sequence[str | None] = sorted(
            {*self.access.about, *(name for each in resources for name in each.namespaces or ())}
        )
        documents = [None if each is None else each.document for each in (self.before, after)]
        client = request.client.host if request.client else ""
        return [
            AuditEntry(
                self.access.principal.id,
                client,
                f"{request.method} {request.url.path}",
                self.kind,
                self.named or makes,
                namespace,
                status,
                {} if status == UNKNOWN else difference(*documents),
            )
            for namespace in owners or [None]
        ]


def made_at(path: str, location: str) -> str:
    """Return what the location of a new resource names: its id, or its namespace and name."""
    below = f"{path}/"
    return location.removeprefix(below) if location.startswith(below) else location.rpartition("/")[2]
