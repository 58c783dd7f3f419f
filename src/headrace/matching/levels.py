"""How a level of the index comes about."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from headrace.matching.index.build.source import draft
from headrace.matching.index.build.tables_builder import build
from headrace.matching.index.level import Legend, Level
from headrace.matching.rules.catalogue import Catalogue

if TYPE_CHECKING:
    from collections.abc import Iterable

    from headrace.matching.rules.members import Entry
    from headrace.matching.settings import BloomSettings


def catalogue_of(entries: Iterable[Entry]) -> Catalogue:
    """Enter filters with their scopes into a catalogue of their own."""
    catalogue = Catalogue()
    for entry in entries:
        catalogue.add(*entry)
    catalogue.flush()
    return catalogue


def level_of(
    catalogue: Catalogue, members: Any, seed: int, bloom: BloomSettings, numbers: Any = None
) -> Level:
    """Build a level over members of the catalogue, whom it calls by these numbers instead of their own."""
    drafted = draft(catalogue, np.asarray(members, np.int64))
    rests = np.unique(drafted.alternative_rest[drafted.alternative_rest >= 0])
    own = np.where(drafted.alternative_rest >= 0, np.searchsorted(rests, drafted.alternative_rest), -1)
    drafted = replace(drafted, alternative_rest=own)
    if numbers is not None:
        drafted = replace(drafted, members=np.asarray(numbers, np.int64))
    tables, questions, patterns = build(drafted, catalogue.channels, catalogue.operands, seed, bloom)
    legend = Legend(
        channels=tuple(catalogue.channels[each] for each in questions.groups.tolist()),
        operands=tuple(catalogue.operands[each] for each in questions.slot_operand.tolist()),
        patterns=tuple(
            (slot, catalogue.patterns[pattern], list_) for slot, pattern, list_ in patterns.tolist()
        ),
    )
    return Level(tables, legend, [catalogue.rests[each] for each in rests.tolist()])
