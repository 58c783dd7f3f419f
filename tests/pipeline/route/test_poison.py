"""Batches get smaller until the deadly event is alone."""

from headrace.pipeline.route.poison import BatchLimit

DEATH = "Job aborted: SparkException: Python worker exited unexpectedly (crashed)"


def test_other_failures_are_no_event_s_fault():
    caution = BatchLimit(50_000)
    assert not caution.failed("No space left on device")
    assert caution.limit == 50_000


def test_a_deadly_event_is_found_in_few_steps():
    caution = BatchLimit(50_000)
    limits = []
    while not caution.failed(DEATH):
        limits.append(caution.limit)
    assert limits == [781, 12, 1]
    assert caution.limit == 50_000, "and then batches are whole again"


def test_batches_that_go_well_end_the_caution():
    caution = BatchLimit(50_000)
    caution.failed(DEATH)
    while not caution.relax():
        assert caution.limit < 50_000
        caution.passed()
    assert caution.limit == 50_000
    assert not caution.relax(), "once"


def test_it_is_not_ended_before_every_event_of_the_failed_batch_had_its_turn():
    caution = BatchLimit(50_000)
    caution.failed(DEATH)
    failed_batch, step = 50_000, caution.limit
    for _ in range(failed_batch // step + 1):
        caution.passed()
    assert not caution.relax()
