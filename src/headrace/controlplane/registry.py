"""The stored objects, in the store's database."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import msgspec
from sqlalchemy import delete, insert, select, update
from sqlalchemy.exc import IntegrityError

from headrace.controlplane.conditions import Condition
from headrace.controlplane.kinds import KINDS, ObjectKind
from headrace.controlplane.objects import Object, ObjectKey
from headrace.controlplane.tables import BINDINGS, FAMILY, OBJECTS, REFERENCES
from headrace.database.patience import once, repeatable
from headrace.errors import Conflict

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable

    from sqlalchemy import ColumnElement, Connection, Row

    from headrace.database.companion import Companion
    from headrace.database.database import Database

_BY_NAME = {kind.full_name: kind for kind in KINDS}


class Registry:
    """Threads and processes may share the database. Every change names the revision that it changes."""

    def __init__(self, database: Database) -> None:
        self.database = database
        database.bring_up(FAMILY)

    @repeatable
    def get(self, key: ObjectKey) -> Object | None:
        """Return the object, if there is one."""
        found = self._select(*_is(key))
        return found[0] if found else None

    @repeatable
    def find(self, kind: ObjectKind | None = None, namespaces: Collection[str] | None = None) -> list[Object]:
        """List objects, in some namespaces or in all, by namespace and name."""
        where = [OBJECTS.c.kind == kind.full_name] if kind else []
        if namespaces is not None:
            where.append(OBJECTS.c.namespace.in_(sorted(namespaces)))
        return self._select(*where)

    @repeatable
    def named(self, namespace: str, name: str) -> list[Object]:
        """List the objects of this name, of all kinds."""
        return self._select(OBJECTS.c.namespace == namespace, OBJECTS.c.name == name)

    @repeatable
    def referring_to(self, key: ObjectKey, kind: ObjectKind | None = None) -> list[Object]:
        """List the objects that refer to this one."""
        naming = select(REFERENCES.c.uid).where(
            REFERENCES.c.kind == key.kind.full_name,
            REFERENCES.c.namespace == key.namespace,
            REFERENCES.c.name == key.name,
        )
        where = [OBJECTS.c.uid.in_(naming)] + ([OBJECTS.c.kind == kind.full_name] if kind else [])
        return self._select(*where)

    @repeatable
    def pending(self) -> list[Object]:
        """List the objects whose last generation was not reconciled, because a process died."""
        return self._select(OBJECTS.c.observed != OBJECTS.c.generation)

    @once
    def add(self, new: Object, references: Iterable[ObjectKey], along: Companion | None = None) -> Object:
        """Store a new object; Conflict if its name is taken."""
        try:
            with self.database.writing(along) as connection:
                connection.execute(insert(OBJECTS).values(_to_row(new)))
                _refer(connection, new.uid, references)
        except IntegrityError:
            raise Conflict(f"{new.key} exists already") from None
        return new

    @once
    def change(
        self,
        new: Object,
        references: Iterable[ObjectKey] | None = None,
        along: Companion | None = None,
    ) -> Object:
        """Store a change of an object; Conflict if it has another revision by now."""
        changed = replace(new, revision=new.revision + 1)
        with self.database.writing(along) as connection:
            done = connection.execute(
                update(OBJECTS)
                .where(OBJECTS.c.uid == new.uid, OBJECTS.c.revision == new.revision)
                .values(_to_row(changed))
            )
            if not done.rowcount:
                raise Conflict(f"{new.key} was changed or deleted meanwhile; look at it and try again")
            if references is not None:
                connection.execute(delete(REFERENCES).where(REFERENCES.c.uid == new.uid))
                _refer(connection, new.uid, references)
        return changed

    @repeatable
    def remove(self, uid: str, along: Companion | None = None) -> None:
        """Delete an object and its bindings."""
        with self.database.writing(along) as connection:
            connection.execute(delete(OBJECTS).where(OBJECTS.c.uid == uid))

    # The subscriptions of an object's subscribers

    @repeatable
    def bindings(self, uid: str) -> dict[str, str]:
        """Return the ids of subscriptions, by subscriber."""
        query = select(BINDINGS.c.subscriber, BINDINGS.c.subscription).where(BINDINGS.c.uid == uid)
        with self.database.reading() as connection:
            return {row.subscriber: row.subscription for row in connection.execute(query)}

    def binding(self, uid: str, subscriber: str, subscription: str) -> Callable[[Connection], None]:
        """Return a function that stores a binding, for the transaction that creates the subscription."""

        def bind(connection: Connection) -> None:
            key = {"uid": uid, "subscriber": subscriber}
            known = update(BINDINGS).where(BINDINGS.c.uid == uid, BINDINGS.c.subscriber == subscriber)
            if connection.execute(known.values(subscription=subscription)).rowcount:
                return
            try:
                connection.execute(insert(BINDINGS).values(subscription=subscription, **key))
            except IntegrityError:
                raise Conflict(
                    f"subscriber {subscriber} is being added by another process, or its object is gone"
                ) from None

        return bind

    @repeatable
    def unbind(self, uid: str, subscriber: str, along: Companion | None = None) -> None:
        """Delete a binding."""
        with self.database.writing(along) as connection:
            connection.execute(
                delete(BINDINGS).where(BINDINGS.c.uid == uid, BINDINGS.c.subscriber == subscriber)
            )

    def _select(self, *where: ColumnElement[bool]) -> list[Object]:
        query = select(OBJECTS).where(*where).order_by(OBJECTS.c.namespace, OBJECTS.c.name, OBJECTS.c.kind)
        with self.database.reading() as connection:
            return [_from_row(row) for row in connection.execute(query)]


def _is(key: ObjectKey) -> tuple[ColumnElement[bool], ...]:
    return (
        OBJECTS.c.kind == key.kind.full_name,
        OBJECTS.c.namespace == key.namespace,
        OBJECTS.c.name == key.name,
    )


def _refer(connection: Connection, uid: str, references: Iterable[ObjectKey]) -> None:
    rows = [
        {"uid": uid, "kind": key.kind.full_name, "namespace": key.namespace, "name": key.name}
        for key in dict.fromkeys(references)
    ]
    if rows:
        connection.execute(insert(REFERENCES), rows)


def _to_row(kept: Object) -> dict[str, Any]:
    return {
        "uid": kept.uid,
        "kind": kept.kind.full_name,
        "version": kept.version,
        "namespace": kept.namespace,
        "name": kept.name,
        "metadata": _encode({"labels": kept.labels, "annotations": kept.annotations}),
        "spec": _encode(kept.spec),
        "conditions": _encode(kept.conditions),
        "generation": kept.generation,
        "observed": kept.observed,
        "revision": kept.revision,
        "created": kept.created,
        "made_channel": kept.made_channel,
        "owner": kept.owner,
    }


def _from_row(row: Row[Any]) -> Object:
    metadata = msgspec.json.decode(row.metadata)
    return Object(
        kind=_BY_NAME[row.kind],
        version=row.version,
        namespace=row.namespace,
        name=row.name,
        spec=msgspec.json.decode(row.spec),
        labels=metadata["labels"],
        annotations=metadata["annotations"],
        conditions=msgspec.json.decode(row.conditions, type=tuple[Condition, ...]),
        uid=row.uid,
        generation=row.generation,
        observed=row.observed,
        revision=row.revision,
        created=row.created,
        made_channel=row.made_channel,
        owner=row.owner,
    )


def _encode(value: Any) -> str:
    return msgspec.json.encode(value).decode()
