"""The log as the service opens it: compared with outbox, ledger and archive, and reconciled where that is accepted."""

import shutil
from contextlib import asynccontextmanager, closing, contextmanager

import pytest
from click.testing import CliRunner
from tests.eventlog.arrivals import arrival, arrivals, build
from tests.opening import opening

from headrace.cli.main import main
from headrace.config import load_config
from headrace.database.sqlite.copies import put_aside
from headrace.errors import LogReplaced
from headrace.eventlog.archive.maintenance import ArchiveMaintenance
from headrace.eventlog.archive.storage import Storage
from headrace.eventlog.local.identity import read_identity
from headrace.eventlog.local.outbox.reader import LocalOutboxReader
from headrace.eventlog.local.reader import SegmentReader
from headrace.eventlog.pairs import NO_PAIRS
from headrace.events.positions import LogPosition
from headrace.ledger.ledger import Changes, Ledger
from headrace.service.storage.databases import open_databases
from headrace.service.storage.layout import Layout
from headrace.service.storage.logs import open_log_writer, open_outbox_writer
from headrace.subscriptions.store.store import Store


def config_of(folder, **overrides):
    return load_config(None, {"data": str(folder), **overrides}, {})


@asynccontextmanager
async def serving(config):
    """The ingress's log; yields its writer."""
    with open_databases(config, 0.0) as databases:
        opened = open_log_writer(config, databases)
        try:
            yield opened.writer
        finally:
            await opened.writer.close()


@contextmanager
def planning(config, begin):
    """The pipeline's outbox, to plan deliveries from where the log begins."""
    with (
        open_databases(config, 0.0) as databases,
        closing(open_outbox_writer(config, databases.ledger, begin)) as outbox,
    ):
        yield outbox


def route(config, end):
    """Plan deliveries up to a position, as the pipeline does."""
    with planning(config, LogPosition()) as outbox:
        outbox.write(outbox.covered(), LogPosition.at(end), NO_PAIRS)


def settle(config, end):
    with opening(Ledger, config.delivery.url) as ledger:
        ledger.commit(Changes([], [], [], LogPosition.at(end)))


def set_aside(config):
    with opening(Store, config.store.url) as store:
        return [(each.kind, each.position, each.until) for each in store.what_is_set_aside(10)]


@pytest.fixture
def config(tmp_path):
    return config_of(tmp_path)


@pytest.fixture
def layout(config):
    return Layout(config.data)


async def test_all_three_know_which_log_it_is(config, layout):
    for starts in (1, 2):
        async with serving(config) as log:
            await log.append(arrivals("ab"), 10)
            own = read_identity(layout.log)
        assert own is not None
        assert own.starts == starts
        assert read_identity(layout.outbox) == own
        with opening(Ledger, config.delivery.url) as ledger:
            assert ledger.log_identity() == own


async def test_a_data_folder_without_names_gets_them(config, layout):
    build(layout.log, ["abc"])
    (layout.log / "IDENTITY").unlink()
    async with serving(config) as log:
        assert await log.append([arrival("d")], 10) == 3


async def _replaced_by_an_older_copy(config, layout, remember):
    async with serving(config) as log:
        await log.append(arrivals("abc"), 10)
        shutil.copytree(layout.log, layout.data / "copy")
        await log.append(arrivals("defgh"), 10)
    remember(config, 8)
    shutil.rmtree(layout.log)
    (layout.data / "copy").rename(layout.log)


def _archive(config, _end):
    ArchiveMaintenance(
        Storage(config.archive.path), SegmentReader(Layout(config.data).log), config.archive
    ).run()


@pytest.mark.parametrize("remember", [route, settle, _archive], ids=["outbox", "ledger", "archive"])
async def test_an_older_log_is_refused_until_it_is_accepted(config, layout, remember, tmp_path):
    await _replaced_by_an_older_copy(config, layout, remember)
    for _ in range(2):
        with pytest.raises(LogReplaced, match="positions up to 8, and the log ends at 3") as caught:
            async with serving(config):
                pass
        assert (caught.value.end, caught.value.known) == (3, 8)
    assert set_aside(config) == []
    asked = CliRunner().invoke(main, ["doctor", "--data", str(tmp_path)])
    assert "FAIL log" in asked.output
    assert "HEADRACE_LOG_ACCEPT_DAMAGE" in asked.output
    async with serving(config_of(tmp_path, **{"log.accept_damage": True})) as log:
        assert await log.append([arrival("next")], 10) == 8
    assert set_aside(config) == [("damage", 3, 8)]
    async with serving(config) as log:
        assert await log.append([arrival("again")], 10) == 9
    asked = CliRunner().invoke(main, ["doctor", "--data", str(tmp_path)])
    assert "ok   log" in asked.output
    assert "ends at position 10" in asked.output


async def test_a_log_that_vanished_is_not_begun_anew(config, layout):
    async with serving(config) as log:
        await log.append(arrivals("abc"), 10)
    route(config, 3)
    shutil.rmtree(layout.log)
    with pytest.raises(LogReplaced, match="ends at 0"):
        async with serving(config):
            pass


async def test_an_outbox_that_was_removed_begins_where_the_ledger_waits_for_it(config, layout):
    """The log begins later than the cursor: what lies between has to be told, not skipped."""
    async with serving(config) as log:
        await log.append(arrivals("abc"), 10)
    settle(config, 1)
    with planning(config, LogPosition.at(2)) as outbox:
        assert outbox.covered() == LogPosition.at(1)
    shutil.rmtree(layout.outbox)
    put_aside(layout.data / "delivery.db")
    with planning(config, LogPosition.at(2)) as outbox:
        assert outbox.covered() == LogPosition.at(2), "nobody waits for anything before"
        assert [end for end, _ in LocalOutboxReader(layout.outbox).read(LogPosition())] == [LogPosition.at(2)]


async def test_nothing_is_routed_while_the_log_ends_before_the_outbox(config, layout):
    await _replaced_by_an_older_copy(config, layout, route)
    with planning(config, LogPosition()) as outbox:
        obstacle = outbox.refresh()
        assert obstacle is not None
        assert "planned up to position 8" in obstacle
        assert "ends at 3" in obstacle


async def test_nothing_is_routed_from_another_log(config, layout):
    async with serving(config) as log:
        await log.append(arrivals("abc"), 10)
    route(config, 3)
    shutil.rmtree(layout.log)
    build(layout.log, ["uvwxyz"])
    with planning(config, LogPosition()) as outbox:
        obstacle = outbox.refresh()
        assert obstacle is not None
        assert "was routed from the log" in obstacle
    shutil.rmtree(layout.log)
    with planning(config, LogPosition()) as outbox:
        assert "ends at 0" in (outbox.refresh() or "")


async def test_a_log_without_its_mark_is_routed_from_all_the_same(config, layout):
    async with serving(config) as log:
        await log.append(arrivals("abc"), 10)
    route(config, 3)
    (layout.log / "END").unlink()
    with planning(config, LogPosition()) as outbox:
        assert outbox.refresh() is None
