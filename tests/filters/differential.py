"""Ask every back end about generated filters and events: `python -m tests.filters.differential --help`.

The reference evaluator is compared with Google's evaluator, in all three truth values, and with Arrow, the index and
Spark, in two. Most filters are CESQL, with all its operators and functions, some beside CEL; the others are of any dialect.
"""

import argparse
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import pyarrow as pa
from tests.filters import google
from tests.filters.backends.event_tables import table_of
from tests.filters.cel_texts import Grower
from tests.filters.cesql.texts import CesqlGrower
from tests.filters.drawing import drawn
from tests.filters.every_dialect import every_filter, is_filter

from headrace.config import load_config
from headrace.events.batch import from_batch
from headrace.filters import Filter, compile_filter
from headrace.filters.backends import reference
from headrace.filters.backends.arrow import evaluator as arrow
from headrace.filters.truth import Truth
from headrace.filters.variables import variables_of
from headrace.matching.matcher import Matcher
from headrace.pipeline.spark.session import Session

ROUND, DRAWN = 100, 5
"""How many filters there are in a round, and how many of these are of any dialect."""


class Round(NamedTuple):
    """Filters and events, and what the reference evaluator says of each filter: one answer for each event."""

    specs: Sequence[Any]
    filters: Sequence[Filter]
    batch: pa.RecordBatch
    truths: Sequence[Sequence[Truth]]

    @property
    def matched(self) -> list[list[bool]]:
        return [[truth is True for truth in row] for row in self.truths]


class Tally:
    """Counts pairs and disagreements of one back end."""

    def __init__(self) -> None:
        self.pairs = self.disagreements = self.gave_up = 0


Answers = Callable[[Round], Iterator[Sequence[Any]]]


def made(random: Random, events: int) -> Round:
    sql, cel = CesqlGrower(random), Grower(random.getrandbits(64))
    specs: list[Any] = []
    while len(specs) < ROUND - DRAWN:
        text = {"sql": sql.condition(3)}
        spec = random.choice([text, text, {"not": text}, {"any": [text, {"cel": cel.condition(2)}]}])
        specs += [spec] if is_filter(spec) else []
    specs += drawn(every_filter, DRAWN)
    filters = [compile_filter(spec) for spec in specs]
    batch = table_of([random.choice([sql.event, cel.event])() for _ in range(events)])
    variables = [variables_of(recorded) for recorded in from_batch(batch)]
    truths = [[reference.evaluate(each.expression, at) for at in variables] for each in filters]
    return Round(specs, filters, batch, truths)


def by_google(asked: Round) -> Iterator[Sequence[Any]]:
    variables = [dict(variables_of(recorded)) for recorded in from_batch(asked.batch)]
    for each in asked.filters:
        yield [_google(each.cel, at) for at in variables]


def _google(text: str, variables: dict[str, Any]) -> Truth | None:
    try:
        return google.evaluate(text, variables)
    except google.GaveUp:
        return None


def by_arrow(asked: Round) -> Iterator[Sequence[Any]]:
    for each in asked.filters:
        yield arrow.evaluate(each.expression, asked.batch).to_pylist()


def by_index(asked: Round) -> Iterator[Sequence[Any]]:
    matcher = Matcher()
    matcher.add_many((str(number), each) for number, each in enumerate(asked.filters))
    found = [set(ids) for ids in matcher.match_batch(asked.batch)]
    for number in range(len(asked.filters)):
        yield [str(number) in ids for ids in found]


BACKENDS: Mapping[str, Answers] = {"Google": by_google, "Arrow": by_arrow, "index": by_index}


@contextmanager
def with_spark() -> Iterator[Answers]:
    with tempfile.TemporaryDirectory() as folder:
        session = Session(load_config(overrides={"pipeline.master": "local[1]"}).pipeline, Path(folder))

        def by_spark(asked: Round) -> Iterator[Sequence[Any]]:
            table = session.spark.createDataFrame(pa.Table.from_batches([asked.batch])).coalesce(1)
            for first in range(0, ROUND, ROUND // 4):
                some = asked.filters[first : first + ROUND // 4]
                columns = [each.column().alias(f"f{number}") for number, each in enumerate(some)]
                rows = table.orderBy("position").select(*columns).collect()
                yield from ([row[number] for row in rows] for number in range(len(some)))

        try:
            yield by_spark
        finally:
            session.stop()


def compare(name: str, asked: Round, answers: Answers, tally: Tally) -> None:
    expected = asked.truths if name == "Google" else asked.matched
    for number, (wanted, given) in enumerate(zip(expected, answers(asked), strict=True)):
        for row, (one, other) in enumerate(zip(wanted, given, strict=True)):
            if other is None and name == "Google":
                tally.gave_up += 1
                continue
            tally.pairs += 1
            if one is not other:
                tally.disagreements += 1
                event = asked.batch.slice(row, 1).to_pylist()
                say(f"{name}: {other}, reference: {one}\n  {asked.specs[number]}\n  {event}")


def functions_in(filters: Sequence[Filter]) -> Counter[str]:
    return Counter(name for each in filters for name in set(re.findall(r"\bsql[A-Z]\w*(?=\()", each.cel)))


def run(chosen: argparse.Namespace, backends: Mapping[str, Answers]) -> bool:
    tallies = {name: Tally() for name in backends}
    random, filters, matched = Random(chosen.seed), list[Filter](), 0
    while min(tally.pairs for tally in tallies.values()) < chosen.pairs:
        asked = made(random, chosen.events)
        filters += asked.filters
        matched += sum(map(sum, asked.matched))
        for name, answers in backends.items():
            compare(name, asked, answers, tallies[name])
        sys.stderr.write(f"\r{len(filters)} filters")
    calls = ", ".join(f"{name} {count}" for name, count in sorted(functions_in(filters).items()))
    say(f"\n{len(filters)} filters, {len(set(filters))} of them different; with calls of {calls}")
    say(f"{len(filters) * chosen.events} pairs, of which {matched} match")
    for name, tally in tallies.items():
        counts = f"{tally.pairs:>9} pairs {tally.disagreements:>3} disagreements"
        say(f"{name:<8}{counts} {tally.gave_up:>5} without an answer")
    return not any(tally.disagreements for tally in tallies.values())


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main() -> None:
    parser = argparse.ArgumentParser(description="Ask back ends about generated filters and events.")
    parser.add_argument(
        "backends", nargs="*", help=f"some of {', '.join(BACKENDS)} and Spark; without any, all but Spark"
    )
    parser.add_argument("--pairs", type=int, default=500_000, help="about how many pairs each one is asked")
    parser.add_argument("--events", type=int, default=100, help="on how many events a filter is asked")
    parser.add_argument("--seed", type=int, default=11)
    chosen = parser.parse_args()
    names = chosen.backends or list(BACKENDS)
    with with_spark() if "Spark" in names else nullcontext() as spark:
        asked = {name: spark if spark and name == "Spark" else BACKENDS[name] for name in names}
        sys.exit(0 if run(chosen, asked) else 1)


if __name__ == "__main__":
    main()
