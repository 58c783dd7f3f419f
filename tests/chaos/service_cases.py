"""Cases on the whole service: Spark, the archive, the API, pulled, paused, dead and secret deliveries."""

import asyncio
import json
import re
import shutil
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from tests.chaos.account import Account, Outcome, Telling, judge
from tests.chaos.faults import Fault
from tests.chaos.kinds import Kind, kinds_in
from tests.chaos.plain_config import BATCH, plain_config
from tests.chaos.plain_service import PlainService
from tests.chaos.plain_session import HOLD
from tests.chaos.prepared import Prepared, copies_of, load_prepared, numbered
from tests.chaos.service_run import ServiceRun, next_step, publish

from headrace.client import Client
from headrace.client.sink import Received, Sink
from headrace.errors import HeadraceError
from headrace.events.event import Event

SEED = 15
_LIMIT = 240.0
_STILL_WHEN_TOLD = 6.0
_TOKEN = "chaos-token"
_DELIVERY = {"retry": 1000, "backoffDelay": "PT0.2S", "backoffPolicy": "linear"}
_PUSHED = ("ordered", "plain", "retry", "dead", "paused", "secret")
_CREDENTIAL = {
    "credentialtype": "ACCESSTOKEN",
    "accesstoken": _TOKEN,
    "accesstokentype": "Bearer",
    "accesstokenexpiresutc": "2100-01-01T00:00:00Z",
}


class ServiceCases:
    """Owns the sink. The folder keeps what was prepared, so that another run goes on with it."""

    def __init__(self, folder: Path, *, spark: bool) -> None:
        self.folder = folder
        self.spark = spark
        self.still_seconds = 30.0 if spark else 15.0
        self.account = Account(later={"retry"})
        self.names: dict[str, str] = {}
        self.is_preparing = True
        self._number = 0
        self._cases = 0

    def received(self, delivery: Received) -> int:
        name = delivery.path.strip("/")
        if name in self.account.later:
            return 503
        if name == "dead" and self.is_preparing:
            return 400
        if name == "secret" and delivery.headers.get("authorization") != f"Bearer {_TOKEN}":
            return 401
        self.account.arrive(name, delivery.event.id)
        return 200

    async def prepare(self) -> tuple[Prepared, Sink]:
        """Make the folders, or take those of an earlier run; the sink has to be at the same address."""
        saved = self.folder / "prepared.json"
        if saved.exists():
            prepared, self.names, port = load_prepared(saved)
            self.account, self._number = prepared.account, len(prepared.account.accepted)
            return prepared, await Sink(self.received, port=port).__aenter__()
        for left in self.folder.iterdir():  # of a run that was ended while it prepared
            shutil.rmtree(left) if left.is_dir() else left.unlink()
        sink = await Sink(self.received).__aenter__()
        older = await self._live(self.folder / "seed", sink.url)
        folders = await self._fall_behind(self.folder / "seed", sink.url)
        prepared = Prepared(folders, older, self.account)
        prepared.save(saved, self.names, int(sink.url.rpartition(":")[2]))
        return prepared, sink

    async def _live(self, data: Path, sink: str) -> dict[str, Path]:
        """Delivered ones, archived ones, retries that wait, dead letters, a mailbox, a secret, a paused one."""
        run = ServiceRun(data, self.folder / "seed.log", {}, spark=self.spark)
        assert await run.start(), run.process.tail()
        async with Client(run.process.url) as client:
            for name in _PUSHED:
                await self._subscribe(client, name, sink)
            pulled = await client.subscribe({"protocol": "PULL"})
            self._know("pull", pulled["id"])
            await client.pause(next(id_ for id_, name in self.names.items() if name == "paused"))
            for _ in range(6):
                assert await self.publish(client, 4) is None
            await self.until(lambda: not {"ordered", "plain", "secret"} & self.account.missing().keys())
            while len((await client.dead_letters())["deadLetters"]) < 24:
                await asyncio.sleep(0.1)
            await self.until(lambda: not self.spark or list(data.rglob("*.parquet")))
            await asyncio.sleep(11)  # the dispatcher clears the outbox every ten seconds
        await run.end()
        return copies_of(data, self.folder, "older")

    async def _fall_behind(self, data: Path, sink: str) -> dict[str, Path]:
        """Planned ones that no dispatcher has read, and accepted ones that nobody has planned."""
        service = PlainService(plain_config(data))
        await service.open(delivers=False)
        ordering = {"ordering": "unordered"}
        wish = {"sink": f"{sink}/late", "protocol": "HTTP", "config": {"delivery": _DELIVERY | ordering}}
        self._know("late", service.subscribe(wish))
        for _ in range(5):
            await self._append(service)
            await self.until(lambda: service.covered() == len(self.account.accepted))
        with HOLD:
            for _ in range(3):
                await self._append(service)
            copies = copies_of(data, self.folder, "prepared")
        await service.close()
        return copies

    async def _append(self, service: PlainService) -> None:
        events = self._next(BATCH)
        await service.publish(events)
        self.account.accept([each.id for each in events])

    async def _subscribe(self, client: Client, name: str, sink: str) -> None:
        delivery = _DELIVERY | {"ordering": "ordered" if name == "ordered" else "unordered"}
        if name == "dead":
            delivery["retry"] = 0
        wish = {"sink": f"{sink}/{name}", "protocol": "HTTP", "config": {"delivery": delivery}}
        made = await client.subscribe(wish | ({"sinkcredential": _CREDENTIAL} if name == "secret" else {}))
        self._know(name, made["id"])

    def _know(self, name: str, id_: str) -> None:
        self.names[id_] = name
        self.account.since[name] = len(self.account.accepted)

    def id_of(self, name: str) -> str:
        return next(id_ for id_, each in self.names.items() if each == name)

    def _next(self, count: int) -> list[Event]:
        self._number += count
        return [numbered(each) for each in range(self._number - count, self._number)]

    async def publish(self, client: Client, count: int) -> str | None:
        """One request; its events count when the 202 is there."""
        events = self._next(count)
        told = await publish(client, events)
        if told is None:
            self.account.accept([each.id for each in events])
        return told

    async def until(self, holds) -> None:
        async with asyncio.timeout(_LIMIT):
            while not holds():
                await asyncio.sleep(0.05)

    def new_folder(self) -> Path:
        """A place for a case; those of earlier ones are removed."""
        for left in self.folder.glob("case-*"):
            shutil.rmtree(left) if left.is_dir() else left.unlink()
        self._cases += 1
        return self.folder / f"case-{self._cases}"


