"""Put a service through every fault of its files, and print what came of each: `python -m tests.chaos.run --help`.

A case takes a minute or two with Spark, some seconds without it. What is done stays in the folder: a run that was
ended goes on there.
"""

import argparse
import asyncio
import json
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import NamedTuple

from tests.chaos.account import Outcome, Verdict
from tests.chaos.faults import Fault, NotApplicable
from tests.chaos.plain_runner import Case, PlainRunner
from tests.chaos.prepared import STATES, Prepared
from tests.chaos.service_cases import ServiceCase, ServiceCases


class Results:
    """One line of JSON for each case that is done."""

    def __init__(self, path: Path) -> None:
        self._path = path
        lines = path.read_text().splitlines() if path.exists() else []
        self._done = {each.pop("case"): each for each in map(json.loads, lines)}

    def __contains__(self, case: Case) -> bool:
        return str(case) in self._done

    def add(self, case: Case, outcome: Outcome | None, seconds: float) -> None:
        row = (asdict(outcome) if outcome else {"verdict": "changes nothing"}) | {"seconds": round(seconds)}
        self._done[str(case)] = row
        with self._path.open("a") as file:
            file.write(json.dumps({"case": str(case), **row}) + "\n")

    def counts(self) -> Counter[str]:
        return Counter(str(row["verdict"]) for row in self._done.values())

    def table(self) -> str:
        rows = [
            f"{row['verdict']:<16} {case:<58} missing {row.get('missing', 0):>3}, told {row.get('accounted', 0):>3}, "
            f"repeated {row.get('repeated', 0):>3}  {row.get('detail', '')[:160]}"
            for case, row in sorted(self._done.items(), key=lambda each: (each[1]["verdict"], each[0]))
        ]
        figures = ", ".join(f"{count} {verdict}" for verdict, count in sorted(self.counts().items()))
        return "\n".join([*rows, "", figures])


class Choice(NamedTuple):
    """Cases whose names have each of these texts; of those one in so many."""

    only: list[str]
    one_in: int = 1

    def of(self, cases: Iterable[Case], results: Results) -> list[Case]:
        """Choose among cases, and leave out what is done."""
        wanted = [case for case in cases if all(text in str(case) for text in self.only)]
        return [case for case in wanted[:: self.one_in] if case not in results]


def service_cases(prepared: Prepared) -> list[Case]:
    """Every case, one fault of all kinds after the other: a run that is ended early has seen every kind."""
    found = [
        Case(state, kind.name, fault)
        for state in STATES
        for kind in prepared.kinds(state).values()
        for fault in kind.faults
    ]
    order = [Fault.REMOVE, Fault.OLDER_RENAMED, Fault.FLIP_MIDDLE, Fault.EMPTY, Fault.HALVE]
    return sorted(found, key=lambda case: order.index(case.fault) if case.fault in order else len(order))


async def run_service(folder: Path, choice: Choice, results: Results, *, spark: bool) -> None:
    cases = ServiceCases(folder, spark=spark)
    say("preparing a data folder")
    prepared, sink = await cases.prepare()
    try:
        chosen = choice.of(service_cases(prepared), results)
        for number, case in enumerate(chosen, 1):
            began = time.monotonic()
            try:
                outcome = await ServiceCase(cases, prepared, case.state, case.kind, case.fault).run()
            except NotApplicable:
                outcome = None
            except Exception as error:  # noqa: BLE001  one case that can't be judged doesn't end the others
                outcome = Outcome(Verdict.CRASHED, 0, 0, 0, f"the case can't be judged: {error!r}")
            done(results, f"{number}/{len(chosen)}", case, outcome, began)
    finally:
        await sink.__aexit__()


def run_plain(folder: Path, choice: Choice, results: Results) -> None:
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        runner = PlainRunner(Path(scratch))
        try:
            chosen = choice.of((case for state in STATES for case in runner.cases(state)), results)
            for number, case in enumerate(chosen, 1):
                began = time.monotonic()
                done(results, f"{number}/{len(chosen)}", case, runner.run(case), began)
        finally:
            runner.close()


def done(results: Results, progress: str, case: Case, outcome: Outcome | None, began: float) -> None:
    seconds = time.monotonic() - began
    results.add(case, outcome, seconds)
    verdict = outcome.verdict if outcome else "changes nothing"
    say(f"[{progress}] {verdict:<10} {case} ({seconds:.0f} s) {outcome.detail[:200] if outcome else ''}")


def say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, default=Path("build/chaos"), help="where everything is kept")
    parser.add_argument(
        "--with",
        dest="how",
        choices=("spark", "roles", "parts"),
        default="spark",
        help="spark: the whole service. roles: the same, with a thread in the place of Spark. "
        "parts: all of it in one process, without HTTP in front; a second or two for each case.",
    )
    parser.add_argument("--one-in", type=int, default=1, metavar="N", help="run one in so many of the cases")
    parser.add_argument(
        "only", nargs="*", help="texts that a case's name has, as: stopped 'delivery.db' empty"
    )
    given = parser.parse_args()
    folder = given.folder.resolve() / given.how
    folder.mkdir(parents=True, exist_ok=True)
    results = Results(folder / "results.jsonl")
    choice = Choice(given.only, given.one_in)
    if given.how == "parts":
        run_plain(folder, choice, results)
    else:
        asyncio.run(run_service(folder, choice, results, spark=given.how == "spark"))
    say(results.table())
    return 1 if {Verdict.LOST, Verdict.CRASHED} & results.counts().keys() else 0


if __name__ == "__main__":
    sys.exit(main())
