"""How kernels are told what to do and say what they did: places in the arrays whose addresses they take."""

from __future__ import annotations

# Places in the array of counts. `ASKED`: look-ups; `PASSED`: those that the Bloom filter let pass; `FOUND`: those that
# the table has a key for. `KEEPING`: where the posts that are visited are copied to, unless it is 0. The others from
# `MASK` on are told by the caller; `LENIENT`: whether a check is taken for true where the value is too long for it.
(
    MATCHES,
    CANDIDATES,
    VISITED,
    ASKED,
    PASSED,
    FOUND,
    NEXT_ROW,
    EPOCH,
    MASK,
    ROOM,
    CANDIDATE_ROOM,
    ROWS,
    WIDTH,
    LISTS_AT,
    LOOKUPS_AT,
    ROW_BYTES,
    KEEPING,
    LENIENT,
    COUNTS,
) = range(19)

# Places of the arrays among the addresses of cells, and of those of the room. `KEYS` are those of the row that is
# matched: the kernel itself puts the address there.
(
    KIND,
    NUMBER,
    START,
    LENGTH,
    ELEMENT_KIND,
    ELEMENT_NUMBER,
    ELEMENT_START,
    ELEMENT_LENGTH,
    TEXT,
    COLUMNS,
    PATTERN_AT,
    PATTERN_LIST,
) = range(12)
PAIRS, CANDIDATE_PAIRS, FORM_SEEN, GRAM_SEEN, MEMO, KEPT, UNDER_WAY, KEYS = range(8)

# A row that is under way has the number of its look-ups, keys by column, the lists of ranges by slot, and look-ups:
# hash, owner, tag, value, column, and at last the key. The key in the column `ALWAYS` is 0 in every row.
ROWS_UNDER_WAY = 5
ALWAYS = 0
COLUMN_OF_SLOTS = 1
KEYS_AT = 8
LOOKUP_WORDS = 6
LOOKUP_BYTES = 48
