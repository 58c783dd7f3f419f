"""What lies in a database, in the words that an operator is told when it is lost."""

from __future__ import annotations

from typing import NamedTuple


class Contents(NamedTuple):
    """`name` is what commands call the database, `held` what is in it."""

    name: str
    held: str


STORE = Contents(
    "store", "channels, subscriptions and their secrets, API keys, quotas, jobs and Knative's objects"
)
LEDGER = Contents(
    "ledger",
    "the cursor, waiting retries, dead letters, what waits to be pulled and the log of attempts",
)
