"""From a draft to the tables: every alternative filed under one check, every constant in one hash table."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from headrace.filters.backends.cel import write_cel
from headrace.matching.checks import (
    BETWEEN,
    CONTAINS,
    ENDS,
    EQUAL,
    HAS,
    INCLUDES,
    INCLUDES_NOT,
    NONE_OF,
    ONE_OF,
    OPEN_ABOVE,
    OPEN_BELOW,
    PATTERN,
    STARTS,
    STRING_KEY,
    UNEQUAL,
    WITHIN,
)
from headrace.matching.index.access import choose
from headrace.matching.index.bloom import bits_per_key, blocks_for, empty_blocks
from headrace.matching.index.draft import HIGH, HIGH_DOUBLE, LOW, LOW_DOUBLE
from headrace.matching.index.grams import GRAM_TAG, grams_of
from headrace.matching.index.hashing import hash_of
from headrace.matching.index.keys import INLINE, fill
from headrace.matching.index.questions import questions_of
from headrace.matching.index.ragged import ends_of, picked, places
from headrace.matching.index.tables import (
    ELEMENT_SPACE,
    END_SPACE,
    EQUAL_SPACE,
    GRAM_SPACE,
    SPACES,
    START_SPACE,
    Tables,
    addresses,
)
from headrace.matching.index.trees import filed

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy.typing as npt

    from headrace.filters.ir.operands import Operand
    from headrace.matching.index.draft import Draft
    from headrace.matching.index.grams import Grams
    from headrace.matching.index.questions import Questions
    from headrace.matching.scope import Channel
    from headrace.matching.settings import BloomSettings

    Numbers = npt.NDArray[Any]

_LOWER = 0xFFFFFFFF
_SEEDS = 4096
_SPACE_OF = {EQUAL: EQUAL_SPACE, STARTS: START_SPACE, ENDS: END_SPACE, INCLUDES: ELEMENT_SPACE}


@dataclass(slots=True)
class _Lists:
    """Hands out the numbers of lists, and collects which alternatives stand in them."""

    count: int
    numbers: list[Numbers] = field(default_factory=list)
    alternatives: list[Numbers] = field(default_factory=list)

    def reserve(self, count: int) -> int:
        first = self.count
        self.count += count
        return first

    def file(self, lists: Numbers, alternatives: Numbers) -> None:
        self.numbers.append(lists)
        self.alternatives.append(alternatives)


def build(
    draft: Draft,
    channels: list[Channel | None],
    operands: list[Operand],
    seed: int,
    bloom: BloomSettings,
) -> tuple[Tables, Questions, Numbers]:
    """Build the tables of a draft. Returns with them the slots' questions and the lists of patterns."""
    questions = questions_of(draft)
    access = choose(questions)
    chosen = picked(questions.pair_question, access.pair, -1)
    by_check = np.where(access.by_presence, -1, chosen)
    codes = picked(questions.code.astype(np.int64), by_check, -1)
    key_count = int(questions.key.max(initial=-1)) + 1
    contained = _asked(by_check, codes, CONTAINS)
    grams = grams_of(draft, questions, contained)
    lists = _Lists(key_count + len(grams.first))

    for code in (EQUAL, STARTS, ENDS, INCLUDES):
        lists.file(questions.key[by_check[codes == code]], np.flatnonzero(codes == code))
    _file_sets(lists, questions, by_check, codes)
    contained_list = lists.reserve(len(contained))
    of_contained = np.flatnonzero(codes == CONTAINS)
    lists.file(contained_list + np.searchsorted(contained, by_check[of_contained]), of_contained)
    patterns = _asked(by_check, codes, PATTERN)
    pattern_list = lists.reserve(len(patterns))
    of_patterns = np.flatnonzero(codes == PATTERN)
    lists.file(pattern_list + np.searchsorted(patterns, by_check[of_patterns]), of_patterns)
    slot_list = _file_presence(lists, questions, access.by_presence, chosen, codes)
    group_list = lists.reserve(len(questions.groups))
    always = np.flatnonzero(chosen < 0)
    lists.file(group_list + questions.alternative_group[always], always)
    trees = _Trees(draft, questions, lists)
    slot_tree = trees.build(by_check, codes)

    slot_seed = _slot_seeds(questions, channels, operands, seed)
    keys = np.concatenate((_keys(draft, questions), _gram_keys(grams)))
    keys_of_group = np.bincount(
        questions.slot_group[(keys[:, 0] & _LOWER) // SPACES], minlength=len(questions.groups)
    )
    bloom_at = np.concatenate(([0], np.cumsum(blocks_for(keys_of_group, bloom)))).astype(np.int64)
    words = empty_blocks(int(bloom_at[-1]))
    cells = np.full(1 << max(3, (2 * len(keys)).bit_length()), -1, np.int64)
    bits = np.array([bits_per_key(bloom)], np.int32)
    posts = _posts(draft, questions, access.pair, access.by_presence, lists, _marks(draft, codes))
    keys[:, 1] = posts["list_at"][: len(keys)] | posts["list_at"][1 : len(keys) + 1] << 32
    start_at, start_length = _lengths(questions, STARTS)
    end_at, end_length = _lengths(questions, ENDS)
    group_at = np.searchsorted(questions.slot_group, np.arange(len(questions.groups) + 1)).astype(np.int32)
    has_keys = np.zeros(questions.slots, np.uint8)
    has_keys[questions.slot[(questions.code == EQUAL) & (questions.key >= 0)]] = 1
    elements = np.zeros(questions.slots, np.uint8)
    elements[questions.slot[questions.code == INCLUDES]] = 1
    slot_grams = np.zeros(questions.slots, np.uint8)
    np.bitwise_or.at(slot_grams, grams.slot, (1 << grams.length).astype(np.uint8))
    tables = Tables(
        text=draft.text,
        text_at=draft.text_at,
        cells=cells,
        keys=keys,
        bloom=words,
        bloom_at=bloom_at,
        bloom_bits=bits,
        group_at=group_at,
        group_list=(group_list + np.arange(len(questions.groups))).astype(np.int32),
        slot_seed=slot_seed,
        slot_has_keys=has_keys,
        slot_list=slot_list.astype(np.int32),
        slot_elements=elements,
        slot_grams=slot_grams,
        slot_start_at=start_at,
        start_length=start_length,
        slot_end_at=end_at,
        end_length=end_length,
        slot_tree=slot_tree,
        gram_at=grams.at.astype(np.int32),
        gram_text=grams.text.astype(np.int32),
        gram_offset=grams.offset.astype(np.int32),
        gram_list=(contained_list + grams.contained).astype(np.int32),
        gram_mark=grams.contained.astype(np.int32),
        gram_first=np.array([key_count], np.int32),
        tree_at=np.concatenate(([0], np.cumsum([len(each) for each in trees.cuts]))).astype(np.int64),
        tree_list=np.array(trees.firsts, np.int32),
        cuts=np.concatenate([*trees.cuts, np.empty(0, np.int64)]).astype(np.int64),
        **posts,
        form_at=ends_of(np.sort(draft.member_form), len(draft.form_channel)),
        form_member=draft.members[np.argsort(draft.member_form, kind="stable")].astype(np.int32),
    )
    slot_group = questions.slot_group.astype(np.int32)
    t, groups = addresses(tables), addresses([slot_group])
    fill(t.ctypes.data, len(keys), len(cells) - 1, groups.ctypes.data)
    for array in tables:
        array.flags.writeable = False
    pattern_lists = np.stack(
        (
            questions.slot[patterns],
            draft.values[questions.check[patterns], LOW],
            pattern_list + np.arange(len(patterns)),
        ),
        axis=1,
    )
    return tables, questions, pattern_lists


def _asked(by_check: Numbers, codes: Numbers, code: int) -> Numbers:
    return np.unique(by_check[codes == code])


def _file_sets(lists: _Lists, questions: Questions, by_check: Numbers, codes: Numbers) -> None:
    alternatives = np.flatnonzero(codes == ONE_OF)
    if len(alternatives) == 0:
        return
    sets = by_check[alternatives]
    starts, ends = questions.set_at[sets], questions.set_at[sets + 1]
    keys = questions.key[questions.set_element[places(starts, ends)]]
    rows = np.repeat(alternatives, ends - starts)
    lists.file(keys[keys >= 0], rows[keys >= 0])


def _file_presence(
    lists: _Lists, questions: Questions, by_presence: Numbers, chosen: Numbers, codes: Numbers
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
class _Trees:
    draft: Draft
    questions: Questions
    lists: _Lists
    cuts: list[Numbers] = field(default_factory=list)
    firsts: list[int] = field(default_factory=list)

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
        base = self.lists.reserve(2 * leaves)
        nodes, owner = filed(first, last, leaves)
        self.lists.file(base + nodes, alternatives[owner])
        self.cuts.append(cuts)
        self.firsts.append(base)
        return len(self.firsts) - 1


def _slot_seeds(
    questions: Questions, channels: list[Channel | None], operands: list[Operand], seed: int
) -> npt.NDArray[np.uint64]:
    slots = zip(questions.slot_group.tolist(), questions.slot_operand.tolist(), strict=True)
    groups = questions.groups.tolist()
    return np.array(
        [slot_seed(channels[groups[g]], operands[operand], seed) for g, operand in slots], np.uint64
    )


@lru_cache(_SEEDS)
def slot_seed(channel: Channel | None, operand: Operand, seed: int) -> int:
    """Return what the hashes of a slot's keys start from."""
    return hash_of(slot_name(channel, operand), seed)


def slot_name(channel: Channel | None, operand: Operand) -> bytes:
    """Name a field of a channel, for hashing."""
    return f"{'/'.join(channel or ())}\0{write_cel(operand)}".encode(errors="surrogatepass")


def _keys(draft: Draft, questions: Questions) -> Numbers:
    """Lay out the keys as the hash table has them, still without their lists."""
    keyed = np.flatnonzero(questions.key >= 0)
    values = draft.values[questions.check[keyed]]
    code = questions.code[keyed]
    of_ends = (code == STARTS) | (code == ENDS)
    of_text = of_ends | (values[:, LOW] == STRING_KEY)
    texts = np.where(of_ends, values[:, LOW], values[:, HIGH])
    space = np.zeros(len(keyed), np.int64)
    for each, number in _SPACE_OF.items():
        space[code == each] = number
    start = picked(draft.text_at, np.where(of_text, texts, -1), 0)
    length = picked(draft.text_at[1:], np.where(of_text, texts, -1), 0) - start
    keys = np.zeros((len(keyed), 4), np.int64)
    keys[:, 0] = questions.slot[keyed] * SPACES + space | np.where(of_text, length, values[:, LOW]) << 32
    keys[:, 2] = np.where(of_text, start, values[:, HIGH])
    short = np.flatnonzero(of_text & (length <= INLINE))
    long = np.flatnonzero(of_text & (length > INLINE))
    keys[long, 3] = _characters(draft)[texts[long]]
    keys[short, 2] = 0
    to = places(short * 32 + 16, short * 32 + 16 + length[short])
    keys.view(np.uint8).reshape(-1)[to] = draft.text[places(start[short], start[short] + length[short])]
    return keys


def _characters(draft: Draft) -> Numbers:
    """Return how many characters each text has."""
    starts = np.concatenate(([0], np.cumsum((draft.text & 0xC0) != 0x80)))
    return np.diff(starts[draft.text_at])


def _gram_keys(grams: Grams) -> Numbers:
    keys = np.zeros((len(grams.slot), 4), np.int64)
    keys[:, 0] = grams.slot * SPACES + GRAM_SPACE | -(GRAM_TAG + grams.length) << 32
    keys[:, 2] = grams.value
    return keys


def _lengths(questions: Questions, code: int) -> tuple[Numbers, Numbers]:
    """Return, slot by slot, which lengths of prefix or suffix are in use."""
    rows = (questions.code == code) & (questions.key >= 0)
    if not rows.any():
        return np.zeros(questions.slots + 1, np.int32), np.empty(0, np.int32)
    longest = int(questions.text_length[rows].max(initial=0)) + 1
    used = np.unique(questions.slot[rows] * longest + questions.text_length[rows])
    return ends_of(used // longest, questions.slots, np.int32), (used % longest).astype(np.int32)


def _marks(draft: Draft, codes: Numbers) -> Numbers:
    """Number the forms that one event may find twice: with several alternatives, or by elements of a list."""
    by_elements = np.zeros(len(draft.form_channel), np.bool_)
    by_elements[np.repeat(np.arange(len(draft.form_lengths)), draft.form_lengths)[codes == INCLUDES]] = True
    twice = (draft.form_lengths > 1) | by_elements
    return np.where(twice, np.cumsum(twice) - 1, -1).astype(np.int32)


def _posts(
    draft: Draft, questions: Questions, access: Numbers, by_presence: Numbers, lists: _Lists, marks: Numbers
) -> dict[str, Numbers]:
    """Lay out the lists, with the first equality of each alternative inlined, and the checks that remain."""
    count = questions.alternatives
    done = np.zeros(len(questions.pair_question), np.bool_)
    done[access[(access >= 0) & ~by_presence]] = True
    equal = ~done & (questions.code[questions.pair_question] == EQUAL)
    inline = np.full(count, -1, np.int64)
    pairs = np.flatnonzero(equal)[::-1]
    inline[questions.pair_alternative[pairs]] = pairs
    done[inline[inline >= 0]] = True
    first_slot = np.searchsorted(questions.slot_group, np.arange(len(questions.groups)))
    inlined = picked(questions.pair_question, inline, -1)
    slot = picked(questions.slot, inlined, -1)
    slot = np.where(slot >= 0, slot - first_slot[questions.alternative_group], -1)
    key = picked(questions.key, inlined, -1)
    key = np.where((inlined >= 0) & (key < 0), -2, key)  # equal to nothing: no key ever fits

    remaining = np.flatnonzero(~done)
    alternative_at = ends_of(questions.pair_alternative[remaining], count)

    form = np.repeat(np.arange(len(draft.form_lengths)), draft.form_lengths)
    members = np.bincount(draft.member_form, minlength=len(draft.form_channel))
    alone = (
        (draft.form_lengths[form] == 1)
        & (members[form] == 1)
        & (draft.alternative_rest < 0)
        & (np.diff(alternative_at) == 0)
        & ~_by_elements(questions, access)
    )
    the_member = np.zeros(len(draft.form_channel), np.int64)
    the_member[draft.member_form] = draft.members
    member = np.where(alone, the_member[form], -1)

    numbers = np.concatenate(lists.numbers)
    alternatives = np.concatenate(lists.alternatives)
    order = np.lexsort((key[alternatives], slot[alternatives], numbers))
    alternatives = alternatives[order]
    columns = slot[alternatives], key[alternatives], alternatives, member[alternatives]
    return {
        "list_at": ends_of(numbers, lists.count),
        "posts": np.stack([each.astype(np.int32) for each in columns], axis=1),
        "alternatives": _alternatives(draft, alternative_at, form, members, marks),
        **_check_columns(draft, questions, questions.pair_question[remaining], first_slot),
    }


def _alternatives(
    draft: Draft, check_at: Numbers, form: Numbers, members: Numbers, marks: Numbers
) -> Numbers:
    member_at = np.concatenate(([0], np.cumsum(members)))
    columns = (
        check_at[:-1],
        check_at[1:],
        draft.alternative_rest,
        marks[form],
        member_at[form],
        member_at[form + 1],
        form,
        np.zeros_like(form),
    )
    return np.stack([each.astype(np.int32) for each in columns], axis=1)


def _by_elements(questions: Questions, access: Numbers) -> Numbers:
    by_elements: Numbers = (
        picked(questions.code[questions.pair_question].astype(np.int64), access, -1) == INCLUDES
    )
    return by_elements


_NO_CHECKS: Mapping[str, Numbers] = {
    "checks": np.empty((0, 4), np.int32),
    "set_at": np.zeros(1, np.int64),
    "set_key": np.empty(0, np.int32),
    "interval": np.empty((0, 4), np.int64),
    "span": np.empty((0, 3), np.int64),
}


def _check_columns(
    draft: Draft, questions: Questions, asked: Numbers, first_slot: Numbers
) -> dict[str, Numbers]:
    if len(asked) == 0:
        return dict(_NO_CHECKS)
    code = questions.code[asked]
    check = questions.check[asked]
    value = draft.values[check, LOW]
    keyed = (code == EQUAL) | (code == INCLUDES)
    value = np.where(keyed, questions.key[asked], value)
    opposite = (code == UNEQUAL) | (code == INCLUDES_NOT)
    value = np.where(opposite, picked(questions.key, questions.opposite[asked], -1), value)
    sets = np.where(code == ONE_OF, asked, np.where(code == NONE_OF, questions.opposite[asked], -1))
    used_sets, set_number = np.unique(sets, return_inverse=True)
    value = np.where(sets >= 0, set_number - (1 if len(used_sets) and used_sets[0] < 0 else 0), value)
    used_sets = used_sets[used_sets >= 0]
    starts, ends = questions.set_at[used_sets], questions.set_at[used_sets + 1]
    set_key = questions.key[questions.set_element[places(starts, ends)]]
    set_owner = np.repeat(np.arange(len(used_sets)), ends - starts)
    order = np.lexsort((set_key, set_owner))
    intervals = np.flatnonzero(code == WITHIN)
    value[intervals] = np.arange(len(intervals))
    spans = np.flatnonzero(code == BETWEEN)
    value[spans] = np.arange(len(spans))
    of_text = questions.text_about[asked]
    length = np.where(of_text, questions.text_length[asked], 0)
    value = np.where(of_text, picked(draft.text_at, np.where(of_text, value, -1), 0), value)
    columns = code, questions.slot[asked] - first_slot[questions.group[asked]], value, length
    return {
        "checks": np.stack([each.astype(np.int32) for each in columns], axis=1),
        "set_at": ends_of(set_owner, len(used_sets)),
        "set_key": set_key[order].astype(np.int32),
        "interval": draft.values[check[intervals]],
        "span": np.ascontiguousarray(draft.values[check[spans]][:, [LOW, HIGH, LOW_DOUBLE]]),
    }
