"""What strangers wrote, made fit for a line of a log or a terminal.

Sinks, brokers and producers choose texts that are logged and printed. A line break among them would forge a whole
line, an escape sequence would command the terminal, and a bidirectional control would let it show something else.
"""

from __future__ import annotations

import re

# Control characters, line and paragraph separators, bidirectional controls, the byte order mark, lone surrogates.
_UNSAFE = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]")


def one_line(text: str) -> str:
    r"""Return the text with what isn't safe to show written as an escape, such as `\n` or `\x1b`."""
    return text if text.isprintable() else _UNSAFE.sub(_escape, text)


def indented(text: str, indent: str = "    ") -> str:
    """Return the same of each line of a text, with an indent by which no line is taken for the first of an entry."""
    return "\n".join(indent + one_line(line.expandtabs()) for line in text.removesuffix("\n").split("\n"))


def _escape(found: re.Match[str]) -> str:
    return found[0].encode("unicode_escape").decode("ascii")
