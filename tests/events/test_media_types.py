import time

import pytest

from headrace.events import is_json
from headrace.events.media_types import charset, essence, is_media_type


@pytest.mark.parametrize(
    "media_type",
    [
        "application/json",
        "text/json",
        "APPLICATION/JSON",
        "application/json; charset=utf-8",
        "application/json;charset=utf-8",
        "application/vnd.acme+json",
        "application/vnd.acme+JSON ; v=1",
    ],
)
def test_json(media_type):
    assert is_json(media_type)


@pytest.mark.parametrize(
    "media_type",
    [
        None,
        "",
        "json",
        "text/plain",
        "application/xml; a=+json",
        "application/jsonx",
        "application/json-seq",
        "a/x+jsonp",
    ],
)
def test_not_json(media_type):
    assert not is_json(media_type)


@pytest.mark.parametrize(
    "text",
    [
        "a/b",
        "text/plain; charset=utf-8",
        'text/plain; charset="utf-8"; x="a \\" b"',
        "multipart/form-data ;boundary=x",
        "application/vnd.a.b+json;v=1;",
    ],
)
def test_shape_of_a_media_type(text):
    assert is_media_type(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "json",
        "a/",
        "/b",
        "a/b/c",
        "a b/c",
        "a/b; charset",
        "a/b; =x",
        'a/b; x="y',
        "a/b;;",
        "a/b,c/d",
        "ä/b",
        "a/b\n",
        " a/b",
    ],
)
def test_not_the_shape_of_a_media_type(text):
    assert not is_media_type(text)


@pytest.mark.parametrize(
    "text", ["a/b" + " " * 200_000 + "x", "a/b" + ";x=y" * 50_000 + "\n", "a/b" + "; " * 100_000]
)
def test_hostile_media_types_cost_little(text):
    start = time.process_time()
    assert not is_media_type(text)
    charset(text)
    assert time.process_time() - start < 1


def test_parts():
    assert essence(" Text/PLAIN ; charset=x") == "text/plain"
    assert charset("a/b") is None
    assert charset("a/b; CharSet=UTF-8") == "utf-8"
    assert charset('a/b; v=1; charset="UTF-16"') == "utf-16"
