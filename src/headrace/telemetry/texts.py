"""Make untrusted text safe for a log line or a terminal.

Text from sinks, brokers and producers is logged and printed. A line break in it would forge a whole line, an escape
sequence would control the terminal, and a bidirectional control would change what it shows.
"""

from __future__ import annotations

import re

# Control characters, line and paragraph separators, bidirectional controls, the byte order mark, lone surrogates.
_UNSAFE = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]")


def one_line(text: str) -> str:
    r"""Replace characters that aren't safe to show by escapes, such as `\n` or `\x1b`."""
    return text if text.isprintable() else _UNSAFE.sub(_escape, text)


def indented(text: str, indent: str = "    ") -> str:
    """Escape and indent each line of a text, so that none is taken for the first line of an entry."""
    return "\n".join(indent + one_line(line.expandtabs()) for line in text.removesuffix("\n").split("\n"))


def _escape(found: re.Match[str]) -> str:
    return found[0].encode("unicode_escape").decode("ascii")
