"""Planned deliveries as bytes, a file or a stream of Arrow: each subscription id is in them once."""

from __future__ import annotations

import pyarrow as pa

ARROW_FILE = b"ARROW1"  # a stream never begins so
NO_PAIRS = pa.Table.from_batches([], pa.schema({"position": pa.int64(), "subscription": pa.string()}))


def encode_pairs(pairs: pa.Table, *, as_file: bool) -> memoryview:
    """Encode pairs, as a file or as a stream."""
    compact = pa.table(
        {"position": pairs["position"], "subscription": pairs["subscription"].dictionary_encode()}
    ).combine_chunks()
    sink = pa.BufferOutputStream()
    with (pa.ipc.new_file if as_file else pa.ipc.new_stream)(sink, compact.schema) as writer:
        writer.write_table(compact)
    return memoryview(sink.getvalue())


def decode_pairs(content: bytes | memoryview) -> pa.Table:
    """Read either of them; what Arrow can't read raises what Arrow raises."""
    is_file = bytes(content[: len(ARROW_FILE)]) == ARROW_FILE
    return (pa.ipc.open_file if is_file else pa.ipc.open_stream)(pa.py_buffer(content)).read_all()
