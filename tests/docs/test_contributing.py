"""CONTRIBUTING names only what is there, and its glossary is in order."""

import re
from pathlib import Path

import pytest

_ROOT = Path(__file__).parents[2]
_PAGE = re.sub(r"```.*?```", "", (_ROOT / "CONTRIBUTING.md").read_text(), flags=re.DOTALL)
_PICTURE = (_ROOT / "docs" / "images" / "walk.svg").read_text()
_PATH = re.compile(r"[a-z_]+(?:/[a-z_0-9-]+)*(?:/|\.py|\.toml|\.svg|\.md)")
_SCRATCH = {"build/chaos", "migrations/", "tables.py"}


def _paths(text):
    return sorted({each for each in text if _PATH.fullmatch(each) and each not in _SCRATCH})


def _exists(path):
    return any((base / path).exists() for base in (_ROOT / "src" / "headrace", _ROOT))


@pytest.mark.parametrize(
    "path", _paths(re.findall(r"`([^`]+)`", _PAGE) + re.findall(r"\]\(([^)]+)\)", _PAGE))
)
def test_every_path_on_the_page_exists(path):
    assert _exists(path)


@pytest.mark.parametrize("path", _paths(re.findall(r'class="c">([^<]+)<', _PICTURE)))
def test_every_path_in_the_picture_exists(path):
    assert _exists(path)


def test_the_glossary_is_in_order_and_explains_every_word_once():
    table = _PAGE.partition("## Glossary")[2].partition("## ")[0]
    words = re.findall(r"^\| ([a-z -]+) \|", table, re.MULTILINE)[1:]
    assert words == sorted(set(words))
    assert len(words) > 20
