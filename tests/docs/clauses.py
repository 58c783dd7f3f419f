"""The clauses of a specification: its sentences with MUST, SHOULD, MAY and their like."""

import re

_KEYWORDS = re.compile(r"\b(MUST|SHALL|SHOULD|MAY|REQUIRED|RECOMMENDED|OPTIONAL)\b")
_CODE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
_ABOUT_KEYWORDS = re.compile(r"^## Conformance$.*?(?=^## )", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)")
_ITEM = re.compile(r"\n(?=\s*(?:-|\d+\.) )")
_SENTENCE_END = re.compile(r"(?<=[.:])\s+(?=[A-Z`])")


def clauses_of(text: str) -> list[str]:
    """List the clauses of a document in Markdown, in its order, each once and on one line."""
    text = _LINK.sub(r"\1", _CODE.sub("", _ABOUT_KEYWORDS.sub("", text)))
    blocks = [block for block in re.split(r"\n\s*\n", text) if not block.lstrip().startswith("#")]
    pieces = [" ".join(piece.split()) for block in blocks for piece in _ITEM.split("\n" + block.strip())]
    sentences = [sentence for piece in pieces for sentence in _SENTENCE_END.split(piece)]
    return list(dict.fromkeys(each.removeprefix("- ") for each in sentences if _KEYWORDS.search(each)))
