"""How kernels are told what to do and say what they did: places in the arrays whose addresses they take."""

from __future__ import annotations

# Places in the array of counts. `ASKED`: look-ups; `PASSED`: those that the Bloom filter let pass; `FOUND`: those that
# the table has a key for. `MASK`, `ROOM`, `CANDIDATE_ROOM`, `ROWS`, `WIDTH` and `LOOKUP_ROOM` are told by the caller.
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
    LOOKUP_ROOM,
    COUNTS,
) = range(15)

# Places of the arrays among the addresses of cells, and of those of the room.
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
PAIRS, CANDIDATE_PAIRS, FORM_SEEN, GRAM_SEEN, KEYS, LOOKUPS = range(6)
LOOKUP_WORDS = 6
LOOKUP_BYTES = 48
UNDER_WAY = 3
