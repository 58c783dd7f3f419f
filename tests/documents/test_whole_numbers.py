import pytest
from tests.protocols.proposals import settings_of

from headrace.documents.whole_numbers import whole_number
from headrace.subscriptions.points import parse_point


@pytest.mark.parametrize(("value", "whole"), [(5, 5), (5.0, 5), (-0.0, 0), (1e20, 10**20), (0, 0)])
def test_a_number_without_a_fraction_is_whole(value, whole):
    assert whole_number(value) == whole
    assert type(whole_number(value)) is int


@pytest.mark.parametrize("value", [5.5, True, False, None, "5", [5], {}, float("inf"), float("nan")])
def test_nothing_else_is(value):
    assert whole_number(value) is None


def test_a_setting_is_kept_as_the_number_that_it_is():
    kept = settings_of("MQTT5", "mqtt://h", topicname="t", qos=2.0, expiry=60.0)
    assert type(kept["qos"]) is type(kept["expiry"]) is int
    webhook = settings_of("HTTP", "http://h", webhook={"rate": 60.0})["webhook"]
    assert type(webhook["rate"]) is int


def test_positions_and_times_of_a_point():
    faults: list[tuple[str, str]] = []
    point = parse_point({"position": {"0": 191.0, "1": 7}, "time": 1e3}, "from", faults)
    assert (point.position, point.time, faults) == ({0: 191, 1: 7}, 1000, [])


@pytest.mark.parametrize(
    "position", [0.5, -1, 2**63, True, "1", {}, {"01": 1}, {"٣": 1}, {"1" * 5000: 1}, {"0": 1, "1": None}]
)
def test_what_is_no_position(position):
    faults: list[tuple[str, str]] = []
    parse_point({"position": position}, "from", faults)
    assert [path for path, _ in faults] == ["from.position"]
