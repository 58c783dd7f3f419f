"""How subscriptions fare, as the API tells it: the same in a list and alone."""

import pytest
from sqlalchemy import event, update
from tests.api.application import V1
from tests.api.handlers.test_channels import WISH
from tests.ledger.entries import dead, wait, write
from tests.opening import opening
from tests.subscriptions.test_credentials import REFRESH

from headrace.api.subscriptions.status import shown_new
from headrace.errors import BrokerUnavailable
from headrace.events.positions import LogPosition, position_at
from headrace.ledger.ledger import Changes, Key, Ledger, Wait
from headrace.ledger.records.status import DeliveryReport
from headrace.subscriptions.status import FilterStatus
from headrace.subscriptions.store.set_aside import of_subscription
from headrace.subscriptions.subscription import parse_subscription
from headrace.subscriptions.tables import SUBSCRIPTIONS


@pytest.fixture
async def id_(api):
    return (await api.send_json("POST", "/subscriptions", WISH)).json["id"]


async def status_of(api, id_):
    """What is told of it alone, which has to be what a list tells."""
    alone = (await api.call("GET", f"/subscriptions/{id_}")).json["status"]
    listed = {each["id"]: each for each in (await api.call("GET", "/subscriptions")).json}
    assert listed[id_]["status"] == alone
    return alone


def settle(api, *positions):
    with opening(Ledger, api.delivery_url) as ledger:
        ledger.commit(Changes([], [], [], LogPosition.at(*positions)))


async def test_how_far_it_is(api, id_):
    for _ in range(5):
        await api.post(V1)
    status = await status_of(api, id_)
    assert (status["position"], status["lag"]) == (0, {"positions": 5, "waiting": 0})
    settle(api, 4)
    status = await status_of(api, id_)
    assert (status["position"], status["lag"]) == (4, {"positions": 1, "waiting": 0})
    write(api.delivery_url, waits=[wait(id_, 2, 5.0), wait(id_, 3, 5.0)], dead=[dead(id_, 0)])
    status = await status_of(api, id_)
    assert (status["position"], status["lag"]) == (2, {"positions": 3, "waiting": 2})
    assert (status["delivery"]["waiting"], status["delivery"]["dead"]) == (2, 1)
    later = (await api.send_json("POST", "/subscriptions", WISH)).json["id"]
    status = await status_of(api, later)
    assert (status["position"], status["lag"]) == (5, {"positions": 0, "waiting": 0}), "it begins here"


async def test_a_page_takes_as_many_questions_as_one(api):
    """However many are shown, and however much waits for them: each kind of thing is asked for once."""
    ids = [(await api.send_json("POST", "/subscriptions", WISH)).json["id"] for _ in range(12)]
    write(api.delivery_url, waits=[wait(each, 2, 5.0) for each in ids], dead=[dead(each, 0) for each in ids])
    asked: list[str] = []
    for database in (api.store, api.secret_store, api.records):
        event.listen(database.database.engine, "before_cursor_execute", lambda *told: asked.append(told[2]))
    alone = await api.call("GET", "/subscriptions?limit=1")
    few, asked[:] = len(asked), []
    page = await api.call("GET", "/subscriptions?limit=12")
    assert (len(alone.json), len(page.json), len(asked)) == (1, 12, few)
    assert {each["status"]["delivery"]["waiting"] for each in page.json} == {1}


async def test_while_the_log_doesn_t_answer_the_rest_is_told(api, id_, monkeypatch, caplog):
    def fail():
        raise BrokerUnavailable("127.0.0.1:9092", "nobody answers")

    monkeypatch.setattr(api.statuses, "_end_of_log", fail)
    status = await status_of(api, id_)
    assert (status["position"], status["lag"]) == (0, {"positions": None, "waiting": 0})
    assert "nobody answers" in caplog.text


async def test_a_replay_doesn_t_take_it_back(api, id_):
    for _ in range(3):
        await api.post(V1)
    settle(api, 3)
    write(api.delivery_url, waits=[Wait(Key(id_, 1, replay="x"), 1, 5.0, "status 500")])
    status = await status_of(api, id_)
    assert (status["position"], status["lag"]) == (3, {"positions": 0, "waiting": 1})


