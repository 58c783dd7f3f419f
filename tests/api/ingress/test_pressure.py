"""What refuses events before something grows without limit."""

import asyncio
from types import SimpleNamespace

import pytest
from tests.api.application import CHANNEL, V1

from headrace.errors import BrokerUnavailable
from headrace.telemetry.metrics import exposition


class _Looks:
    """Follows the pressure and tells when what was set by now has been looked at."""

    def __init__(self, pressure):
        self._count, self._look = 0, pressure.look
        pressure.look = self._counted
        self.following = asyncio.create_task(pressure.follow(0.01))

    def _counted(self):
        try:
            return self._look()
        finally:
            self._count += 1

    async def again(self):
        # One may be under way, and the second ends after the first has taken effect.
        enough = self._count + 3
        while self._count < enough:
            await asyncio.sleep(0.01)


@pytest.mark.parametrize(
    ("setting", "gauge", "status", "code"),
    [
        ("max_backlog_bytes", "backlog_bytes", 429, "log-behind"),
        ("max_outbox_bytes", "outbox_bytes", 429, "delivery-behind"),
    ],
)
async def test_what_is_too_full_turns_events_away_until_it_is_not(open_api, setting, gauge, status, code):
    api = open_api(**{setting: 1000})
    looks = _Looks(api.pressure)
    setattr(api, gauge, 1000)
    await looks.again()
    assert (await api.call("POST", CHANNEL, V1)).status == 202
    setattr(api, gauge, 1001)
    await looks.again()
    answer = await api.call("POST", CHANNEL, V1)
    assert (answer.status, answer.json["code"]) == (status, code)
    assert "1001 bytes" in answer.json["detail"]
    assert "limit is 1000" in answer.json["detail"]
    assert answer.headers["retry-after"] == "1"
    assert f"headrace_{gauge} 1001.0" in exposition().decode()
    setattr(api, gauge, 0)
    await looks.again()
    assert (await api.call("POST", CHANNEL, V1)).status == 202
    looks.following.cancel()
    assert len(api.ids()) == 2


async def test_a_disk_with_too_little_room_turns_events_away_before_the_log_is_hurt(open_api, monkeypatch):
    api = open_api(min_free_bytes=5000)
    room = 4999
    # How much room a real disk has can't be chosen here; a full one is used in the tests of the service.
    monkeypatch.setattr("shutil.disk_usage", lambda _: SimpleNamespace(free=room))
    looks = _Looks(api.pressure)
    await looks.again()
    answer = await api.call("POST", CHANNEL, V1)
    assert (answer.status, answer.json["code"]) == (507, "disk-nearly-full")
    assert "4999 bytes are free" in answer.json["detail"]
    assert answer.headers["retry-after"] == "10"
    assert api.ids() == []
    room = 5000
    await looks.again()
    assert (await api.call("POST", CHANNEL, V1)).status == 202
    looks.following.cancel()


@pytest.mark.parametrize(
    ("error", "has_trace"),
    [
        (BrokerUnavailable("broker:9092", "no answer"), False),
        (FileNotFoundError(2, "No such file or directory", "/data/log"), False),
        (OSError("the disk is away"), True),
    ],
)
async def test_looks_that_fail_leave_what_the_last_one_found_and_are_told_once(
    open_api, monkeypatch, caplog, error, has_trace
):
    caplog.set_level("INFO", logger="headrace")
    api = open_api(max_outbox_bytes=1000)
    api.outbox_bytes = 2000
    looks = _Looks(api.pressure)
    await looks.again()

    def fail(_):
        raise error

    for _ in range(2):
        caplog.clear()
        with monkeypatch.context() as patched:
            patched.setattr("shutil.disk_usage", fail)
            await looks.again()
            assert (await api.call("POST", CHANNEL, V1)).status == 429
        await looks.again()
        gone, back = [record for record in caplog.records if "free disk space" in record.message]
        assert str(error) in gone.message
        assert bool(gone.exc_info) == has_trace, "what is foreseen needs no trace"
        assert "are measured again" in back.message
    assert not looks.following.done()
    looks.following.cancel()
