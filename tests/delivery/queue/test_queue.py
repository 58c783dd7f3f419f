import asyncio
from collections import defaultdict

from tests.delivery.harness import delivery_settings, eventually, spec

from headrace.delivery.attempt.outcome import Outcome, Verdict
from headrace.delivery.attempt.target import NoCredentials
from headrace.delivery.queue.delivery import Delivery
from headrace.delivery.queue.queue import QueueContext, SubscriptionQueue
from headrace.ledger.ledger import Key
from headrace.subscriptions.subscription import parse_subscription

SUBSCRIPTION = parse_subscription({"sink": "http://127.0.0.1:1/", "protocol": "HTTP"})


class GatedSender:
    """Counts attempts under way; each waits until it is let go."""

    def __init__(self):
        self.under_way = 0
        self.most = 0
        self.gate = asyncio.Semaphore(0)

    async def send(self, target, payloads):
        self.under_way += 1
        self.most = max(self.most, self.under_way)
        await self.gate.acquire()
        self.under_way -= 1
        return Outcome(Verdict.DONE, payloads[0])

    async def forget(self, owner):
        pass

    async def close(self):
        pass

    def let_go(self, count):
        for _ in range(count):
            self.gate.release()


def delivery(position):
    return Delivery(Key(SUBSCRIPTION.id, position), f"payload {position}")  # type: ignore[arg-type]


def made_queue(sender, settle, capacity=100, **wishes):
    def note(queue, deliveries, outcome, *_):
        for each in deliveries:
            settle(each, outcome)
        queue.state.release(deliveries)

    def fail(error):
        raise error

    context = QueueContext(delivery_settings(queue_length=capacity), NoCredentials(), note, fail)
    return SubscriptionQueue(SUBSCRIPTION, "sink", spec(**wishes), sender, context)


def put(queue, delivery_):
    queue.state.take_up(delivery_)
    queue.came()


def partition_of(sender, concurrency, capacity=100):
    settled: dict[int, str] = {}
    queue = made_queue(
        sender,
        lambda delivery, outcome: settled.__setitem__(delivery.key.position, outcome.reason),
        capacity,
        concurrency=concurrency,
    )
    return queue, settled


async def test_attempts_at_a_time_are_bounded_and_all_are_made():
    sender = GatedSender()
    queue, settled = partition_of(sender, concurrency=3)
    for position in range(10):
        put(queue, delivery(position))
    await eventually(lambda: sender.under_way == 3)
    assert queue.queued == 7
    sender.let_go(10)
    await queue.finish()
    assert sender.most == 3
    assert settled == {position: f"payload {position}" for position in range(10)}


async def test_one_at_a_time_keeps_the_order():
    sender, order = GatedSender(), []
    queue = made_queue(sender, lambda delivery, _: order.append(delivery.key.position), concurrency=1)
    sender.let_go(20)
    for position in range(20):
        put(queue, delivery(position))
    await queue.finish()
    assert order == list(range(20))


async def test_room_counts_what_waits_and_not_what_is_under_way():
    sender = GatedSender()
    queue, _ = partition_of(sender, concurrency=1, capacity=4)
    for position in range(4):
        put(queue, delivery(position))
    await eventually(lambda: sender.under_way == 1)
    assert (queue.queued, queue.room) == (3, 1)
    sender.let_go(4)
    await queue.finish()


async def test_what_is_drained_is_not_attempted():
    sender = GatedSender()
    queue, settled = partition_of(sender, concurrency=2)
    for position in range(5):
        put(queue, delivery(position))
    await eventually(lambda: sender.under_way == 2)
    assert [each.key.position for each in queue.state.drain()] == [2, 3, 4]
    sender.let_go(5)
    await queue.finish()
    assert sorted(settled) == [0, 1]


async def test_an_idle_queue_has_no_task_and_wakes_up_again():
    sender = GatedSender()
    queue, settled = partition_of(sender, concurrency=2)
    for position in range(3):
        put(queue, delivery(position))
        sender.let_go(1)
        await eventually(lambda: not queue._tasks)
        assert len(settled) == position + 1


async def test_queues_do_not_hold_up_one_another():
    senders: defaultdict[str, GatedSender] = defaultdict(GatedSender)
    slow, _ = partition_of(senders["slow"], concurrency=1)
    live, settled = partition_of(senders["live"], concurrency=1)
    senders["live"].let_go(50)
    for position in range(50):
        put(slow, delivery(position))
        put(live, delivery(position))
    await live.finish()
    assert len(settled) == 50
    slow.state.drain()
    senders["slow"].let_go(1)
    await slow.finish()


async def test_what_is_put_at_the_moment_the_last_attempt_ends_is_attempted():
    """Between the end of a task and the call of its done callback, other callbacks of the loop run."""
    sender, settled = GatedSender(), []
    sender.let_go(2)

    def settle(delivery_, _):
        settled.append(delivery_.key.position)
        if len(settled) == 1:
            asyncio.get_running_loop().call_soon(put, queue, delivery(2))

    queue = made_queue(sender, settle, concurrency=1)
    put(queue, delivery(1))
    await eventually(lambda: settled == [1, 2], seconds=2)


async def test_a_timer_that_rings_while_all_tasks_are_busy_strands_no_batch():
    """What is left behind a full batch is too little for another one, and goes when it is old enough."""
    sender, settled = GatedSender(), []
    queue = made_queue(sender, lambda delivery, _: settled.append(delivery.key.position), concurrency=1)
    queue._batch, queue.spec = 8, spec(concurrency=1, batch_age=0.2)
    for position in range(10):
        put(queue, delivery(position))
    await eventually(lambda: sender.under_way == 1)
    if queue._timer is not None:
        queue._timer.cancel()
    queue._ring()
    sender.let_go(2)
    await eventually(lambda: settled == [*range(10)], seconds=10)
