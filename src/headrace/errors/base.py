"""What every error has in common, and what it tells HTTP and whoever might try again."""

from __future__ import annotations

from typing import Any, ClassVar

_LONGEST_NAME = 120


class HeadraceError(Exception):
    """The root. `code` never changes once released; the message may.

    `http_status`, `headers` and `members` say how the HTTP API answers when a request ends with the error.
    """

    code: ClassVar[str] = "internal"
    http_status: ClassVar[int] = 500

    def headers(self) -> dict[str, str]:
        """Return the headers that the answer carries."""
        return {}

    def members(self) -> dict[str, Any]:
        """Return the members that the problem document has besides those of every problem document."""
        return {}


class Temporary(HeadraceError):
    """The same request may succeed after `retry_after` seconds."""

    code = "temporary"
    http_status = 503
    retry_after: int

    def headers(self) -> dict[str, str]:
        """Return when to try again."""
        return {"retry-after": str(self.retry_after)}


class ConfigError(HeadraceError):
    """A setting that is unknown or unusable. The message names the key, the value and where it came from."""

    code = "config"


def first_line(error: BaseException) -> str:
    """Return an error's message in one line: one that comes from Java carries a page."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    text = str(error).strip().partition("\n")[0] or type(error).__name__
    return text if isinstance(error, HeadraceError | OSError) else f"{type(error).__name__}: {text}"


def quoted(name: str) -> str:
    """Quote a name from a request, cut where it gets long."""
    return repr(name if len(name) <= _LONGEST_NAME else f"{name[:_LONGEST_NAME]}…")
