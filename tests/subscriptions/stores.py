"""Stores and subscriptions for the tests."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from tempfile import TemporaryDirectory
from typing import Any

from headrace.subscriptions.store.query import SubscriptionQuery
from headrace.subscriptions.store.store import Store
from headrace.subscriptions.subscription import Subscription, parse_subscription


def proposal(channel: str = "default/default", **properties: Any) -> Subscription:
    document = {"sink": "https://example.com/in", "config": {"channel": channel}, **properties}
    return parse_subscription(document)


def listed(store: Store) -> list[Subscription]:
    """List the subscriptions of a store in the order of their creation, as the API does: a page of them."""
    page = store.page(SubscriptionQuery())
    assert page.next is None
    return list(page.subscriptions)


@contextmanager
def memory_url() -> Iterator[str]:
    """The address of a new database, in memory where there is a folder for that: a commit then costs no disk's sync."""
    with TemporaryDirectory(dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None) as folder:
        yield f"sqlite:///{folder}/store.db"
