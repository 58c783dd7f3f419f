"""The index as flat arrays: what kernels walk, and what a snapshot file holds, byte for byte.

| number | what it is |
|---|---|
| group | a channel, or everywhere |
| slot | a field that a group's checks ask about; a group's slots are consecutive |
| column | a look-up of a group's rows: always, a slot's equality, its first or last so many bytes |
| key | a constant of a slot, in the hash table: equality, prefix, suffix, element of a list, gram of a text |
| list | alternatives to look at when a key is found, a value lies in a range, ...; keys come first |
| alternative | checks and maybe a rest, of a form |
| form | a filter in a channel, with the members that have it |
| mark | a form, or a contained text, that one event may meet twice, for `once per event`; others have -1 |

What is read together lies together: a walk through 100,000 filters waits for memory, not for arithmetic.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Bytes = npt.NDArray[np.uint8]
    Words = npt.NDArray[np.uint64]
    Shorts = npt.NDArray[np.int32]
    Longs = npt.NDArray[np.int64]

EQUAL_SPACE, START_SPACE, END_SPACE, ELEMENT_SPACE, GRAM_SPACE = range(5)
SPACES = 8
"""A key's owner is `slot * SPACES + space`: equal texts of different owners are different keys."""


class Tables(NamedTuple):
    """All arrays are read-only."""

    text: Bytes  # every constant text, one after the other
    text_at: Longs  # texts + 1

    cells: Longs  # the hash table, open addressing: upper half of the hash and key; -1: empty; size a power of two
    keys: Longs  # keys x 4: owner and tag, first and last post of its list, and what it is: see `keys`
    bloom: Words  # per group, blocks of eight words
    bloom_at: Longs  # groups + 1, in blocks
    bloom_bits: Shorts  # one number: how many bits a key sets

    group_at: Shorts  # groups + 1, slots
    group_list: Shorts  # the list that every event visits

    seed: Words  # by owner: what the hashes of its keys start from
    slot_has_keys: Bytes
    slot_list: Shorts  # visited where the field is present; -1: none
    slot_elements: Bytes  # whether elements of lists are looked up
    slot_visited: (
        Bytes  # whether its value leads to lists by more than equality, its beginning, end, or as a number
    )
    slot_grams: Bytes  # bit n: there are grams of n bytes
    slot_start_at: Shorts  # slots + 1
    start_length: Shorts
    slot_end_at: Shorts
    end_length: Shorts
    slot_tree: Shorts  # slots x 3: trees of integers, doubles, texts; -1: none

    gram_at: Shorts  # by key, less the first gram key: entries of the gram
    gram_text: Shorts  # the whole text that is contained
    gram_offset: Shorts  # where in it the gram stands
    gram_list: Shorts
    gram_mark: Shorts  # number of the contained text, for `once per event`
    gram_first: Shorts  # one number: the first key that is a gram

    tree_at: Longs  # trees + 1, into cuts
    cuts: Longs  # sorted; numbers of texts in a tree of texts
    leaf_list: Shorts  # tree by tree, 2 cuts + 1 each: the first list at or above a leaf; -1: none
    tree_list: Shorts  # one number: the first list of a node
    list_above: Shorts  # by list, less the first one of a node: the next one above it; -1: none

    list_at: Longs  # lists + 1
    # posts x 3: a column of the group's look-ups whose key must be this key, and the member, or ~alternative if there
    # is more to check or to find
    posts: Shorts
    # alternatives x 8: first and last check, rest (-1: none), mark, first and last member, form
    alternatives: Shorts
    # checks x 4: code, slot within the group, and a key, set, interval, span, or a text's place and length
    checks: Shorts
    set_at: Longs
    set_key: Shorts  # sorted within a set
    interval: Longs  # intervals x 4
    span: Longs  # spans x 3: texts or -1, which ends are open

    form_at: Longs  # forms + 1, into members
    form_member: Shorts
