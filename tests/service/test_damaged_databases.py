"""Databases that are damaged or gone: a start is refused in a sentence, and so is going on."""

import os
import sqlite3
import subprocess
import sys
import time
import urllib.error
import urllib.request
from contextlib import closing

import msgspec
import pytest
from tests.api.role import HttpRole
from tests.opening import opening

from headrace.config import load_config
from headrace.errors import DatabaseDamaged
from headrace.events.positions import LogPosition
from headrace.ledger.ledger import Changes, Ledger
from headrace.service.processes.heartbeats import role_statuses
from headrace.service.role import EXIT_REFUSED
from headrace.service.storage.database_files import check_databases, damages
from headrace.subscriptions.channels.name import ChannelName
from headrace.subscriptions.store.store import Store
from headrace.telemetry.health import HEALTH

NAMES = {"store": "store.db", "ledger": "delivery.db"}


@pytest.fixture
def deployment(tmp_path):
    """A data folder with both databases, as a stopped service leaves it."""
    config = load_config(None, {"data": str(tmp_path / "data")}, {})
    with opening(Store, config.store.url) as store, opening(Ledger, config.delivery.url) as ledger:
        for number in range(40):
            store.create_channel(ChannelName("default", f"channel-{number}"))
            ledger.commit(Changes([], [], [], LogPosition.at(number)))
    yield config
    HEALTH.forget("database ledger")


def flipped(path):
    content = bytearray(path.read_bytes())
    for place in range(4096, len(content), 512):
        content[place] ^= 0xFF
    path.write_bytes(content)


FAULTS = {
    "flipped": flipped,
    "truncated": lambda path: os.truncate(path, path.stat().st_size // 2),
    "emptied": lambda path: os.truncate(path, 0),
    "removed": lambda path: path.unlink(),
    "nonsense": lambda path: path.write_bytes(b"nonsense" * 5000),
}


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("name", NAMES)
def test_a_start_is_refused_and_doctor_tells_why(deployment, name, fault):
    check_databases(deployment)
    assert damages(deployment) == []
    path = deployment.data / NAMES[name]
    FAULTS[fault](path)
    with pytest.raises(DatabaseDamaged, match=f"--rebuild {name}") as refused:
        check_databases(deployment)
    assert str(path) in str(refused.value)
    assert ("cursor" if name == "ledger" else "subscriptions") in str(refused.value)
    assert [(each.path, each.finding) for each in damages(deployment)] == [(path, refused.value.finding)]


@pytest.mark.parametrize("name", NAMES)
def test_a_missing_database_beside_a_log_with_events_is_no_fresh_start(deployment, name):
    """Even where nothing is remembered of it."""
    for file in deployment.data.rglob(f"{NAMES[name]}*"):
        file.unlink()
    check_databases(deployment)
    log = deployment.data / "log"
    log.mkdir()
    (log / f"{0:020}.seg").write_bytes(bytes(1000))
    with pytest.raises(DatabaseDamaged, match="the log has events"):
        check_databases(deployment)


def test_an_older_store_is_refused_and_an_older_ledger_is_told(deployment, caplog):
    older = {}
    for name, file in NAMES.items():
        older[name] = (deployment.data / file).read_bytes()
    with opening(Store, deployment.store.url) as store, opening(Ledger, deployment.delivery.url) as ledger:
        store.create_channel(ChannelName("default", "newest"))
        ledger.commit(Changes([], [], [], LogPosition.at(100)))
    (deployment.data / NAMES["ledger"]).write_bytes(older["ledger"])
    assert "older" in damages(deployment)[0].finding
    check_databases(deployment)
    assert "delivered again" in caplog.text
    assert "delivered again" in HEALTH.reports()["database ledger"].note
    assert damages(deployment) == []
    (deployment.data / NAMES["store"]).write_bytes(older["store"])
    with pytest.raises(DatabaseDamaged, match="--accept store"):
        check_databases(deployment)


def test_up_is_refused_without_a_traceback(deployment):
    flipped(deployment.data / "store.db")
    command = [sys.executable, "-m", "headrace", "up", "--data", str(deployment.data), "--port", "0"]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert ended.returncode != 0
    assert "headrace restore --rebuild store" in ended.stderr
    assert ended.stderr.count("store.db") == 1
    assert "Traceback" not in ended.stderr


def ask(url):
    try:
        with urllib.request.urlopen(url, timeout=10) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as error:
        return error.code, error.read()


def test_the_api_answers_503_and_the_role_ends_for_good(tmp_path):
    with HttpRole(tmp_path / "data") as role:
        assert ask(f"{role.url}/subscriptions")[0] == 200
        (role.data / "store.db").rename(tmp_path / "elsewhere.db")
        status, body = ask(f"{role.url}/subscriptions")
        problem = msgspec.json.decode(body)
        assert (status, problem["code"]) == (503, "database-damaged")
        assert "store.db" in problem["detail"]
        assert role.process.wait(30) == EXIT_REFUSED
        assert role.output.count("was removed while it was in use") == 1
        assert "Traceback" not in role.output
        assert not (role.data / "store.db").exists(), "nobody has made a new one"
        with pytest.raises(DatabaseDamaged, match="a database was there before"):
            check_databases(load_config(None, {"data": str(role.data)}, {}))
        (tmp_path / "elsewhere.db").rename(role.data / "store.db")
        check_databases(load_config(None, {"data": str(role.data)}, {}))


def test_the_dispatcher_ends_for_good_when_its_ledger_is_overwritten(tmp_path):
    with HttpRole(tmp_path / "data") as other:
        assert other.stop() == 0
    role = HttpRole(tmp_path / "data", "dispatcher")
    role.start()
    try:
        deadline = time.monotonic() + 30
        while not role_statuses(role.data / "run", ["dispatcher"])["dispatcher"].is_ready:
            assert role.process.poll() is None, role.output
            assert time.monotonic() < deadline
            time.sleep(0.02)
        path = role.data / "delivery.db"
        with closing(sqlite3.connect(path)) as connection:
            connection.execute("PRAGMA wal_checkpoint")
        with path.open("rb+") as file:
            file.write(os.urandom(path.stat().st_size))
        assert role.process.wait(60) == EXIT_REFUSED
        assert str(path) in role.output
        assert "Traceback" not in role.output
    finally:
        role.process.kill()
        role.process.communicate()
