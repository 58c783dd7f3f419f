"""Tables of the docs that are made from declarations are current: `scripts/tables` writes them."""

import runpy
from pathlib import Path

import pytest

_ROOT = Path(__file__).parents[2]
_current = runpy.run_path(str(_ROOT / "scripts" / "tables"))["current"]
_PAGES = [each for each in sorted((_ROOT / "docs").glob("*.md")) if "<!-- table: " in each.read_text()]


@pytest.mark.parametrize("page", _PAGES, ids=lambda page: page.name)
def test_tables_are_current(page):
    assert _current(page) == page.read_text(), "run scripts/tables"


def test_every_protocol_has_a_table():
    from headrace.protocols import PROTOCOLS

    listed = {name for page in _PAGES for name in page.read_text().split()}
    assert set(PROTOCOLS) <= listed
