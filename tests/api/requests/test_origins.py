"""A page of another origin can't change anything through the browser of somebody who looks at it."""

import pytest

BODY = b'{"sink": "http://127.0.0.1:9/"}'


async def create(api, **headers):
    sent = {"host": "127.0.0.1:8080"} | {name.replace("_", "-"): each for name, each in headers.items()}
    return await api.call("POST", "/subscriptions", sent, BODY)


@pytest.mark.parametrize(
    "headers",
    [
        {"sec_fetch_site": "cross-site", "origin": "https://evil.example"},
        {"sec_fetch_site": "same-site", "origin": "http://127.0.0.1:3000"},
        {"origin": "https://evil.example"},
        {"origin": "http://127.0.0.1:3000"},
        {"origin": "null"},
    ],
)
async def test_another_origin_changes_nothing(api, headers):
    answer = await create(api, **headers)
    assert (answer.status, answer.json["code"]) == (403, "cross-origin")
    assert (await api.call("GET", "/subscriptions", {"sec-fetch-site": "cross-site"})).json == []


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"origin": "http://127.0.0.1:8080"},
        {"sec_fetch_site": "same-origin", "origin": "https://behind.a.proxy.example"},
        {"sec_fetch_site": "none"},
    ],
)
async def test_programs_and_own_pages_do(api, headers):
    assert (await create(api, **headers)).status == 201


async def test_a_webhook_may_agree_from_anywhere(api):
    answer = await api.call("POST", "/webhooks/consents/unknown", {"origin": "https://evil.example"})
    assert answer.status == 404
