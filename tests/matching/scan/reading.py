"""Cells turned back into values, and what the reference says they should be."""

import struct

import numpy as np

from headrace.events.event import Event
from headrace.filters.values.faults import Fault
from headrace.filters.values.paths import follow, is_present
from headrace.filters.variables import variables_of
from headrace.matching.extraction.cells import (
    ABSENT,
    DOUBLE,
    FALSE,
    INT,
    LIST,
    MAP,
    NOWHERE,
    NULL,
    STRING,
    TRUE,
    Cells,
)
from headrace.matching.scan import PathTrie, scan

ATTRIBUTES = {"specversion": "1.0", "id": "1", "source": "/s", "type": "t"}
CONSTANTS = {None: NULL, False: FALSE, True: TRUE}


def laid_out(documents, before=b"", between=b"", after=b""):
    """Return one text of all documents, and where each starts and ends."""
    text, starts, ends = bytearray(before), [], []
    for number, document in enumerate(documents):
        text += between if number else b""
        starts.append(len(text))
        text += document
        ends.append(len(text))
    text += after
    return np.frombuffer(bytes(text), np.uint8), np.array(starts, np.int64), np.array(ends, np.int64)


def scanned(documents, wanted, **around):
    """Return, per document, None if it is odd, else what is in its cells by path."""
    text, starts, ends = laid_out(documents, **around)
    cells = Cells.empty(len(documents), 1 + max((field for field, _ in wanted.values()), default=0))
    odd, more = scan(text, starts, ends, np.arange(len(documents)), PathTrie.of(wanted), cells)
    assert (cells.kind[odd] == NOWHERE).all()
    raw = text.tobytes() + more.tobytes()
    return [
        None if odd[row] else {path: cell(cells, raw, row, *want) for path, want in wanted.items()}
        for row in range(len(documents))
    ]


def cell(cells, text, row, field, with_elements):
    kind = cells.kind[row, field]
    value = _value(cells, text, (row, field))
    if with_elements and kind in (LIST, MAP):
        first = cells.start[row, field]
        last = first + cells.length[row, field]
        assert last <= cells.elements.used
        found = [_value(cells.elements, text, place) for place in range(first, last)]
        return value, *(found if kind == LIST else sorted(set(found)))
    return value


def _value(columns, text, place):
    kind = columns.kind[place]
    start, length, number = (int(each[place]) for each in (columns.start, columns.length, columns.number))
    match kind:
        case _ if kind == STRING:
            return STRING, text[start : start + length].decode()
        case _ if kind in (INT, DOUBLE):
            return int(kind), number
        case _:
            return (int(kind),)


def reference(document, wanted):
    """Return what `scanned` should."""
    variables = variables_of(Event(ATTRIBUTES, document))
    return {
        path: _expected(("data", *path), variables, with_elements)
        for path, (_, with_elements) in wanted.items()
    }


def _expected(steps, variables, with_elements):
    try:
        value = follow(steps, variables)
    except Fault:
        return (_missing(steps, variables),)
    if with_elements and isinstance(value, list):
        return (LIST,), *map(_shown, value)
    if with_elements and isinstance(value, dict):
        return (MAP,), *sorted(map(_shown, value))
    return _shown(value)


def _missing(steps, variables):
    if steps == ("data",):
        return NOWHERE
    try:
        assert not is_present(steps, variables)
    except Fault:
        return NOWHERE
    return ABSENT


def _shown(value):
    match value:
        case None | bool():
            return (CONSTANTS[value],)
        case int():
            return INT, value
        case float():
            return DOUBLE, struct.unpack("<q", struct.pack("<d", value))[0]
        case str():
            return STRING, value
        case list():
            return (LIST,)
        case _:
            return (MAP,)
