"""Reading the outbox alone: whatever is refused and wherever it is stopped, each pair begins once, or after the start."""

import asyncio
from collections import Counter
from dataclasses import dataclass, field

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.delivery.intake import outbox as outbox_module
from headrace.delivery.intake.outbox import OutboxSource
from headrace.delivery.intake.progress import DeliveryProgress
from headrace.events.positions import LogPosition

SLICE = 3


@pytest.fixture(autouse=True)
def small_slices(monkeypatch):
    monkeypatch.setattr(outbox_module, "_PAIRS_AT_A_TIME", SLICE)


def table(pairs):
    return pa.table(
        {
            "position": pa.array([position for position, _ in pairs], pa.int64()),
            "subscription": pa.array([subscription for _, subscription in pairs], pa.string()),
        }
    )


class Outbox:
    """Files of pairs, each up to a position."""

    is_blocked = False

    def __init__(self, *files):
        self.files = files

    def read(self, position):
        for end, pairs in self.files:
            if not LogPosition.at(end) <= position:
                yield LogPosition.at(end), table(pairs)


class Events:
    is_stopped = False

    async def read(self, call, *arguments):
        return call(*arguments)

    def stop_waiting(self):
        self.is_stopped = True


class Mailboxes:
    """What is for subscriptions named so is mailed."""

    def __init__(self):
        self.mailed: Counter[tuple[int, str]] = Counter()

    async def sort_out(self, pairs):
        rows = list(zip(pairs["position"].to_pylist(), pairs["subscription"].to_pylist(), strict=True))
        self.mailed.update(row for row in rows if row[1].startswith("mail"))
        return table([row for row in rows if not row[1].startswith("mail")])


@dataclass
class Queues:
    """Answers as it is told, and takes everything when there are no more answers; `at` is called for each question."""

    progress: DeliveryProgress
    answers: list[bool] = field(default_factory=list)
    begun: Counter[tuple[int, str]] = field(default_factory=Counter)
    recovered_at: list[object] = field(default_factory=list)
    asked: int = 0
    close_at: int | None = None
    source: OutboxSource | None = None

    async def submit(self, pairs):
        self.asked += 1
        if self.asked == self.close_at and self.source is not None:
            self.source.close()
        if self.answers and not self.answers.pop(0):
            return False
        await self.begin(pairs)
        return True

    async def begin(self, pairs):
        self.progress.log.begin_all(pairs["position"].to_numpy())
        self.begun.update(zip(pairs["position"].to_pylist(), pairs["subscription"].to_pylist(), strict=True))

    def recover_to(self, position):
        self.recovered_at.append(position)

    def recovered(self):
        self.recovered_at.append("all")


def source_of(outbox, queues, mailboxes=None):
    mailboxes = mailboxes or Mailboxes()
    source = OutboxSource(outbox, Events(), mailboxes, queues, queues.progress, 0.0)  # type: ignore[arg-type]
    queues.source = source
    return source


@pytest.fixture
def queues():
    return Queues(DeliveryProgress(LogPosition()))


PAIRS = [(position, subscription) for position in range(4) for subscription in "ab"]


async def test_all_that_is_planned_is_handed_on_in_slices(queues):
    source = source_of(Outbox((4, PAIRS)), queues)
    assert await source.poll() == 0.0, "there may be more already"
    assert (queues.begun, queues.asked) == (Counter(PAIRS), 3)
    assert queues.progress.log.read() == LogPosition.at(4)
    assert await source.poll() >= 0.0
    assert queues.begun == Counter(PAIRS), "it isn't read again"
    assert queues.recovered_at[-1] == "all", "nothing precedes what the ledger has"


async def test_what_is_refused_is_submitted_again_and_nothing_is_passed_meanwhile(queues):
    queues.answers = [True, *[False] * 5]
    source = source_of(Outbox((4, PAIRS)), queues)
    polling = asyncio.create_task(source.poll())
    while queues.asked < 4:
        await asyncio.sleep(0)
    assert queues.progress.log.read() == LogPosition()
    await polling
    assert queues.begun == Counter(PAIRS)


async def test_an_outbox_with_a_hole_is_waited_for(queues):
    outbox = Outbox()
    outbox.is_blocked = True
    await source_of(outbox, queues).poll()
    assert "all" not in queues.recovered_at


async def test_a_stop_while_mailboxes_are_filled_repeats_nothing_of_it(queues):
    """A consumer may have acknowledged its mail by the next start."""

    class Closing(Mailboxes):
        async def sort_out(self, pairs):
            left = await super().sort_out(pairs)
            source.close()
            return left

    pairs = [(position, each) for position in range(4) for each in ("mail", "sink")]
    mailboxes = Closing()
    source = source_of(Outbox((4, pairs), (8, [(7, "mail")])), queues, mailboxes)
    await source.poll()
    assert queues.begun + mailboxes.mailed == Counter(pairs)
    assert queues.progress.log.read() == LogPosition.at(4)


async def test_a_stop_while_the_outbox_is_read_leaves_that_for_the_next_start(queues):
    mailboxes = Mailboxes()
    source = source_of(Outbox((4, [(1, "mail"), (2, "sink")])), queues, mailboxes)
    source.close()
    await source.poll()
    assert (queues.begun, mailboxes.mailed, queues.progress.log.read()) == (
        Counter(),
        Counter(),
        LogPosition(),
    )
    assert "all" not in queues.recovered_at, "there is more to read"


async def test_a_stop_waits_for_no_broker(queues):
    source = source_of(Outbox(), queues)
    source.close()
    await source.poll()
    assert source._events.is_stopped


@given(
    counts=st.lists(st.integers(0, 7), min_size=1, max_size=8),
    cuts=st.sets(st.integers(1, 7)),
    answers=st.lists(st.booleans(), max_size=12),
    close_at=st.none() | st.integers(1, 15),
    mailed=st.sets(st.integers(0, 6)),
)
def test_each_pair_begins_once_and_before_it_is_passed(counts, cuts, answers, close_at, mailed):
    pairs = [
        (position, f"{'mail' if number in mailed else 'sink'}{number}")
        for position, count in enumerate(counts)
        for number in range(count)
    ]
    ends = sorted({each for each in cuts if each < len(counts)} | {len(counts)})
    files = [
        (end, [pair for pair in pairs if begin <= pair[0] < end])
        for begin, end in zip([0, *ends], ends, strict=False)
    ]

    async def run():
        queues, mailboxes = (
            Queues(DeliveryProgress(LogPosition()), list(answers), close_at=close_at),
            Mailboxes(),
        )
        await source_of(Outbox(*files), queues, mailboxes).poll()
        return queues, mailboxes

    queues, mailboxes = asyncio.run(run())
    read = queues.progress.log.read().get(0, 0)
    assert queues.begun + mailboxes.mailed == Counter(pair for pair in pairs if pair[0] < read)
    if close_at is None or queues.asked < close_at:
        assert read == len(counts)
