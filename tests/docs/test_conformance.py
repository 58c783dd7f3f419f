"""The tests that pages of conformance name are there."""

import re
from pathlib import Path

import pytest

_ROOT = Path(__file__).parents[2]
_PAGES = sorted((_ROOT / "docs").glob("conformance*.md"))
_NAMED = re.compile(r"`(tests/[\w/]+\.py)(?:::(\w+))?`")


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
