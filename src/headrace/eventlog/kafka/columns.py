"""Records of the log as Arrow columns, without an object for each event.

A producer's records look alike. What depends on header names is decided once per sequence of names, and what depends
on a value once per distinct value of a column. That is for valid events of version 1.0 in binary mode; every other
record goes to `read_record`, which defines what an event is. The law: a record is converted here only if `read_record`
gives the same row.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING

import msgspec
import numpy as np
import pyarrow as pa

from headrace.errors import InvalidEvent, UnsupportedFormat
from headrace.eventlog.damage import Damage
from headrace.eventlog.kafka.records import CHANNEL, DEFAULT, NAMESPACE, TRACEPARENT, TRACESTATE, read_record
from headrace.events.attributes import REQUIRED, problem_1_0
from headrace.events.batch import COLUMNS, SCHEMA, recorded_batch
from headrace.events.bindings.kafka import CONTENT_TYPE, FORM, PREFIX, is_plain, read_form
from headrace.events.canonical import canonical_string, type_name, typed
from headrace.events.positions import offset_of
from headrace.events.recorded import Recorded

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from headrace.eventlog.kafka.topics import Topic
    from headrace.events.bindings.kafka import Form

    Headers = Sequence[tuple[str, bytes | None]]
    Names = tuple[str, ...]
    Contents = tuple[bytes | None, ...]
    Row = tuple[int, int, bytes | None, Contents]
    Check = Callable[[bytes], bool]

_OWN = {NAMESPACE: "namespace", CHANNEL: "channel", TRACEPARENT: "traceparent", TRACESTATE: "tracestate"}
_FEWEST_ROWS = 8  # making columns has a fixed cost
_MOST_SHAPES = 1000  # producers choose the names


@dataclass(frozen=True, slots=True)
class _Shape:
    """The header index of each column in records with the same names, and the checks of their contents."""

    columns: dict[str, int]
    extensions: dict[str, int]
    types: dict[str, str]
    kind: int
    checks: tuple[tuple[int, Check], ...]


class RecordColumns:
    """Converts the records of one topic partition. It caches the shapes of records, so it is for one thread."""

    def __init__(self, topic: Topic, kafka_partition: int, fewest_rows: int = _FEWEST_ROWS) -> None:
        self._topic = topic
        self._where = f"partition {kafka_partition} of topic {topic.name!r}"
        self._fewest_rows = fewest_rows
        self._forms: dict[Names, int | None] = {}
        self._shapes: dict[tuple[Names, bytes | None], _Shape | None] = {}

    def batch(
        self,
        records: Iterable[tuple[int, int, Headers | None, bytes | None]],
        on_damage: Callable[[Damage], None],
    ) -> pa.RecordBatch:
        """Convert (position, milliseconds since the epoch, headers, value); report records that are no events."""
        groups: dict[tuple[Names, bytes | None], list[Row]] = {}
        for position, milliseconds, headers, value in records:
            names, contents = zip(*headers, strict=True) if headers else ((), ())
            at = self._forms[names] if names in self._forms else self._find_form(names)
            key = (names, None if at is None else contents[at])
            row = (position, milliseconds, value, contents)
            if key in groups:
                groups[key].append(row)
            else:
                groups[key] = [row]
        pieces: list[pa.RecordBatch] = []
        odd: list[tuple[Names, Row]] = []
        for key, rows in groups.items():
            shape = self._shape(key) if len(rows) >= self._fewest_rows else None
            plain, others = ([], rows) if shape is None else _separate(shape, rows)
            odd += [(key[0], row) for row in others]
            if shape is not None and plain:
                pieces.append(self._convert(shape, plain))
        if odd or not pieces:
            pieces.append(self._one_by_one(sorted(odd, key=_position), on_damage))
        return _in_order(pieces)

    def _find_form(self, names: Names) -> int | None:
        if len(self._forms) == _MOST_SHAPES:
            self._forms.clear()
        found = [number for number, name in enumerate(names) if name.lower() == FORM]
        self._forms[names] = found[0] if found else None
        return self._forms[names]

    def _shape(self, key: tuple[Names, bytes | None]) -> _Shape | None:
        if key not in self._shapes:
            if len(self._shapes) == _MOST_SHAPES:
                self._shapes.clear()
            self._shapes[key] = _shape_of(*key)
        return self._shapes[key]

    def _convert(self, shape: _Shape, rows: list[Row]) -> pa.RecordBatch:
        positions, milliseconds, values, contents = zip(*rows, strict=True)
        columns, count = list(zip(*contents, strict=True)), len(rows)
        times = pa.array(milliseconds, pa.int64()).cast(pa.timestamp("ms", "UTC"))
        arrays = {name: pa.array(columns[at], pa.string()) for name, at in shape.columns.items()}
        fixed = {"namespace": self._topic.namespace} if self._topic.namespace else {}
        for name in ("namespace", "channel"):
            if name in fixed or name not in arrays:
                arrays[name] = pa.repeat(fixed.get(name, DEFAULT), count)
        arrays |= {
            "position": pa.array(positions, pa.int64()),
            "publish_time": times.cast(SCHEMA.field("publish_time").type),
            "extensions": _maps(shape.extensions, [columns[at] for at in shape.extensions.values()], count),
            "extension_types": _maps(shape.types, [[each] * count for each in shape.types.values()], count),
            "data": pa.array(values, pa.binary()),
            "data_kind": pa.repeat(pa.scalar(shape.kind, pa.int8()), count),
        }
        return pa.RecordBatch.from_arrays(
            [arrays[field.name] if field.name in arrays else pa.nulls(count, field.type) for field in SCHEMA],
            schema=SCHEMA,
        )

    def _one_by_one(
        self, rows: list[tuple[Names, Row]], on_damage: Callable[[Damage], None]
    ) -> pa.RecordBatch:
        recorded: list[Recorded] = []
        for names, (position, milliseconds, value, contents) in rows:
            try:
                arrival = read_record(self._topic, list(zip(names, contents, strict=True)), value)
            except (InvalidEvent, UnsupportedFormat) as error:
                offset = offset_of(position)
                problem = f"record {offset} of {self._where} is no event: {error}"
                on_damage(Damage(position, position + 1, None, offset, problem))
            else:
                recorded.append(Recorded(position, milliseconds * 1000, arrival))
        return recorded_batch(recorded)


def _position(named: tuple[Names, Row]) -> int:
    return named[1][0]


def _separate(shape: _Shape, rows: list[Row]) -> tuple[list[Row], list[Row]]:
    """Separate the rows of which every value passes its check from the others."""
    columns = list(zip(*(row[3] for row in rows), strict=True))
    odd: set[int] = set()
    for at, check in shape.checks:
        wrong = {each for each in set(columns[at]) if each is None or not check(each)}
        if wrong:
            odd.update(number for number, each in enumerate(columns[at]) if each in wrong)
    if not odd:
        return rows, []
    plain = [row for number, row in enumerate(rows) if number not in odd]
    return plain, [rows[number] for number in odd]


def _in_order(pieces: list[pa.RecordBatch]) -> pa.RecordBatch:
    if len(pieces) == 1:
        return pieces[0]
    joined = pa.concat_batches(pieces)
    return joined.take(pa.array(np.argsort(joined["position"].to_numpy(), kind="stable")))


def _maps(names: Iterable[str], columns: list[Sequence[bytes | str]], count: int) -> pa.MapArray:
    """Return an array of maps that all have these names."""
    keys = [*names] * count
    offsets = np.arange(count + 1, dtype=np.int32) * len(columns)
    items = list(chain.from_iterable(zip(*columns, strict=True)))
    return pa.MapArray.from_arrays(
        pa.array(offsets), pa.array(keys, pa.string()), pa.array(items, pa.string())
    )


def _shape_of(names: Names, form_content: bytes | None) -> _Shape | None:
    """Return the shape, or None where the names alone show that `read_record` is needed."""
    lowered = [name.lower() for name in names]
    listed = [(name.removeprefix(PREFIX), at) for at, name in enumerate(lowered) if name.startswith(PREFIX)]
    attributes = dict(listed)
    is_ambiguous = len(attributes) < len(listed) or lowered.count(CONTENT_TYPE) > 1 or lowered.count(FORM) > 1
    if is_ambiguous or "datacontenttype" in attributes or not attributes.keys() >= set(REQUIRED):
        return None
    try:
        form = read_form(form_content or b"") if FORM in lowered else None
    except InvalidEvent:
        return None
    own = {_OWN[name]: at for at, name in enumerate(lowered) if name in _OWN}  # the last one counts
    if CONTENT_TYPE in lowered:
        attributes["datacontenttype"] = lowered.index(CONTENT_TYPE)
    types = form.types if form else {}
    columns = own | {name: at for name, at in attributes.items() if name in COLUMNS}
    extensions = {name: at for name, at in attributes.items() if name not in COLUMNS}
    return _Shape(
        columns,
        extensions,
        {name: types[name] for name in extensions if name in types},
        form.kind if form else 0,
        (
            *((at, _is_text) for at in own.values()),
            *((at, _check(name, form)) for name, at in attributes.items()),
        ),
    )


def _check(name: str, form: Form | None) -> Check:
    if name == "specversion":
        return b"1.0".__eq__
    if name == "datacontenttype" and form is None:
        return _is_binary_mode
    type_ = form.types.get(name) if form else None
    return partial(_is_valid, name) if type_ is None else partial(_is_valid_as, name, type_)


def _is_text(content: bytes) -> bool:
    try:
        content.decode()
    except UnicodeDecodeError:
        return False
    return True


def _is_valid(name: str, content: bytes) -> bool:
    try:
        return problem_1_0(name, content.decode()) is None
    except UnicodeDecodeError:
        return False


def _is_valid_as(name: str, type_: str, content: bytes) -> bool:
    """Tell whether a content is valid, and the canonical string of a value of this type."""
    try:
        text = content.decode()
        value = typed(text, type_)
    except (UnicodeDecodeError, msgspec.DecodeError):
        return False
    is_same = not isinstance(value, str) and type_name(value) == type_ and canonical_string(value) == text
    return is_same and problem_1_0(name, value) is None


def _is_binary_mode(content: bytes) -> bool:
    return _is_valid("datacontenttype", content) and is_plain(content.decode())
