"""Filters in every dialect, nested in one another, and events on which all of them have something to say."""

import json
from random import Random

from hypothesis import strategies as st
from tests.filters.cel_texts import Grower, cel_texts, seeds
from tests.filters.cesql import strategies as cesql
from tests.filters.cesql.texts import CesqlGrower
from tests.filters.message import strategies as message
from tests.filters.strategies import composite_filters, conditions, simple_filters, texts

from headrace.errors import FilterError
from headrace.events.event import Event
from headrace.events.recorded import Arrival, Recorded
from headrace.filters import compile_filter
from headrace.filters.cesql import write_cesql
from headrace.filters.message import to_json

scalars = texts | st.integers(-2, 50) | st.booleans() | st.sampled_from([1.5, 1.0, 42])
streamer_conditions = st.builds(
    lambda field, op, value: {"field": field, "op": op, "value": value},
    st.sampled_from(["ce.type", "ce.subject", "ce.count", "data.a", "data.s", "data.l", "data.m.a"]),
    st.sampled_from(["==", "!=", ">", ">=", "<", "<=", "in", "contains"]),
    scalars | st.lists(scalars, min_size=1, max_size=3),
)
sql_texts = cesql.nodes.map(write_cesql) | seeds.map(lambda seed: CesqlGrower(Random(seed)).condition(3))

LEAVES = {
    "attributes": conditions,
    "sourceAndType": st.fixed_dictionaries({"source": texts, "type": texts}),
    "cel": cel_texts,
    "expression": cel_texts,
    "sql": sql_texts,
    "cesql": sql_texts,
    "message": message.trees().map(to_json),
    "streamer": st.lists(streamer_conditions, min_size=1, max_size=3),
}


def is_filter(spec):
    try:
        compile_filter(spec)
    except FilterError:
        return False
    return True


def leaves(dialect):
    return LEAVES[dialect].map(lambda body: {dialect: body}).filter(is_filter)


sql_filters = leaves("sql")
simple = st.one_of(simple_filters, *map(leaves, LEAVES))
every_filter = st.recursive(simple, composite_filters, max_leaves=4).filter(is_filter)

extensions = st.dictionaries(
    st.sampled_from(["count", "urgent", "in", "1st", "x", "y", "null", "region", "tso"]),
    cesql.values | message.numeric_texts | cesql.odd_values,
)


@st.composite
def attributes(draw):
    required = draw(
        st.fixed_dictionaries(dict.fromkeys(("specversion", "id", "source", "type"), texts | cesql.texts))
    )
    optional = draw(st.dictionaries(st.sampled_from(["subject", "dataschema"]), texts | message.texts))
    time = draw(st.just({}) | st.sampled_from(message.TIMES).map(lambda each: {"time": each}))
    return required | optional | time | draw(extensions)


@st.composite
def every_event(draw):
    data = draw(st.none() | seeds.map(lambda seed: json.dumps(Grower(seed).json(3)).encode()))
    event = Event(attributes=draw(attributes()), data=data)
    if draw(st.booleans()):
        return event
    instant = draw(st.sampled_from(message.INSTANTS))
    return Recorded(7, instant * 1000, Arrival(event, "a", "b"))
