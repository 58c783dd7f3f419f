"""Cases on the service without Spark: `python -m tests.chaos.plain_cases FOLDER`, one JSON line in for each, one out.

It is a process of its own, since some faults kill the process that has the file mapped: whoever runs it sees that.
"""

import asyncio
import json
import shutil
import sys
import time
import zlib
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

import uvloop
from tests.chaos.account import Account, Outcome, Telling, judge
from tests.chaos.faults import Fault, NotApplicable
from tests.chaos.kinds import Kind, kinds_in
from tests.chaos.plain_config import BATCH, plain_config
from tests.chaos.plain_service import PlainService
from tests.chaos.plain_session import HOLD
from tests.chaos.prepared import STATES, Prepared, copies_of, load_prepared, numbered

from headrace.client.sink import Received, Sink
from headrace.errors import HeadraceError
from headrace.matching.warm_up import warm_up
from headrace.service.backup import restore as restoration
from headrace.subscriptions.tables import SUBSCRIPTIONS
from headrace.telemetry.health import HEALTH, Status

SEED = 15
_LIMIT = 60.0
_STOP_SECONDS = 30.0
_REFUSED = 100  # numbers that no earlier process used for events that were not accepted
_STILL_SECONDS = 20.0
_DEATHS = 3  # of a role: it doesn't come back by being started again
_STARTS = 5
_STILL_WHEN_KNOWN = 0.5
_STILL_WHEN_TOLD = 4.0  # what a role tells it may mend at its next look, a second later
_PATIENT = {"retry": 1000, "backoffDelay": "PT0.02S", "backoffPolicy": "linear", "timeout": "PT5S"}


