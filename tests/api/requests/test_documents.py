"""Bodies of requests that are odd: of another type, cut off, ambiguous, too deep. And queries that are."""

import pytest

GOOD = b'{"sink": "http://127.0.0.1:9/"}'


async def create(api, body=GOOD, **headers):
    return await api.call(
        "POST", "/subscriptions", {name.replace("_", "-"): each for name, each in headers.items()}, body
    )


@pytest.mark.parametrize(
    "media_type",
    [
        "application/json",
        "Application/JSON; charset=utf-8",
        "application/cloudevents+json",
        "application/vnd.api+json",
    ],
)
async def test_any_kind_of_json_is_read(api, media_type):
    assert (await create(api, content_type=media_type)).status == 201


async def test_a_body_whose_type_nobody_said_is_taken_for_json(api):
    assert (await create(api)).status == 201
    assert (await create(api, content_type="application/x-www-form-urlencoded")).status == 201
    assert (await create(api, content_type="application/octet-stream")).status == 201


@pytest.mark.parametrize(
    "media_type", ["text/plain", "multipart/form-data", "application/yaml", "application/x-ndjson", ""]
)
@pytest.mark.parametrize(
    "path",
    ["/subscriptions", "/api/channels", "/api/redrive", "/api/filters/compile", "/api/deliveries/test"],
)
async def test_other_types_are_refused(api, path, media_type):
    answer = await api.call("POST", path, {"content-type": media_type}, GOOD)
    assert (answer.status, answer.json["code"]) == (415, "unsupported-format")
    assert answer.json["detail"] == f"{media_type!r} is not supported; send one of: application/json"


async def test_an_import_is_of_lines(api):
    answer = await api.call("POST", "/api/subscriptions/import", {"content-type": "text/csv"}, GOOD)
    assert (answer.status, answer.json["code"]) == (415, "unsupported-format")
    for media_type in ("application/x-ndjson", "application/jsonl; charset=utf-8"):
        answer = await api.call("POST", "/api/subscriptions/import", {"content-type": media_type}, GOOD)
        assert answer.json["created"] == 1


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (b"", "Input data was truncated"),
        (b'{"sink": "http://h/"', "Input data was truncated"),
        (b'{"sink": "http://h/"} more', "trailing characters"),
        (b'{"config": {"start": {"position": NaN}}}', "invalid character"),
        (b'{"sink": "http://h/\xfc"}', "codec can't decode"),
        (b'{"sink": "http://a/", "sink": "http://b/"}', "the name 'sink' stands twice in an object"),
        (b'{"filters": [{"exact": {"type": "a", "type": "b"}}]}', "the name 'type' stands twice"),
        (b'{"filters": ' + b"[" * 100_000 + b"]" * 100_000 + b"}", "it nests too deeply"),
    ],
)
async def test_what_is_no_json_is_told(api, body, why):
    answer = await create(api, body)
    ((path, problem),) = [(fault["path"], fault["problem"]) for fault in answer.json["faults"]]
    assert (answer.status, path) == (400, "")
    assert problem.startswith("the body is not JSON: ")
    assert why in problem
    assert answer.json["detail"] == problem


async def test_a_line_of_an_import_is_read_as_strictly(api):
    lines = b'{"sink": "http://a/", "sink": "http://b/"}\n' + GOOD
    answer = await api.call("POST", "/api/subscriptions/import", {}, lines)
    assert answer.status == 400
    ((line, problem),) = [(each["line"], each["faults"][0]["problem"]) for each in answer.json["lines"]]
    assert line == 1
    assert "the name 'sink' stands twice in an object" in problem


async def test_a_parameter_is_given_once(api):
    answer = await api.call("GET", "/subscriptions?limit=1&limit=2&state=active")
    assert (answer.status, answer.json["faults"]) == (
        400,
        [{"path": "limit", "problem": "is given more than once"}],
    )


async def test_a_long_name_that_nobody_has_is_cut(api):
    answer = await api.call("GET", f"/subscriptions/{'x' * 5000}")
    assert (answer.status, len(answer.json["detail"])) == (404, len("there is no subscription ''") + 121)
