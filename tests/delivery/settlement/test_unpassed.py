from headrace.delivery.intake.progress import Reach
from headrace.delivery.settlement.unpassed import Unpassed
from headrace.events.positions import LogPosition, position_at
from headrace.ledger.ledger import Key
from headrace.ledger.settled import Settled


def settle(unpassed, *positions, subscription="a", replay=""):
    for position in positions:
        unpassed.settle(Key(subscription, position, replay))


def test_only_what_the_cursor_has_not_passed_is_told_of():
    unpassed = Unpassed([], 1)
    settle(unpassed, 3, 5, 7)
    settle(unpassed, 6, subscription="b")
    assert unpassed.count == 4
    rows, passed = unpassed.take(LogPosition.at(5), {})
    assert (rows, passed) == ([Settled(1, "", {"a": [5, 7], "b": [6]})], [])
    assert (unpassed.count, unpassed.take(LogPosition.at(5), {})) == (0, ([], []))


def test_nothing_is_told_where_the_cursor_has_passed_everything():
    unpassed = Unpassed([], 1)
    settle(unpassed, 3, 4)
    assert unpassed.take(LogPosition.at(5), {}) == ([], [])


def test_rows_that_the_cursor_has_passed_are_named_once():
    unpassed = Unpassed([Settled(7, "", {"a": [20]})], 8)
    settle(unpassed, 10)
    assert unpassed.take(LogPosition.at(5), {}) == ([Settled(8, "", {"a": [10]})], [])
    assert unpassed.take(LogPosition.at(10), {})[1] == []
    assert unpassed.take(LogPosition.at(11), {})[1] == [8]
    assert unpassed.take(LogPosition.at(21), {})[1] == [7]
    assert unpassed.take(LogPosition.at(30), {})[1] == []


def test_every_partition_has_to_be_passed():
    unpassed = Unpassed([], 1)
    settle(unpassed, position_at(0, 4), position_at(2, 9))
    unpassed.take(LogPosition(), {})
    assert unpassed.take(LogPosition.at(position_at(0, 50)), {})[1] == []
    assert unpassed.take(LogPosition.at(position_at(0, 50), position_at(2, 10)), {})[1] == [1]


def test_a_replay_has_rows_of_its_own_until_it_has_passed_them_or_is_over():
    unpassed = Unpassed([], 1)
    settle(unpassed, 40, 41, replay="one")
    settle(unpassed, 42, replay="two")
    settle(unpassed, 43, replay="over")
    reach = {"one": Reach(settled=3, begun=8), "two": Reach(settled=5, begun=5)}
    assert unpassed.take(LogPosition(), reach) == ([Settled(1, "one", {"a": [40, 41]})], [])
    assert unpassed.take(LogPosition(), {"one": Reach(7, 9)})[1] == []
    assert unpassed.take(LogPosition(), {"one": Reach(8, 9)})[1] == [1]
    settle(unpassed, 44, replay="one")
    assert unpassed.take(LogPosition(), {"one": Reach(8, 10)})[0]
    assert unpassed.take(LogPosition(), {})[1] == [2]
