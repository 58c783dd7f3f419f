import pytest
from prometheus_client import REGISTRY

from headrace.errors import FilterError
from headrace.filters import compile_filter
from headrace.matching.rules.programs import Programs


def spec(type_):
    return [{"exact": {"type": type_}}]


def test_a_filter_is_compiled_once():
    programs = Programs(2)
    first = programs.compile(spec("a"))
    assert first == compile_filter(spec("a"))
    assert programs.compile(tuple(spec("a"))) is first
    assert (programs.hits, programs.misses, len(programs)) == (1, 1, 1)


def test_the_one_asked_for_longest_ago_goes_first():
    programs = Programs(2)
    a, b = programs.compile(spec("a")), programs.compile(spec("b"))
    assert programs.compile(spec("a")) is a
    programs.compile(spec("c"))
    assert programs.compile(spec("a")) is a
    assert programs.compile(spec("b")) is not b
    assert len(programs) == 2


def test_a_smaller_size_counts_from_the_next_filter():
    programs = Programs(3)
    for each in "abc":
        programs.compile(spec(each))
    programs.size = 1
    programs.compile(spec("c"))
    assert len(programs) == 1


def test_no_room_keeps_nothing_and_compiles_all_the_same():
    programs = Programs(0)
    assert programs.compile(spec("a")) == programs.compile(spec("a"))
    assert (programs.hits, programs.misses, len(programs)) == (0, 2, 0)


def test_numbers_that_are_written_differently_are_different_filters():
    programs = Programs()
    one, other = ([{"exact": {"type": text}}] for text in ("1", "1.0"))
    assert programs.compile(one) != programs.compile(other)


def test_what_is_no_filter_is_refused_each_time():
    programs = Programs()
    for _ in range(2):
        with pytest.raises(FilterError):
            programs.compile([{"no": "filter"}])
    assert len(programs) == 0


def test_publishes_what_is_new():
    def value(name):
        return REGISTRY.get_sample_value(f"headrace_match_program_{name}_total") or 0

    before = value("hits"), value("misses")
    programs = Programs()
    for _ in range(2):
        programs.compile(spec("a"))
        programs.compile(spec("b"))
        programs.publish()
    assert (value("hits") - before[0], value("misses") - before[1]) == (2, 2)
