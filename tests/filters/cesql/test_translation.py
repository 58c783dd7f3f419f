"""The CEL of an expression, judged by Google's evaluator."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import examples
from tests.filters.cesql.strategies import attributes, expressible_nodes

from headrace.filters.backends.cel import write_cel
from headrace.filters.bounds.limits import Limits
from headrace.filters.cesql import Expression, parse, to_cel
from headrace.filters.cesql.translation import translate
from headrace.filters.dialects.cel import parse_cel
from headrace.filters.dialects.dialect import ParseContext
from headrace.filters.dialects.table import parse_filter
from headrace.filters.ir.construct import condition
from headrace.filters.ir.expression import nodes_of

DEEP = Limits(depth=40)

TEXTS = [
    ("type = 'x'", 'ce.type == "x"'),
    ("subject <> 'x'", 'has(ce.subject) && ce.subject != "x"'),
    ("x = 'a'", 'has(ce.x) && ce.x == "a"'),
    ("x != 'a'", 'has(ce.x) && type(ce.x) in [string, int, bool] && ce.x != "a"'),
    ("x = '42'", 'has(ce.x) && type(ce.x) in [string, int, bool] && string(ce.x) == "42"'),
    ("x = type", "has(ce.x) && type(ce.x) in [string, int, bool] && string(ce.x) == ce.type"),
    ("NOT (subject = 'a')", 'has(ce.subject) && ce.subject != "a"'),
    ("NOT NOT (subject = 'a')", 'has(ce.subject) && ce.subject == "a"'),
    ("type IN ('a', 'b', 'a')", 'ce.type in ["a", "b"]'),
    ("x IN ('a', 'b')", 'has(ce.x) && ce.x in ["a", "b"]'),
    ("x NOT IN ('a', 'b')", 'has(ce.x) && type(ce.x) == string && !(ce.x in ["a", "b"])'),
    ("'a' = x", 'has(ce.x) && ce.x == "a"'),
    ("EXISTS x AND NOT EXISTS subject", "has(ce.x) && !has(ce.subject)"),
    ("1st = 'a'", '"1st" in ce && ce["1st"] == "a"'),
    ("NOT EXISTS 1st", '!("1st" in ce)'),
    ("subject LIKE 'a'", 'has(ce.subject) && ce.subject == "a"'),
    ("subject LIKE 'a%'", 'has(ce.subject) && ce.subject.startsWith("a")'),
    ("subject LIKE '%a'", 'has(ce.subject) && ce.subject.endsWith("a")'),
    ("subject LIKE '%a%'", 'has(ce.subject) && ce.subject.contains("a")'),
    ("subject LIKE '%'", "has(ce.subject)"),
    ("subject LIKE 'a_.\\%%b'", 'has(ce.subject) && ce.subject.matches("(?s)^a.\\\\.%.*b$")'),
    ("subject = 'a' OR subject = 'b'", 'has(ce.subject) && (ce.subject == "a" || ce.subject == "b")'),
    ("type = 'a' AND source = 'b'", 'ce.type == "a" && ce.source == "b"'),
    ("type = 'a' OR source = 'b'", 'ce.type == "a" || ce.source == "b"'),
    (
        "subject = 'a' OR time = 'b'",
        'has(ce.subject) && ce.subject == "a" || has(ce.subject) && has(ce.time) && ce.time == "b"',
    ),
    ("LENGTH(subject) > 3", "has(ce.subject) && size(ce.subject) > 3"),
    ("CONCAT(type, 'a') = 'ba'", 'ce.type + "a" == "ba"'),
    ("flag", "has(ce.flag) && ce.flag == true"),
    ("type", "false"),
    ("1 + 1", "false"),
    ("LOWER('A') = 'a'", "true"),
    ("1 / 0 = 1 OR type = 'a'", "false"),
    ("type = 'a' OR 1 / 0 = 1", 'ce.type == "a"'),
]


@pytest.mark.parametrize(("text", "cel"), TEXTS)
def test_text(text, cel):
    assert to_cel(parse(text)) == cel


@pytest.mark.parametrize("text", ["LOWER(x) = 'a'", "x = y", "x IN (y)", "type = x", "ABS(x) = 1"])
def test_what_cel_cannot_say(text):
    assert to_cel(parse(text)) is None


def test_a_text_that_would_explode_is_none():
    text = "x = 'a'"
    for turn in range(25):
        text = f"({text} {'OR' if turn % 2 else 'AND'} y{turn} = 'b')"
    assert to_cel(parse(text, DEEP)) is None


@examples(300)
@given(expressible_nodes)
def test_a_piece_is_as_long_as_its_text_but_for_brackets(node):
    piece = translate(node)
    if piece is not None:
        text = write_cel(piece.node)
        brackets = 2 * sum(1 for _ in nodes_of(piece.node))
        assert len(text) <= piece.length <= len(text) + brackets
        assert read_again(text) == condition(piece.node)


def read_again(text):
    return parse_cel(text, ParseContext("filter", Limits(), parse_filter))


@pytest.fixture(scope="module")
def google():
    cel = pytest.importorskip("cel_expr_python.cel", reason="Google's CEL evaluator isn't installed")
    env = cel.NewEnv(variables={"ce": cel.Type.Map(cel.Type.STRING, cel.Type.DYN)})

    def evaluate(text, bound):
        answers = {
            env.compile(text, disable_check=unchecked).eval(data={"ce": bound}).value()
            for unchecked in (False, True)
        }
        assert len(answers) == 1
        return answers.pop()

    return evaluate


@examples(200)
@given(expressible_nodes, st.lists(attributes(), min_size=1, max_size=3))
def test_google_agrees(google, node, events):
    expression = Expression(node)
    cel = to_cel(expression)
    if cel is None:
        return
    for bound in events:
        assert google(cel, bound) is expression.passes(bound), cel


@pytest.mark.parametrize("depth", range(1, 30))
def test_google_takes_every_depth(google, depth):
    text = "type = 'a'"
    for turn in range(depth):
        text = f"({text} {'OR' if turn % 2 else 'AND'} source = 'b{turn}')"
    cel = to_cel(parse(text[1:-1], DEEP))
    if cel is not None:
        google(cel, {"type": "a", "source": "b"})
