from tests.delivery.harness import sample

from headrace.delivery.attempt.payload import Payload
from headrace.events.bindings.http import encode_binary, encode_structured
from headrace.events.recorded import Arrival, Recorded

EVENT = sample(1, subject="ä", datacontenttype="application/json")
TRACE = [
    ("traceparent", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"),
    ("tracestate", "a=1,b=2"),
]


def payload(*trace):
    return Payload(Recorded(5, 1_000_000, Arrival(EVENT, "default", "default", *trace)))


def test_without_a_trace_it_is_the_event_and_nothing_else():
    assert payload().message("binary") == encode_binary(EVENT)
    assert payload().message("structured") == encode_structured(EVENT)


def test_the_trace_goes_along_in_both_modes():
    traced = payload(TRACE[0][1], TRACE[1][1])
    assert traced.message("binary").headers == [*encode_binary(EVENT).headers, *TRACE]
    assert traced.message("structured").headers == [*encode_structured(EVENT).headers, *TRACE]
    assert traced.message("structured").body == encode_structured(EVENT).body


def test_a_trace_without_a_state():
    assert payload(TRACE[0][1]).message("binary").headers == [*encode_binary(EVENT).headers, TRACE[0]]


def test_each_mode_is_encoded_once():
    one = payload()
    assert one.message("binary") is one.message("binary")
    assert one.message("binary") is not one.message("structured")
