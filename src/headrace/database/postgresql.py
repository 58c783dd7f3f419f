"""What a PostgreSQL server has to be for Headrace to rest on it."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, NamedTuple

from headrace.database.engine import connect_to
from headrace.database.patience import patiently

if TYPE_CHECKING:
    from sqlalchemy import Engine

_OLDEST = 13
_ROUNDS = 20
_REMEDIES = {
    "fsync": "with fsync off a power cut loses everything: set fsync = on",
    "synchronous_commit": "with synchronous_commit off a crash loses what was answered: set synchronous_commit = on",
}


class Server(NamedTuple):
    """A server that answers, and what is wrong with it."""

    version: str
    round_trip: float
    faults: list[str]
    remedy: str


def examine(url: str) -> Server:
    """Ask the server about itself. StoreUnavailable where none answers."""
    engine = connect_to(url)
    try:
        return patiently(lambda: _ask(engine), 0.0)
    finally:
        engine.dispose()


def _ask(engine: Engine) -> Server:
    with engine.connect() as connection:
        ask = connection.exec_driver_sql
        version = str(ask("SHOW server_version").scalar()).split()[0]
        off = [name for name in _REMEDIES if ask(f"SHOW {name}").scalar() == "off"]
        may_create = ask("SELECT has_schema_privilege(current_schema(), 'CREATE')").scalar()
        began = time.perf_counter()
        for _ in range(_ROUNDS):
            ask("SELECT 1")
        round_trip = (time.perf_counter() - began) / _ROUNDS
    problems = {f"{name} is off": _REMEDIES[name] for name in off}
    if int(version.split(".")[0]) < _OLDEST:
        problems[f"it is older than version {_OLDEST}"] = f"use version {_OLDEST} or newer"
    if not may_create:
        problems["this user can't make tables"] = "GRANT CREATE ON SCHEMA public TO the user"
    return Server(version, round_trip, list(problems), "; ".join(problems.values()))
