"""File faults: every kind of file of the embedded log, outbox and databases, each damaged in every way.

What was accepted arrives, or somebody is told which file or which positions. Nothing else is right.
The whole service, with Spark, the archive and the API, is put through the same by `make chaos`.
"""

import pytest
from tests.chaos.account import Account, Outcome, Telling, Verdict, judge
from tests.chaos.faults import Fault
from tests.chaos.plain_runner import Case, PlainRunner


@pytest.fixture(scope="class")
def runner(tmp_path_factory):
    made = PlainRunner(tmp_path_factory.mktemp("chaos"))
    yield made
    made.close()


# After a kill and while running, one of each sort of damage has to do here.
_SOME = (Fault.FLIP_MIDDLE, Fault.HALVE, Fault.REMOVE, Fault.OLDER_RENAMED, Fault.OLDER_WRITTEN)


# `make chaos WITH=parts` runs every case. Here each kind of file has every third fault, and the next kind the next ones.
_ONE_IN = 3


def _check(runner, state, fault):
    first = list(Fault).index(fault) % _ONE_IN
    chosen = [*runner.cases(state, fault)][first::_ONE_IN]
    outcomes: dict[Case, Outcome | None] = {each: runner.run(each) for each in chosen}
    assert any(outcomes.values()), "no file was damaged"
    bad = {
        str(case): outcome for case, outcome in outcomes.items() if outcome and not outcome.verdict.is_good
    }
    assert not bad, "\n".join(
        f"{outcome.verdict} {case}: {outcome.missing} missing, {outcome.accounted} told. {outcome.detail}"
        for case, outcome in bad.items()
    )


# A class each, so that workers share them out.
class TestStopped:
    @pytest.mark.parametrize("fault", Fault)
    def test_nothing_is_lost_without_being_told(self, runner, fault):
        _check(runner, "stopped", fault)


class TestKilled:
    @pytest.mark.parametrize("fault", _SOME)
    def test_nothing_is_lost_without_being_told(self, runner, fault):
        _check(runner, "killed", fault)


class TestRunning:
    @pytest.mark.parametrize("fault", _SOME)
    def test_nothing_is_lost_without_being_told(self, runner, fault):
        _check(runner, "running", fault)


@pytest.fixture
def account():
    """Ten were accepted, the fourth is missing."""
    made = Account({"plain": 0}, [f"e{number}" for number in range(10)])
    made.arrived.update(("plain", each) for each in made.accepted if each != "e3")
    return made


@pytest.mark.parametrize(
    ("telling", "verdict"),
    [
        (Telling(), Verdict.LOST),
        (Telling(refusals=["/data/log/END is damaged"], until=10), Verdict.TOLD),
        (Telling(refusals=["/data/log/END is damaged"], until=3), Verdict.LOST),
        (Telling(refusals=["something went wrong"], until=10), Verdict.LOST),
        (Telling(standing=["something went wrong"]), Verdict.LOST),
        (Telling(standing=["positions 3 to 7 can't be read"]), Verdict.TOLD),
        (Telling(standing=["positions up to 7 were requested, but the log ends at 3"]), Verdict.LOST),
        (Telling(set_aside=[range(2, 5)]), Verdict.TOLD),
        (Telling(set_aside=[range(4, 9)]), Verdict.LOST),
        (Telling(dead={("plain", 3)}), Verdict.TOLD),
        (Telling(dead={("other", 3)}), Verdict.LOST),
        (Telling(set_aside=[range(2, 5)], crashes=["Traceback"]), Verdict.CRASHED),
        (Telling(crashes=["Traceback"]), Verdict.LOST),
    ],
)
def test_only_who_names_it_has_told(account, telling, verdict):
    assert judge(account, telling, ["END"]).verdict is verdict


def test_what_is_accepted_as_damaged_has_to_be_set_aside(account):
    telling = Telling(refusals=["/data/log/END is damaged"], until=10)
    telling.accept_damage()
    assert judge(account, telling, ["END"]).verdict is Verdict.LOST
    telling.set_aside = [range(3, 4)]
    assert judge(account, telling, ["END"]).verdict is Verdict.TOLD


def test_everything_that_arrived_is_delivered_and_repetitions_are_counted(account):
    account.arrived.update([("plain", "e3"), ("plain", "e4")])
    assert judge(account, Telling(), ["END"]) == Outcome(Verdict.DELIVERED, 0, 0, 1, "")
