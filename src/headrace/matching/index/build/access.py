"""Which of its checks an alternative is filed under: the one that the fewest events should pass.

How often a constant is asked for stands for how often events have it: people filter for what there is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from headrace.matching.index.build.ragged import is_one_of, owners, picked
from headrace.matching.rules.checks import (
    BETWEEN,
    CONTAINS,
    ENDS,
    EQUAL,
    HAS,
    INCLUDES,
    LACKS,
    ONE_OF,
    PATTERN,
    STARTS,
    WITHIN,
)

if TYPE_CHECKING:
    import numpy.typing as npt

    from headrace.matching.index.build.check_groups import Questions

    Numbers = npt.NDArray[Any]

_NEVER = np.inf
_PRESENCE = 1e6
_RUN_OF_RE2 = 1e5


@dataclass(frozen=True, slots=True)
class Access:
    """By alternative: the pair of its access (-1: none, every event is a candidate).

    `by_presence`: only that the field is present is looked up; the check itself remains to be done.
    """

    pair: Numbers
    by_presence: npt.NDArray[np.bool_]


def choose(questions: Questions) -> Access:
    """Choose the cheapest access of every alternative."""
    costs = _costs(questions)[questions.pair_question]
    order = np.lexsort((costs, questions.pair_alternative))
    alternatives = questions.pair_alternative[order]
    firsts = np.flatnonzero(np.diff(alternatives, prepend=-1))
    firsts = firsts[np.isfinite(costs[order[firsts]])]
    pair = np.full(questions.alternatives, -1, np.int64)
    pair[alternatives[firsts]] = order[firsts]
    codes = picked(questions.code[questions.pair_question].astype(np.int64), pair, HAS)
    return Access(pair, (picked(costs, pair, 0) >= _PRESENCE) & (codes != HAS))


def _costs(questions: Questions) -> Numbers:
    """Return an estimate for every question of how many candidates it leaves, in all alternatives together."""
    code = questions.code
    asked = np.bincount(questions.pair_question, minlength=len(code)).astype(np.float64)
    set_owner = owners(np.diff(questions.set_at))
    of_elements = asked.copy()
    np.add.at(of_elements, questions.set_element, asked[set_owner])
    costs = np.full(len(code), _PRESENCE) + asked
    costs[code == LACKS] = _NEVER
    keyed = is_one_of(code, (EQUAL, INCLUDES)) & (questions.key >= 0)
    costs[keyed] = of_elements[keyed]
    found = of_elements[questions.set_element] * (questions.key[questions.set_element] >= 0)
    in_sets = code == ONE_OF
    costs[in_sets] = np.bincount(set_owner, found, minlength=len(code))[in_sets]
    keyed = is_one_of(code, (STARTS, ENDS)) & (questions.key >= 0)
    costs[keyed] = 2 * asked[keyed] + 1
    ranges = is_one_of(code, (WITHIN, BETWEEN))
    on_slot = np.bincount(questions.slot[ranges], asked[ranges], minlength=questions.slots)
    costs[ranges] = 4 + on_slot[questions.slot[ranges]] / 4
    contained = (code == CONTAINS) & (questions.text_length > 0)
    costs[contained] = 8 + asked[contained]
    costs[code == PATTERN] = _RUN_OF_RE2
    return costs
