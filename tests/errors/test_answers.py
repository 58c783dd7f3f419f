"""How the API answers with each error: `answers.json` has the status, the headers and the body, or its hash."""

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.errors.examples import EXAMPLES

from headrace import errors
from headrace.api.problems import TITLES, body_of
from headrace.errors import HeadraceError

ANSWERS = json.loads(Path(__file__).with_name("answers.json").read_text())
BASES = {"InvalidInput", "InvalidDocument", "Temporary"}
"""Classes that nobody raises: they stand for what others have in common."""


def subclasses(kind: type[HeadraceError]) -> Iterator[type[HeadraceError]]:
    yield kind
    for each in kind.__subclasses__():
        if each.__module__.startswith("headrace."):
            yield from subclasses(each)


KINDS = sorted(set(subclasses(HeadraceError)), key=lambda kind: kind.__name__)


@pytest.mark.parametrize(
    ("error", "answer"), list(zip(EXAMPLES, ANSWERS, strict=True)), ids=[each["error"] for each in ANSWERS]
)
def test_each_error_is_answered_as_ever(error, answer):
    body = body_of(error)
    assert type(error).__name__ == answer["error"]
    assert error.http_status == answer["status"]
    assert error.headers() == answer["headers"]
    if "body" in answer:
        assert body.decode() == answer["body"]
    else:
        assert hashlib.sha256(body).hexdigest() == answer["sha256"]


def test_each_error_has_an_example():
    assert {kind.__name__ for kind in KINDS} - {type(each).__name__ for each in EXAMPLES} == BASES


@pytest.mark.parametrize("kind", KINDS)
def test_each_error_has_a_status_and_a_name_in_the_package(kind):
    assert kind.http_status in TITLES
    assert getattr(errors, kind.__name__) is kind
    assert kind.__name__ in errors.__all__
    assert f"{kind.__name__} " in errors.__doc__ or f"{kind.__name__}\n" in errors.__doc__


def test_each_error_has_a_code_of_its_own():
    codes = [kind.code for kind in KINDS]
    assert len(set(codes)) == len(codes)


def test_faults_leave_room_in_the_answer():
    bodies = [body_of(each) for each in EXAMPLES if not isinstance(each, errors.InvalidImport)]
    assert max(map(len, bodies)) < 64 << 10
