"""What lies in a data folder is for its owner alone."""

import os
import stat
import subprocess
import sys

import pytest
from tests.api.role import HttpRole

from headrace.database.database import Database
from headrace.eventlog.archive.manifest import Manifest
from headrace.eventlog.archive.storage import Storage
from headrace.service.storage.privacy import keep_private
from headrace.subscriptions.store.store import Store


@pytest.fixture(autouse=True)
def usual_umask():
    """As on most machines, whatever it is here; and it is put back."""
    before = os.umask(0o022)
    yield
    os.umask(before)


def open_to_others(folder):
    return [
        f"{path}: {stat.filemode(path.lstat().st_mode)}"
        for path in [folder, *folder.rglob("*")]
        if not path.is_symlink() and path.lstat().st_mode & 0o077
    ]


def test_a_role_makes_nothing_that_others_may_read(tmp_path):
    with HttpRole(tmp_path / "data") as role:
        made = {path.name for path in role.data.rglob("*")}
        assert {"store.db", "store.db-wal", "delivery.db", "END", "00000000000000000000.seg"} <= made
        outside = {
            role.data / "run" / "http.json",
            role.data / "run" / "http.output",
        }  # these are the test's own
        assert [
            line for line in open_to_others(role.data) if not line.startswith(tuple(map(str, outside)))
        ] == []


def test_a_folder_that_was_open_is_closed_at_the_next_start(tmp_path):
    for name in ("log", "archive"):
        (tmp_path / "data" / name).mkdir(parents=True)
    program = "import sys, pathlib; from headrace.service.storage.privacy import keep_private; keep_private(pathlib.Path(sys.argv[1]))"
    subprocess.run([sys.executable, "-c", program, str(tmp_path / "data")], check=True)
    assert open_to_others(tmp_path / "data") == []


def test_a_folder_of_another_user_is_told_and_used(tmp_path, monkeypatch, caplog):
    def refuse(*_arguments, **_named):
        raise PermissionError(1, "Operation not permitted")

    (tmp_path / "data").mkdir()
    monkeypatch.setattr("pathlib.Path.chmod", refuse)
    keep_private(tmp_path / "data")
    assert "chmod 700" in caplog.text


def test_a_database_that_a_command_makes_is_private(tmp_path):
    store = Store(Database(f"sqlite:///{tmp_path}/data/store.db"))
    assert open_to_others(tmp_path / "data") == []
    store.database.close()


@pytest.mark.parametrize("mode", [0o755, 0o750, 0o700])
def test_an_archive_elsewhere_is_shared_as_its_folder_is(tmp_path, mode):
    """With the umask of a role; machines that share the folder may run as other users."""
    root = tmp_path / "shared"
    root.mkdir()
    root.chmod(mode)
    os.umask(0o077)
    storage = Storage(str(root))
    storage.create("events/default/one.parquet").close()
    storage.commit(Manifest(version=1))
    found = {path: path.stat().st_mode & 0o777 for path in root.rglob("*")}
    assert len(found) == 4
    for path, rights in found.items():
        assert rights == (mode if path.is_dir() else mode & 0o666), path
