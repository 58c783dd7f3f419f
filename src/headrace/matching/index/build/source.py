"""What a level is made of, taken out of the catalogue: a copy, so that others may go on adding."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from headrace.matching.index.build.ragged import is_one_of, indices
from headrace.matching.rules.checks import (
    BETWEEN,
    CONTAINS,
    CONTAINS_NOT,
    ENDS,
    ENDS_NOT,
    EQUAL,
    INCLUDES,
    INCLUDES_NOT,
    NONE_OF,
    ONE_OF,
    STARTS,
    STARTS_NOT,
    STRING_KEY,
    UNEQUAL,
)

if TYPE_CHECKING:
    import numpy.typing as npt

    from headrace.matching.rules.catalogue import Catalogue

    Numbers = npt.NDArray[Any]

LOW, HIGH, LOW_DOUBLE, HIGH_DOUBLE = range(4)
_OPPOSITES = (UNEQUAL, INCLUDES_NOT, NONE_OF)
_OF_TEXT = (STARTS, STARTS_NOT, ENDS, ENDS_NOT, CONTAINS, CONTAINS_NOT)


@dataclass(frozen=True, slots=True)
class Draft:
    """Members with their forms, alternatives and checks.

    Members, channels, operands, rests and patterns have the catalogue's numbers, all others are numbered anew.
    """

    members: Numbers
    member_form: Numbers
    form_channel: Numbers
    form_lengths: Numbers  # alternatives per form
    alternative_rest: Numbers
    alternative_lengths: Numbers  # checks per alternative
    pair_check: Numbers  # the checks of all alternatives, one after the other
    code: Numbers
    operand: Numbers
    values: Numbers  # checks x 4
    sets: Numbers  # checks
    text: npt.NDArray[np.uint8]
    text_at: Numbers


def draft(catalogue: Catalogue, members: Numbers) -> Draft:
    """Take out what concerns these members, who are in the catalogue already."""
    forms, member_form = np.unique(catalogue.member_form.view()[members], return_inverse=True)
    form_ends = catalogue.form_ends.view()
    alternatives = indices(form_ends[forms].astype(np.int64), form_ends[forms + 1].astype(np.int64))
    ends = catalogue.alternative_ends.view()
    starts, stops = ends[alternatives], ends[alternatives + 1]
    wanted = catalogue.alternative_checks.view()[indices(starts, stops)]
    checks, values, sets = _checks(catalogue, wanted)
    text, text_at = _texts(catalogue, catalogue.checks.code.view()[checks], values)
    return Draft(
        members=members,
        member_form=member_form,
        form_channel=catalogue.form_channel.view()[forms],
        form_lengths=form_ends[forms + 1] - form_ends[forms],
        alternative_rest=catalogue.alternative_rest.view()[alternatives],
        alternative_lengths=stops - starts,
        pair_check=np.searchsorted(checks, wanted),
        code=catalogue.checks.code.view()[checks],
        operand=catalogue.checks.operand.view()[checks],
        values=values,
        sets=sets,
        text=text,
        text_at=text_at,
    )


def _checks(catalogue: Catalogue, wanted: Numbers) -> tuple[Numbers, Numbers, Numbers]:
    """Return the checks that are wanted and those these speak of, their values, and the sets."""
    table = catalogue.checks
    all_codes, all_lows, all_highs = table.code.view(), table.low.view(), table.high.view()
    checks = np.unique(wanted)
    spoken_of = all_lows[checks[is_one_of(all_codes[checks], _OPPOSITES)]]
    checks = np.union1d(checks, spoken_of)
    of_sets = checks[all_codes[checks] == ONE_OF]
    elements = catalogue.sets.view()[indices(all_lows[of_sets], all_highs[of_sets])]
    checks = np.union1d(checks, elements).astype(np.int64)
    doubles = table.low_double.view()[checks], table.high_double.view()[checks]
    values = np.stack((all_lows[checks], all_highs[checks], *doubles), axis=1)
    codes = all_codes[checks]
    opposite = is_one_of(codes, _OPPOSITES)
    values[opposite, LOW] = np.searchsorted(checks, values[opposite, LOW])
    is_set = codes == ONE_OF
    set_ends = np.cumsum(values[is_set, HIGH] - values[is_set, LOW])
    values[is_set, LOW] = np.concatenate(([0], set_ends))[:-1]
    values[is_set, HIGH] = set_ends
    return checks, values, np.searchsorted(checks, elements)


def _texts(catalogue: Catalogue, codes: Numbers, values: Numbers) -> tuple[Numbers, Numbers]:
    """Return the texts that checks name, and renumber the names."""
    is_key = is_one_of(codes, (EQUAL, INCLUDES)) & (values[:, LOW] == STRING_KEY)
    named = (
        (is_key, HIGH),
        (is_one_of(codes, _OF_TEXT), LOW),
        ((codes == BETWEEN) & (values[:, LOW] >= 0), LOW),
        ((codes == BETWEEN) & (values[:, HIGH] >= 0), HIGH),
    )
    texts = np.unique(np.concatenate([values[rows, column] for rows, column in named]))
    for rows, column in named:
        values[rows, column] = np.searchsorted(texts, values[rows, column])
    ends = catalogue.text_ends.view()
    starts, stops = ends[texts], ends[texts + 1]
    return catalogue.texts.view()[indices(starts, stops)], np.concatenate(
        ([0], np.cumsum(stops - starts))
    ).astype(np.int64)
