"""The life of the dispatcher's steps: polled, closed all at once, joined one after the other."""

import asyncio

import pytest

from headrace.delivery.step import PolledStep, pause, run_steps
from headrace.errors import BrokerUnavailable


@pytest.fixture
def history():
    return []


class Named(PolledStep):
    """Writes down what happens to it."""

    def __init__(self, name, history, seconds=0.001):
        self.name = name
        self.history = history
        self.seconds = seconds
        self.polled = asyncio.Event()

    async def poll(self):
        self.history.append(("poll", self.name))
        self.polled.set()
        return self.seconds

    def close(self):
        self.history.append(("close", self.name))

    async def join(self):
        self.history.append(("join", self.name))


class Failing(Named):
    def __init__(self, name, history, error):
        super().__init__(name, history)
        self.error = error

    async def poll(self):
        await super().poll()
        raise self.error


class Leftover(Named):
    """Hands on something at its end, and waits until another one was polled after it."""

    def __init__(self, name, history, target):
        super().__init__(name, history)
        self.target = target

    async def join(self):
        self.target.polled.clear()
        await self.target.polled.wait()
        await super().join()


async def stopped(steps, history):
    """Run steps until each was polled, then stop them; return what happened from then on, polls left out."""
    stop = asyncio.Event()
    running = asyncio.create_task(run_steps(steps, stop))
    for step in steps:
        await step.polled.wait()
    history.clear()
    stop.set()
    await running
    return [each for each in history if each[0] != "poll"]


async def test_all_are_closed_before_the_first_is_joined(history):
    steps = [Named(name, history) for name in "abc"]
    assert await stopped(steps, history) == [
        *(("close", name) for name in "abc"),
        *(("join", name) for name in "abc"),
    ]


async def test_those_behind_are_polled_until_their_turn(history):
    """What the first one still hands on has to get through."""
    target = Named("target", history)
    source = Leftover("source", history, target)
    await stopped([source, target], history)
    assert history.index(("join", "source")) < history.index(("join", "target"))
    assert ("poll", "source") not in history[history.index(("join", "source")) :]


async def test_an_error_closes_all_and_joins_none(history):
    steps = [Named("a", history), Failing("b", history, OSError("the disk is gone"))]
    with pytest.raises(ExceptionGroup) as raised:
        await run_steps(steps, asyncio.Event())
    assert raised.group_contains(OSError, match="gone")
    assert [each for each in history if each[0] != "poll"] == [("close", "a"), ("close", "b")]


async def test_brokers_that_are_away_at_the_stop_are_not_waited_for(history):
    """What was to be read from them is read after the next start; before the stop, it is an error."""
    step = Failing("a", history, BrokerUnavailable("127.0.0.1:9092", "nobody listens"))
    with pytest.raises(ExceptionGroup):
        await run_steps([step], asyncio.Event())
    stop = asyncio.Event()
    step.polled = stop  # it fails after the stop, and because of it
    await run_steps([step], stop)
    assert history[-3:] == [("poll", "a"), ("close", "a"), ("join", "a")]


async def test_a_step_that_asks_for_it_is_polled_at_once(history):
    step = Named("a", history, seconds=3600.0)
    stop = asyncio.Event()
    running = asyncio.create_task(run_steps([step], stop))
    await step.polled.wait()
    assert history == [("poll", "a")]
    stop.set()
    await asyncio.wait_for(running, 10)


async def test_a_pause_ends_with_the_time_or_the_event():
    event = asyncio.Event()
    await pause(0.001, event)
    event.set()
    await asyncio.wait_for(pause(3600.0, event), 10)


async def test_who_is_cancelled_at_the_moment_of_the_event_ends():
    """`asyncio.wait_for` of Python 3.11 would return as if nobody had cancelled it."""
    event = asyncio.Event()
    waiting = asyncio.create_task(pause(3600.0, event))
    await asyncio.sleep(0)
    event.set()
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
