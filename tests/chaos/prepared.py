"""The data folder that every case begins with a copy of, and what had been accepted and delivered by then."""

import json
import random
import shutil
import sqlite3
from collections import Counter
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from tests.chaos.account import Account
from tests.chaos.kinds import DATABASES, Kind, kinds_in

from headrace.database.sqlite.seal import seal
from headrace.events.event import Event

STATES = ("stopped", "killed", "running")
_COMPANIONS = ("-wal", "-shm")


def numbered(number: int) -> Event:
    """Events that don't compress, so that a segment holds only a few."""
    attributes = {"specversion": "1.0", "id": f"e{number}", "source": "/chaos", "type": "t"}
    return Event(attributes, random.Random(number).randbytes(150))


def copies_of(data: Path, folder: Path, name: str) -> dict[str, Path]:
    """Copy a data folder that nobody writes to at the moment: as a kill leaves it, and as a stop does."""
    copies = {state: folder / f"{name}-{state}" for state in ("killed", "stopped")}
    for copy in copies.values():
        shutil.copytree(data, copy)
    for database in DATABASES:  # the last process that ends takes the companions away
        with closing(sqlite3.connect(copies["stopped"] / database)) as connection:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        seal(copies["stopped"] / database)  # as the supervisor does at its end
    return copies


@dataclass
class Prepared:
    """The folder, and one of a while before, each as a stop and as a kill leaves it."""

    folders: dict[str, Path]
    older: dict[str, Path]
    account: Account

    def kinds(self, state: str) -> dict[str, Kind]:
        """What is worth damaging: a kill leaves only the databases other than a stop does."""
        if state == "stopped":
            return kinds_in(self.folders["stopped"], self.older["stopped"])
        found = kinds_in(self.folders["killed"], self.older["killed"])
        return {name: each for name, each in found.items() if state == "running" or ".db" in name}

    def older_for(self, state: str, kind: Kind) -> Path:
        """A database that is copied alone was stopped; its companions exist only where it wasn't."""
        has_companions = state == "killed" or kind.name.endswith(_COMPANIONS)
        return self.older["killed" if has_companions else "stopped"]

    def folder(self, state: str) -> Path:
        """What a case begins with a copy of."""
        return self.folders["killed" if state == "killed" else "stopped"]

    def account_before(self) -> Account:
        """A copy of the account as it was then."""
        before = self.account
        return Account(dict(before.since), list(before.accepted), before.arrived.copy())

    def save(self, path: Path, names: dict[str, str], port: int) -> None:
        """Write down what the folders can't tell, so that another run can go on with them."""
        document = {
            "folders": {state: str(each) for state, each in self.folders.items()},
            "older": {state: str(each) for state, each in self.older.items()},
            "since": self.account.since,
            "accepted": self.account.accepted,
            "arrived": [[*key, times] for key, times in self.account.arrived.items()],
            "names": names,
            "port": port,
        }
        path.write_text(json.dumps(document))


def load_prepared(path: Path) -> tuple[Prepared, dict[str, str], int]:
    """Read what was saved: the folders, the subscriptions' names by id, and the sink's port."""
    document = json.loads(path.read_text())
    arrived = Counter({(name, id_): times for name, id_, times in document["arrived"]})
    folders, older = (
        {state: Path(each) for state, each in document[name].items()} for name in ("folders", "older")
    )
    account = Account(document["since"], document["accepted"], arrived)
    return Prepared(folders, older, account), document["names"], document["port"]
