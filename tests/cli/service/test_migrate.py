"""`headrace migrate`: the versions of the tables, shown and brought up to date."""

import sqlite3

import msgspec


def versions(result):
    return {each["family"]: each["version"] for each in msgspec.json.decode(result.stdout)}


def test_ahead_of_the_first_start(run, tmp_path):
    data = tmp_path / "data"
    check = run("migrate", "--check", "--json", "--data", data)
    assert (check.exit_code, set(versions(check).values())) == (1, {None})
    assert not data.exists(), "a check changes nothing"
    done = run("migrate", "--json", "--data", data)
    assert done.exit_code == 0, done.output
    assert None not in versions(done).values()
    again = run("migrate", "--check", "--json", "--data", data)
    assert (again.exit_code, versions(again)) == (0, versions(done))
    shown = run("migrate", "--check", "--data", data).stdout
    assert [line.split()[0] for line in shown.splitlines()] == ["tables", *versions(done)]


def test_tables_that_are_too_new(run, tmp_path):
    assert run("migrate", "--data", tmp_path).exit_code == 0
    connection = sqlite3.connect(tmp_path / "store.db")
    connection.execute("UPDATE subscriptions_version SET version_num = '9999'")
    connection.commit()
    connection.close()
    for command in (["migrate"], ["migrate", "--check"]):
        refused = run(*command, "--data", tmp_path)
        assert refused.exit_code == 1
        assert "version 9999" in refused.stderr
        assert "Run the newer Headrace" in refused.stderr
    doctor = msgspec.json.decode(run("doctor", "--json", "--data", tmp_path).stdout)
    assert not doctor["store"]["good"]
    assert "too new" in doctor["store"]["what"]
