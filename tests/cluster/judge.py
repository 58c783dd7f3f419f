"""Who reads all of the outbox as it is written, since dispatchers remove what they have drained."""

import threading
from collections import Counter
from typing import Self

from confluent_kafka import Consumer, TopicPartition
from tests.cluster.load import Load

from headrace.eventlog.kafka.outbox.writer import read_outbox_record


class Judge:
    """Counts every pair of event and subscription in the outbox, from its entry to its exit."""

    def __init__(self, bootstrap: str, topic: str, partitions: int) -> None:
        self._consumer = Consumer(
            {
                "bootstrap.servers": bootstrap,
                "group.id": "judge",
                "isolation.level": "read_committed",
                "auto.offset.reset": "error",
                "enable.auto.commit": False,
                "log_level": 2,  # the broker is away now and then
            }
        )
        self._places = [TopicPartition(topic, number, 0) for number in range(partitions)]
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self.pairs: Counter[tuple[int, str]] = Counter()
        self.missed: list[str] = []

    def __enter__(self) -> Self:
        self._consumer.assign(self._places)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()
        self._consumer.close()

    def figures(self) -> str:
        return f"{len(self.pairs)} planned, {self.pairs.total() - len(self.pairs)} of them twice"

    def check(self, load: Load) -> None:
        """What arrived was planned, and nothing was planned twice."""
        assert self.missed == []
        assert set(self.pairs.values()) == {1}
        assert len(self.pairs) >= sum(map(len, load.arrived.values()))

    def _run(self) -> None:
        while not self._stop.is_set():
            message = self._consumer.poll(0.1)
            if message is None:
                continue
            error = message.error()
            if error is None:
                table = read_outbox_record(message).pairs
                positions, ids = (table[name].to_pylist() for name in ("position", "subscription"))
                self.pairs.update(zip(positions, ids, strict=True))
            elif error.code() in (error._AUTO_OFFSET_RESET, error.OFFSET_OUT_OF_RANGE):
                self.missed.append(error.str())  # else the broker is away, and comes back
