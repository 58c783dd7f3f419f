"""The route without Spark: the function that its workers run, called for one range at a time.

`python -m tests.chaos.plain_route DATA` routes until its standard input ends, and prints what keeps it from routing.
"""

import sys
import threading
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pyarrow as pa
from tests.delivery.office import QUICK

from headrace.config import Config, load_config
from headrace.errors import LogUnavailable
from headrace.eventlog.location import cached_log, open_log
from headrace.events.positions import LogPosition
from headrace.matching.warm_up import warm_up
from headrace.pipeline.roster.writer import RosterWriter
from headrace.pipeline.route.plan import asides_in, deliveries_in
from headrace.pipeline.route.worker import match_ranges
from headrace.service.storage.layout import Layout
from headrace.service.storage.logs import log_location, open_outbox_writer
from headrace.subscriptions.store.store import Store

_SEGMENT_BYTES = 4000
_POLL_SECONDS = 0.01
_ALL = 1 << 40


def plain_config(data: Path, *, accept_damage: bool = False) -> Config:
    """Small segments, short waits, no archive."""
    quick = {f"delivery.{key}": value for key, value in (QUICK | {"retries": 1000}).items()}
    overrides: dict[str, Any] = quick | {
        "data": str(data),
        "log.segment_bytes": _SEGMENT_BYTES,
        "log.accept_damage": accept_damage,
        "store.patience_seconds": 0.5,
        "delivery.patience_seconds": 0.5,
        "delivery.shutdown_seconds": 0.5,
        "archive.enabled": False,
    }
    return load_config(None, overrides, {})


class PlainRoute:
    """The one writer of the outbox; for one thread at a time. Making it raises what the role's start raises."""

    def __init__(self, config: Config) -> None:
        cached_log.cache_clear()  # a start has new workers
        self._place = log_location(config)
        with ExitStack() as undo:
            self.store = Store(config.store.url, config.store.patience_seconds)
            undo.callback(self.store.close)
            self._reader = open_log(self._place)
            self._outbox = open_outbox_writer(config, self._reader.start())
            undo.callback(self._outbox.close)
            self._rosters = RosterWriter(Layout(config.data).work / "rosters", self.store, self._reader.end)
            self._opened = undo.pop_all()

    def covered(self) -> int:
        return self._outbox.covered()[0]

    def route(self, most: int = _ALL) -> None:
        """Plan what isn't covered, so many positions at most."""
        obstacle = self._outbox.refresh()  # as Route does every second
        if obstacle is not None:
            raise LogUnavailable(obstacle)
        start, end = self._outbox.covered(), self._reader.end()
        end = LogPosition.at(min(end[0], start[0] + most))
        if start[0] >= end[0]:
            return
        ranges = list(start.ranges_to(end))
        roster = self._rosters.current(start)
        plan = pa.Table.from_batches(match_ranges(self._place, str(roster), ranges))
        self.store.set_aside(asides_in(plan))
        self._outbox.write(start, end, deliveries_in(plan))

    def close(self) -> None:
        self._opened.close()


def main(data: Path) -> None:
    warm_up()
    ended = threading.Event()

    def wait() -> None:
        sys.stdin.read()
        ended.set()

    threading.Thread(target=wait, daemon=True).start()
    route, said = PlainRoute(plain_config(data)), ""
    while not ended.is_set():
        try:
            route.route()
            told = "routing"
        except Exception as error:  # noqa: BLE001  Spark's query starts again after any of them
            told = f"routing starts again and again: {error}"
        if told != said:
            said = told
            sys.stdout.write(" ".join(told.split()) + "\n")
            sys.stdout.flush()
        time.sleep(_POLL_SECONDS)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
