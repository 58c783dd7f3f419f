"""Which fields of an event are wanted, and where each of them is read from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from headrace.filters.backends.arrow.table import ATTRIBUTE_COLUMNS
from headrace.filters.ir.operands import Path, Text
from headrace.matching.scan.trie import PathTrie

if TYPE_CHECKING:
    from collections.abc import Iterable

    from headrace.filters.ir.operands import Operand

CONTEXT = {"tenant": "namespace", "collection": "channel"}


@dataclass(frozen=True, slots=True)
class Fields:
    """The columns of the cells: operands in the order of their numbers, each read in one way.

    `texts` are pairs of columns: the canonical string of what stands in the one goes to the other. Each `strings`
    column is one of the batch's, each `extensions` an attribute without a column, and what lies below attributes
    is in `below`. `others` are variables.
    """

    operands: tuple[Operand, ...]
    trie: PathTrie | None
    data: tuple[tuple[int, Path], ...]
    strings: tuple[tuple[int, str], ...]
    extensions: tuple[tuple[int, str], ...]
    below: tuple[tuple[int, Path], ...]
    others: tuple[tuple[int, str], ...]
    texts: tuple[tuple[int, int], ...]

    @property
    def width(self) -> int:
        """How many columns there are."""
        return len(self.operands)

    @classmethod
    def of(cls, operands: Iterable[Operand], with_elements: frozenset[Operand]) -> Fields:
        """Arrange operands in columns. Of those with elements, the elements of lists are wanted too."""
        columns: dict[Operand, int] = {}
        for operand in operands:
            columns.setdefault(operand, len(columns))
        for operand in list(columns):
            if isinstance(operand, Text):
                columns.setdefault(operand.path, len(columns))
        paths = [(column, path) for path, column in columns.items() if isinstance(path, Path)]
        data = [(column, path) for column, path in paths if path.steps[0] == "data"]
        wanted = {path.steps[1:]: (column, path in with_elements) for column, path in data}
        attributes = [
            (column, path) for column, path in paths if path.steps[0] == "ce" and len(path.steps) == 2
        ]
        return cls(
            operands=tuple(columns),
            trie=PathTrie.of(wanted) if wanted else None,
            data=tuple(data),
            strings=tuple(
                (column, path.steps[1]) for column, path in attributes if path.steps[1] in ATTRIBUTE_COLUMNS
            )
            + tuple(
                (column, CONTEXT[path.steps[0]]) for column, path in paths if path.steps in _CONTEXT_PATHS
            ),
            extensions=tuple(
                (column, path.steps[1])
                for column, path in attributes
                if path.steps[1] not in ATTRIBUTE_COLUMNS
            ),
            below=tuple(
                (column, path) for column, path in paths if path.steps[0] == "ce" and len(path.steps) > 2
            ),
            others=tuple((column, path.steps[0]) for column, path in paths if path.steps in _TIMES),
            texts=tuple((columns[each.path], columns[each]) for each in columns if isinstance(each, Text)),
        )


_CONTEXT_PATHS = frozenset((name,) for name in CONTEXT)
_TIMES = frozenset({("publishTime",), ("eventTime",)})
