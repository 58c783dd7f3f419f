"""How a level of the index comes about."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from headrace.matching.index.build import build
from headrace.matching.index.draft import draft
from headrace.matching.index.level import Level
from headrace.matching.index.patterns import PatternSet

if TYPE_CHECKING:
    from headrace.matching.catalogue import Catalogue
    from headrace.matching.index.draft import Draft
    from headrace.matching.settings import BloomSettings


def level_of(catalogue: Catalogue, members: Any, seed: int, bloom: BloomSettings) -> Level:
    """Build a level over members of the catalogue."""
    return level_of_draft(draft(catalogue, np.asarray(members, np.int64)), catalogue, seed, bloom)


def level_of_draft(drafted: Draft, catalogue: Catalogue, seed: int, bloom: BloomSettings) -> Level:
    """Build a level from what was taken out of the catalogue before."""
    tables, questions, patterns = build(drafted, catalogue.channels, catalogue.operands, seed, bloom)
    by_slot: dict[int, list[tuple[str, int]]] = {}
    for slot, pattern, list_ in patterns.tolist():
        by_slot.setdefault(slot, []).append((catalogue.patterns[pattern], list_))
    return Level(
        tables=tables,
        groups={
            catalogue.channels[channel]: group for group, channel in enumerate(questions.groups.tolist())
        },
        slot_operand=questions.slot_operand,
        patterns={slot: PatternSet(each) for slot, each in by_slot.items()},
        members=len(drafted.members),
    )
