import json

import pytest
from click.testing import CliRunner
from tests.eventlog.arrivals import build

from headrace.cli.main import main


def run(*arguments):
    return CliRunner().invoke(main, ["archive", *map(str, arguments)])


def test_from_the_log_to_the_archive(tmp_path):
    build(tmp_path / "log", ["abc", "de"])
    before = json.loads(run("status", "--data", tmp_path, "--json").output)
    assert (before["events"], before["waiting_in_log"], before["channels"]) == (0, 5, [])
    assert json.loads(run("run", "--data", tmp_path, "--json").output)["archived"] == 5
    after = json.loads(run("status", "--data", tmp_path, "--json").output)
    assert (after["events"], after["waiting_in_log"], after["archived_to"]) == (5, 0, "5")
    assert [row["channel"] for row in after["channels"]] == ["default/default"]
    told = run("status", "--data", tmp_path)
    assert "default/default" in told.output
    assert "archived 0 events" in run("run", "--data", tmp_path).output


def test_without_a_log(tmp_path):
    refused = run("run", "--data", tmp_path)
    assert refused.exit_code == 1
    assert "headrace up" in refused.output
    assert run("status", "--data", tmp_path).exit_code == 0


@pytest.mark.parametrize("command", ["status", "run"])
def test_a_broken_manifest(tmp_path, command):
    build(tmp_path / "log", ["abc"])
    run("run", "--data", tmp_path)
    (manifest,) = (tmp_path / "archive").glob("manifest-*")
    manifest.write_bytes(manifest.read_bytes() + b" ")
    refused = run(command, "--data", tmp_path)
    assert refused.exit_code == 1
    assert "checksum is wrong" in refused.output
    assert "Traceback" not in refused.output


def test_what_is_damaged_is_set_aside_and_what_can_not_be_read_is_given_up(tmp_path):
    build(tmp_path / "log", ["abc", "de"], segment_bytes=1)
    segment = min((tmp_path / "log").glob("*.seg"))
    content = bytearray(segment.read_bytes())
    content[-20] ^= 1
    segment.write_bytes(content)
    told = run("run", "--data", tmp_path)
    assert "archived 2 events" in told.output
    assert "3 positions can't be archived any more" in told.output
    assert json.loads(run("forget", "--data", tmp_path, "--json").output) == {"files": []}
    (file,) = (tmp_path / "archive" / "events").rglob("*.parquet")
    file.write_bytes(b"")
    given_up = run("forget", "--data", tmp_path)
    assert f"gave up {file}, which held 2 events of channel default/default" in given_up.output
    after = json.loads(run("status", "--data", tmp_path, "--json").output)
    assert (after["events"], after["positions_lost"]) == (0, 5)
