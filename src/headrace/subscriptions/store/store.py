"""The store of channels and subscriptions, in SQLite or PostgreSQL.

How a subscription comes to see *exactly* the events accepted after its creation, whoever else is writing:

1. Its row is committed without a beginning.
2. Then the end of the log, a cut, is read and becomes its beginning, unless somebody else has set one already.

The pipeline reads where its batch ends first and the rows second. To a row that has no beginning yet it gives one
itself, in the same way: the end of the log, read after the row was seen. Whichever comes first wins, and either
is right: a batch that did not see the row ended at or before that cut in every partition, because its end was read
before the row existed. Deletion works in the same two steps.
"""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import msgspec
from sqlalchemy import bindparam, case, delete, func, insert, select, update
from sqlalchemy.exc import IntegrityError

from headrace.database.patience import once, repeatable
from headrace.errors import Conflict, NotFound
from headrace.events.positions import LogPosition
from headrace.subscriptions.channels import rows as channel_rows
from headrace.subscriptions.channels.document import Channel
from headrace.subscriptions.channels.name import DEFAULT_CHANNEL, ChannelName
from headrace.subscriptions.imports import transaction as lots
from headrace.subscriptions.quotas.checks import check_cost, check_subscriptions, in_force
from headrace.subscriptions.quotas.quotas import UNLIMITED
from headrace.subscriptions.replacement import replaced
from headrace.subscriptions.store import overruns, set_aside
from headrace.subscriptions.store.query import Page, SubscriptionQuery, find
from headrace.subscriptions.store.revisions import last_revision, next_revision
from headrace.subscriptions.store.rows import cut_of, edited, from_row, to_row
from headrace.subscriptions.subscription import ACTIVE, ENDED, PAUSED
from headrace.subscriptions.tables import (
    CHANNELS,
    FAMILY,
    HAS_ENDED,
    NO_BEGINNING,
    NO_END,
    REVISION,
    SECRETS,
    SUBSCRIPTIONS,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from sqlalchemy import ColumnElement, Connection, Row

    from headrace.database.companion import Companion
    from headrace.database.database import Database
    from headrace.subscriptions.channels.config_keys import ConfigKey
    from headrace.subscriptions.imports.batch import Lot
    from headrace.subscriptions.quotas.quotas import Quotas
    from headrace.subscriptions.status import FilterStatus
    from headrace.subscriptions.store.set_aside import SetAside
    from headrace.subscriptions.subscription import Subscription

_MAX_REASON = 500
# Made once: to put a statement together takes longer than to carry this one out.
_ONE = select(SUBSCRIPTIONS).where(SUBSCRIPTIONS.c.id == bindparam("its_id"), ~SUBSCRIPTIONS.c.deleting)


class Store:
    """Threads and processes may share the database; calls block, so an event loop makes them in a thread."""

    def __init__(self, database: Database, quotas: Quotas = UNLIMITED) -> None:
        """Open it; `quotas` hold for namespaces that have none of their own."""
        self.database = database
        self._quotas = quotas
        database.bring_up(FAMILY)
        for table, row in (
            (REVISION, {"only": 1, "value": 0}),
            (CHANNELS, {"namespace": DEFAULT_CHANNEL.namespace, "name": DEFAULT_CHANNEL.name}),
        ):
            try:
                with self.database.writing() as connection:
                    connection.execute(insert(table).values(row))
            except IntegrityError:
                pass  # it was made by an earlier start, or by another process at this moment

    # Channels

    @once
    def create_channel(
        self,
        channel: ChannelName,
        delivery: Mapping[str, Any] | None = None,
        config: Mapping[str, ConfigKey] = MappingProxyType({}),
        along: Companion | None = None,
    ) -> None:
        """Make a channel, or raise Conflict where it exists."""
        try:
            with self.database.writing(along) as connection:
                channel_rows.add(connection, Channel(channel, delivery, config), self._quotas)
        except IntegrityError:
            raise Conflict(f"channel {channel} exists already") from None

    @repeatable
    def change_channel(
        self, channel: ChannelName, delivery: Mapping[str, Any] | None, along: Companion | None = None
    ) -> None:
        """Give a channel another delivery object, or none; dispatchers hear of it as of any change."""
        with self.database.writing(along) as connection:
            channel_rows.change(connection, Channel(channel, delivery), "delivery")

    @repeatable
    def replace_channel(self, channel: Channel, along: Companion | None = None) -> None:
        """Let a channel say this, and nothing else. Subscriptions that are there stay as they are."""
        with self.database.writing(along) as connection:
            channel_rows.change(connection, channel)

    @repeatable
    def channel(self, channel: ChannelName) -> Channel:
        """Return a channel with what it says, or raise NotFound."""
        with self.database.reading() as connection:
            return channel_rows.get(connection, channel)

    def declared(self, channel: ChannelName) -> Mapping[str, ConfigKey]:
        """Return the keys that a channel declares for its subscriptions' config; of one that isn't there, none."""
        try:
            return self.channel(channel).config
        except NotFound:
            return {}

    @repeatable
    def every_channel(self, namespaces: Collection[str] | None = None) -> list[Channel]:
        """List the channels, of some namespaces or of all, in order of their names, with all that they say."""
        with self.database.reading() as connection:
            return channel_rows.everything(connection, namespaces)

    @repeatable
    def channels(self, namespaces: Collection[str] | None = None) -> list[ChannelName]:
        """List the channels, of some namespaces or of all, in order of their names."""
        with self.database.reading() as connection:
            return channel_rows.names(connection, namespaces)

    @repeatable
    def channel_deliveries(self) -> dict[ChannelName, dict[str, Any]]:
        """Return the delivery objects of the channels that have one."""
        with self.database.reading() as connection:
            return channel_rows.deliveries(connection)

    @once
    def delete_channel(self, channel: ChannelName, along: Companion | None = None) -> None:
        """Remove a channel that nobody listens to."""
        with self.database.writing(along) as connection:
            channel_rows.remove(connection, channel)

    # Subscriptions

    @once
    def create(
        self,
        subscription: Subscription,
        end_of_log: Callable[[], LogPosition],
        also: Callable[[Connection], object] = lambda _: None,
        along: Companion | None = None,
    ) -> Subscription:
        """Add it, and let it see the events accepted from now on; `also` is done in the same transaction."""
        with self.database.writing(along) as connection:
            revision = next_revision(connection)
            if not channel_rows.exists(connection, subscription.channel):
                raise NotFound("channel", str(subscription.channel))
            check_subscriptions(
                connection, subscription.channel.namespace, [subscription.compiled_filter], self._quotas
            )
            connection.execute(insert(SUBSCRIPTIONS).values(to_row(subscription, revision)))
            also(connection)
        self._settle("created", SUBSCRIPTIONS.c.id == subscription.id, end_of_log())
        return self.get(subscription.id)

    @once
    def create_lot(
        self,
        lot: Lot,
        end_of_log: Callable[[], LogPosition],
        also: Callable[[Connection, Subscription], object] = lambda *_: None,
        along: Companion | None = None,
    ) -> int:
        """Add many, all or none, beside a pipeline that runs; they see the events accepted from now on.

        Whose id is there already stays as it is. `also` is done in the same transaction, for those that need more than
        a row. Return how many were added.
        """
        with self.database.writing(along) as connection:
            revision = next_revision(connection)
            added = lots.add(connection, lot, revision, self._quotas, also)
        self._settle("created", SUBSCRIPTIONS.c.first_revision == revision, end_of_log())
        return added

    @once
    def create_many(self, subscriptions: Iterable[Subscription], created: LogPosition) -> None:
        """Add many at once, in one transaction, to see the events from a cut on.

        Be careful: only while nobody routes; `create` is what settles with a pipeline that runs.
        """
        with self.database.writing() as connection:
            revision = next_revision(connection)
            settled = {"created": created.to_json()}
            connection.execute(
                insert(SUBSCRIPTIONS), [to_row(each, revision) | settled for each in subscriptions]
            )

    @repeatable
    def get(self, subscription_id: str) -> Subscription:
        """Return the subscription, or raise NotFound."""
        with self.database.reading() as connection:
            row = connection.execute(_ONE, {"its_id": subscription_id}).first()
        if row is None:
            raise NotFound("subscription", subscription_id)
        return from_row(row)

    @repeatable
    def page(self, query: SubscriptionQuery) -> Page:
        """Return some of the subscriptions that are asked for, in the order of their creation, and where to ask on."""
        with self.database.reading() as connection:
            rows, behind = find(connection, query)
        return Page(self._readable(rows), behind)

    @repeatable
    def listens(
        self, subscription_id: str, channel: ChannelName | None = None, namespace: str | None = None
    ) -> bool:
        """Tell whether there is such a subscription, of the channel or the namespace where one is given."""
        its = [SUBSCRIPTIONS.c.id == subscription_id, ~SUBSCRIPTIONS.c.deleting]
        if channel is not None:
            its += [SUBSCRIPTIONS.c.namespace == channel.namespace, SUBSCRIPTIONS.c.channel == channel.name]
        if namespace is not None:
            its.append(SUBSCRIPTIONS.c.namespace == namespace)
        with self.database.reading() as connection:
            return connection.execute(select(SUBSCRIPTIONS.c.id).where(*its)).first() is not None

    @repeatable
    def listeners(self, channel: ChannelName, limit: int) -> list[str]:
        """Return the ids of so many subscriptions of a channel."""
        its = SUBSCRIPTIONS.c.namespace == channel.namespace, SUBSCRIPTIONS.c.channel == channel.name
        query = select(SUBSCRIPTIONS.c.id).where(*its, ~SUBSCRIPTIONS.c.deleting).limit(limit)
        with self.database.reading() as connection:
            return list(connection.execute(query).scalars())

    @repeatable
    def count_listeners(self, channel: ChannelName) -> int:
        """Return how many subscriptions a channel has."""
        its = SUBSCRIPTIONS.c.namespace == channel.namespace, SUBSCRIPTIONS.c.channel == channel.name
        query = select(func.count()).select_from(SUBSCRIPTIONS).where(*its, ~SUBSCRIPTIONS.c.deleting)
        with self.database.reading() as connection:
            return int(connection.execute(query).scalar_one())

    @once
    def go_live(self, subscription_id: str, cut: LogPosition, also: Callable[[Connection], object]) -> None:
        """Let it be live from a later cut on, the end of the log a moment ago; `also` is done in the same transaction.

        Be careful: what lies between is planned no more, and has to come to it in another way.
        """
        with self.database.writing() as connection:
            moved = connection.execute(
                update(SUBSCRIPTIONS)
                .where(SUBSCRIPTIONS.c.id == subscription_id, ~SUBSCRIPTIONS.c.deleting)
                .values(created=cut.to_json(), revision=next_revision(connection))
            )
            if not moved.rowcount:
                raise NotFound("subscription", subscription_id)
            also(connection)

    @once
    def delete(
        self,
        subscription_id: str,
        end_of_log: Callable[[], LogPosition],
        check: Callable[[Subscription], object] = lambda _: None,
        along: Companion | None = None,
    ) -> Subscription:
        """End it: no event accepted from now on is for it. Return what it was; `check` may refuse that."""
        its = SUBSCRIPTIONS.c.id == subscription_id
        with self.database.writing(along) as connection:
            revision = next_revision(connection)  # before anything is read: nobody else changes it now
            row = connection.execute(select(SUBSCRIPTIONS).where(its, ~SUBSCRIPTIONS.c.deleting)).first()
            if row is None:
                raise NotFound("subscription", subscription_id)
            subscription = from_row(row)
            check(subscription)
            connection.execute(update(SUBSCRIPTIONS).where(its).values(deleting=True, revision=revision))
            connection.execute(delete(SECRETS).where(SECRETS.c.subscription == subscription_id))
        self._settle("deleted", SUBSCRIPTIONS.c.id == subscription_id, end_of_log())
        return subscription

    @repeatable
    def replace(self, subscription: Subscription, along: Companion | None = None) -> Subscription:
        """Let a subscription be another one under its id: what it wants, where to, and how.

        Its cuts stay, so no event is lost or doubled over it. An event that was accepted before and isn't routed yet is
        matched by the new filters, one that is planned already goes to the new sink. Its secrets stay while the
        recipient does, and are forgotten with any other. Its channel can't change.
        """
        with self.database.writing(along) as connection:
            revision = next_revision(connection)  # before anything is read: nobody else changes it now
            its = SUBSCRIPTIONS.c.id == subscription.id
            row = connection.execute(select(SUBSCRIPTIONS).where(its, ~SUBSCRIPTIONS.c.deleting)).first()
            if row is None or subscription.channel != ChannelName(row.namespace, row.channel):
                raise NotFound("subscription", subscription.id)
            known = from_row(row)
            becomes = replaced(known, subscription)
            self.check_cost(connection, becomes)
            connection.execute(update(SUBSCRIPTIONS).where(its).values(edited(becomes, revision)))
            if not becomes.selects_as(known):
                overruns.forget(connection, subscription.id)
            if not becomes.has_secrets:
                connection.execute(delete(SECRETS).where(SECRETS.c.subscription == subscription.id))
        return replace(becomes, edited=revision)

    def check_cost(self, connection: Connection, subscription: Subscription) -> None:
        """Refuse filters that cost more than the namespace may spend, in the transaction that would change them."""
        namespace = subscription.channel.namespace
        check_cost(namespace, subscription.compiled_filter, in_force(connection, namespace, self._quotas))

    # Pausing

    def pause(self, subscription_id: str, along: Companion | None = None) -> Subscription:
        """Let its events wait until it is resumed."""
        still = case((SUBSCRIPTIONS.c.ended.is_(None), PAUSED), else_=ENDED)
        return self._change(subscription_id, {"paused": True, "state": still}, along)

    def resume(self, subscription_id: str, along: Companion | None = None) -> Subscription:
        """Deliver again, also where its sink had said that it is gone."""
        return self._change(subscription_id, {"paused": False, "ended": None, "state": ACTIVE}, along)

    def end(self, subscription_id: str, reason: str) -> Subscription:
        """Let its deliveries end, for a reason that its sink gave. It stays, and may be resumed."""
        # A sink may have written it; PostgreSQL's texts hold no NUL, and no database half a character.
        fit = reason[:_MAX_REASON].replace("\0", "\ufffd").encode(errors="replace").decode()
        return self._change(subscription_id, {"ended": fit, "state": ENDED})

    @repeatable
    def _change(
        self, subscription_id: str, values: Mapping[str, Any], along: Companion | None = None
    ) -> Subscription:
        with self.database.writing(along) as connection:
            row = connection.execute(
                update(SUBSCRIPTIONS)
                .where(SUBSCRIPTIONS.c.id == subscription_id, ~SUBSCRIPTIONS.c.deleting)
                .values(revision=next_revision(connection), **values)
                .returning(SUBSCRIPTIONS)
            ).first()
            if row is None:
                raise NotFound("subscription", subscription_id)
        return from_row(row)

    # How they fare

    @once
    def report_overruns(self, reported: Mapping[str, FilterStatus]) -> None:
        """Add to what is known, by subscription; who is not there any more is left out.

        The revision stays: workers follow it, and nothing changes for them.
        """
        with self.database.writing() as connection:
            overruns.add(connection, reported)

    @repeatable
    def overruns(self, among: Sequence[str] | None = None) -> dict[str, FilterStatus]:
        """Return what was reported, by subscription: of all, or of some."""
        with self.database.reading() as connection:
            return overruns.read(connection, among)

    @repeatable
    def filters_that_fail(self, among: Sequence[str]) -> tuple[dict[str, FilterStatus], dict[str, str]]:
        """Return, by subscription, what was reported, and why filters can't be used here: of those among these."""
        with self.database.reading() as connection:
            return overruns.read(connection, among), set_aside.filters(connection, among)

    # What could not be routed

    @repeatable
    def set_aside(self, records: Iterable[SetAside]) -> None:
        """Write down what is left out of the routing, durably."""
        with self.database.writing() as connection:
            set_aside.write(connection, set_aside.join(records))

    @repeatable
    def what_is_set_aside(self, limit: int, namespaces: Collection[str] | None = None) -> list[SetAside]:
        """Return what was set aside last, of some namespaces or of all, the newest first."""
        with self.database.reading() as connection:
            return set_aside.newest(connection, limit, namespaces)

    @repeatable
    def forget_filters_set_aside(self) -> None:
        """Forget what was said of filters: they are about to be looked at again."""
        with self.database.writing() as connection:
            set_aside.forget_filters(connection)

    # What the pipeline and the dispatcher follow

    @repeatable
    def revision(self) -> int:
        """Return a number that grows with every change."""
        with self.database.reading() as connection:
            return last_revision(connection)

    @repeatable
    def bounds(self) -> dict[str, tuple[LogPosition | None, LogPosition | None]]:
        """Return the cuts `created` and `deleted` of all subscriptions, ended ones included, by their ids."""
        query = select(SUBSCRIPTIONS.c.id, SUBSCRIPTIONS.c.created, SUBSCRIPTIONS.c.deleted)
        with self.database.reading() as connection:
            return {row.id: (cut_of(row.created), cut_of(row.deleted)) for row in connection.execute(query)}

    @repeatable
    def ids(self, revision: int | None = None) -> set[str]:
        """Return the ids of all subscriptions, ended ones included, or of those last changed up to a revision."""
        query = select(SUBSCRIPTIONS.c.id)
        if revision is not None:
            query = query.where(SUBSCRIPTIONS.c.revision <= revision)
        with self.database.reading() as connection:
            return set(connection.execute(query).scalars())

    @repeatable
    def owners(self, since: int) -> tuple[int, list[tuple[str, str]]]:
        """Return subscriptions changed after revision `since`, each with its namespace, and the revision reached."""
        query = select(SUBSCRIPTIONS.c.id, SUBSCRIPTIONS.c.namespace, SUBSCRIPTIONS.c.revision).where(
            SUBSCRIPTIONS.c.revision > since
        )
        with self.database.reading() as connection:
            rows = connection.execute(query).all()
        return max([since, *(row.revision for row in rows)]), [(row.id, row.namespace) for row in rows]

    @repeatable
    def changes(self, since: int) -> tuple[int, list[Subscription]]:
        """Return the subscriptions changed after revision `since`, ended ones included, and the revision reached."""
        query = (
            select(SUBSCRIPTIONS).where(SUBSCRIPTIONS.c.revision > since).order_by(SUBSCRIPTIONS.c.revision)
        )
        with self.database.reading() as connection:
            rows = connection.execute(query).all()
        return max([since, *(row.revision for row in rows)]), self._readable(rows)

    def _readable(self, rows: Sequence[Row[Any]]) -> list[Subscription]:
        """Return the subscriptions of the rows that this version can read, and set the others aside."""
        read, unread = [], []
        for row in rows:
            try:
                read.append(from_row(row))
            except (msgspec.DecodeError, KeyError, TypeError) as error:
                reason = f"its document in the store can't be read: {error!r}"
                unread.append(set_aside.of_subscription(row.id, row.namespace, row.channel, reason))
        if unread:
            self.set_aside(unread)
        return read

    @repeatable
    def settle(self, end_of_log: Callable[[], LogPosition]) -> None:
        """Give subscriptions that wait for a cut the end of the log as it is now, however many they are."""
        with self.database.reading() as connection:
            seen = last_revision(connection)  # first: whoever waits at this revision is seen now
            waiting = [
                column
                for column, which in (("created", NO_BEGINNING), ("deleted", NO_END))
                if connection.execute(select(SUBSCRIPTIONS.c.id).where(which).limit(1)).first()
            ]
        for column in waiting:
            self._settle(column, SUBSCRIPTIONS.c.revision <= seen, end_of_log())

    @repeatable
    def purge(self, settled: LogPosition) -> list[str]:
        """Forget ended subscriptions, once an event behind their end has been delivered; return their ids.

        Be careful: beyond, not at, their end. Only a batch that went beyond it is known to have seen the end.
        """
        ended = select(SUBSCRIPTIONS.c.id, SUBSCRIPTIONS.c.deleted).where(HAS_ENDED)
        with self.database.writing() as connection:
            rows = connection.execute(ended).all()
            gone = [
                row.id
                for row in rows
                if (end := LogPosition.from_json(row.deleted)) <= settled and end != settled
            ]
            if gone:
                forget = delete(SUBSCRIPTIONS).where(SUBSCRIPTIONS.c.id == bindparam("gone"))
                connection.execute(forget, [{"gone": each} for each in gone])
            return gone

    @repeatable
    def _settle(self, column: str, whose: ColumnElement[bool], cut: LogPosition) -> None:
        waits = {"created": NO_BEGINNING, "deleted": NO_END}[column]
        with self.database.writing() as connection:
            revision = next_revision(connection)
            connection.execute(
                update(SUBSCRIPTIONS)
                .where(whose, waits)
                .values({column: cut.to_json(), "revision": revision})
            )
