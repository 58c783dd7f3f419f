import asyncio
from functools import partial

from headrace.delivery.queue.turns import TurnLimiter


async def test_a_turnstile_lets_few_pass_in_a_turn_of_the_loop():
    limiter, passed = TurnLimiter(2), []

    async def go(number):
        await limiter.turn()
        passed.append(number)

    going = [asyncio.create_task(go(number)) for number in range(7)]
    seen = []
    while len(passed) < 7:
        await asyncio.sleep(0)
        seen.append(len(passed))
    assert max(later - before for before, later in zip([0, *seen], seen, strict=False)) <= 2
    assert passed == list(range(7))
    await asyncio.gather(*going)
    await asyncio.wait_for(limiter.turn(), 1)


async def test_actions_are_done_a_few_in_each_turn_and_all_of_them():
    limiter, done = TurnLimiter(3), list[int]()
    for number in range(8):
        limiter.call(partial(done.append, number))
    assert done == [0, 1, 2]
    await asyncio.sleep(0)
    assert done == [0, 1, 2, 3, 4, 5]
    await asyncio.sleep(0)
    assert done == list(range(8))


async def test_who_gave_up_does_not_hold_up_the_others():
    limiter = TurnLimiter(1)
    await limiter.turn()
    gone, waits = asyncio.create_task(limiter.turn()), asyncio.create_task(limiter.turn())
    await asyncio.sleep(0)
    gone.cancel()
    assert await asyncio.wait_for(waits, 1) >= 0
