"""Where secrets hide, and what is shown in their place."""

from __future__ import annotations

import re

MASK = "***"
"""What stands for a secret that is there."""

SENSITIVE = "authorization|cookie|token|secret|key|password"
"""What is in the name of a header that carries a secret, in any case of letters."""

_PASSWORD = re.compile(r"(?<=://)([^/:@]*):[^@]*@")
_SENSITIVE = re.compile(SENSITIVE, re.IGNORECASE)


def is_sensitive(header: str) -> bool:
    """Tell by its name whether a header is likely to carry a secret."""
    return _SENSITIVE.search(header) is not None


def without_password(url: str) -> str:
    """Return a database's address as it may be shown."""
    return _PASSWORD.sub(rf"\1:{MASK}@", url)
