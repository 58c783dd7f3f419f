"""Where alternatives stand: in the lists of keys, ranges, contained texts, patterns, present fields, or of everyone."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from headrace.matching.index.build.access import choose
from headrace.matching.index.build.grams import grams_of
from headrace.matching.index.build.ragged import picked, indices
from headrace.matching.index.build.source import HIGH, HIGH_DOUBLE, LOW, LOW_DOUBLE
from headrace.matching.index.build.trees import filed, nearest_above
from headrace.matching.rules.checks import (
    BETWEEN,
    CONTAINS,
    ENDS,
    EQUAL,
    HAS,
    INCLUDES,
    ONE_OF,
    OPEN_ABOVE,
    OPEN_BELOW,
    PATTERN,
    STARTS,
    WITHIN,
)

if TYPE_CHECKING:
    import numpy.typing as npt

    from headrace.matching.index.build.access import Access
    from headrace.matching.index.build.check_groups import Questions
    from headrace.matching.index.build.grams import Grams
    from headrace.matching.index.build.source import Draft

    Numbers = npt.NDArray[Any]


@dataclass(slots=True)
class Lists:
    """Hands out the numbers of lists, and collects which alternatives stand in them."""

    count: int
    numbers: list[Numbers] = field(default_factory=list)
    alternatives: list[Numbers] = field(default_factory=list)

    def reserve(self, count: int) -> int:
        """Return the first of so many new numbers."""
        first = self.count
        self.count += count
        return first

    def file(self, lists: Numbers, alternatives: Numbers) -> None:
        """Put alternatives into lists, pair by pair."""
        self.numbers.append(lists)
        self.alternatives.append(alternatives)


@dataclass(frozen=True, slots=True)
class Filing:
    """The lists, the codes of the checks that alternatives are filed under (-1: none), and who leads to which list."""

    access: Access
    codes: Numbers
    keys: int
    grams: Grams
    lists: Lists
    gram_list: Numbers
    patterns: Numbers  # slots, patterns and lists
    slot_list: Numbers
    group_list: Numbers
    trees: Trees
    slot_tree: Numbers


def file_alternatives(draft: Draft, questions: Questions) -> Filing:
    """Choose a check for every alternative, and file it there."""
    access = choose(questions)
    chosen = picked(questions.pair_question, access.pair, -1)
    by_check = np.where(access.by_presence, -1, chosen)
    codes = picked(questions.code.astype(np.int64), by_check, -1)
    keys = int(questions.key.max(initial=-1)) + 1
    contained = np.unique(by_check[codes == CONTAINS])
    grams = grams_of(draft, questions, contained)
    lists = Lists(keys + len(grams.first))
    for code in (EQUAL, STARTS, ENDS, INCLUDES):
        lists.file(questions.key[by_check[codes == code]], np.flatnonzero(codes == code))
    _file_sets(lists, questions, by_check, codes)
    contained_list = _file_each(lists, contained, by_check, codes, CONTAINS)
    patterns = np.unique(by_check[codes == PATTERN])
    pattern_list = _file_each(lists, patterns, by_check, codes, PATTERN)
    slot_list = _file_presence(lists, questions, access.by_presence, chosen, codes)
    group_list = lists.reserve(len(questions.groups))
    always = np.flatnonzero(chosen < 0)
    lists.file(group_list + questions.alternative_group[always], always)
    trees = Trees(draft, questions, lists)
    pattern_numbers = draft.values[questions.check[patterns], LOW]
    return Filing(
        access=access,
        codes=codes,
        keys=keys,
        grams=grams,
        lists=lists,
        gram_list=contained_list + grams.contained,
        patterns=np.stack(
            (questions.slot[patterns], pattern_numbers, pattern_list + np.arange(len(patterns))), axis=1
        ),
        slot_list=slot_list,
        group_list=group_list + np.arange(len(questions.groups)),
        trees=trees,
        slot_tree=trees.build(by_check, codes),
    )


def _file_each(lists: Lists, asked: Numbers, by_check: Numbers, codes: Numbers, code: int) -> int:
    """Give each of the questions a list of its own; return the first one's number."""
    first = lists.reserve(len(asked))
    alternatives = np.flatnonzero(codes == code)
    lists.file(first + np.searchsorted(asked, by_check[alternatives]), alternatives)
    return first


