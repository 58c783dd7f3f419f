"""What strangers wrote, made fit for a column of text: sinks may answer with any bytes."""

from __future__ import annotations

_MOST_CHARACTERS = 2000


def storable(text: str) -> str:
    """Return the text without what a database can't hold, NUL and lone surrogates, and not too long."""
    if len(text) > _MOST_CHARACTERS:
        text = text[:_MOST_CHARACTERS] + "…"
    if text.isascii() and "\0" not in text:
        return text
    return text.replace("\0", "\ufffd").encode(errors="replace").decode()
