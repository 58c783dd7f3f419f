import asyncio
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.group_commit import GroupCommit, Room

HUGE = 1 << 30


class Full(Exception):
    pass


class Refused(Exception):
    pass


class Ledger:
    """Commits numbers when the test lets it, and refuses groups that hold a number it was told to refuse."""

    def __init__(self):
        self.groups = []
        self.refused = set()
        self.gate = asyncio.Semaphore(0)
        self.entered = asyncio.Semaphore(0)

    async def commit(self, group):
        self.entered.release()
        await self.gate.acquire()
        if self.refused & set(group):
            raise Refused(group)
        self.groups.append(list(group))
        return [number * 10 for number in group]

    def let(self, commits=1):
        for _ in range(commits):
            self.gate.release()


@pytest.fixture
def ledger():
    return Ledger()


def grouped(ledger, most=HUGE, at_once=HUGE, **options):
    return GroupCommit(ledger.commit, Room(most, Full), at_once, **options)


async def test_what_comes_during_a_commit_shares_the_next_and_each_gets_its_own_result(ledger):
    group = grouped(ledger)
    first = group.submit(1, 1)
    await ledger.entered.acquire()
    others = [group.submit(number, 1) for number in (2, 3, 4)]
    ledger.let(2)
    assert await asyncio.gather(first, *others) == [10, 20, 30, 40]
    assert ledger.groups == [[1], [2, 3, 4]]


async def test_a_failure_goes_to_those_who_wait_for_the_group_and_to_nobody_else(ledger):
    ledger.refused = {2}
    group = grouped(ledger)
    first = group.submit(1, 1)
    await ledger.entered.acquire()
    doomed = [group.submit(number, 1) for number in (2, 3)]
    ledger.let()
    assert await first == 10
    await ledger.entered.acquire()
    later = group.submit(4, 1)
    ledger.let(2)
    outcomes = await asyncio.gather(*doomed, later, return_exceptions=True)
    assert [type(each) for each in outcomes[:2]] == [Refused, Refused]
    assert outcomes[2] == 40


async def test_where_nothing_was_committed_one_piece_does_not_fail_the_others(ledger):
    ledger.refused = {2}
    group = grouped(ledger, is_undone=lambda error: isinstance(error, Refused))
    pieces = [group.submit(number, 1) for number in (1, 2, 3)]
    ledger.let(4)
    outcomes = await asyncio.gather(*pieces, return_exceptions=True)
    assert outcomes[::2] == [10, 30]
    assert isinstance(outcomes[1], Refused)
    assert ledger.groups == [[1], [3]]


async def test_a_commit_that_forgets_a_result_fails_for_those_who_wait():
    async def forgetful(group):
        return group[1:]

    group = GroupCommit(forgetful, Room(HUGE, Full), HUGE)
    outcomes = await asyncio.gather(*(group.submit(n, 1) for n in (1, 2)), return_exceptions=True)
    assert [type(each) for each in outcomes] == [ValueError, ValueError]


async def test_more_than_the_room_is_refused_until_a_commit_gives_it_back(ledger):
    group = grouped(ledger, most=100)
    big = group.submit(1, 1000)
    with pytest.raises(Full) as refusal:
        group.submit(2, 1)
    assert refusal.value.args == (1000,)
    ledger.let()
    await big
    second = group.submit(3, 100)
    ledger.let()
    assert await second == 30


async def test_who_gives_up_takes_nothing_back_and_its_room_stays_taken_until_the_commit(ledger):
    group = grouped(ledger, most=100)
    given_up = asyncio.ensure_future(group.submit(1, 100))
    await ledger.entered.acquire()
    given_up.cancel()
    with suppress(asyncio.CancelledError):
        await given_up
    with pytest.raises(Full):
        group.submit(2, 1)
    ledger.let()
    await group.finish()
    assert ledger.groups == [[1]]
    group.submit(3, 100)
    ledger.let()
    await group.finish()
    assert ledger.groups == [[1], [3]]


async def test_giving_up_to_finish_does_not_stop_the_commit(ledger):
    group = grouped(ledger)
    piece = group.submit(1, 1)
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(group.finish(), 0.01)
    ledger.let()
    assert await asyncio.wait_for(piece, 5) == 10
    await group.finish()


async def test_nobody_waits_for_ever_when_the_commit_itself_is_cancelled():
    async def cancelled(_):
        raise asyncio.CancelledError

    group = GroupCommit(cancelled, Room(HUGE, Full), 2)
    pieces = [group.submit(number, 1) for number in (1, 2, 3)]
    outcomes = await asyncio.wait_for(asyncio.gather(*pieces, return_exceptions=True), 5)
    assert [type(each) for each in outcomes] == [asyncio.CancelledError] * 3


async def test_what_was_cancelled_is_not_committed_with_what_comes_after_it(ledger):
    group = GroupCommit(ledger.commit, Room(3, Full), 9)
    first = group.submit(1, 3)
    await ledger.entered.acquire()
    assert group._committing is not None
    group._committing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first
    ledger.let()
    assert await group.submit(2, 3) == 20, "and its room is free"
    assert ledger.groups == [[2]]


@given(st.lists(st.integers(1, 60), min_size=1, max_size=20), st.integers(1, 100))
def test_groups_keep_the_order_and_stay_below_their_size(sizes, at_once):
    async def commit_all():
        ledger = Ledger()
        ledger.let(len(sizes))
        group = grouped(ledger, at_once=at_once)
        await asyncio.gather(*(group.submit(number, size) for number, size in enumerate(sizes)))
        return ledger.groups

    groups = asyncio.run(commit_all())
    assert [number for group in groups for number in group] == list(range(len(sizes)))
    for group in groups:
        assert len(group) == 1 or sum(sizes[number] for number in group) < at_once
