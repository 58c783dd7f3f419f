"""Members that no level of the index has yet: found by a dictionary, and evaluated one by one.

Building a level takes as long as some hundred evaluations, so it has to wait until as many would be saved.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from headrace.filters.backends.reference import value_of
from headrace.filters.values.faults import Fault
from headrace.matching.rules.checks import EQUAL, ONE_OF

if TYPE_CHECKING:
    from collections.abc import Iterator

    from headrace.filters.ir.operands import Operand
    from headrace.filters.variables import Variables
    from headrace.matching.rules.catalogue import Catalogue
    from headrace.matching.scope import Channel

MOST_MEMBERS = 1024
"""So many are filed at most: more are worth a level at once."""

_MOST_AT_ONCE = 128
_MOST_IN_ALL = 2048
_ROW = 8
"""What it costs to read a row's fields and look them up, in evaluations."""


@dataclass(slots=True)
class _Shelf:
    """The forms of one channel, by the checks of equality of which one holds wherever the form does; or by none."""

    operands: dict[Operand, None] = field(default_factory=dict)
    by_check: dict[int, list[int]] = field(default_factory=dict)
    others: list[int] = field(default_factory=list)


@dataclass(slots=True)
class Delta:
    """The members from first on and before last. One thread files, any number read.

    A reader may find members who were filed after it began, and has to leave them out.
    """

    first: int
    last: int
    members: dict[int, list[int]] = field(default_factory=dict)  # by form
    spent: int = 0
    _shelves: dict[Channel | None, _Shelf] = field(default_factory=dict)
    _unfiled: int = 0

    @classmethod
    def after(cls, last: int) -> Delta:
        """Begin with nobody, behind the members of the levels."""
        return cls(last, last)

    def is_too_dear(self, rows: int) -> bool:
        """Say whether a level should be built before so many rows are asked about."""
        return self.last > self.first and rows * (_ROW + self._unfiled) > _MOST_AT_ONCE

    @property
    def is_worn(self) -> bool:
        """Whether asking has cost as much already as several levels would have."""
        return self.spent > _MOST_IN_ALL

    def file(self, catalogue: Catalogue, last: int) -> None:
        """File the members before last, who are in the catalogue already."""
        for member, form in enumerate(catalogue.member_form.view()[self.last : last].tolist(), self.last):
            if form in self.members:
                self.members[form].append(member)
            else:
                self.members[form] = [member]
                self._file(catalogue, form)
        self.last = last

    def _file(self, catalogue: Catalogue, form: int) -> None:
        shelf = self._shelves.setdefault(catalogue.channel_of(form), _Shelf())
        chosen = [_equalities(catalogue, checks) for checks in catalogue.checks_of(form)]
        if not all(chosen):
            shelf.others.append(form)
            self._unfiled += 1
            return
        for check in {each for checks in chosen for each in checks}:
            shelf.by_check.setdefault(check, []).append(form)
            shelf.operands[catalogue.operand_of(check)] = None

    def candidates(
        self, catalogue: Catalogue, channel: Channel | None, variables: Variables
    ) -> Iterator[int]:
        """Yield the forms that an event may match, some of them several times."""
        self.spent += _ROW + self._unfiled
        for each in {channel, None}:
            shelf = self._shelves.get(each)
            if shelf is None:
                continue
            yield from tuple(shelf.others)
            for operand in tuple(shelf.operands):
                try:
                    value = value_of(operand, variables)
                except Fault:
                    continue
                yield from tuple(shelf.by_check.get(catalogue.equality(operand, value), ()))


def _equalities(catalogue: Catalogue, checks: Any) -> list[int]:
    """Return checks of equality of which one holds wherever all of these checks do; nothing where there are none."""
    codes = catalogue.checks.code.view()[checks]
    alone = checks[codes == EQUAL]
    if len(alone):
        return [int(alone[0])]
    sets = checks[codes == ONE_OF]
    return catalogue.elements_of(int(sets[0])) if len(sets) else []
