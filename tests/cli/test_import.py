"""`headrace import` and `headrace export`, beside a service that goes on meanwhile."""

import msgspec

WISH = {"sink": "http://127.0.0.1:9/", "protocol": "HTTP", "config": {"channel": "import/export"}}


def lines(*documents):
    return b"".join(msgspec.json.encode(each) + b"\n" for each in documents)


def test_out_and_in_again(run, service, tmp_path):
    import urllib.request

    channel = urllib.request.Request(
        f"{service.url}/api/channels", data=b'{"namespace": "import", "name": "export"}', method="POST"
    )
    urllib.request.urlopen(channel).close()
    file = tmp_path / "subscriptions.jsonl"
    file.write_bytes(lines(*(WISH | {"types": [f"t{number}"]} for number in range(30))))
    dry = run("import", file, "--dry-run", "--url", service.url)
    assert (dry.exit_code, dry.stdout) == (0, "30 lines are good\n"), dry.output
    done = run("import", file, "--url", service.url)
    assert (done.exit_code, done.stdout) == (0, "30 created\n"), done.output
    copy = tmp_path / "copy.jsonl"
    assert run("export", "-o", copy, "--channel", "import/export", "--url", service.url).exit_code == 0
    written = copy.read_bytes()
    assert {msgspec.json.decode(line)["types"][0] for line in written.splitlines()} == {
        f"t{number}" for number in range(30)
    }
    shown = run("export", "--channel", "import/export", "--url", service.url)
    assert shown.stdout_bytes == written
    again = run("import", "-", "--keep-ids", "--json", "--url", service.url, input=written)
    assert msgspec.json.decode(again.stdout) == {
        "accepted": 30,
        "created": 0,
        "existing": 30,
        "renamed": 0,
        "refused": 0,
        "lines": [],
    }


def test_what_is_wrong_is_told_by_line(run, service, tmp_path):
    file = tmp_path / "bad.jsonl"
    good = {"sink": "http://127.0.0.1:9/", "protocol": "HTTP"}
    file.write_bytes(lines(good, good | {"filters": [{"cel": "1 +"}]}, *[{}] * 30))
    refused = run("import", file, "--url", service.url)
    assert refused.exit_code == 1
    assert "line 2, filters[0].cel:" in refused.stderr
    assert "line 3, sink:" in refused.stderr
    assert "and 11 more lines" in refused.stderr
    assert "31 lines can't be used and nothing was created" in refused.stderr
    as_json = run("import", file, "--json", "--url", service.url)
    assert as_json.exit_code == 1
    assert len(msgspec.json.decode(as_json.stdout)["lines"]) == 31
    skipped = run("import", file, "--skip-faulty", "--dry-run", "--url", service.url)
    assert (skipped.exit_code, skipped.stdout) == (0, "1 lines are good, 31 skipped\n")
