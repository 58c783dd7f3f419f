"""What lies in memory where kernels look, by name. `docs/matching-memory.md` draws it.

All kernels take the same four: `t` the tables, `c` the cells, `o` the room for what is found, `n` the counts.
"""

from __future__ import annotations

from headrace.matching.machine import Address, Byte, Long, Many, Record, Short

ROWS_UNDER_WAY = 5
ALWAYS = 0
"""The column whose key is 0 in every row."""

COLUMN_OF_SLOTS = 1
"""The column of a group's first slot."""


class Key(Record):
    """A constant. The tag of a text is its length, others are negative; `first` and `last` are posts of its list.

    A text of up to 16 bytes stands in the last two fields; otherwise they are its place among the texts and how many
    characters it has, or a number.
    """

    owner: Short
    tag: Short
    first: Short
    last: Short
    value: Long
    characters: Long


class Post(Record):
    """Who has to be looked at: a member, or ~alternative; if the key in a column of the row is this one."""

    column: Short
    key: Short
    who: Short


class Alternative(Record, size=32):
    """Checks that remain, the rest that no index decides (-1: none), the mark (-1: none) and members of its form."""

    first_check: Short
    last_check: Short
    rest: Short
    mark: Short
    first_member: Short
    last_member: Short
    form: Short


class Check(Record):
    """What is asked of a slot of the group; the value is a key, set, interval, span, or a text's place and size."""

    code: Short
    slot: Short
    value: Short
    size: Short


class Interval(Record):
    """What integers, and what doubles as ordered integers, lie in it; both ends are within."""

    low: Long
    high: Long
    low_double: Long
    high_double: Long


class Span(Record):
    """Texts between two, of which -1 is none; `open` has bits for the ends that aren't within."""

    low: Long
    high: Long
    open: Long


class SlotTrees(Record):
    """The trees of a slot's ranges; -1: none."""

    integers: Short
    doubles: Short
    texts: Short


class TablePointers(Record):
    """The arrays of `Tables`, in its order."""

    text: Address
    text_at: Many[Long]
    cells: Many[Long]
    keys: Many[Key]
    bloom: Many[Long]
    bloom_at: Many[Long]
    bloom_bits: Many[Short]
    group_at: Many[Short]
    group_list: Many[Short]
    seed: Many[Long]
    slot_has_keys: Many[Byte]
    slot_list: Many[Short]
    slot_elements: Many[Byte]
    slot_visited: Many[Byte]
    slot_grams: Many[Byte]
    slot_start_at: Many[Short]
    start_length: Many[Short]
    slot_end_at: Many[Short]
    end_length: Many[Short]
    slot_tree: Many[SlotTrees]
    gram_at: Many[Short]
    gram_text: Many[Short]
    gram_offset: Many[Short]
    gram_list: Many[Short]
    gram_mark: Many[Short]
    gram_first: Many[Short]
    tree_at: Many[Long]
    cuts: Many[Long]
    leaf_list: Many[Short]
    tree_list: Many[Short]
    list_above: Many[Short]
    list_at: Many[Long]
    posts: Many[Post]
    alternatives: Many[Alternative]
    checks: Many[Check]
    set_at: Many[Long]
    set_key: Many[Short]
    interval: Many[Interval]
    span: Many[Span]
    form_at: Many[Long]
    form_member: Many[Short]


class CellPointers(Record):
    """The arrays of `Cells` and `Elements`, the text, the columns of the group's slots, lists that patterns lead to."""

    kind: Many[Byte]
    number: Many[Long]
    start: Many[Long]
    length: Many[Short]
    element_kind: Many[Byte]
    element_number: Many[Long]
    element_start: Many[Long]
    element_length: Many[Short]
    text: Address
    columns: Many[Long]
    pattern_at: Many[Long]
    pattern_list: Many[Short]


class Lookup(Record):
    """A value that is looked up, the column where its key belongs, and at last the key."""

    hash: Long
    owner: Long
    tag: Long
    value: Long
    column: Long
    key: Long


class Row(Record):
    """A row under way: keys by column, the lists of ranges by slot, and so many look-ups."""

    keys: Many[Long]
    lists: Many[Long]
    lookups: Many[Lookup]
    count: Long


class Kept(Record):
    """What precedes what is kept of texts: the bytes in use, and how many there are."""

    used: Long
    size: Long


class Entry(Record):
    """A text that was met: where it is kept, or how often it was met; its length, and the posts behind it there."""

    hash: Long
    slot: Long
    place: Long
    length: Long
    posts: Long


class RoomPointers(Record):
    """Pairs that are found, marks that were met, the memo, and rows under way; `keys` are those of the row matched."""

    pairs: Many[Long]
    candidate_pairs: Many[Long]
    form_seen: Many[Long]
    gram_seen: Many[Long]
    memo: Many[Entry]
    kept: Address
    rows: Many[Row]
    keys: Many[Long]


class Counts(Record):
    """What a walk counts, and from `mask` on what it is told.

    `asked`: look-ups; `passed`: those that the Bloom filter let pass; `found`: those that the table has a key for.
    `keeping`: where the posts that are visited are copied to, unless it is 0. `lenient`: whether a check is taken for
    true where the value is too long for it.
    """

    matches: Long
    candidates: Long
    visited: Long
    asked: Long
    passed: Long
    found: Long
    next_row: Long
    epoch: Long
    keeping: Long
    mask: Long
    room: Long
    candidate_room: Long
    rows: Long
    width: Long
    lenient: Long
