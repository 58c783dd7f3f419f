"""`headrace backup` and `headrace restore`, on data folders as a service leaves them, and while one runs."""

import os
import sqlite3
from contextlib import closing

import msgspec
import pyarrow as pa
import pytest
from tests.database.sqlite.test_salvage import damage, leaves
from tests.opening import opening
from tests.subscriptions.stores import proposal

from headrace.config import load_config
from headrace.eventlog.local.files import WriterLock
from headrace.eventlog.local.outbox.reader import LocalOutboxReader
from headrace.eventlog.local.outbox.writer import LocalOutboxWriter
from headrace.eventlog.local.reader import SegmentReader
from headrace.eventlog.local.writer import SegmentWriter
from headrace.events.event import Event
from headrace.events.positions import LogPosition
from headrace.events.recorded import Arrival
from headrace.ledger.ledger import Changes, Key, Ledger, Wait
from headrace.ledger.tables import WAITING
from headrace.service.storage.database_files import check_databases, damages, seal_databases
from headrace.subscriptions.channels.name import ChannelName
from headrace.subscriptions.store.store import Store


class Deployment:
    """A data folder without a service."""

    def __init__(self, data):
        self.data = data
        self.config = load_config(None, {"data": str(data)}, {})
        self.store_file, self.ledger_file = data / "store.db", data / "delivery.db"

    def fill(self, subscriptions=300, waits=300):
        with self.store() as store, self.ledger() as ledger:
            store.create_channel(ChannelName("shop", "orders"))
            store.create_many([proposal() for _ in range(subscriptions)], LogPosition())
            keys = [Key(f"sub-{number:030}", number) for number in range(waits)]
            ledger.commit(
                Changes([Wait(key, 1, 0.0, "503 " * 20) for key in keys], [], [], LogPosition.at(5))
            )
        log = SegmentWriter(self.data / "log", 1 << 20)
        log.append([Arrival(event(number), "default", "default") for number in range(10)])
        log.close()
        outbox = LocalOutboxWriter(self.data / "outbox")
        pairs = pa.table({"position": pa.array([3, 7]), "subscription": pa.array(["a", "b"])})
        outbox.write(LogPosition(), LogPosition.at(10), pairs)
        outbox.close()

    def store(self):
        return opening(Store, self.config.store.url)

    def ledger(self):
        return opening(Ledger, self.config.delivery.url)

    def ids(self):
        with self.store() as store:
            return store.ids(1 << 40)

    def waiting(self):
        with closing(sqlite3.connect(self.ledger_file)) as connection:
            return connection.execute(f"SELECT count(*) FROM {WAITING.name}").fetchone()[0]

    def cursor(self):
        with self.ledger() as ledger:
            return ledger.cursor()


def event(number):
    return Event({"specversion": "1.0", "id": str(number), "source": "/s", "type": "t"}, b"{}")


@pytest.fixture
def deployment(tmp_path):
    filled = Deployment(tmp_path / "data")
    filled.fill()
    return filled


@pytest.fixture
def backed_up(run, deployment, tmp_path):
    made = run("backup", tmp_path / "backup", "--data", deployment.data)
    assert made.exit_code == 0, made.output
    return tmp_path / "backup"


def test_a_backup_put_into_a_new_folder_is_the_same_deployment(run, deployment, backed_up, tmp_path):
    put = run("restore", "--from", backed_up, "--data", tmp_path / "new")
    assert put.exit_code == 0, put.output
    new = Deployment(tmp_path / "new")
    check_databases(new.config)
    assert new.ids() == deployment.ids()
    assert (new.waiting(), new.cursor()) == (300, LogPosition.at(5))
    writer = SegmentWriter(new.data / "log", 1 << 20)
    assert writer.end == 10
    writer.close()
    assert SegmentReader(new.data / "log").end() == LogPosition.at(10)
    [(end, pairs)] = LocalOutboxReader(new.data / "outbox").read(LogPosition())
    assert (end, pairs["position"].to_pylist()) == (LogPosition.at(10), [3, 7])


def test_a_backup_is_for_its_owner_alone_and_has_no_key_unless_asked(run, deployment, tmp_path):
    key = deployment.data / "secrets.key"
    key.write_text("secret")
    without = run("backup", tmp_path / "without", "--data", deployment.data)
    assert "secrets.key, without which" in without.output
    assert run("backup", tmp_path / "with", "--data", deployment.data, "--with-secrets-key").exit_code == 0
    assert not (tmp_path / "without" / "secrets.key").exists()
    assert (tmp_path / "with" / "secrets.key").read_text() == "secret"
    for path in [tmp_path / "with", *(tmp_path / "with").rglob("*")]:
        assert path.stat().st_mode & 0o077 == 0, path