class PlainCases:
    """Owns the sink, whose address is in the prepared folder, and the account that it writes to."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._account = Account(later={"retry"})
        self._number = 0
        self.names: dict[str, str] = {}

    def _received(self, delivery: Received) -> int:
        name = delivery.path.strip("/")
        if name in self._account.later:
            return 503
        self._account.arrive(name, delivery.event.id)
        return 200

    async def run(self) -> None:
        prepared = await self._prepared()
        _say({state: {name: each.faults for name, each in prepared.kinds(state).items()} for state in STATES})
        while line := await asyncio.to_thread(sys.stdin.readline):
            wanted = json.loads(line)
            kind = prepared.kinds(wanted["state"])[wanted["kind"]]
            is_begun = bool(wanted["deaths"])
            _say(await self._case(prepared, kind, Fault(wanted["fault"]), wanted["state"], is_begun=is_begun))
        await self._sink.__aexit__()

    async def _prepared(self) -> Prepared:
        """Prepare, or go on where an earlier process died; the sink has to be at the same address."""
        saved = self._folder / "prepared.json"
        if saved.exists():
            prepared, self.names, port = load_prepared(saved)
            self._number = len(prepared.account.accepted)
            self._sink = await Sink(self._received, port=port).__aenter__()
            return prepared
        self._sink = await Sink(self._received).__aenter__()
        prepared = await self._prepare()
        prepared.save(saved, self.names, int(self._sink.url.rpartition(":")[2]))
        return prepared

    async def _prepare(self) -> Prepared:
        """Delivered ones, retries that wait, planned ones that nobody has read, and accepted ones without a plan."""
        data = self._folder / "seed"
        service = PlainService(plain_config(data))
        await service.open()
        for name in ("ordered", "plain", "retry"):
            self._subscribe(service, name)
        await self._publish(service, [BATCH] * 3)
        await self._until(lambda: not self._account.missing())
        await self._until(lambda: service.cursor() == 12)  # what has to be tried again is in the ledger
        older = await self._copied(service, data, "older")
        service = PlainService(plain_config(data))
        await service.open(delivers=False)
        self._subscribe(service, "late")
        for _ in range(5):
            await self._publish(service, [BATCH])
            await self._until(lambda: service.covered() == len(self._account.accepted))
        service.clear()
        with HOLD:
            await self._publish(service, [BATCH] * 3)
            folders = copies_of(data, self._folder, "prepared")
        await service.close()
        return Prepared(folders, older, self._account)

    async def _copied(self, service: PlainService, data: Path, name: str) -> dict[str, Path]:
        """Copy the folder as a power cut would leave it now; and close the service."""
        copies = copies_of(data, self._folder, name)
        await service.close()
        return copies

    def _subscribe(self, service: PlainService, name: str) -> None:
        ordering = "ordered" if name == "ordered" else "unordered"
        wish = {"sink": f"{self._sink.url}/{name}", "protocol": "HTTP"}
        made = service.subscribe(wish | {"config": {"delivery": {**_PATIENT, "ordering": ordering}}})
        self.names[made] = name
        self._account.since[name] = len(self._account.accepted)

    async def _publish(self, service: PlainService, sizes: list[int]) -> None:
        """Each number is a commit of so many events; they count when they are accepted."""
        for size in sizes:
            events = [numbered(self._number + each) for each in range(size)]
            self._number += size
            await service.publish(events)
            self._account.accept([each.id for each in events])

    async def _until(self, holds: Any) -> None:
        async with asyncio.timeout(_LIMIT):
            while not holds():
                await asyncio.sleep(0.01)

    async def _case(
        self, prepared: Prepared, kind: Kind, fault: Fault, state: str, *, is_begun: bool
    ) -> dict[str, Any]:
        # A path of its own, since readers are kept by their path; and one that names no file, or every message would.
        data = self._folder / f"case-{zlib.crc32(f'{state} {kind.name} {fault}'.encode())}"
        if not is_begun:
            for left in self._folder.glob("case-*"):
                shutil.rmtree(left) if left.is_dir() else left.unlink()
            shutil.copytree(prepared.folder(state), data)
        self._account = prepared.account_before()
        self._account.go_on(data.with_name(f"{data.name}.txt"))
        self._number = max(self._number, len(self._account.accepted) + _REFUSED)
        case = _Case(self, data, prepared.older_for(state, kind), kind, fault)
        try:
            if is_begun:
                outcome = await case.restarted()
            else:
                outcome = await (case.running() if state == "running" else case.stopped())
        except NotApplicable as reason:
            return {"verdict": "", "detail": str(reason)}
        return asdict(outcome)


class _Case:
    def __init__(self, cases: PlainCases, data: Path, older: Path, kind: Kind, fault: Fault) -> None:
        self._cases = cases
        self._account = cases._account
        self._data = data
        self._older = older
        self._kind = kind
        self._fault = fault
        self._telling = Telling()

    async def stopped(self) -> Outcome:
        self._damage()
        await self._start_and_settle()
        return self._judged()

    async def running(self) -> Outcome:
        """The fault comes when retries wait and plans are there that the dispatcher hasn't read yet.

        A restart has to bear it, too: only then are the retries accepted.
        """
        self._account.later = {"retry"}
        service = await self._undamaged()
        await self._cases._until(lambda: not self._account.missing())
        await self._cases._until(lambda: service.cursor() == len(self._account.accepted))
        service.clear()
        try:
            with HOLD:
                await self._cases._publish(service, [BATCH] * 5)
            # Nothing is awaited from here to the fault: the dispatcher, of the same event loop, stands still.
            _wait(lambda: service.covered() == len(self._account.accepted))
            self._damage()
        except NotApplicable:
            await service.close()
            raise
        await self._settle(service)
        return await self.restarted()

    async def _undamaged(self) -> PlainService:
        """Start before the fault. What refuses that is a busy machine, with databases that are waited for so shortly."""
        for _ in range(_STARTS):
            service = await self._opened(accept_damage=False)
            if service is not None:
                self._telling = Telling()
                return service
        raise AssertionError(self._telling)

    async def restarted(self) -> Outcome:
        """Go on where a process has ended, also by the fault itself."""
        self._account.later = set()
        await self._start_and_settle()
        return self._judged()

    def _damage(self) -> None:
        """The folder may have other files by now, of the same kind."""
        kind = kinds_in(self._data, self._older).get(self._kind.name)
        if kind is None:
            raise NotApplicable(f"there is no {self._kind.name} now")
        self._kind = kind
        self._kind.damage(self._data, self._older, self._fault, SEED)

    def _judged(self) -> Outcome:
        return judge(self._account, self._telling, self._kind.names())

    async def _start_and_settle(self) -> None:
        """Start, and where that is refused, take the step that the refusal names."""
        service = await self._opened(accept_damage=False)
        rebuilt = self._telling.rebuildable()
        if service is None and rebuilt is not None:
            service = await self._rebuilt(rebuilt)
        elif service is None and any("accept_damage" in text.lower() for text in self._telling.refusals):
            service = await self._opened(accept_damage=True)
            if service is not None:
                self._telling.accept_damage()
        if service is not None:
            await self._settle(service)

    async def _rebuilt(self, name: str) -> PlainService | None:
        """Rebuild a database, as `headrace restore --rebuild` does, and start again."""
        done = restoration.rebuild(plain_config(self._data), name)
        service = await self._opened(accept_damage=False)
        if service is not None:
            tables = [each.complete for each in done.tables if each.table == SUBSCRIPTIONS.name]
            complete = all(tables) and done.finding is None
            self._telling.rebuilt(name, done.lost, complete=complete, names=self._cases.names)
        return service

    async def _opened(self, *, accept_damage: bool) -> PlainService | None:
        service = PlainService(plain_config(self._data, accept_damage=accept_damage))
        try:
            await service.open()
        except HeadraceError as refusal:
            self._refused(str(refusal))
        except Exception as error:  # noqa: BLE001  an operator would see its traceback
            self._telling.crashes.append(f"the start fails with {error!r}")
        else:
            return service
        return None

    def _refused(self, text: str) -> None:
        self._telling.refusals.append(text)
        self._telling.until = len(self._account.accepted)

    async def _settle(self, service: PlainService) -> None:
        """Send more, wait until everything has arrived or nothing moves any more, and stop."""
        for _ in range(3):
            try:
                await self._cases._publish(service, [2])
            except HeadraceError as refusal:
                self._refused(str(refusal))
            except Exception as error:  # noqa: BLE001  a producer would get a 500
                self._telling.crashes.append(f"events are refused with {error!r}")
        await self._until_still(service)
        self._listen(service)
        self._telling.crashes += service.crashes
        try:
            async with asyncio.timeout(_STOP_SECONDS):
                await service.close()
        except TimeoutError:
            self._telling.crashes.append(f"it doesn't stop within {_STOP_SECONDS:g} s")
        except Exception as error:  # noqa: BLE001  an operator would see its traceback
            self._telling.crashes.append(f"the stop fails with {error!r}")

    async def _until_still(self, service: PlainService) -> None:
        seen, since, end = -1, time.monotonic(), time.monotonic() + _LIMIT
        while self._account.missing() and time.monotonic() < end:
            if self._account.arrived.total() != seen:
                seen, since = self._account.arrived.total(), time.monotonic()
            self._listen(service)
            if service.has_ended:
                return
            if time.monotonic() - since > self._patience(service):
                return
            await asyncio.sleep(0.05)

    def _patience(self, service: PlainService) -> float:
        if len(service.crashes) >= _DEATHS or self._is_settled(service):
            return _STILL_WHEN_KNOWN
        if not self._judged().verdict.is_good:
            return _STILL_SECONDS
        return _STILL_WHEN_TOLD if self._telling.standing else _STILL_WHEN_KNOWN

    def _is_settled(self, service: PlainService) -> bool:
        return service.is_settled(but_for_retries=bool(self._account.later))

    def _listen(self, service: PlainService) -> None:
        """Take down what an operator can see now."""
        self._telling.standing = [
            each.note for each in HEALTH.reports().values() if each.status is Status.BLOCKED
        ]
        self._telling.standing += service.standing.values()
        for text in service.refusals:
            if text not in self._telling.refusals:
                self._refused(text)
        with suppress(Exception):  # a damaged database tells nothing
            self._telling.set_aside = service.set_aside()
        with suppress(Exception):
            self._telling.dead = {(self._cases.names[each], number) for each, number in service.dead()}


def _wait(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + _LIMIT
    while not holds():
        if time.monotonic() > end:
            raise TimeoutError
        time.sleep(0.005)


def _say(document: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(document) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    warm_up()  # else the first match compiles, for longer than anything here waits
    uvloop.run(PlainCases(Path(sys.argv[1])).run())