class ServiceCase:
    """One fault, before a start or while the service runs, and what came of it."""

    def __init__(self, cases: ServiceCases, prepared: Prepared, state: str, kind: str, fault: Fault) -> None:
        self._cases = cases
        self._prepared = prepared
        self._state = state
        self._fault = fault
        self._kind: Kind = prepared.kinds(state)[kind]
        self._telling = Telling()

    async def run(self) -> Outcome:
        """NotApplicable where the fault changes nothing."""
        self._data = self._cases.new_folder()
        shutil.copytree(self._prepared.folder(self._state), self._data)
        self._cases.account = self._prepared.account_before()
        self._cases.is_preparing = False
        if self._state == "running":
            await self._damage_running()
        else:
            self._damage()
            await self._start_and_settle()
        return judge(self._cases.account, self._telling, self._kind.names())

    def _damage(self) -> None:
        older = self._prepared.older_for(self._state, self._kind)
        self._kind = kinds_in(self._data, older).get(self._kind.name, self._kind)
        self._kind.damage(self._data, older, self._fault, SEED)

    async def _damage_running(self) -> None:
        """The dispatcher is held, so that plans wait for it when the fault comes.

        A restart has to bear it, too: only then are the retries accepted.
        """
        self._cases.account.later = {"retry"}
        run = ServiceRun(self._data, self._log(), {}, spark=self._cases.spark)
        assert await run.start(), run.process.tail()
        try:
            run.freeze("dispatcher", frozen=True)
            async with Client(run.process.url) as client:
                for _ in range(3):
                    await self._cases.publish(client, 4)
                    await self._cases.until(self._is_planned)
                self._damage()
                run.freeze("dispatcher", frozen=False)
                await self._settle(run)
        finally:
            await run.end()
        self._cases.account.later = set()
        await self._start_and_settle()

    def _is_planned(self) -> bool:
        """Files of the outbox are named by the positions they cover; what is being written has another suffix more."""
        names = [
            re.fullmatch(r"\d{20}-(\d{20})\.\w+", path.name) for path in (self._data / "outbox").iterdir()
        ]
        return max((int(name[1]) for name in names if name), default=0) >= len(self._cases.account.accepted)

    async def _start_and_settle(self) -> None:
        """Start; where that is refused, do what the refusal asks for, and start again."""
        settings: dict[str, str] | None = {}
        for _ in range(3):
            if settings is None:
                return
            run = ServiceRun(self._data, self._log(), settings, spark=self._cases.spark)
            try:
                if await run.start():
                    if "LOG_ACCEPT_DAMAGE" in settings:
                        self._telling.accept_damage()
                    await self._settle(run)
                    return
                run.tell(self._telling, len(self._cases.account.accepted))
                if run.process.is_running:
                    self._telling.standing = await run.standing()
                    return
            finally:
                await run.end()
            settings = next_step(self._data, self._telling, self._cases.names)

    def _log(self) -> Path:
        return self._data.with_name(f"{self._data.name}.log")

    async def _settle(self, run: ServiceRun) -> None:
        """Send more, wait until everything has arrived or nothing moves any more, and take down what was told."""
        async with Client(run.process.url, timeout_seconds=15) as client:
            with suppress(HeadraceError):
                await client.resume(self._cases.id_of("paused"))
            for _ in range(3):
                told = await self._cases.publish(client, 2)
                if told:
                    self._telling.refusals.append(told)
                    self._telling.until = len(self._cases.account.accepted)
            await self._until_still(run, client)
            self._telling.standing = await run.standing()
            if run.process.is_running:
                self._telling.standing += await self._statuses(client)
                if self._cases.spark and self._kind.name.startswith("archive"):
                    await self._look_back(client)
        run.tell(self._telling, len(self._cases.account.accepted))
        if self._missing_silently():
            self._telling.standing += await asyncio.to_thread(run.examine)

    async def _until_still(self, run: ServiceRun, client: Client) -> None:
        seen, since, end = -1, time.monotonic(), time.monotonic() + _LIMIT
        while time.monotonic() < end and run.is_well:
            await self._look(client)
            account = self._cases.account
            if not account.missing():
                return
            if len(account.arrived) != seen:
                seen, since = len(account.arrived), time.monotonic()
            limit = self._cases.still_seconds if self._missing_silently() else _STILL_WHEN_TOLD
            if time.monotonic() - since > limit:
                return
            await asyncio.sleep(0.5)

    def _missing_silently(self) -> bool:
        return not judge(self._cases.account, self._telling, self._kind.names()).verdict.is_good

    async def _look(self, client: Client) -> None:
        """Pull what is to be pulled, and read what is dead or set aside."""
        account = self._cases.account
        with suppress(HeadraceError):
            pulled = await client.pull(self._cases.id_of("pull"), max_events=1000)
            account.arrived.update(("pull", each.event.id) for each in pulled)
            if pulled:
                await client.acknowledge(self._cases.id_of("pull"), up_to=pulled[-1].cursor)
        with suppress(HeadraceError):
            asides = await client.set_aside(1000)
            self._telling.set_aside = [
                range(each["position"], each["until"]) for each in asides if "position" in each
            ]
        with suppress(HeadraceError):
            self._note_dead((await client.dead_letters(limit=1000))["deadLetters"])

    async def _statuses(self, client: Client) -> list[str]:
        """What the owners of subscriptions are told where something is missing."""
        found = []
        for name in self._cases.account.missing():
            with suppress(HeadraceError):
                shown = await client.subscription(self._cases.id_of(name))
                found.append(json.dumps(shown["status"], ensure_ascii=False))
        return [text for text in found if any(name in text for name in self._kind.names())]

    async def _look_back(self, client: Client) -> None:
        """History has every event, too, or says what it lacks: in Headrace's words, not in Spark's."""
        account = self._cases.account
        try:
            counted = await client.finished(await client.backtest({"exact": {"source": "/chaos"}}))
        except HeadraceError as error:
            is_foreign = any(word in str(error) for word in ("org.apache", "java.", "Traceback"))
            (self._telling.crashes if is_foreign else self._telling.standing).append(f"history: {error}")
            return
        account.since["history"] = 0
        account.arrived.update(("history", each) for each in account.accepted[: counted["events"]])

    def _note_dead(self, letters: list[dict[str, Any]]) -> None:
        """A dead letter is what becomes of the events for `dead`; any other is told."""
        account = self._cases.account
        for each in letters:
            name, position = self._cases.names.get(each["subscription"], ""), each["position"]
            if name == "dead" and position < len(account.accepted):
                account.arrived[name, account.accepted[position]] = 1
            elif name:
                self._telling.dead.add((name, position))
