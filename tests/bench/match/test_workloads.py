import json
import subprocess
import sys
from collections import Counter

import pytest

from headrace.filters.dialects.table import DIALECTS
from headrace.matching import Matcher
from headrace_bench.match.rules import Equal, Prefix, Within, filter_of
from headrace_bench.match.workloads import citylots, skew
from headrace_bench.match.workloads.github import GitHub
from headrace_bench.match.workloads.table import WORKLOADS, chosen
from headrace_bench.match.workloads.worst import WORST

LOTS = citylots.CityLots()


def _data(event):
    return json.loads(event.data)


@pytest.mark.parametrize("name", WORKLOADS)
def test_rules_and_events_come_from_the_seed(name):
    workload = WORKLOADS[name]
    rules = list(workload.rules(40, 1))
    assert rules == list(workload.rules(40, 1)) != list(workload.rules(40, 2))
    assert len(rules) == 40
    events = workload.events(40, 1)
    assert events == workload.events(40, 1)
    assert [event.data for event in events] != [event.data for event in workload.events(40, 2)]
    assert len({event.id for event in events}) == 40


def test_another_process_generates_the_same():
    # Hashes of strings differ between processes: nothing may depend on them.
    program = (
        "from headrace_bench.match.workloads.table import WORKLOADS\n"
        "print([(list(each.rules(5, 1)), each.events(3, 1)) for each in WORKLOADS.values()])"
    )
    here = [(list(each.rules(5, 1)), each.events(3, 1)) for each in WORKLOADS.values()]
    there = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert there.stdout.strip() == str(here)


@pytest.mark.parametrize("name", [name for name in WORKLOADS if name != "skew"])
def test_more_rules_begin_with_the_fewer(name):
    assert list(WORKLOADS[name].rules(50, 1))[:20] == list(WORKLOADS[name].rules(20, 1))


def test_lots_have_the_sizes_and_cardinalities_of_the_city():
    records = [_data(event)["properties"] for event in LOTS.events(20_000, 1)]
    assert list(records[0]) == list(citylots.FIELDS)
    assert len(citylots.FIELDS) == 16
    distinct = {name: len({record[name] for record in records}) for name in citylots.FIELDS}
    assert distinct["BLKLOT"] > 18_000
    assert 4_000 < distinct["BLOCK_NUM"] <= 5_000
    assert 200 < distinct["LOT_NUM"] <= 300
    assert 1_500 < distinct["STREET"] <= 1_700
    assert distinct["ST_TYPE"] == 12
    assert distinct["ODD_EVEN"] == 2
    assert {type(records[0][name]) for name in ("AREA", "VALUE")} == {int, float}
    assert all(record["BLKLOT"] == record["BLOCK_NUM"] + record["LOT_NUM"] for record in records)


def test_there_are_about_200_000_lots_of_about_900_bytes():
    assert 180_000 < len(citylots._lots(1)) < 220_000
    sizes = [len(event.data or b"") for event in LOTS.events(500, 1)]
    assert 800 < sum(sizes) / len(sizes) < 1_000


def test_the_mix_of_rules_on_lots():
    rules = list(LOTS.rules(20_000, 1))
    shapes = Counter(tuple(type(each) for each in rule.conditions) for rule in rules)
    assert shapes[Equal, Equal] == pytest.approx(14_000, rel=0.03)
    assert shapes[Equal, Prefix] == pytest.approx(4_000, rel=0.05)
    assert shapes[Within,] == pytest.approx(2_000, rel=0.08)
    assert sum(shapes.values()) == shapes[Equal, Equal] + shapes[Equal, Prefix] + shapes[Within,]
    assert all(len({each.field for each in rule.conditions}) == len(rule.conditions) for rule in rules)


def test_an_event_about_a_lot_matches_10_to_20_of_100_000_rules():
    events = [_data(event)["properties"] for event in LOTS.events(60, 1)]
    rules = list(LOTS.rules(100_000, 1))
    equal = [{name: value for name, value in event.items() if isinstance(value, str)} for event in events]
    found = sum(_holds(rule, event) for rule in rules for event in equal_or_range(rule, events, equal))
    assert 10 < found / len(events) < 20


