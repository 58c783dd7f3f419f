"""What `headrace bench api` imports and asks for can be used; the rest of it needs a service, and minutes."""

import httptools
import msgspec

from headrace.filters import compile_filter
from headrace_bench.api import _filters, _request


def test_every_filter_of_the_import_compiles():
    for number in range(20):
        compile_filter(_filters(number))
    assert len({msgspec.json.encode(_filters(number)) for number in range(100)}) == 100


def test_requests_are_requests():
    seen = []

    class Reader:
        def on_url(self, url):
            seen.append(url)

        def on_body(self, body):
            seen.append(body)

        def on_message_complete(self):
            seen.append("done")

    parser = httptools.HttpRequestParser(Reader())
    parser.feed_data(_request("PUT", "/subscriptions/1", {"sink": "x"}) + _request("GET", "/subscriptions"))
    assert seen == [b"/subscriptions/1", b'{"sink":"x"}', "done", b"/subscriptions", "done"]
    assert parser.get_method() == b"GET"
