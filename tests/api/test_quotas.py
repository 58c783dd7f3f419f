"""Quotas at the handlers: how fast events may come, and what is said when something is used up."""

import msgspec
import pytest
from tests.api.application import BATCHED, V1

from headrace.api.ingress.rates import Rates
from headrace.errors import RateExceeded
from headrace.subscriptions.quotas.quotas import Overrides, Quotas

WISH = {"sink": "http://sink/", "protocol": "HTTP"}


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


def _rates(rate, own=None):
    clock = Clock()
    return clock, Rates(Quotas(events_per_second=rate), own or {}, clock)


def test_a_bucket_fills_with_the_time():
    clock, rates = _rates(10)
    for _ in range(10):
        rates.check("shop")
        rates.take("shop", 1)
    with pytest.raises(RateExceeded) as refused:
        rates.check("shop")
    assert refused.value.retry_after == 1
    rates.check("bank")
    clock.now += 0.1
    rates.check("shop")
    rates.take("shop", 1)
    with pytest.raises(RateExceeded):
        rates.check("shop")
    clock.now += 3600
    for _ in range(10):
        rates.check("shop")
        rates.take("shop", 1)
    with pytest.raises(RateExceeded):
        rates.check("shop")


def test_what_a_batch_takes_too_much_is_paid_by_waiting():
    clock, rates = _rates(10)
    rates.take("shop", 100)
    with pytest.raises(RateExceeded) as refused:
        rates.check("shop")
    assert refused.value.retry_after == 10
    clock.now += 9.0
    with pytest.raises(RateExceeded):
        rates.check("shop")
    clock.now += 0.2
    rates.check("shop")


def test_a_namespace_may_be_slower_faster_or_unlimited():
    _, rates = _rates(0, {"shop": Overrides(events_per_second=0.5), "bank": Overrides(subscriptions=1)})
    rates.take("bank", 10_000)
    rates.check("bank")
    rates.take("shop", 1)
    with pytest.raises(RateExceeded) as refused:
        rates.check("shop")
    assert refused.value.retry_after == 2


async def test_events_that_come_too_fast_are_answered_with_429(open_api):
    api = open_api(quotas=Quotas(events_per_second=2.0))
    assert [(await api.post(V1)).status for _ in range(2)] == [202, 202]
    refused = await api.post(V1)
    assert (refused.status, refused.json["code"], refused.headers["retry-after"]) == (
        429,
        "rate-exceeded",
        "1",
    )
    assert "'default'" in refused.json["detail"]
    assert len(api.ids()) == 2


async def test_each_event_of_a_batch_counts(open_api):
    api = open_api(quotas=Quotas(events_per_second=2.0))
    event = {"specversion": "1.0", "id": "1", "source": "/s", "type": "t"}
    batch = msgspec.json.encode([event] * 5)
    assert (await api.post(BATCHED, batch)).status == 202
    refused = await api.post(V1)
    assert (refused.status, refused.headers["retry-after"]) == (429, "2")


async def test_the_problem_says_which_quota_it_is(open_api):
    api = open_api(quotas=Quotas(subscriptions=1, channels=1, filter_cost=1))
    assert (await api.send_json("POST", "/subscriptions", WISH)).status == 201
    refused = await api.send_json("POST", "/subscriptions", WISH)
    assert refused.status == 403
    assert {name: refused.json[name] for name in ("code", "quota", "limit", "current")} == {
        "code": "quota-exceeded", "quota": "subscriptions", "limit": 1, "current": 2,
    }  # fmt: skip
    channel = await api.send_json("POST", "/api/channels", {"namespace": "default", "name": "x"})
    assert (channel.status, channel.json["quota"]) == (403, "channels")
    broker = {
        "apiVersion": "eventing.knative.dev/v1",
        "kind": "Broker",
        "metadata": {"name": "b"},
        "spec": {},
    }
    applied = await api.send_json("POST", "/api/apply", [broker])
    assert (applied.status, applied.json.get("quota")) == (403, "channels"), applied.json


async def test_quotas_over_http(open_api):
    api = open_api(auth=True, quotas=Quotas(subscriptions=7))
    operator, admin = await api.key(everywhere=["admin"]), await api.key(shop=["admin"])
    subscriber = await api.key(shop=["subscribe"])
    body = msgspec.json.encode({"subscriptions": 3, "eventsPerSecond": 1.5})
    assert (await api.call("PUT", "/api/quotas/shop", admin, body)).status == 403, "nobody raises their own"
    done = await api.call("PUT", "/api/quotas/shop", operator, body)
    assert done.json == {
        "namespace": "shop",
        "quotas": {"subscriptions": 3, "channels": 0, "eventsPerSecond": 1.5, "filterCost": 0},
        "own": {"subscriptions": 3, "eventsPerSecond": 1.5},
        "used": {"subscriptions": 0, "channels": 0},
    }
    assert (await api.call("GET", "/api/quotas/shop", subscriber)).json == done.json
    await api.call("PUT", "/api/quotas/bank", operator, b'{"channels": 1}')
    assert set((await api.call("GET", "/api/quotas", admin)).json["namespaces"]) == {"shop"}
    assert set((await api.call("GET", "/api/quotas", operator)).json["namespaces"]) == {"shop", "bank"}
    reset = await api.call("DELETE", "/api/quotas/shop", operator)
    assert reset.json["quotas"]["subscriptions"] == 7
    changes = (await api.call("GET", "/api/audit?kind=quotas&namespace=shop", operator)).json["changes"]
    assert [each["change"]["members"] for each in changes] == [["eventsPerSecond", "subscriptions"]] * 2


@pytest.mark.parametrize(
    ("document", "path"),
    [([], ""), ({"subscriptions": -1}, "subscriptions"), ({"channels": 1.5}, "channels"), ({"x": 1}, "x"),
     ({"eventsPerSecond": "fast"}, "eventsPerSecond"), ({"filterCost": True}, "filterCost")],
)  # fmt: skip
async def test_quotas_that_can_t_be_are_refused(open_api, document, path):
    answer = await open_api().send_json("PUT", "/api/quotas/shop", document)
    assert answer.status == 400
    assert path in [each["path"] for each in answer.json["faults"]]
