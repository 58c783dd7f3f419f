"""Long texts are parsed in another process, and mean the same there."""

import io
import subprocess

import pytest

from headrace.errors import FilterError
from headrace.filters import compile_filter
from headrace.filters.syntax import google, parser, parser_process
from headrace.filters.syntax.parser import parsing_elsewhere
from headrace.filters.syntax.parser_process import Request, serve

LONG = " || ".join(f'ce.type == "{number}"' for number in range(200))
TEXTS = [
    LONG,
    f"{LONG} + 1",
    "$" * 5000,
    "(" * 5000,
    f"nobody.knows || {LONG}",
    f"[{LONG}]",
    f'"{"x" * 5000}"',
    "ü" * 5000,
]


def outcome(text):
    try:
        return compile_filter({"cel": text}).cel
    except FilterError as error:
        return str(error)


@pytest.fixture(scope="module")
def elsewhere():
    with parsing_elsewhere():
        yield


@pytest.mark.parametrize("text", TEXTS, ids=range(len(TEXTS)))
def test_a_long_text_means_the_same_processes(elsewhere, text, monkeypatch):
    with monkeypatch.context() as here:
        here.setattr(parser, "_processes", [])
        expected = outcome(text)
    monkeypatch.setattr(google, "parse", None)  # it isn't asked in this process
    monkeypatch.setattr(google, "check", None)
    assert outcome(text) == expected


def test_a_short_text_is_parsed_here(monkeypatch):
    monkeypatch.setattr(parser_process, "_start", None)
    with parsing_elsewhere():
        assert compile_filter({"cel": "data.x > 5"}).cel == "data.x > 5"


def test_a_process_that_ended_is_started_anew(elsewhere):
    (process,) = parser._processes
    assert outcome(LONG)
    assert process._process is not None
    process._process.kill()
    process._process.wait()
    assert "gave up" not in outcome(LONG)


def test_a_process_that_never_lives_is_given_up(monkeypatch):
    dead = ("/bin/false",)
    monkeypatch.setattr(
        parser_process,
        "_start",
        lambda: subprocess.Popen(dead, stdin=subprocess.PIPE, stdout=subprocess.PIPE),
    )
    with parsing_elsewhere():
        assert "gave up" in outcome(LONG)


def test_a_process_that_hangs_is_ended(monkeypatch):
    monkeypatch.setattr(parser_process, "_SECONDS", 0.001)
    with parsing_elsewhere():
        process = parser._processes[-1]
        assert "no answer within" in outcome(LONG)
        assert process._process is None


def test_it_ends_with_its_input():
    answers = io.BytesIO()
    serve(io.BytesIO(b""), answers)
    serve(io.BytesIO(b"\x05\x00\x00"), answers)
    assert answers.getvalue() == b""
    assert Request("parse", "x").task == "parse"
