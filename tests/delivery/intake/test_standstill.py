"""A cursor that doesn't move although there is something to deliver, and nothing is attempted."""

from typing import Any, cast

import pytest

from headrace.delivery.intake import standstill
from headrace.delivery.intake.progress import DeliveryProgress
from headrace.delivery.intake.standstill import Standstill
from headrace.events.positions import LogPosition
from headrace.telemetry.health import HEALTH, Status


@pytest.fixture
def progress(monkeypatch):
    monkeypatch.setattr(standstill, "_STANDS_STILL_AFTER", 0.0)
    yield DeliveryProgress(LogPosition.at(0))
    HEALTH.forget("deliveries")


class SubscriptionQueue:
    def __init__(self, *, is_active):
        self.is_active = is_active


async def status(watch):
    await watch.poll()
    return HEALTH.reports()["deliveries"].status


async def test_what_is_settled_may_rest(progress, monkeypatch):
    watch = Standstill(progress, cast("Any", []))
    progress.log.begin(0)
    progress.log.read_to(LogPosition.at(1))
    progress.log.settle(0)
    monkeypatch.setattr(standstill, "_STANDS_STILL_AFTER", 1e-9)
    for _ in range(3):
        assert await status(watch) is Status.WORKING


async def test_what_was_read_and_is_not_attempted_stands_still(progress):
    queue = SubscriptionQueue(is_active=False)
    watch = Standstill(progress, cast("Any", [queue]))
    progress.log.begin(0)
    progress.log.read_to(LogPosition.at(1))
    assert await status(watch) is Status.BLOCKED
    assert "nothing is attempted" in HEALTH.reports()["deliveries"].note
    queue.is_active = True
    assert await status(watch) is Status.WORKING


async def test_who_waits_for_the_ledger_does_not_stand_still(progress, monkeypatch):
    monkeypatch.setattr(standstill, "_STANDS_STILL_AFTER", 1e-9)
    watch = Standstill(progress, cast("Any", []))
    progress.log.begin(0)
    progress.log.read_to(LogPosition.at(1))
    await watch.poll()
    assert await status(watch) is Status.BLOCKED
    HEALTH.blocked("database", "the disk is full")
    try:
        assert await status(watch) is Status.WORKING
    finally:
        HEALTH.forget("database")
