"""Every error that the API may answer with has a status, a title and a code."""

import msgspec
import pytest

from headrace import errors
from headrace.api.problems import body_of, problem

STATUSES = {
    errors.InvalidEvent(["no id", "no type"]): 400,
    errors.FilterError("bad", path="filters[0]", source="a ==", position=4): 400,
    errors.InvalidSubscription([("sink", "is required")]): 400,
    errors.InvalidChannel("name: 'X' is not a DNS label"): 400,
    errors.NotFound("channel", "a/b"): 404,
    errors.Conflict("it exists"): 409,
    errors.PayloadTooLarge("the request", 10): 413,
    errors.UnsupportedFormat("gzip", ["identity"]): 415,
    errors.LogBehind(11, 10, retry_after=7): 429,
    errors.LogUnavailable("the disk is full", retry_after=3): 503,
    errors.StoreUnavailable("the server closed the connection", retry_after=5): 503,
    errors.LogDamaged("/x", 1, "cut"): 500,
    errors.ConfigError("no such setting"): 500,
}


@pytest.mark.parametrize(("error", "status"), STATUSES.items(), ids=lambda value: type(value).__name__)
def test_status_and_document(error, status):
    assert error.http_status == status
    document = msgspec.json.decode(body_of(error))
    assert document["status"] == status
    assert document["code"] == error.code
    assert document["type"] == f"urn:headrace:{error.code}"
    assert document["detail"] == str(error)


def test_when_to_try_again():
    assert errors.LogBehind(11, 10, retry_after=7).headers() == {"retry-after": "7"}
    assert errors.LogUnavailable("full", retry_after=3).headers() == {"retry-after": "3"}
    assert errors.StoreUnavailable("gone", retry_after=5).headers() == {"retry-after": "5"}
    assert errors.NotFound("channel", "a/b").headers() == {}


def test_faults_are_listed():
    assert msgspec.json.decode(body_of(errors.InvalidEvent(["a", "b"])))["faults"] == ["a", "b"]
    faults = msgspec.json.decode(body_of(errors.InvalidSubscription([("sink", "is required")])))["faults"]
    assert faults == [{"path": "sink", "problem": "is required"}]


def test_each_status_has_a_title():
    for status in {*STATUSES.values(), 405}:
        assert msgspec.json.decode(problem(status, "code", "detail"))["title"]
