"""Input with faults: the errors that list them, and the form they take in messages and problem documents."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from headrace.errors.base import HeadraceError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

MOST_FAULTS = 20
"""How many faults are listed; the others are only counted."""
_LONGEST_FAULT = 500
_SHOWN_BEFORE, _SHOWN_AFTER = 80, 40


class TextFault(str):
    """What is wrong with a text: the problem, and below it the line with a caret. Its parts are fields.

    `line` and `column` count from 1; `text` is what is shown of the line, and `caret` goes below it.
    """

    __slots__ = ("caret", "column", "line", "text")

    line: int
    column: int
    text: str
    caret: str

    def __new__(cls, problem: str, source: str, position: int) -> Self:
        """Compose the text and its parts."""
        before = source[:position]
        line, column = before.count("\n") + 1, position - (before.rfind("\n") + 1)
        start = max(0, column - _SHOWN_BEFORE)
        text = source.split("\n")[line - 1].rstrip("\r")[start : column + _SHOWN_AFTER]
        caret = " " * (column - start) + "^"
        fault = super().__new__(cls, f"{problem} (line {line}, column {column + 1})\n  {text}\n  {caret}")
        fault.line, fault.column, fault.text, fault.caret = line, column + 1, text, caret
        return fault

    def document(self) -> dict[str, Any]:
        """Return the fields, which the API shows next to the whole."""
        return {"line": self.line, "column": self.column, "text": self.text, "caret": self.caret}


class InvalidInput(HeadraceError):
    """Input that can't be used as it is: sending it again without a correction fails again."""

    code = "invalid-input"
    http_status = 400


class InvalidDocument(InvalidInput):
    """A document with faults. `faults` pairs the path of a property with what is wrong with it."""

    code = "invalid-document"

    def __init__(self, faults: Sequence[tuple[str, str]], problem: str | None = None) -> None:
        super().__init__(_summary_of_paths(faults) if problem is None else problem)
        self.faults = tuple(faults)

    def members(self) -> dict[str, Any]:
        """Return the first faults, and the number of the others."""
        listed = [fault_of(*each) for each in self.faults[:MOST_FAULTS]]
        return faults_listed(listed, len(self.faults)) if listed else {}


def faults_listed(listed: Sequence[Any], found: int) -> dict[str, Any]:
    """Return the members that list faults and count those that are not listed."""
    more = {"more": found - len(listed)} if found > len(listed) else {}
    return {"faults": listed, **more}


def fault_of(path: str, problem: str) -> dict[str, Any]:
    """Describe the fault of a property; where it lies in a text, also where in it."""
    where = problem.document() if isinstance(problem, TextFault) else {}
    return {"path": shortened(path), "problem": shortened(str(problem)), **where}


def lines_of(refusals: Iterable[tuple[int, Sequence[tuple[str, str]]]]) -> list[dict[str, Any]]:
    """Describe the faults of numbered lines."""
    return [
        {"line": number, "faults": [fault_of(*each) for each in faults[:MOST_FAULTS]]}
        for number, faults in refusals
    ]


def summary(faults: Sequence[str], more: int = 0) -> str:
    """Join the first faults to a message, and say how many there are besides."""
    more += max(0, len(faults) - MOST_FAULTS)
    return "; ".join(map(shortened, faults[:MOST_FAULTS])) + (f"; and {more:,} more" if more else "")


def _summary_of_paths(faults: Sequence[tuple[str, str]]) -> str:
    first = [f"{path}: {problem}" if path else problem for path, problem in faults[:MOST_FAULTS]]
    return summary(first, max(0, len(faults) - MOST_FAULTS))


def shortened(text: str, longest: int = _LONGEST_FAULT) -> str:
    """Return a text, cut where it gets long: an error must not repeat a whole document."""
    return text if len(text) <= longest else f"{text[:longest]}…"