def test_a_backup_of_a_running_service_is_whole(run, service, tmp_path):
    """The role has its databases and its log open, and its locks are held: a restore into it is refused."""
    made = run("backup", tmp_path / "backup", "--data", service.data, "--json")
    assert made.exit_code == 0, made.output
    assert msgspec.json.decode(made.stdout)["files"] >= 3
    assert run("restore", "--from", tmp_path / "backup", "--data", tmp_path / "new").exit_code == 0
    check_databases(Deployment(tmp_path / "new").config)


def test_there_is_no_backup_of_nothing(run, tmp_path):
    nothing = run("backup", tmp_path / "backup", "--data", tmp_path / "nowhere")
    assert (nothing.exit_code, "--data" in nothing.output) == (1, True)


def test_a_backup_goes_into_a_new_folder_and_not_of_a_damaged_database(run, deployment, backed_up, tmp_path):
    again = run("backup", backed_up, "--data", deployment.data)
    assert (again.exit_code, "isn't empty" in again.output) == (1, True)
    os.truncate(deployment.store_file, 5000)
    damaged = run("backup", tmp_path / "other", "--data", deployment.data)
    assert (damaged.exit_code, "store.db can't be used" in damaged.output) == (1, True)
    unfinished = run("restore", "--from", tmp_path / "other", "--data", tmp_path / "new")
    assert (unfinished.exit_code, "is no backup" in unfinished.output) == (1, True)


@pytest.mark.parametrize("name", ["store.db", "log/00000000000000000000.seg"])
@pytest.mark.parametrize("fault", ["flipped", "removed"])
def test_a_damaged_backup_is_refused_before_anything_is_changed(run, backed_up, tmp_path, name, fault):
    path = backed_up / name
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.unlink()
    if fault == "flipped":
        path.write_bytes(content)
    put = run("restore", "--from", backed_up, "--data", tmp_path / "new")
    assert (put.exit_code, name in put.output) == (1, True)
    assert not (tmp_path / "new" / "store.db").exists()


def test_a_restore_is_refused_where_a_deployment_is_or_runs(run, deployment, backed_up):
    there = run("restore", "--from", backed_up, "--data", deployment.data)
    assert (there.exit_code, "--only" in there.output) == (1, True)
    folder = deployment.data / "run" / "dispatcher"
    folder.mkdir(parents=True, exist_ok=True)
    lock = WriterLock(folder)
    before = deployment.store_file.read_bytes()
    for arguments in (
        ("--from", backed_up, "--only", "store"),
        ("--rebuild", "store"),
        ("--accept", "store"),
    ):
        running = run("restore", *arguments, "--data", deployment.data)
        assert (running.exit_code, "stop it first" in running.output) == (1, True)
    assert deployment.store_file.read_bytes() == before
    lock.release()


def test_a_path_that_leads_out_of_the_folder_is_no_part_of_a_backup(run, backed_up, tmp_path):
    manifest = backed_up / "backup.json"
    (tmp_path / "outside").write_bytes(b"")
    nothing = {"bytes": 0, "sha256": "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"}
    document = msgspec.json.decode(manifest.read_bytes())
    document["files"] = {"../outside": nothing}
    manifest.write_bytes(msgspec.json.encode(document))
    put = run("restore", "--from", backed_up, "--data", tmp_path / "new")
    assert (put.exit_code, "belongs nowhere" in put.output) == (1, True)


@pytest.mark.parametrize("name", ["store", "ledger"])
def test_only_the_damaged_database_is_put_back_and_the_other_is_kept(run, deployment, backed_up, name):
    path = {"store": deployment.store_file, "ledger": deployment.ledger_file}[name]
    path.write_bytes(b"nonsense" * 3000)
    (deployment.data / "pipeline" / "rosters").mkdir(parents=True)
    assert run("doctor", "--data", deployment.data).output.count(f"--rebuild {name}") == 1
    put = run("restore", "--from", backed_up, "--only", name, "--data", deployment.data)
    assert put.exit_code == 0, put.output
    assert "as of 20" in put.output
    [kept] = deployment.data.glob(f"{path.name}.replaced-*Z")
    assert kept.read_bytes() == b"nonsense" * 3000
    check_databases(deployment.config)
    assert len(deployment.ids()) == 300
    assert (deployment.waiting(), deployment.cursor()) == (300, LogPosition.at(5))
    assert (deployment.data / "pipeline").exists() == (name == "ledger"), "an index of another store is gone"
    assert (deployment.data / "outbox").exists() == (name == "store"), (
        "an older ledger has it all routed again"
    )