def _file_sets(lists: Lists, questions: Questions, by_check: Numbers, codes: Numbers) -> None:
    alternatives = np.flatnonzero(codes == ONE_OF)
    if len(alternatives) == 0:
        return
    sets = by_check[alternatives]
    starts, ends = questions.set_at[sets], questions.set_at[sets + 1]
    keys = questions.key[questions.set_element[indices(starts, ends)]]
    rows = np.repeat(alternatives, ends - starts)
    lists.file(keys[keys >= 0], rows[keys >= 0])


def _file_presence(
    lists: Lists, questions: Questions, by_presence: Numbers, chosen: Numbers, codes: Numbers
) -> Numbers:
    alternatives = np.flatnonzero(by_presence | (codes == HAS))
    slot_list = np.full(questions.slots, -1, np.int64)
    if len(alternatives) == 0:
        return slot_list
    slots, place = np.unique(questions.slot[chosen[alternatives]], return_inverse=True)
    first = lists.reserve(len(slots))
    lists.file(first + place, alternatives)
    slot_list[slots] = first + np.arange(len(slots))
    return slot_list


@dataclass(slots=True)
class Trees:
    """The ranges that alternatives are filed under, slot by slot: one tree for integers, doubles and texts each.

    Their lists are the last ones that are reserved.
    """

    draft: Draft
    questions: Questions
    lists: Lists
    first: int = field(init=False)
    cuts: list[Numbers] = field(default_factory=list)
    leaf_lists: list[Numbers] = field(default_factory=list)
    lists_above: list[Numbers] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.first = self.lists.count

    def build(self, by_check: Numbers, codes: Numbers) -> Numbers:
        """Make the trees of every slot that alternatives are filed under by a range; return their numbers."""
        slot_tree = np.full((self.questions.slots, 3), -1, np.int32)
        alternatives = np.flatnonzero((codes == WITHIN) | (codes == BETWEEN))
        if len(alternatives) == 0:
            return slot_tree
        slots = self.questions.slot[by_check[alternatives]]
        order = np.argsort(slots, kind="stable")
        for rows in np.split(order, np.flatnonzero(np.diff(slots[order])) + 1) if len(order) else []:
            slot = slots[rows[0]]
            here = alternatives[rows]
            checks = self.questions.check[by_check[here]]
            numbers = codes[here] == WITHIN
            values = self.draft.values[checks]
            slot_tree[slot, 0] = self._numbers(values[numbers][:, [LOW, HIGH]], here[numbers])
            slot_tree[slot, 1] = self._numbers(values[numbers][:, [LOW_DOUBLE, HIGH_DOUBLE]], here[numbers])
            slot_tree[slot, 2] = self._texts(values[~numbers], here[~numbers])
        return slot_tree

    def _numbers(self, ends: Numbers, alternatives: Numbers) -> int:
        some = ends[:, 0] <= ends[:, 1]
        ends, alternatives = ends[some], alternatives[some]
        cuts, leaves = np.unique(ends, return_inverse=True)
        leaves = leaves.reshape(ends.shape) * 2 + 1
        return self._tree(cuts, leaves[:, 0], leaves[:, 1], alternatives)

    def _texts(self, values: Numbers, alternatives: Numbers) -> int:
        ends = values[:, [LOW, HIGH]]
        named = np.unique(ends[ends >= 0])
        order = np.array(sorted(named.tolist(), key=self._text), np.int64)
        rank = np.zeros(int(named.max(initial=0)) + 1, np.int64)
        rank[order] = np.arange(len(order))
        open_ = values[:, LOW_DOUBLE]
        first = np.where(ends[:, 0] < 0, 0, 2 * rank[ends[:, 0]] + 1 + ((open_ & OPEN_BELOW) != 0))
        last = np.where(
            ends[:, 1] < 0, 2 * len(order), 2 * rank[ends[:, 1]] + 1 - ((open_ & OPEN_ABOVE) != 0)
        )
        some = first <= last
        return self._tree(order, first[some], last[some], alternatives[some])

    def _text(self, number: int) -> bytes:
        return self.draft.text[self.draft.text_at[number] : self.draft.text_at[number + 1]].tobytes()

    def _tree(self, cuts: Numbers, first: Numbers, last: Numbers, alternatives: Numbers) -> int:
        if len(alternatives) == 0:
            return -1
        leaves = 2 * len(cuts) + 1
        nodes, owner = filed(first, last, leaves)
        used, place = np.unique(nodes, return_inverse=True)
        base = self.lists.reserve(len(used))
        self.lists.file(base + place, alternatives[owner])
        nearest = nearest_above(used, base, leaves)
        self.cuts.append(cuts)
        self.leaf_lists.append(nearest[leaves:])
        self.lists_above.append(nearest[used >> 1])
        return len(self.cuts) - 1
