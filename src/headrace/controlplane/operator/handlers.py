"""What kopf calls when a HeadraceChannel was created, changed or deleted, on start, and periodically.

kopf keeps its state in annotations of our own domain, and holds a deleted object back by a finalizer until its channel
and subscriptions are gone. Handlers may be called twice for one change; they are idempotent, run one at a time for each
object, and never go back to an earlier generation.
"""

from __future__ import annotations

import asyncio
import copy
import logging
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import kopf

from headrace.controlplane.kinds import HEADRACE_CHANNEL, OWN_GROUP
from headrace.controlplane.objects import SUBSCRIBABLE
from headrace.controlplane.operator.mirror import mirror, reason_of, subscribable, unmirror, unreconciled
from headrace.errors import ClusterRefused, ConfigError, ServiceRefused, ServiceUnreachable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from headrace.client import Client
    from headrace.controlplane.operator.references import Resolver

_AGAIN_SECONDS = 5.0
_MOST_DOUBLINGS = 20
_PASSING = (ServiceUnreachable, ServiceRefused, ClusterRefused, ConfigError)


def register(
    client: Client, resolver: Resolver, login: Callable[..., kopf.ConnectionInfo], look_seconds: float
) -> kopf.OperatorRegistry:
    """Return the handlers of one operator."""
    registry = kopf.OperatorRegistry()
    which = (HEADRACE_CHANNEL.group, "v1", HEADRACE_CHANNEL.plural)

    async def reconcile(
        body: kopf.Body, patch: kopf.Patch, memo: kopf.Memo, retry: int = 0, **_: Any
    ) -> None:
        async with memo.setdefault("turn", asyncio.Lock()):
            seen = _frozen(body)
            generation = seen["metadata"].get("generation", 0)
            if generation < memo.get("generation", 0):
                return  # a later one was applied while this one waited for its turn
            with _told_of(body, patch, again(retry, look_seconds)):
                status = await mirror(client, resolver.resolve, seen)
            memo["generation"] = generation
        if status_differs(seen.get("status") or {}, status):
            patch.status.update(status)
        if SUBSCRIBABLE not in (seen["metadata"].get("annotations") or {}):
            patch.metadata.annotations[SUBSCRIBABLE] = subscribable(seen["metadata"])

    async def remove(body: kopf.Body, patch: kopf.Patch, retry: int, **_: Any) -> None:
        with _told_of(body, patch, again(retry, look_seconds)):
            await unmirror(client, body)

    for decorate in (kopf.on.resume, kopf.on.create, kopf.on.update):
        decorate(*which, registry=registry, id="reconcile")(reconcile)
    kopf.on.delete(*which, registry=registry, id="remove")(remove)
    kopf.timer(*which, registry=registry, id="look", interval=look_seconds, initial_delay=look_seconds)(
        reconcile
    )
    kopf.on.login(registry=registry)(login)
    return registry


@contextmanager
def _told_of(body: kopf.Body, patch: kopf.Patch, seconds: float) -> Iterator[None]:
    """Report a passing error in the object, as a condition and once as an event, and have kopf try again."""
    try:
        yield
    except _PASSING as error:
        status = unreconciled(body, error)
        if status_differs(dict(body.get("status") or {}), status):
            patch.status.update(status)
            kopf.warn(body, reason=reason_of(error), message=str(error))
        raise kopf.TemporaryError(str(error), delay=seconds) from error


def again(retry: int, look_seconds: float) -> float:
    """Return the seconds until the next try: they double, up to the interval of the periodic check."""
    return min(_AGAIN_SECONDS * 2.0 ** min(retry, _MOST_DOUBLINGS), look_seconds)


def _frozen(body: kopf.Body) -> dict[str, Any]:
    """Copy the object. Be careful: kopf changes the one that a timer is given."""
    return copy.deepcopy({name: body[name] for name in body})


def status_differs(old: dict[str, Any], new: dict[str, Any]) -> bool:
    """Tell whether merging the new status changes the old one; an unchanged object is not written."""
    return any(old.get(name) != value for name, value in new.items())


def make_settings() -> kopf.OperatorSettings:
    """Return kopf's settings; all that it writes into objects is in our own domain."""
    settings = kopf.OperatorSettings()
    settings.persistence.finalizer = f"{OWN_GROUP}/operator"
    settings.persistence.progress_storage = kopf.AnnotationsProgressStorage(prefix=OWN_GROUP)
    settings.persistence.diffbase_storage = kopf.AnnotationsDiffBaseStorage(prefix=OWN_GROUP)
    settings.posting.level = logging.WARNING
    return settings