def test_an_older_store_may_be_accepted(run, deployment):
    with closing(sqlite3.connect(deployment.store_file)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    older = deployment.store_file.read_bytes()
    with deployment.store() as store:
        store.create_channel(ChannelName("shop", "returns"))
        revision = store.revision()
    deployment.store_file.write_bytes(older)
    assert "older" in damages(deployment.config)[0].finding
    assert run("keys", "list", "--data", deployment.data).exit_code == 1
    taken = run("restore", "--accept", "store", "--data", deployment.data)
    assert (taken.exit_code, "made since then" in taken.output) == (0, True)
    check_databases(deployment.config)
    with deployment.store() as store:
        assert store.revision() > revision, "nobody takes what comes for what was"


def test_a_store_is_rebuilt_of_what_can_be_read_and_the_lost_are_named(run, deployment):
    before = deployment.ids()
    pages = leaves(deployment.store_file, "subscriptions")
    damage(deployment.store_file, [pages[len(pages) // 2]])
    assert damages(deployment.config)
    rebuilt = run("restore", "--rebuild", "store", "--data", deployment.data, "--json")
    assert rebuilt.exit_code == 0, rebuilt.output
    told = msgspec.json.decode(rebuilt.stdout)
    check_databases(deployment.config)
    kept = deployment.ids()
    assert 200 < len(kept) < 300
    assert set(told["lost_subscriptions"]) == before - kept
    assert {"table": "subscriptions", "kept": len(kept), "complete": False} in told["tables"]
    with deployment.store() as store:
        assert "shop/orders" in {str(each.name) for each in store.every_channel(None)}
        store.create_many([proposal()], LogPosition())
    assert len(deployment.ids()) == len(kept) + 1


def test_a_ledger_of_which_nothing_owed_is_lost_goes_on_where_it_was(run, deployment):
    pages = leaves(deployment.ledger_file, "attempts")
    damage(deployment.ledger_file, pages)
    rebuilt = run("restore", "--rebuild", "ledger", "--data", deployment.data)
    assert rebuilt.exit_code == 0, rebuilt.output
    assert "delivered again" not in rebuilt.output
    assert (deployment.waiting(), deployment.cursor()) == (300, LogPosition.at(5))


def test_rebuilding_an_older_store_says_that_the_newest_is_missing(run, deployment):
    """Every row of it can be read, so the tables alone would promise too much."""
    with closing(sqlite3.connect(deployment.store_file)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    older = deployment.store_file.read_bytes()
    with deployment.store() as store:
        store.create_many([proposal()], LogPosition())
    deployment.store_file.write_bytes(older)
    rebuilt = run("restore", "--rebuild", "store", "--data", deployment.data)
    assert rebuilt.exit_code == 0, rebuilt.output
    assert "the last commit is missing" in " ".join(rebuilt.output.split())
    assert len(deployment.ids()) == 300


def test_a_ledger_whose_rows_were_changed_is_not_believed(run, deployment):
    """The pages are whole, so the rows can be read, and may say that less is owed than is."""
    with closing(sqlite3.connect(deployment.ledger_file)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    seal_databases(deployment.config)
    content = deployment.ledger_file.read_bytes()
    deployment.ledger_file.write_bytes(content.replace(b"503 ", b"504 ", 1))
    [refusal] = damages(deployment.config)
    assert "changed after the service had stopped" in refusal.finding
    rebuilt = run("restore", "--rebuild", "ledger", "--data", deployment.data)
    assert rebuilt.exit_code == 0, rebuilt.output
    assert "everything that is in the log is delivered again" in rebuilt.output
    assert deployment.cursor() == LogPosition()


@pytest.mark.parametrize("fault", ["damaged", "nonsense", "removed"])
def test_a_ledger_that_lost_what_is_owed_delivers_everything_again(run, deployment, fault):
    pages = leaves(deployment.ledger_file, "waiting")
    if fault == "damaged":
        damage(deployment.ledger_file, [pages[len(pages) // 2]])
    elif fault == "nonsense":
        deployment.ledger_file.write_bytes(b"nonsense" * 3000)
    else:
        deployment.ledger_file.unlink()
    assert run("doctor", "--data", deployment.data).output.count("--rebuild ledger") == 1
    rebuilt = run("restore", "--rebuild", "ledger", "--data", deployment.data)
    assert rebuilt.exit_code == 0, rebuilt.output
    assert "everything that is in the log is delivered again" in rebuilt.output
    check_databases(deployment.config)
    assert deployment.cursor() == LogPosition()
    assert not (deployment.data / "outbox").exists()
    assert len(list(deployment.data.glob("outbox.replaced-*"))) == 1
    assert (deployment.waiting() > 100) == (fault == "damaged"), "what can be read is kept"


def test_a_database_of_a_server_is_left_to_its_tools(run, tmp_path):
    config = tmp_path / "headrace.toml"
    config.write_text("[store]\nurl = 'postgresql+psycopg://headrace@127.0.0.1:1/headrace'\n")
    told = run("restore", "--rebuild", "store", "--config", config, "--data", tmp_path / "data")
    assert (told.exit_code, "pg_restore" in told.output) == (1, True)


@pytest.mark.parametrize("arguments", [(), ("--only", "store"), ("--rebuild", "store", "--accept", "ledger")])
def test_one_thing_is_asked_for_at_a_time(run, arguments):
    assert run("restore", *arguments).exit_code == 2