def test_in_a_log_of_several_lanes_each_has_its_place():
    made = parse_subscription(WISH)
    object.__setattr__(made, "created", LogPosition.at(position_at(0, 5), position_at(1, 7)))
    status = shown_new(made)["status"]
    assert (status["position"], status["lag"]["positions"]) == ({"0": 5, "1": 7}, 0)


async def test_why_it_gets_no_events(api, id_):
    async def ready():
        return (await status_of(api, id_))["ready"]

    assert await ready() == {"status": True}
    api.records.report([DeliveryReport(id_, failed=1.0, reason="status 503", breaker="open", until=9.0)])
    failing = {
        "status": False,
        "reason": "SinkFailing",
        "message": "deliveries to its sink are suspended for a while: status 503",
    }
    assert await ready() == failing
    api.store.set_aside([of_subscription(id_, "default", "default", "no such function")])
    assert await ready() == {"status": False, "reason": "FilterUnusable", "message": "no such function"}
    api.store.pause(id_)
    assert await ready() == {"status": False, "reason": "Paused", "message": "it is paused; its events wait"}
    api.store.end(id_, "status 410")
    assert (await ready())["reason"] == "SinkGone"
    with api.store.database.engine.begin() as connection:
        connection.execute(update(SUBSCRIPTIONS).values(created=None))
    assert (await ready())["reason"] == "NotSettled"
    assert (await status_of(api, id_))["position"] is None


async def test_a_token_that_can_t_be_refreshed(api):
    wish = WISH | {"sink": "https://example.com/", "sinkCredential": REFRESH}
    id_ = (await api.send_json("POST", "/subscriptions", wish)).json["id"]
    api.secret_store.report(id_, 1, "nobody answers")
    assert (await status_of(api, id_))["ready"] == {"status": True}, "the old one lives"
    with api.secret_store.database.engine.begin() as connection:
        connection.exec_driver_sql("UPDATE secrets SET expires = '2020-01-01T00:00:00.000Z'")
    status = await status_of(api, id_)
    assert status["ready"] == {"status": False, "reason": "CredentialUnusable", "message": "nobody answers"}
    assert status["credential"]["problem"] == "nobody answers"


async def test_a_filter_that_this_version_can_t_use_is_told_of(api, id_):
    with api.store.database.engine.begin() as connection:
        connection.exec_driver_sql(
            """UPDATE subscriptions SET document = replace(document, '"filters":[]', '"filters":[{"new":{}}]')"""
        )
    ready = (await status_of(api, id_))["ready"]
    assert ready["reason"] == "FilterUnusable"
    assert "dialect" in ready["message"]


async def test_a_filter_that_cost_too_much_is_told_of_with_the_event(api, id_):
    event = {"id": "1", "source": "/s", "type": "t"}
    reported = FilterStatus(3, "it costs more than the budget", 17, "2026-01-01T00:00:00.000Z", event)
    assert "filter" not in await status_of(api, id_)
    api.store.report_overruns({id_: reported})
    assert (await status_of(api, id_))["filter"] == {
        "overruns": 3,
        "reason": "it costs more than the budget",
        "position": 17,
        "time": "2026-01-01T00:00:00.000Z",
        "event": event,
    }
    shown = (await api.call("GET", f"/subscriptions/{id_}")).json
    again = await api.send_json("POST", "/subscriptions", shown)
    assert "filter" not in again.json["status"], "nobody sets it from outside"
    changed = await api.send_json("PUT", f"/subscriptions/{id_}", shown | {"filters": [{"cel": "true"}]})
    assert "filter" not in changed.json["status"], "it was about another filter"


async def test_what_the_author_of_a_filter_should_know(api):
    old = {"filters": [{"sourceAndType": {"type": "t"}}]}
    created = await api.send_json("POST", "/subscriptions", WISH | old)
    notes = created.json["status"]["notes"]
    assert notes == ["filters[0].sourceAndType: sourceAndType is deprecated; attributes does the same"]
    assert (await status_of(api, created.json["id"]))["notes"] == notes
