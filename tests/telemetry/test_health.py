from headrace.telemetry.health import Health, Status


def test_a_part_that_reports_is_well_until_it_falls_silent():
    health = Health()
    health.working("route", "routed 5 events", within=10.0)
    report = health.reports()["route"]
    assert report.problem(report.at + 9.9) is None
    assert (
        report.problem(report.at + 12.0) == "nothing has been heard for 12 s; the last was: routed 5 events"
    )


def test_a_blocked_part_says_why_until_it_works_again():
    health = Health()
    health.blocked("ledger", "the disk is full")
    report = health.reports()["ledger"]
    assert report.problem(report.at) == "the disk is full"
    assert report.problem(report.at + 10_000.0) == "the disk is full"
    health.idle("ledger", "nothing waits")
    assert health.reports()["ledger"].status is Status.IDLE
    assert health.reports()["ledger"].problem(health.reports()["ledger"].at) is None


def test_nothing_is_expected_of_a_part_that_has_ended():
    health = Health()
    health.blocked("archive", "the folder is gone")
    health.forget("archive")
    health.forget("archive")
    assert health.reports() == {}
