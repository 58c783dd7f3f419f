"""Ids that a tenant's import asks to be kept.

Ids are one space over all tenants. A tenant that could choose them would learn which ones others have, and could take
those that others are about to import. So a line of a tenant gets an id that is made from its namespace and the id it
came with: nobody else can have it, and it is the same each time, so that an import may be repeated.
"""

from __future__ import annotations

import uuid

_SPACE = uuid.UUID("6f0f5d0e-3c86-4bd4-9d0a-5b8f2b0f7c11")


def id_within(namespace: str, given: str) -> str:
    """Return what an id becomes within a namespace; which other ids exist makes no difference."""
    return str(uuid.uuid5(_SPACE, f"{namespace}/{given}"))
