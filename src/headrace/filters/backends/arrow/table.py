"""The event table as filters see it: the values at each path, for all rows, read once."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headrace.events.batch import SCHEMA, from_batch
from headrace.events.event import DataKind, Event
from headrace.events.media_types import is_json
from headrace.filters.backends.arrow.columns import ABSENT, NOWHERE, PathColumn, column_of, column_of_strings
from headrace.filters.backends.arrow.times import event_times
from headrace.filters.values.documents import read_json
from headrace.filters.variables import variables_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    import numpy.typing as npt

    from headrace.filters.backends.arrow.columns import Mask
    from headrace.filters.ir.operands import Path
    from headrace.filters.variables import Variables

    Rows: TypeAlias = npt.NDArray[np.int64]

ATTRIBUTE_COLUMNS = (
    "specversion",
    "id",
    "source",
    "type",
    "subject",
    "time",
    "datacontenttype",
    "dataschema",
)
"""The attributes with a column of their own."""

STRING_COLUMNS: Final[Mapping[tuple[str, ...], str]] = {
    **{("ce", name): name for name in ATTRIBUTE_COLUMNS},
    ("tenant",): "namespace",
    ("collection",): "channel",
}
"""The paths that are columns of strings, null where the path is absent."""

_DEEPEST = 100
_UNREAD = object()


class _BatchValues:
    """The values read from one batch. Belongs to one evaluation."""

    def __init__(self, batch: pa.RecordBatch, paths: frozenset[Path]) -> None:
        self.batch = batch
        self._data_paths = [path.steps[1:] for path in paths if path.steps[0] == "data"]
        self._values: dict[tuple[str, ...], list[Any]] = {
            steps: [_UNREAD] * batch.num_rows for steps in self._data_paths
        }
        self._variables: dict[int, Variables] = {}

    def data_at(self, steps: tuple[str, ...], rows: Rows) -> list[Any]:
        """Return the values at a path of the data. A row is parsed once for all paths, then discarded."""
        values = self._values[steps]
        wanted = rows.tolist()
        self._read([row for row in wanted if values[row] is _UNREAD])
        return [values[row] for row in wanted]

    def variables_at(self, rows: Rows) -> list[Variables]:
        """Return the variables of rows for the reference evaluator."""
        wanted = rows.tolist()
        new = [row for row in wanted if row not in self._variables]
        if new:
            taken = self.batch if len(new) == self.batch.num_rows else self.batch.take(pa.array(new))
            self._variables.update(zip(new, map(variables_of, from_batch(taken)), strict=True))
        return [self._variables[row] for row in wanted]

    def _read(self, rows: list[int]) -> None:
        if not rows:
            return
        taken = self.batch if len(rows) == self.batch.num_rows else self.batch.take(pa.array(rows))
        targets = list(self._values.items())
        for row, data, readable in zip(rows, taken["data"].to_pylist(), _is_readable(taken), strict=True):
            value = _parsed(data) if readable and data is not None else NOWHERE
            for steps, values in targets:
                values[row] = _at(steps, value)
        for index in np.flatnonzero(_may_be_base64(taken)).tolist():
            (variables,) = self.variables_at(np.array([rows[index]]))
            for steps, values in targets:
                values[rows[index]] = _at(steps, variables.get("data", NOWHERE))


@dataclass(frozen=True, slots=True)
class EventTable:
    """Some rows of a batch, with the columns read so far."""

    shared: _BatchValues
    rows: Rows
    _columns: dict[Path, PathColumn] = field(default_factory=dict)

    @classmethod
    def of(cls, batch: pa.RecordBatch, paths: frozenset[Path]) -> EventTable:
        """Return the table of a whole batch of which these paths will be read."""
        return cls(_BatchValues(batch, paths), np.arange(batch.num_rows))

    @property
    def num_rows(self) -> int:
        """The number of rows."""
        return len(self.rows)

    def where(self, mask: Mask) -> EventTable:
        """Return the rows in the mask, without a copy if it has all rows."""
        return self if mask.all() else EventTable(self.shared, self.rows[mask])

    def variables(self) -> Iterator[Variables]:
        """Return each row's variables."""
        return iter(self.shared.variables_at(self.rows))

    def column(self, path: Path) -> PathColumn:
        """Return the values at the path."""
        if path not in self._columns:
            self._columns[path] = self._column(path.steps)
        return self._columns[path]

    def _column(self, steps: tuple[str, ...]) -> PathColumn:
        variable, *keys = steps
        if variable == "data":
            return column_of(self.shared.data_at(tuple(keys), self.rows))
        if variable == "ce" and keys[0] not in ATTRIBUTE_COLUMNS:
            return self._extension(keys[0], tuple(keys[1:]))
        if variable == "ce":
            strings = column_of_strings(self._taken(keys[0]))
            return strings if len(keys) == 1 else PathColumn(self.num_rows)
        return PathColumn(self.num_rows) if keys else _READERS[variable](self)

    def _taken(self, name: str) -> pa.Array:
        array, wanted = self.shared.batch[name], SCHEMA.field(name).type
        if self.num_rows != len(array):
            array = array.take(pa.array(self.rows))
        return array if array.type.equals(wanted) else array.cast(wanted)

    def _extension(self, name: str, keys: tuple[str, ...]) -> PathColumn:
        texts = pc.map_lookup(self._taken("extensions"), pa.scalar(name), "first")
        types = pc.map_lookup(self._taken("extension_types"), pa.scalar(name), "first")
        if types.null_count == len(types):
            return PathColumn(self.num_rows) if keys else column_of_strings(texts)
        pairs = zip(texts.to_pylist(), types.to_pylist(), strict=True)
        return column_of([_at(keys, _extension_value(text, kind)) for text, kind in pairs])


