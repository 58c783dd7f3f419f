"""The pages of conformance: every clause is there, and the tests that they name are."""

import os
import re
from pathlib import Path

import pytest
from tests.docs.clauses import clauses_of

_ROOT = Path(__file__).parents[2]
_PAGES = sorted((_ROOT / "docs").glob("conformance*.md"))
_NAMED = re.compile(r"`(tests/[\w/]+\.py)(?:::(\w+))?`")
_CHANNEL = _ROOT / "docs" / "conformance-channel.md"
_CLAUSES = Path(__file__).with_name("channel-clauses.txt").read_text().splitlines()
_TITLE = "# Knative Channel Specification"


def _rows(page: Path) -> list[list[str]]:
    """The cells of the tables' rows, without headings."""
    lines = [line for line in page.read_text().splitlines() if line.startswith("| ")]
    return [
        [cell.strip() for cell in line.split("|")[1:-1]] for line in lines if not line.startswith("| clause")
    ]


@pytest.mark.parametrize("page", _PAGES, ids=lambda page: page.name)
def test_every_test_that_is_named_is_there(page):
    named = _NAMED.findall(page.read_text())
    assert len(named) > 20
    for file, test in named:
        path = _ROOT / file
        assert path.is_file(), file
        assert not test or re.search(rf"^ *(async )?def {test}\(", path.read_text(), re.MULTILINE), (
            f"{file}::{test}"
        )


@pytest.mark.parametrize("page", _PAGES, ids=lambda page: page.name)
def test_what_no_test_shows_says_why(page):
    for row in _rows(page):
        clause, remark, shown = row
        assert shown or remark, clause


@pytest.mark.parametrize("clause", _CLAUSES)
def test_every_clause_of_the_channel_specification_is_in_the_table(clause):
    [row] = [row for row in _rows(_CHANNEL) if row[0].startswith(clause)]
    if "MUST" in clause:
        assert row[2], "what has to be is shown by a test"


def test_the_clauses_are_in_the_order_of_the_document():
    named = [
        next(each for each in _CLAUSES if row[0].startswith(each))
        for row in _rows(_CHANNEL)
        if _is_clause(row)
    ]
    assert named == _CLAUSES


def _is_clause(row: list[str]) -> bool:
    return any(row[0].startswith(each) for each in _CLAUSES)


def test_no_clause_of_the_document_was_left_out():
    """The list of clauses against the document itself, which is not part of the project."""
    folder = os.environ.get("HEADRACE_SPECIFICATIONS")
    if not folder:
        pytest.skip("set HEADRACE_SPECIFICATIONS to a folder that has Knative's channel specification")
    found = [each.read_text() for each in Path(folder).iterdir() if each.is_file()]
    [document] = [text for text in found if text.startswith(_TITLE)]
    assert clauses_of(document) == _CLAUSES


def test_what_a_clause_is():
    text = "# A MUST\n\n## Conformance\n\nMUST is MUST.\n\n## B\n\nIt MUST [be](there). It is\nnice. It\nMAY: \n\n- one SHOULD\n- two\n\n```\nMUST\n```\n"
    assert clauses_of(text) == ["It MUST be.", "It MAY:", "one SHOULD"]
