import json
import re
from pathlib import Path

import pytest

PAGES = Path(__file__).parents[3] / "docs" / "filters"
ORDER = {"specversion": "1.0", "id": "1", "source": "/shop", "type": "order", "data": {"amount": 7}}
CHEAP = ORDER | {"id": "2", "data": {"amount": 3}}
BARE = {"specversion": "1.0", "id": "3", "source": "/shop", "type": "ping"}


def lines(*events):
    return "".join(json.dumps(event) + "\n" for event in events)


@pytest.mark.parametrize(
    ("given", "text"),
    [
        (("--filter", '{"exact": {"type": "a"}}'), 'ce.type == "a"'),
        (
            ("--filter", '[{"exact": {"type": "a"}}, {"cel": "true"}]'),
            'ce.type == "a" && true',
        ),
        (("--filter", "[]"), "true"),
        (("--cel", "data.amount>5"), "data.amount > 5"),
        pytest.param(("--sql", "type = 'a'"), 'ce.type == "a"'),
        pytest.param(
            ("--filter", '{"message": {"property": "type", "op": "equals", "value": "a"}}'),
            'ce.type == "a"',
        ),
    ],
)
def test_the_cel_text(run, given, text):
    result = run("filter", "cel", *given)
    assert (result.exit_code, result.stdout, result.stderr) == (0, f"{text}\n", "")
    as_json = run("filter", "cel", *given, "--json")
    assert json.loads(as_json.stdout) == {"cel": text, "notes": []}


def test_the_filter_from_a_file_and_from_standard_input(run, tmp_path):
    text = '{"suffix": {"type": ".ü"}}'
    (tmp_path / "filter.json").write_text(text)
    for result in (
        run("filter", "cel", "-f", "filter.json"),
        run("filter", "cel", "--file", "-", input=text),
    ):
        assert (result.exit_code, result.stdout) == (0, 'ce.type.endsWith(".ü")\n')


def test_the_functions_of_sql_are_functions_of_cel(run):
    result = run("filter", "cel", "--sql", "UPPER(subject) = 'A'")
    assert (result.exit_code, result.stdout) == (0, 'has(ce.subject) && sqlUpper(ce.subject) == "A"\n')


def test_a_remark_goes_to_standard_error(run):
    result = run("filter", "cel", "--filter", '{"sourceAndType": {"type": "a"}}', "--json")
    assert json.loads(result.stdout)["notes"] == [
        "filter.sourceAndType: sourceAndType is deprecated; attributes does the same"
    ]
    assert result.stderr.startswith("Note: filter.sourceAndType: ")


def test_which_events_match(run, tmp_path):
    (tmp_path / "events.jsonl").write_text(lines(ORDER) + "\n" + lines(CHEAP, BARE))
    result = run("filter", "test", "--cel", "data.amount > 5", "--events", "events.jsonl")
    assert result.exit_code == 0
    assert [line.split() for line in result.stdout.splitlines()] == [
        ["matches", "line", "id", "source", "type"],
        ["yes", "1", "1", "/shop", "order"],
        ["no", "3", "2", "/shop", "order"],
        ["no", "4", "3", "/shop", "ping"],
        ["1", "of", "3", "events", "matched"],
    ]


def test_which_events_match_for_programs(run):
    result = run("filter", "test", "--cel", "data.amount < 5", "--json", input=lines(ORDER, CHEAP))
    assert result.exit_code == 0
    assert json.loads(result.stdout) == {
        "events": [
            {"line": 1, "id": "1", "source": "/shop", "type": "order", "matches": False},
            {"line": 2, "id": "2", "source": "/shop", "type": "order", "matches": True},
        ],
        "matched": 1,
        "notes": [],
    }


@pytest.mark.parametrize("events", [lines(ORDER, CHEAP), ""])
@pytest.mark.parametrize("as_json", [(), ("--json",)])
def test_the_status_says_that_none_matched(run, events, as_json):
    result = run("filter", "test", "--cel", "data.amount > 100", *as_json, input=events)
    assert (result.exit_code, result.stderr) == (1, "")
    assert ("0 of" in result.stdout) or (json.loads(result.stdout)["matched"] == 0)


def test_events_against_sql(run):
    result = run("filter", "test", "--sql", "type LIKE 'or%'", "--json", input=lines(ORDER, BARE))
    assert [each["matches"] for each in json.loads(result.stdout)["events"]] == [True, False]


def test_the_clauses_of_each_event(run):
    wanted = '{"any": [{"cel": "data.amount > 5"}, {"exact": {"type": "ping"}}]}'
    result = run("filter", "explain", "--filter", wanted, input=lines(ORDER, BARE))
    assert result.exit_code == 0
    assert result.stdout == (
        "line 1: event 1 of /shop\n"
        "true: any of\n"
        "├── true: data.amount > 5 (data.amount is 7)\n"
        '└── false: ce.type == "ping" (ce.type is "order")\n'
        "line 2: event 3 of /shop\n"
        "true: any of\n"
        "├── unknown: data.amount > 5 (data is missing)\n"
        '└── true: ce.type == "ping" (ce.type is "ping")\n'
    )


def test_the_clauses_for_programs(run):
    result = run("filter", "explain", "--cel", "data.amount > 5", "--json", input=lines(BARE))
    assert json.loads(result.stdout) == [
        {
            "line": 1,
            "id": "3",
            "source": "/shop",
            "type": "ping",
            "explanation": {"clause": "data.amount > 5", "value": None, "reason": "data is missing"},
        }
    ]


