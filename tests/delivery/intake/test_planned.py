import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from headrace.delivery.intake.planned import Planned, gathered
from headrace.events.positions import LogPosition

PAIRS = st.lists(st.tuples(st.integers(0, 9), st.sampled_from("abcde")), max_size=40).map(sorted)


def planned(pairs):
    return Planned(
        pa.table(
            {
                "position": pa.array([position for position, _ in pairs], pa.int64()),
                "subscription": pa.array([subscription for _, subscription in pairs], pa.string()),
            }
        )
    )


@given(PAIRS, st.sets(st.sampled_from("abcde")))
def test_each_pair_is_in_its_subscriptions_column_or_left(pairs, leaving):
    slice_ = planned(pairs)
    assert slice_.positions.tolist() == [position for position, _ in pairs]
    for number, name in enumerate(slice_.subscriptions):
        assert slice_.positions_of(number).tolist() == [position for position, each in pairs if each == name]
    numbers = {number for number, name in enumerate(slice_.subscriptions) if name in leaving}
    assert slice_.pairs(leaving=numbers) == [pair for pair in pairs if pair[1] not in leaving]


@given(PAIRS, st.sets(st.tuples(st.sampled_from("abcde"), st.integers(0, 9))))
def test_what_is_known_is_left_out(pairs, known):
    left = planned(pairs).without(known)
    assert left.pairs(leaving=()) == [
        (position, each) for position, each in pairs if (each, position) not in known
    ]


def test_a_part_of_a_table_that_lies_in_chunks():
    one = pa.table({"position": pa.array([1, 2], pa.int64()), "subscription": pa.array(["a", "b"])})
    slice_ = Planned(pa.concat_tables([one, one]).slice(1, 2))
    assert slice_.pairs(leaving=()) == [(2, "b"), (1, "a")]


@given(st.lists(st.integers(0, 5), max_size=60))
def test_parts_that_are_put_together_are_the_same_pairs_up_to_the_same_end(sizes):
    parts = [
        (LogPosition.at(number + 1), pa.table({"position": pa.array([number] * size, pa.int64())}))
        for number, size in enumerate(sizes)
    ]
    together = list(gathered(iter(parts), 10))
    assert [row for _, part in together for row in part["position"].to_pylist()] == [
        number for number, size in enumerate(sizes) for _ in range(size)
    ]
    assert [end for end, _ in together][-1:] == [end for end, _ in parts][-1:]
    for end, part in together:
        assert all(end.is_behind(position) for position in part["position"].to_pylist())
        assert part.num_rows < 15


def test_pairs_with_dictionaries_of_their_own():
    """As the outbox in Kafka has them: each part with other names, of which a slice needs only some."""
    parts = [
        pa.table(
            {"position": pa.array(positions, pa.int64()), "subscription": pa.array(names).dictionary_encode()}
        )
        for positions, names in (([1, 2, 3], ["x", "a", "b"]), ([4, 5, 6], ["b", "c", "y"]))
    ]
    [(_, together)] = gathered([(LogPosition.at(9), each) for each in parts], 100)
    slice_ = Planned(together.slice(1, 4))
    assert slice_.subscriptions == ["a", "b", "c"]
    assert slice_.positions_of(1).tolist() == [3, 4]
    assert slice_.pairs(leaving={1}) == [(2, "a"), (5, "c")]
