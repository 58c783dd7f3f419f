import pytest
from tests.api.handlers.test_channels import assert_problem

EVENT = {"specversion": "1.0", "id": "1", "source": "/shop", "type": "order", "data": {"amount": 7}}


async def compiled(api, **document):
    return await api.send_json("POST", "/api/filters/compile", document)


async def explained(api, **document):
    return await api.send_json("POST", "/api/filters/explain", document)


@pytest.mark.parametrize(
    ("document", "cel"),
    [
        ({"filter": {"exact": {"type": "a"}}}, 'ce.type == "a"'),
        ({"filters": [{"exact": {"type": "a"}}, {"cel": "data.x > 1"}]}, 'ce.type == "a" && data.x > 1'),
        ({"filters": []}, "true"),
        ({"filter": {"sql": "LOWER(type) = 'a'"}}, 'sqlLower(ce.type) == "a"'),
    ],
)
async def test_a_filter_of_any_dialect_becomes_cel(api, document, cel):
    answer = await compiled(api, **document)
    assert (answer.status, answer.json["cel"]) == (200, cel)


async def test_what_a_filter_costs_stands_beside_the_limits(api):
    answer = await compiled(api, filter={"cel": "data.l.exists(x, x == 1) && data.t.contains('a')"})
    cost = answer.json["cost"]
    assert cost["macros"] == {"used": 1, "limit": 4}
    assert cost["body"]["used"] == 1 + 2
    assert cost["scans"] == {"used": 1, "limit": 32}
    assert cost["atoms"]["used"] >= 2


async def test_notes_of_a_dialect_are_told(api):
    answer = await compiled(api, filter={"sourceAndType": {"type": "a"}})
    assert answer.json["notes"] == [
        "filter.sourceAndType: sourceAndType is deprecated; attributes does the same"
    ]


async def test_a_filter_that_is_wrong_is_refused_with_the_place_in_its_text(api):
    answer = await compiled(api, filters=[{"exact": {"type": "a"}}, {"cel": "data.x >\n  nope(1)"}])
    problem = assert_problem(answer, 400, "invalid-filter")
    (fault,) = problem["faults"]
    assert fault["path"] == "filters[1].cel"
    assert (fault["line"], fault["caret"].index("^")) == (2, fault["column"] - 1)
    assert "nope(1)" in fault["text"]


async def test_a_limit_that_was_passed_is_named(api):
    long = " && ".join(["data.a.contains('x')"] * 33)
    problem = assert_problem(await compiled(api, filter={"cel": long}), 400, "invalid-filter")
    assert problem["faults"][0]["limit"] == "scans"


@pytest.mark.parametrize("document", [{}, {"filter": {"cel": "true"}, "filters": []}])
async def test_one_of_filter_and_filters_is_given(api, document):
    assert_problem(await compiled(api, **document), 400, "invalid-request")


@pytest.mark.parametrize("body", [b"", b"[]", b"{", b"\xff", b'{"filter": "\xff"}', b'{"other": 1}'])
async def test_what_is_no_request_is_refused(api, body):
    assert_problem(await api.call("POST", "/api/filters/compile", {}, body), 400, "invalid-request")


async def test_every_clause_is_explained(api):
    answer = await explained(
        api, filters=[{"exact": {"type": "order"}}, {"cel": "data.nope > 5"}], event=EVENT
    )
    assert answer.status == 200
    assert answer.json["matches"] is False
    tree = answer.json["explanation"]
    assert (tree["clause"], tree["value"]) == ("all of", None)
    assert [part["value"] for part in tree["parts"]] == [True, None]
    assert "└── unknown: data.nope > 5" in answer.json["text"]


async def test_an_event_is_explained_as_its_channel_would_have_it(api):
    wanted = {"cel": "collection == 'orders' && tenant == 'shop' && publishTime == 1000"}
    answer = await explained(api, filter=wanted, event=EVENT, channel="shop/orders", publishTime=1000)
    assert answer.json["matches"] is True
    assert (await explained(api, filter=wanted, event=EVENT)).json["matches"] is False


async def test_digits_of_numbers_in_data_are_kept(api):
    body = b'{"filter": {"cel": "data.n == 9007199254740993"}, "event": {"specversion": "1.0", "id": "1", "source": "/s", "type": "t", "data": {"n": 9007199254740993}}}'
    assert (await api.call("POST", "/api/filters/explain", {}, body)).json["matches"] is True


@pytest.mark.parametrize(
    ("document", "code"),
    [
        ({"filter": {"cel": "true"}}, "invalid-request"),
        ({"filter": {"cel": "true"}, "event": {}}, "invalid-event"),
        ({"filter": {"cel": "tru"}, "event": EVENT}, "invalid-filter"),
        ({"filter": {"cel": "true"}, "event": EVENT, "channel": "UP"}, "invalid-request"),
        ({"filter": {"cel": "true"}, "event": EVENT, "publishTime": "soon"}, "invalid-request"),
    ],
)
async def test_what_can_t_be_explained_is_refused(api, document, code):
    assert_problem(await explained(api, **document), 400, code)
