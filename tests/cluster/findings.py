"""What everybody knew when something went wrong: brokers, dispatchers, and the last words of every process."""

import subprocess
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from confluent_kafka import ConsumerGroupTopicPartitions
from confluent_kafka.admin import AdminClient
from sqlalchemy import NullPool, create_engine, func, select
from tests.broker import Broker, find_jars
from tests.cluster.parts import Part
from tests.cluster.spark import SparkCluster
from tests.opening import opening

from headrace.ledger.ledger import Ledger
from headrace.ledger.tables import DEAD, WAITING
from headrace.subscriptions.store.store import Store

_TOOL = Path(__file__).with_name("Transactions.java")
_TAIL = 4000


@contextmanager
def telling(find: Callable[[], str]) -> Iterator[None]:
    """Add what is found to what went wrong inside."""
    try:
        yield
    except BaseException as error:
        error.add_note(find())
        raise


def findings(broker: Broker, topics: list[str], url: str, parts: Iterable[Part], spark: SparkCluster) -> str:
    """The outbox is the last topic. What can't be found out is said, and hides nothing else."""
    told = [
        _titled("topics and transactions", lambda: _transactions(broker, topics)),
        _titled("how far dispatchers have read", lambda: "\n".join(_groups(broker, topics[-1]))),
        _titled("the ledger", lambda: "\n".join(_ledger(url))),
        *(_titled(part.name, part.said) for part in parts),
        _titled("Spark", spark.output),
        _titled("the broker", broker.said),
    ]
    return "\n\n".join(told)


def _titled(title: str, find: Callable[[], str]) -> str:
    try:
        found = find()
    except Exception as error:  # noqa: BLE001  the others are wanted all the same
        found = repr(error)
    return f"== {title}\n{found[-_TAIL:]}"


def _transactions(broker: Broker, topics: list[str]) -> str:
    command = ["java", "-cp", f"{find_jars()}/*", str(_TOOL), broker.bootstrap, *topics]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    return done.stdout if done.returncode == 0 else done.stderr


def _groups(broker: Broker, outbox: str) -> Iterator[str]:
    client = AdminClient({"bootstrap.servers": broker.bootstrap})
    group = f"headrace-dispatchers-{outbox}"
    described = client.describe_consumer_groups([group])[group].result()
    for member in described.members:
        yield f"{member.member_id} has {member.assignment.topic_partitions}"
    asked = client.list_consumer_group_offsets([ConsumerGroupTopicPartitions(group)])
    yield from map(str, asked[group].result().topic_partitions)


def _ledger(url: str) -> Iterator[str]:
    with opening(Ledger, url) as ledger:
        yield from (f"share {share} is settled up to {cut}" for share, cut in ledger.cursors().items())
    engine = create_engine(url, poolclass=NullPool)
    with engine.connect() as connection:
        for table in (WAITING, DEAD):
            query = select(table.c.subscription, func.count()).group_by(table.c.subscription)
            yield f"{table.name}: {connection.execute(query).all()}"
    with opening(Store, url) as store:
        yield f"set aside: {store.what_is_set_aside(20)}"