def equal_or_range(rule, events, texts):
    """The events that the first condition, an equality or a range, lets through."""
    first = rule.conditions[0]
    name = first.field[1]
    if isinstance(first, Equal):
        return [event for event, text in zip(events, texts, strict=True) if text[name] == first.value]
    return events


def _holds(rule, record):
    return all(_fits(condition, record[condition.field[1]]) for condition in rule.conditions)


def _fits(condition, value):
    match condition:
        case Equal(_, wanted):
            return value == wanted
        case Prefix(_, start):
            return value.startswith(start)
        case Within(_, low, high):
            return low <= value < high


def test_github_filters_use_every_dialect_and_say_yes_and_no():
    workload = GitHub()
    rules = list(workload.rules(3_000, 1))
    aliases = {"expression", "cesql"}
    assert {next(iter(rule.spec)) for rule in rules} == set(DIALECTS) - aliases
    events = workload.events(60, 1)
    wanted = [filter_of(rule) for rule in rules[:600]]
    answers = Counter(each.matches(event) for each in wanted for event in events)
    assert 0 < answers[True] < answers[False] / 100
    assert any(".exists(" in str(rule.spec) for rule in rules)
    assert any("size(" in str(rule.spec) for rule in rules)


def test_github_events_have_nested_data_lists_and_numbers():
    documents = [_data(event) for event in WORKLOADS["github"].events(200, 1)]
    assert {type(each["repo"]["private"]) for each in documents} == {bool}
    assert any(each["payload"].get("item", {}).get("labels") for each in documents)
    assert all(isinstance(each["repo"]["stars"], int) for each in documents)
    assert len({event.type for event in WORKLOADS["github"].events(200, 1)}) >= 5


@pytest.mark.parametrize("workload", WORST, ids=lambda each: each.name)
def test_worst_patterns_all_differ_and_stand_alone(workload):
    rules = list(workload.rules(3_000, 1))
    assert len(set(rules)) == 3_000
    assert {len(rule.conditions) for rule in rules} == {1}
    assert {rule.conditions[0].field for rule in rules} == {(workload.column,)}
    assert len({type(rule.conditions[0]) for rule in rules}) == 1
    matcher = Matcher()
    matcher.add_many((str(number), filter_of(rule)) for number, rule in enumerate(rules[:200]))
    assert any(matcher.match_batch(workload.events(50, 1)))


def test_the_columns_of_worst():
    records = [_data(event) for event in WORST[0].events(500, 1)]
    assert len({record["few"] for record in records}) == 20
    assert len({record["each"] for record in records}) == 500


def test_a_hot_event_matches_all_hot_rules_and_others_few():
    workload = WORKLOADS["skew"]
    rules = list(workload.rules(300, 1))
    assert skew.hot_rules(300) == 150
    assert skew.hot_rules(100_000) == skew.hot_rules(1_000_000) == 10_000
    matcher = Matcher()
    matcher.add_many((str(number), filter_of(rule)) for number, rule in enumerate(rules))
    hot, *others = map(len, matcher.match_batch(workload.events(50, 1)))
    assert hot == 150
    assert max(others) < 5
    assert len(set(rules)) > 200  # hot rules are not one filter shared by all


@pytest.mark.parametrize("size", [1, 2, 3, 20_000, 30_001])
def test_as_many_hot_rules_as_promised(size):
    rules = skew.Skew().rules(size, 1)
    hot = sum(rule.conditions[0] == Equal(("account", "name"), "hot") for rule in rules)
    assert hot == skew.hot_rules(size)


def test_choices():
    assert [each.name for each in chosen(["a"])] == ["citylots"]
    assert [each.name for each in chosen(["d", "github"])] == ["github", "skew"]
    assert len(chosen(["c"])) == 6
    assert chosen(["all"]) == tuple(WORKLOADS.values())
