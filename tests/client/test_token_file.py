"""A token in a file, which is exchanged while a client runs."""

import pytest
from aiohttp import web

from headrace.client import Client, TokenFile
from headrace.errors import ConfigError


@pytest.fixture
async def shown():
    """A server that keeps what clients show it."""
    seen: list[str | None] = []

    async def answer(request):
        seen.append(request.headers.get("authorization"))
        return web.json_response([])

    app = web.Application()
    app.router.add_get("/api/channels", answer)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    yield f"http://127.0.0.1:{runner.addresses[0][1]}", seen
    await runner.cleanup()


async def test_each_request_shows_what_stands_there_now(shown, tmp_path):
    url, seen = shown
    path = tmp_path / "token"
    async with Client(url, token=TokenFile(path)) as client:
        with pytest.raises(ConfigError, match="can't be read"):
            await client.channels()
        for text in ("first\n", "second"):
            path.write_text(text)
            await client.channels()
        path.write_text(" \n")
        with pytest.raises(ConfigError, match="is empty"):
            await client.channels()
    assert seen == ["Bearer first", "Bearer second"]


async def test_a_token_that_is_given_or_none(shown):
    url, seen = shown
    for token in ("fixed", None):
        async with Client(url, token=token) as client:
            await client.channels()
    assert seen == ["Bearer fixed", None]
