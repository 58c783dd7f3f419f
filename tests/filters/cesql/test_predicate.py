import pickle

from headrace.filters.cesql import CesqlPredicate, parse

BOUND = {"specversion": "1.0", "id": "1", "source": "/s", "type": "t"}


def predicate_of(text):
    return CesqlPredicate(parse(text))


def test_a_predicate():
    predicate = predicate_of("type = 'T' OR Subject LIKE 'a%'")
    assert predicate == predicate_of("type='T' or (subject like 'a%')")
    assert hash(predicate) == hash(predicate_of("type='T' or (subject like 'a%')"))
    assert predicate.text == "type = 'T' OR subject LIKE 'a%'"
    assert predicate.attributes == {"type", "subject"}
    assert predicate.cel == 'ce.type == "T" || has(ce.subject) && ce.subject.startsWith("a")'
    assert not predicate.truth(BOUND)
    assert predicate.truth(BOUND | {"subject": "abc"})
    assert predicate.result(BOUND).errors[0].problem == "the event has no subject"


def test_what_cel_cannot_say_still_has_a_truth():
    predicate = predicate_of("LOWER(type) = 't'")
    assert predicate.cel is None
    assert predicate.truth(BOUND)


def test_a_predicate_pickles():
    predicate = predicate_of("type = 't'")
    copy = pickle.loads(pickle.dumps(predicate))
    assert copy == predicate
    assert copy.truth(BOUND)


def test_a_reason_is_the_error_or_the_values():
    predicate = predicate_of("LOWER(type) = 't' AND LOWER(subject) = 'x' OR EXISTS nosuch")
    assert predicate.reason(BOUND) == "missingAttribute error: the event has no subject"
    assert predicate.reason(BOUND | {"subject": "X"}) == "nosuch is missing; subject is 'X'; type is 't'"


def test_thousands_of_zeros_are_a_number():
    predicate = predicate_of("ABS(count) = 7")
    assert predicate.truth(BOUND | {"count": "-" + "0" * 5000 + "7"})
    assert not predicate.truth(BOUND | {"count": "7" * 5000})


def test_a_pattern_with_wildcards_is_within_the_budget_only_on_shorter_texts():
    predicate = predicate_of(f"LOWER(subject) LIKE '%{'_' * 100}z%'")
    assert predicate.truth(BOUND | {"subject": "a" * 200 + "z"})
    assert not predicate.truth(BOUND | {"subject": "a" * 2000 + "z"})
    assert "budget" in predicate.reason(BOUND | {"subject": "a" * 2000 + "z"})
