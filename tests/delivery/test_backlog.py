"""Memory stays bounded however much waits: nothing loads the ledger whole."""

import asyncio
import time
import tracemalloc

import pytest
from tests.delivery.harness import Harness, eventually, sample
from tests.delivery.raw_sink import RawSink, silence

from headrace.events.positions import LogPosition
from headrace.ledger.tables import DEAD, WAITING

ROWS = 300_000


_EVENT = '{"specversion":"1.0","id":"x","source":"/s","type":"t"}'


def fill(harness, table, subscription, first, count, **values):
    """Write rows as the dispatcher would have, without the hours that it would have taken."""
    columns = {
        "subscription": subscription,
        "stage": "sink",
        "replay": "",
        "attempts": 1,
        "reason": "refused",
    } | values
    with harness.ledger.database.engine.begin() as connection:
        connection.exec_driver_sql(
            "WITH RECURSIVE n(position) AS (SELECT :first UNION ALL SELECT position + 1 FROM n WHERE position < :last) "
            f"INSERT INTO {table.name} (position, {', '.join(columns)}) "
            f"SELECT position, {', '.join(f':{name}' for name in columns)} FROM n",
            columns | {"first": first, "last": first + count - 1},
        )


@pytest.fixture
def harness(tmp_path):
    harness = Harness(tmp_path, f"sqlite:///{tmp_path}/delivery.db")
    yield harness
    harness.close()


async def test_hundreds_of_thousands_of_waiting_rows_are_not_held_in_memory(harness, sink):
    """Some wait, due or not, for a sink that hangs; some are dead; all lie behind the cursor, as after a crash."""
    async with RawSink(lambda _: silence()) as hanging:
        stuck, live = harness.subscribe(hanging.url), harness.subscribe(sink.url)
        harness.send([sample(number) for number in range(20)], live)
        fill(
            harness,
            WAITING,
            stuck,
            0,
            ROWS // 2,
            due=0.0,
            share=0,
            event=b'{"specversion":"1.0","id":"x","source":"/s","type":"t"}',
        )
        fill(harness, WAITING, stuck, ROWS, ROWS // 2, due=time.time() + 3600, share=0)
        fill(harness, DEAD, "somebody", 0, ROWS // 4, time=1.0, event=b"{}")
        harness.store.wish(live, created=LogPosition())
        tracemalloc.start()
        try:
            async with harness.delivering(queue_length=500, shutdown_seconds=0.1):
                await eventually(lambda: len(sink.requests) == 20 and len(hanging.requests) == 16)
                await asyncio.sleep(1.2)
                _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
    assert harness.ledger.count()[0] == ROWS
    assert peak < 30_000_000, "a row that is held takes about 500 bytes"


async def test_who_waits_is_found_without_looking_at_all_that_waits(harness):
    fill(harness, WAITING, "a", 0, ROWS, due=5.0, share=0)
    fill(harness, WAITING, "b", 0, 10, due=7.0, share=0)
    tries = [_seconds_to_find_out(harness.ledger) for _ in range(5)]
    assert min(tries) < 1, "a scan of the table would take longer than all of these"


def _seconds_to_find_out(ledger):
    began = time.perf_counter()
    assert ledger.earliest() == [("a", "sink", 5.0), ("b", "sink", 7.0)]
    assert [each.key.position for each in ledger.due("b", "sink", 8.0, 3)] == [0, 1, 2]
    assert len(ledger.in_order("a", 5)) == 5
    assert ledger.next_due("a", "sink", 5.0) is None
    assert len(ledger.kept(500, 600)) == 101
    return time.perf_counter() - began
