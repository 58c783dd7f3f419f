"""What stands at the wanted fields of some events: cells for the index, whatever form the events have.

Columns of an Arrow batch are read as they lie. What the fast ways aren't certain about is read, event by event, as
the reference evaluator reads it.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headrace.events.batch import from_batch
from headrace.events.event import DataKind
from headrace.events.json_data import bytes_meant
from headrace.events.media_types import is_json
from headrace.events.recorded import Recorded
from headrace.filters.backends.arrow.times import event_times
from headrace.filters.values.conversions import to_string
from headrace.filters.values.faults import Fault
from headrace.filters.values.kinds import Kind, kind_of
from headrace.filters.values.maps import pairs_of
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
from headrace.matching.extraction.fields import CONTEXT
from headrace.matching.rules.intervals import double_bits
from headrace.matching.scan.extensions import Map, read_extensions
from headrace.matching.scan.scanner import scan

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from headrace.events.event import Event
    from headrace.filters.variables import Variables
    from headrace.matching.extraction.fields import Fields

    Numbers = npt.NDArray[Any]


@dataclass(slots=True)
class Extract:
    """The cells of some events and the bytes that they point into. Belongs to one thread."""

    fields: Fields
    cells: Cells
    chunks: list[npt.NDArray[np.uint8]] = field(default_factory=list)
    side: bytearray = field(default_factory=bytearray)
    size: int = 0

    @classmethod
    def of_batch(cls, batch: pa.RecordBatch, fields: Fields) -> Extract:
        """Read events that lie in columns."""
        extract = cls(fields, Cells.empty(batch.num_rows, fields.width))
        odd = extract._read_data(batch) if fields.trie is not None else np.empty(0, np.int64)
        for column, name in fields.strings:
            extract._read_strings(column, batch[name], ABSENT)
        for column, name in fields.others:
            extract._read_variable(column, name, batch)
        untold = (
            extract._read_extensions(batch) if fields.extensions or fields.below else np.empty(0, np.int64)
        )
        extract._read_slowly(batch, odd, untold)
        extract._write_texts()
        return extract

    @classmethod
    def of_events(cls, events: Sequence[Event | Recorded], fields: Fields) -> Extract:
        """Read events one by one."""
        extract = cls(fields, Cells.empty(len(events), fields.width))
        odd = extract._read_documents(events) if fields.trie is not None else frozenset()
        for row, event in enumerate(events):
            variables = variables_of(event)
            extract._put_attributes(row, event, variables)
            if row in odd:
                extract._put_data(row, variables)
        extract._write_texts()
        return extract

    @property
    def longest(self) -> int:
        """The length of the longest text, in bytes, or list."""
        return int(self.cells.length.max(initial=0))

    def only(self, rows: Numbers) -> Extract:
        """Return some of the rows."""
        cells = self.cells
        chosen = Cells(
            cells.kind[rows], cells.number[rows], cells.start[rows], cells.length[rows], cells.elements
        )
        return replace(self, cells=chosen)

    @property
    def text(self) -> npt.NDArray[np.uint8]:
        """All bytes, in one array."""
        side = np.frombuffer(bytes(self.side), np.uint8)
        chunks = [*self.chunks, side] if len(side) else self.chunks
        if len(chunks) == 1:
            return chunks[0]
        return np.concatenate(chunks) if chunks else np.empty(0, np.uint8)

    def _append(self, chunk: npt.NDArray[np.uint8]) -> int:
        start = self.size
        self.chunks.append(chunk)
        self.size += len(chunk)
        return start

    def _scan(
        self, text: npt.NDArray[np.uint8], starts: Numbers, ends: Numbers, rows: Numbers
    ) -> npt.NDArray[np.bool_]:
        """Scan documents in the text, which must be the first chunk and as yet the only one."""
        assert self.fields.trie is not None  # noqa: S101 -- asked for only then
        odd, more = scan(text, starts, ends, rows, self.fields.trie, self.cells)
        if len(more):
            self._append(more)
        return odd

    # Arrow columns

    def _read_data(self, batch: pa.RecordBatch) -> Numbers:
        """Scan the documents; return the rows that must be read otherwise."""
        offsets, values = _layout(batch["data"])
        start = self._append(values)
        readable = _is_readable(batch)
        texts = pc.fill_null(pc.equal(batch["data_kind"], int(DataKind.TEXT)), False).to_numpy(
            zero_copy_only=False
        )
        rows = np.flatnonzero(readable & ~texts)
        odd = self._scan(values, offsets[rows] + start, offsets[rows + 1] + start, rows)
        return np.union1d(rows[odd], np.flatnonzero(readable & texts))

    def _read_strings(self, column: int, array: pa.Array, missing: int) -> None:
        array = array.cast(pa.string()) if pa.types.is_dictionary(array.type) else array
        offsets, values = _layout(array)
        start = self._append(values)
        cells = self.cells
        cells.start[:, column] = offsets[:-1] + start
        cells.length[:, column] = np.diff(offsets)
        cells.kind[:, column] = STRING
        if array.null_count:
            cells.kind[array.is_null().to_numpy(zero_copy_only=False), column] = missing

    def _read_variable(self, column: int, name: str, batch: pa.RecordBatch) -> None:
        if name == "publishTime":
            self.cells.kind[:, column] = INT
            self.cells.number[:, column] = batch["publish_time"].cast(pa.int64()).to_numpy() // 1000
            return
        moments = event_times(batch["time"])
        self.cells.kind[:, column] = np.where(moments.is_valid().to_numpy(zero_copy_only=False), INT, NOWHERE)
        self.cells.number[:, column] = pc.fill_null(moments, 0).to_numpy(zero_copy_only=False)

    def _read_extensions(self, batch: pa.RecordBatch) -> Numbers:
        """Read extensions; return the rows that must be read otherwise."""
        extensions, types = (_map_of(batch[name]) for name in ("extensions", "extension_types"))
        start = self._append(extensions.texts)
        return read_extensions(extensions, types, self.fields.extensions, start, self.cells)

    def _read_slowly(self, batch: pa.RecordBatch, odd: Numbers, untold: Numbers) -> None:
        rows = np.union1d(odd, untold)
        if len(rows) == 0:
            return
        with_data, with_attributes = set(odd.tolist()), set(untold.tolist())
        for row, event in zip(rows.tolist(), from_batch(batch.take(pa.array(rows))), strict=True):
            variables = variables_of(event)
            if row in with_data:
                self._put_data(row, variables)
            if row in with_attributes:
                self._put_extensions(row, variables)

    # Events

    def _read_documents(self, events: Sequence[Event | Recorded]) -> frozenset[int]:
        documents = [_document(event) for event in events]
        rows = np.array([row for row, document in enumerate(documents) if document is not None], np.int64)
        known = [document for document in documents if document is not None]
        ends = np.cumsum([len(document) for document in known], dtype=np.int64)
        start = self._append(np.frombuffer(b"".join(known), np.uint8))
        starts = np.concatenate((np.zeros(1, np.int64), ends))[:-1] if known else ends
        odd = self._scan(self.chunks[-1], starts + start, ends + start, rows)
        return frozenset(rows[odd].tolist())

    def _put_attributes(self, row: int, event: Event | Recorded, variables: Variables) -> None:
        attributes = event.event.attributes if isinstance(event, Recorded) else event.attributes
        for column, name in self.fields.strings:
            if name in _CHANNEL:
                self._put_path(row, column, (_CHANNEL[name],), variables)
            else:
                self._put_attribute(row, column, name, attributes.get(name, _MISSING), variables)
        for column, name in self.fields.others:
            self._put_path(row, column, (name,), variables)
        self._put_extensions(row, variables)

    def _put_attribute(self, row: int, column: int, name: str, value: Any, variables: Variables) -> None:
        if value is _MISSING:
            self.cells.kind[row, column] = ABSENT
        elif type(value) is str:
            self._put(row, column, value)
        else:
            self._put_path(row, column, ("ce", name), variables)

    # One value

    def _put_extensions(self, row: int, variables: Variables) -> None:
        for column, name in self.fields.extensions:
            self._put_path(row, column, ("ce", name), variables)
        for column, path in self.fields.below:
            self._put_path(row, column, path.steps, variables)

    def _put_data(self, row: int, variables: Variables) -> None:
        for column, path in self.fields.data:
            self._put_path(row, column, path.steps, variables)

    def _put_path(self, row: int, column: int, steps: tuple[str, ...], variables: Variables) -> None:
        try:
            self._put(row, column, follow(steps, variables))
        except Fault:
            self.cells.kind[row, column] = ABSENT if _is_absent(steps, variables) else NOWHERE

    def _put(self, row: int, column: int, value: Any) -> None:
        cells = self.cells
        kind, number, start, length = self._cell(value)
        if kind in (LIST, MAP):
            start, length = self._put_elements(value, kind)
        cells.kind[row, column] = kind
        cells.number[row, column] = number
        cells.start[row, column] = start
        cells.length[row, column] = length

    def _put_elements(self, value: Any, kind: int) -> tuple[int, int]:
        elements = self.cells.elements
        inside = list(value) if kind == LIST else [key for key, _ in pairs_of(value)]
        first = elements.used
        while elements.capacity < first + len(inside):
            elements.grow()
        for place, each in enumerate(inside, first):
            elements.kind[place], elements.number[place], elements.start[place], elements.length[place] = (
                self._cell(each)
            )
        elements.used += len(inside)
        return first, len(inside)

    def _cell(self, value: Any) -> tuple[int, int, int, int]:  # noqa: PLR0911 -- one per kind
        """Return kind, number, start and length of a value; of lists and maps the kind alone."""
        match kind_of(value):
            case Kind.STRING:
                return STRING, 0, *self._put_text(value)
            case Kind.INT:
                return INT, value, 0, 0
            case Kind.DOUBLE:
                return DOUBLE, double_bits(value), 0, 0
            case Kind.BOOL:
                return TRUE if value else FALSE, 0, 0, 0
            case Kind.NULL:
                return NULL, 0, 0, 0
            case Kind.LIST:
                return LIST, 0, 0, 0
            case _:
                return MAP, 0, 0, 0

    def _put_text(self, text: str) -> tuple[int, int]:
        """Put a text aside. Its place counts from the end of the chunks, of which none may follow."""
        encoded = text.encode(errors="surrogatepass")
        start = self.size + len(self.side)
        self.side.extend(encoded)
        return start, len(encoded)

    # Canonical strings

    def _write_texts(self) -> None:
        cells = self.cells
        for source, target in self.fields.texts:
            kind = cells.kind[:, source]
            cells.kind[:, target] = np.where(kind == STRING, STRING, NOWHERE)
            cells.start[:, target] = cells.start[:, source]
            cells.length[:, target] = cells.length[:, source]
            for row in np.flatnonzero((kind >= FALSE) & (kind <= DOUBLE)).tolist():
                self._put(row, target, to_string(self._value(row, source)))

    def _value(self, row: int, column: int) -> Any:
        kind, number = self.cells.kind[row, column], self.cells.number[row, column]
        if kind == INT:
            return int(number)
        return float(np.int64(number).view(np.float64)) if kind == DOUBLE else bool(kind == TRUE)


_MISSING = object()
_CHANNEL = {column: variable for variable, column in CONTEXT.items()}


def _layout(array: pa.Array) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.uint8]]:
    """Return where the values of a binary or string array lie, from 0 on, and their bytes."""
    _, offsets, values = array.buffers()
    if offsets is None or len(array) == 0:
        return np.zeros(len(array) + 1, np.int64), np.empty(0, np.uint8)
    places = np.frombuffer(offsets, np.int32)[array.offset : array.offset + len(array) + 1].astype(np.int64)
    text = np.frombuffer(values, np.uint8) if values is not None else np.empty(0, np.uint8)
    return places - places[0], text[places[0] : places[-1]]


def _map_of(array: pa.MapArray) -> Map:
    ends = array.offsets.to_numpy().astype(np.int64)
    first, count = ends[0], ends[-1] - ends[0]
    names, texts = (_layout(each.slice(first, count)) for each in (array.keys, array.items))
    return Map(ends - first, *names, *texts)


def _is_readable(batch: pa.RecordBatch) -> npt.NDArray[np.bool_]:
    """Say which rows have data that the filters may read as JSON."""
    encoded = batch["datacontenttype"].dictionary_encode()
    truths = np.array([*map(is_json, encoded.dictionary.to_pylist()), True])
    indices = pc.fill_null(encoded.indices, len(truths) - 1).to_numpy(zero_copy_only=False)
    present: npt.NDArray[np.bool_] = batch["data"].is_valid().to_numpy(zero_copy_only=False)
    readable: npt.NDArray[np.bool_] = truths[indices] & present
    return readable


def _document(event: Event | Recorded) -> bytes | None:
    """Return the JSON text that the filters read, if there is one."""
    bare = event.event if isinstance(event, Recorded) else event
    media_type = bare.datacontenttype
    if bare.data is None or not (media_type is None or (isinstance(media_type, str) and is_json(media_type))):
        return None
    meant = bytes_meant(bare)
    return bare.data if meant is None else meant


def _is_absent(steps: tuple[str, ...], variables: Variables) -> bool:
    """Say whether the map is there and only its key is missing."""
    try:
        return len(steps) > 1 and not is_present(steps, variables)
    except Fault:
        return False
