"""Attempts and dead letters for the tests, written as a dispatcher writes them."""

from typing import Any

from tests.opening import opening

from headrace.ledger.ledger import Changes, GivenUp, Key, Ledger, Wait
from headrace.ledger.records.attempts import Attempt

BASE = Attempt("a", 1, "", "sink", 1, 100.0, 0.05, "done", 200, "", (), b"")


def attempt(**changes: Any) -> Attempt:
    return BASE._replace(**changes)


def event(number: int, **attributes: Any) -> bytes:
    required = {"specversion": "1.0", "id": str(number), "source": "/s", "type": "t"}
    members = ",".join(f'"{name}":"{value}"' for name, value in (required | attributes).items())
    return f'{{{members},"data":{{"number":{number}}}}}'.encode()


def write(
    url: str,
    attempts: list[Attempt] | None = None,
    dead: list[GivenUp] | None = None,
    waits: list[Wait] | None = None,
) -> None:
    with opening(Ledger, url) as ledger:
        ledger.commit(Changes(waits or [], dead or [], [], None, attempts=attempts or []))


def dead(subscription: str, position: int, time: float = 50.0, **attributes: Any) -> GivenUp:
    return GivenUp(Key(subscription, position), 4, time, "status 400", event(position, **attributes))


def wait(subscription: str, position: int, due: float) -> Wait:
    return Wait(Key(subscription, position), 2, due, "status 500")
