import pyarrow as pa
import pytest

from headrace.eventlog.pairs import NO_PAIRS, decode_pairs, encode_pairs
from headrace.matching.matcher import PAIRS

POSITIONS, SUBSCRIPTIONS = [3, 3, 4], ["s-1", "s-2", "s-1"]
PLAIN = pa.table({"position": pa.array(POSITIONS, pa.int64()), "subscription": pa.array(SUBSCRIPTIONS)})


@pytest.mark.parametrize("as_file", [True, False], ids=["file", "stream"])
@pytest.mark.parametrize("pairs", [PLAIN, PLAIN.cast(PAIRS), NO_PAIRS], ids=["plain", "matched", "none"])
def test_pairs_come_back_as_they_were(pairs, as_file):
    decoded = decode_pairs(encode_pairs(pairs, as_file=as_file))
    assert decoded.to_pylist() == pairs.to_pylist()


@pytest.mark.parametrize("as_file", [True, False], ids=["file", "stream"])
def test_each_id_is_encoded_once(as_file):
    many = pa.concat_tables([PLAIN] * 1000)
    assert bytes(encode_pairs(many, as_file=as_file)).count(b"s-2") == 1


@pytest.mark.parametrize("begin", [pa.ipc.new_file, pa.ipc.new_stream], ids=["file", "stream"])
def test_ids_that_were_written_one_by_one_are_read_too(begin):
    sink = pa.BufferOutputStream()
    with begin(sink, PLAIN.schema) as writer:
        writer.write_table(PLAIN)
    assert decode_pairs(sink.getvalue().to_pybytes()).to_pylist() == PLAIN.to_pylist()


def test_what_is_neither_raises():
    with pytest.raises(pa.ArrowInvalid):
        decode_pairs(b"neither a file nor a stream")