def _extension_value(text: str | None, kind: str | None) -> Any:
    if text is None:
        return ABSENT
    return text if kind is None else read_json(text)


def _at(steps: tuple[str, ...], value: Any) -> Any:
    for step in steps:
        if type(value) is not dict:
            return NOWHERE
        value = value.get(step, ABSENT)
    return value


def _parsed(data: bytes) -> Any:
    try:
        if data.count(b"[") + data.count(b"{") <= _DEEPEST:
            return read_json(data)
    except (ValueError, RecursionError):
        pass
    # Unusual documents are read by the same rules as single events.
    return variables_of(Event({}, data)).get("data", NOWHERE)


def _is_readable(batch: pa.RecordBatch) -> list[bool]:
    encoded = batch["datacontenttype"].dictionary_encode()
    truths = pa.array([is_json(each) for each in encoded.dictionary.to_pylist()], pa.bool_())
    readable: list[bool] = pc.fill_null(truths.take(encoded.indices), True).to_pylist()
    return readable


def _may_be_base64(batch: pa.RecordBatch) -> Mask:
    text = pc.equal(batch["data_kind"], int(DataKind.TEXT))
    mask: Mask = pc.fill_null(text, False).to_numpy(zero_copy_only=False)
    return mask


def _event_time(table: EventTable) -> PathColumn:
    return PathColumn(table.num_rows, (event_times(table._taken("time")),))  # noqa: SLF001 -- of this module


def _publish_time(table: EventTable) -> PathColumn:
    micros = table._taken("publish_time").cast(pa.int64()).to_numpy()  # noqa: SLF001
    return PathColumn(table.num_rows, (pa.array(micros // 1000),))


def _context(column: str) -> Callable[[EventTable], PathColumn]:
    return lambda table: PathColumn(table.num_rows, (table._taken(column),))  # noqa: SLF001


_READERS: Mapping[str, Callable[[EventTable], PathColumn]] = {
    "eventTime": _event_time,
    "publishTime": _publish_time,
    **{path[0]: _context(column) for path, column in STRING_COLUMNS.items() if len(path) == 1},
}