def test_the_sql_above_its_clauses(run):
    result = run("filter", "explain", "--sql", "Type = 'ping' and region = 'eu'", input=lines(BARE))
    assert result.stdout == (
        "line 1: event 3 of /shop\n"
        "false: type = 'ping' AND region = 'eu' (missingAttribute error: the event has no region)\n"
        "└── false: all of\n"
        '    ├── true: ce.type == "ping" (ce.type is "ping")\n'
        "    ├── false: has(ce.region) (ce.region is missing)\n"
        '    └── unknown: ce.region == "eu" (ce.region is missing)\n'
    )


REFUSED = [
    (
        ("--cel", "data.amount >\n  foo"),
        "filter.cel: undeclared reference to 'foo' (line 2, column 3)\n    foo\n    ^\n",
    ),
    (
        ("--filter", '[{"all": [{"cel": "1 +"}]}]'),
        "filters[0].all[0].cel: Syntax error: mismatched input '<EOF>' (line 1, column 4)\n  1 +\n     ^\n",
    ),
    (
        ("--filter", '{"not": {"exact": {"type": ""}}}'),
        "filter.not.exact.type: must be a string that is not empty, not ''\n",
    ),
    (
        ("--filter", '{"streamer": [{"field": "a", "op": "~", "value": 1}]}'),
        "filter.streamer[0].op: must be one of ==, !=, <, <=, >, >=, in, contains, not '~'\n",
    ),
    (
        ("--filter", '{"exact": {"type":\n "ü" "a"}}'),
        "filter: JSON is malformed: expected ',' or '}' (line 2, column 6)\n   \"ü\" \"a\"}}\n       ^\n",
    ),
    (
        ("--filter", '{"exact":'),
        'filter: Input data was truncated (line 1, column 10)\n  {"exact":\n           ^\n',
    ),
    (("--filter", "[" * 100_000), "filter: the JSON nests too deep\n"),
    (("--filter", "7"), "filter: a filter is an object with exactly one key, its dialect, not 7\n"),
    pytest.param(
        ("--sql", "type = 'a' AND AND subject = 'b'"),
        "filter.sql: there is AND where a value is expected (line 1, column 16)\n"
        "  type = 'a' AND AND subject = 'b'\n"
        "                 ^\n",
    ),
    pytest.param(
        ("--filter", '{"message": {"property": "type", "op": "near", "value": "a"}}'),
        "filter.message.op: ",
    ),
]


@pytest.mark.parametrize("name", ["cel", "explain", "test"])
@pytest.mark.parametrize(("given", "said"), REFUSED)
def test_a_filter_that_is_refused(run, name, given, said):
    result = run("filter", name, *given, input=lines(ORDER) if name != "cel" else None)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith(f"Error: {said}")


def test_a_file_that_is_no_text(run, tmp_path):
    (tmp_path / "filter.json").write_bytes(b'{"exact": \xff')
    result = run("filter", "cel", "-f", "filter.json")
    assert result.exit_code == 2
    assert result.stderr == "Error: filter: the file is not UTF-8: invalid start byte at byte 10\n"


@pytest.mark.parametrize("name", ["explain", "test"])
def test_a_bad_event_is_named_before_anything_is_printed(run, name):
    result = run("filter", name, "--cel", "true", input=lines(ORDER) + '\n{"id": "1"}\n')
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith("Error: line 3: attribute 'specversion' is missing; line 3: ")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("cel",), "in one way"),
        (("cel", "--cel", "true", "--filter", "{}"), "in one way"),
        (("cel", "-f", "nowhere.json"), "nowhere.json"),
        (("test", "--cel", "true", "--events", "nowhere.jsonl"), "nowhere.jsonl"),
        (("test", "-f", "-"), "can't both be standard input"),
    ],
)
def test_wrong_usage(run, arguments, said):
    result = run("filter", *arguments)
    assert result.exit_code == 2
    assert said in result.stderr


@pytest.mark.parametrize("page", ["subscriptions", "cel", "trigger", "streamer"])
def test_the_cel_that_a_page_shows(run, page):
    text = (PAGES / f"{page}.md").read_text()
    rows = re.findall(r"^\| `(\{.*\})` \| `(.*)` \|$", text.partition("## Its CEL")[2], re.MULTILINE)
    assert len(rows) > 5
    for wanted, shown in rows:
        assert run("filter", "cel", "--filter", wanted).stdout == shown.replace(r"\|", "|") + "\n"


def test_the_cel_that_the_page_on_sql_shows(run):
    table = (PAGES / "cesql.md").read_text().partition("## Its CEL")[2].partition("\n##")[0]
    rows = re.findall(r"^\| `(.*?)` \| `(.*)` \|$", table, re.MULTILINE)
    assert len(rows) > 5
    for wanted, shown in rows:
        assert run("filter", "cel", "--sql", wanted).stdout == shown.replace(r"\|", "|") + "\n"


def test_the_explanation_that_a_page_shows(run):
    text = (PAGES / "README.md").read_text()
    events, wanted = re.findall(r"<<'end'\n(.*?)^end$", text, re.MULTILINE | re.DOTALL)
    result = run("filter", "explain", "--filter", wanted, input=events)
    (shown,) = re.findall(r"```\n(line 3: .*?)```", text, re.DOTALL)
    assert result.stdout.endswith(shown)


@pytest.mark.parametrize(
    ("page", "wanted"),
    [("README", '{"all": [{"cel": "amount > 5"}]}'), ("cel", '{"cel": "type == \'order\' && amount > 5"}')],
)
def test_the_error_that_a_page_shows(run, page, wanted):
    (shown,) = re.findall(r"```\n(Error: .*?)```", (PAGES / f"{page}.md").read_text(), re.DOTALL)
    assert run("filter", "cel", "--filter", wanted).stderr == shown
