"""The benchmarks of delivery, with so little that they take seconds: that they run, and what they count."""

import json

import pytest
from click.testing import CliRunner

from headrace.cli.main import main
from headrace.errors import HeadraceError
from headrace_bench.servers import server


def bench(*arguments):
    found = CliRunner().invoke(main, ["bench", *arguments, "--json"], catch_exceptions=False)
    assert found.exit_code == 0, found.output
    return json.loads(found.stdout)


def test_a_backlog_is_delivered_from_and_memory_is_told(tmp_path):
    figures = bench(
        "backlog", "--waiting", "2000", "--subscriptions", "4", "--seconds", "60", "--sink-ms", "1",
        "--data", str(tmp_path),
    )  # fmt: skip
    assert (figures["waiting"], figures["delivered"]) == (2000, 2000)
    assert figures["MB at most"] > 50
    assert list(tmp_path.iterdir()) == [], "the ledger is removed"


def test_http_is_measured_beside_the_library_and_beside_hanging_neighbours():
    figures = bench(
        "delivery", "--deliveries", "400", "--subscriptions", "2", "--rate", "100", "--seconds", "1", "--neighbours", "3",
    )  # fmt: skip
    [http] = figures["protocols"]
    assert (http["protocol"], http["failed"], http["missing"]) == ("HTTP", 0, 0)
    assert http["library/s"] > 0
    assert [row["hanging neighbours"] for row in figures["isolation"]] == [0, 3, 3]


def test_what_is_missing_for_a_protocol_is_said(tmp_path):
    with (
        pytest.raises(HeadraceError, match=r"--server KAFKA=.* --kafka-jars"),
        server("KAFKA", None, tmp_path, None),
    ):
        pass


def test_a_server_that_is_named_is_not_started(tmp_path):
    with server("NATS", "nats://elsewhere:4222", tmp_path, None) as address:
        assert address == "nats://elsewhere:4222"
    assert list(tmp_path.iterdir()) == []
