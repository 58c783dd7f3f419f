import pytest
from tests.ledger.entries import attempt, write

from headrace.errors import NotFound
from headrace.ledger.records.attempts import AttemptQuery, shown_body

NEVER = 1e12


def test_an_attempt_is_read_back_as_it_was_written(records, database_url):
    made = attempt(
        number=3, verdict="again", status=503, reason="status 503", headers=(("retry-after", "5"),), body=b"\xff\x00"
    )  # fmt: skip
    write(database_url, [made])
    [logged] = records.attempts(AttemptQuery())
    assert logged.attempt == made
    assert records.attempt(logged.id) == logged
    with pytest.raises(NotFound):
        records.attempt(logged.id + 1)


MADE = [
    attempt(subscription="a", position=1, time=10.0, verdict="again", status=503, stage="sink"),
    attempt(subscription="a", position=1, time=20.0, verdict="done", status=200, stage="sink"),
    attempt(subscription="b", position=2, time=30.0, verdict="never", status=400, stage="reply"),
    attempt(subscription="c", position=2, time=40.0, verdict="again", status=None, stage="dead-letter"),
    attempt(subscription="c", position=3, time=40.0, verdict="gone", status=410, stage="sink"),
]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        (AttemptQuery(), [4, 3, 2, 1, 0]),
        (AttemptQuery(subscriptions=["a", "b"]), [2, 1, 0]),
        (AttemptQuery(subscriptions=[]), []),
        (AttemptQuery(verdict="again"), [3, 0]),
        (AttemptQuery(statuses=(500, 599)), [0]),
        (AttemptQuery(statuses=(400, 499)), [4, 2]),
        (AttemptQuery(stage="reply"), [2]),
        (AttemptQuery(position=2), [3, 2]),
        (AttemptQuery(since=20.0, until=40.0), [2, 1]),
        (AttemptQuery(limit=2), [4, 3]),
    ],
)
def test_attempts_are_found_newest_first(records, database_url, query, expected):
    write(database_url, MADE)
    assert [MADE.index(each.attempt) for each in records.attempts(query)] == expected


def test_pages_follow_one_another_without_a_gap_or_an_overlap(records, database_url):
    write(database_url, [attempt(position=number, time=float(number // 3)) for number in range(10)])
    seen, before = [], None
    while page := records.attempts(AttemptQuery(before=before, limit=4)):
        seen += [each.attempt.position for each in page]
        before = page[-1].attempt.time, page[-1].id
    assert seen == list(reversed(range(10)))


def test_what_is_too_old_or_too_much_goes(records, database_url):
    write(database_url, [attempt(position=number, time=float(number)) for number in range(10)])
    assert records.clear(NEVER, 6) == 4
    assert [each.attempt.position for each in records.attempts(AttemptQuery())] == [9, 8, 7, 6, 5, 4]
    assert records.clear(0.0, 6) == 6
    assert records.clear(0.0, 6) == 0


@pytest.mark.parametrize(
    ("body", "shown"),
    [
        (b"", {"body": ""}),
        ("näh".encode(), {"body": "näh"}),
        ("näh".encode()[:2], {"body": "n"}),
        (b"\xff\xfe", {"bodyBase64": "//4="}),
    ],
)
def test_the_start_of_an_answer_is_text_where_it_can_be(body, shown):
    assert shown_body(body) == shown


def test_what_no_text_column_can_hold_is_replaced(records, database_url):
    write(database_url, [attempt(reason="a\0b\ud800", headers=(("x", "\0"),), body=b"\0")])
    [logged] = records.attempts(AttemptQuery())
    assert (logged.attempt.reason, logged.attempt.headers) == ("a\ufffdb?", (("x", "\ufffd"),))
    assert logged.attempt.body == b"\0"
