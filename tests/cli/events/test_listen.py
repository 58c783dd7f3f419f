import socket
import threading
import time
import urllib.error
import urllib.request

import msgspec
import pytest

from headrace.service.processes.service import free_port

HEADERS = {
    "ce-specversion": "1.0",
    "ce-source": "/s",
    "ce-type": "t",
    "ce-subject": "Gr%C3%BC%C3%9Fe",
    "content-type": "application/json",
}


@pytest.fixture
def deliver():
    """Deliver events to a port from another thread, as soon as somebody listens there."""
    threads = []

    def deliver(port, *ids, path="/in"):
        def post():
            for id_ in ids:
                request = urllib.request.Request(
                    f"http://127.0.0.1:{port}{path}", b'{"a": 1}', HEADERS | {"ce-id": id_}, method="POST"
                )
                deadline = time.monotonic() + 10
                while time.monotonic() < deadline:
                    try:
                        urllib.request.urlopen(request, timeout=5).close()
                        break
                    except urllib.error.URLError:
                        time.sleep(0.01)

        threads.append(threading.Thread(target=post))
        threads[-1].start()

    yield deliver
    for thread in threads:
        thread.join()


def test_it_prints_events_and_stops_after_so_many(run, deliver):
    port = free_port()
    deliver(port, "first", "second")
    result = run("listen", "--port", port, "--count", 2)
    assert result.exit_code == 0
    first, data, second, _ = result.stdout.splitlines()
    assert first.startswith("/in  ")
    assert {"id=first", "source=/s", "type=t", "subject=Grüße"} <= set(first.split())
    assert data.strip() == '{"a": 1}'
    assert "id=second" in second
    assert f"listening on http://127.0.0.1:{port}/" in result.stderr


def test_as_json_each_event_is_a_line(run, deliver):
    port = free_port()
    deliver(port, "first", "second")
    result = run("listen", "--port", port, "--count", 2, "--json")
    events = [msgspec.json.decode(line) for line in result.stdout.splitlines()]
    assert [event["id"] for event in events] == ["first", "second"]
    assert events[0] == {
        "specversion": "1.0",
        "id": "first",
        "source": "/s",
        "type": "t",
        "subject": "Grüße",
        "datacontenttype": "application/json",
        "data": {"a": 1},
    }


def test_a_port_that_is_taken(run):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        result = run("listen", "--port", taken.getsockname()[1])
    assert result.exit_code == 1
    assert "can't listen on 127.0.0.1" in result.stderr
    assert "--port" in result.stderr


def test_a_secret_that_is_no_key_is_refused_without_showing_it(run):
    result = run("listen", "--port", free_port(), "--secret", "my-password")
    assert result.exit_code == 2
    assert "begins with whsec_ or whpk_" in result.stderr
    assert "my-password" not in result.stderr
