import pytest


@pytest.fixture
def asked(api):
    return api.records.ask_consent("https://sink.example/hook", "headrace.example", None)


@pytest.mark.parametrize("method", ["GET", "POST"])
async def test_a_sink_agrees_by_calling_its_address(api, asked, method):
    answered = await api.call(method, f"/webhooks/consents/{asked.token}")
    assert answered.status == 200
    again = api.records.ask_consent("https://sink.example/hook", "headrace.example", None)
    assert again.token == asked.token
    assert (again.granted is not None, again.rate) == (True, None)


async def test_the_rate_that_a_sink_allows(api, asked):
    await api.call("POST", f"/webhooks/consents/{asked.token}", headers=[("WebHook-Allowed-Rate", "120")])
    assert api.records.ask_consent("https://sink.example/hook", "headrace.example", None).rate == 120
    await api.call("GET", f"/webhooks/consents/{asked.token}?rate=60")
    assert api.records.ask_consent("https://sink.example/hook", "headrace.example", None).rate == 60


@pytest.mark.parametrize("rate", ["0", "-1", "many", "9" * 30, "²"])
async def test_a_rate_that_is_none_is_refused_and_nothing_granted(api, asked, rate):
    answered = await api.call("GET", f"/webhooks/consents/{asked.token}?rate={rate}")
    assert (answered.status, answered.json["code"]) == (400, "invalid-request")
    assert "requests a minute" in answered.json["detail"]
    assert api.records.ask_consent("https://sink.example/hook", "headrace.example", None).granted is None


async def test_a_guess_finds_nothing(api, asked):
    answered = await api.call("POST", "/webhooks/consents/guessed")
    assert answered.status == 404
    assert api.records.ask_consent("https://sink.example/hook", "headrace.example", None).granted is None


async def test_each_sink_origin_and_rate_is_told_another_address(api):
    told = {
        api.records.ask_consent(*each).token
        for each in [
            ("https://a/", "o", None),
            ("https://b/", "o", None),
            ("https://a/", "p", None),
            ("https://a/", "o", 1),
        ]
    }
    assert len(told) == 4
