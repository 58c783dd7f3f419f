"""The rows that are stored with a new subscription, in the same transaction."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.jobs.job import Job
from headrace.jobs.jobs import Jobs
from headrace.jobs.requests import CATCH_UP, ReplayRequest
from headrace.subscriptions.points import LATEST, Point

if TYPE_CHECKING:
    from collections.abc import Callable

    from sqlalchemy import Connection

    from headrace.subscriptions.store.secrets import SecretStore
    from headrace.subscriptions.subscription import Subscription


def extra_rows(proposal: Subscription, secret_store: SecretStore) -> Callable[[Connection], None]:
    """Return a function that stores the sealed secrets of a proposal, and its job to catch up with past events."""
    seal = secret_store.writing(proposal)
    if proposal.start == Point(edge=LATEST):
        return seal
    asked = ReplayRequest(proposal.start).document()
    catch_up = Job(CATCH_UP, asked, proposal.id, namespace=proposal.channel.namespace)

    def also(connection: Connection) -> None:
        seal(connection)
        Jobs.put(connection, catch_up)

    return also
