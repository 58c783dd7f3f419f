"""Secrets go in through the API and never come out."""

import base64

import pytest
from tests.subscriptions.test_credentials import PLAIN, REFRESH

from headrace.subscriptions.credential import Plain

SINK = "https://example.com/in"


async def create(door, **properties):
    status, _, body = await door.request("POST", "/subscriptions", {"sink": SINK, "protocol": "HTTP", **properties})
    return status, body
