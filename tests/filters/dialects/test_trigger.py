"""The examples of the trigger proposal, and what attributes means at its edges.

Its typos, corrected here: a bracket that is never closed in the complex boolean expression, quotes missing in two
sample extensions, a brace missing in the sample data, and `user.id` where every other example writes `data.user.id`.
"""

import pytest

from headrace.errors import FilterError
from headrace.events.event import Event
from headrace.filters import compile_filter

PULL, ISSUE = "com.github.pull.create", "com.github.issue.create"
SOURCE = "https://github.com/knative/eventing/pulls/123"


def event(data=None, **attributes):
    return Event(
        attributes={"specversion": "1.0", "id": "1", "source": "/s", "type": "t", **attributes}, data=data
    )


DOTTED = Event(
    attributes={
        "specversion": "0.3",
        "id": "1",
        "source": "/s",
        "type": "t",
        "github.repository": "proposals",
    }
)

EXAMPLES = [
    # filter, events it matches, events it drops
    ({"sourceAndType": {"type": PULL}}, [event(type=PULL)], [event(type=ISSUE)]),
    ({"attributes": {"type": PULL}}, [event(type=PULL)], [event(type=ISSUE)]),
    ({"expression": f'ce.type == "{PULL}"'}, [event(type=PULL)], [event(type=ISSUE)]),
    *(
        (spec, [event(type=PULL, source=SOURCE)], [event(type=PULL), event(source=SOURCE), event()])
        for spec in (
            {"sourceAndType": {"type": PULL, "source": SOURCE}},
            {"attributes": {"type": PULL, "source": SOURCE}},
            {"expression": f'ce.type == "{PULL}" &&\nce.source == "{SOURCE}"\n'},
        )
    ),
    *(
        ({"expression": f"ce.source.{call}"}, [event(source=SOURCE)], [event(source="http://github.com/"), event()])
        for call in (
            'startsWith("https://github.com")',
            'match("https://github.com*")',
            'matches("https://github.com.*")',
        )
    ),
    (
        {"expression": f'ce.type == "{PULL}" ||\n(ce.type == "{ISSUE}" && ce.source.matches("proposals"))\n'},
        [event(type=PULL), event(type=ISSUE, source="/proposals/1")],
        [event(type=ISSUE), event(source="/proposals/1")],
    ),
    *(
        (spec, [event(type=ISSUE, repository="proposals")], [event(type=ISSUE), event(repository="proposals")])
        for spec in (
            {"attributes": {"type": ISSUE, "repository": "proposals"}},
            {"expression": f'ce.type == "{ISSUE}" &&\nce.repository == "proposals"\n'},
        )
    ),
    ({"attributes": {"github.repository": "proposals"}}, [DOTTED], [event()]),
    ({"expression": 'ce["github.repository"] == "proposals"\n'}, [DOTTED], [event()]),
    (
        {"expression": 'ce.github.repository == "proposals"\n'},
        [event(github={"repository": "proposals"})],
        [event(github={"repository": "eventing"}), event(github="proposals"), event(), DOTTED],
    ),
    (
        {"expression": 'data.user.id == "abc123"\n'},
        [event(b'{"user":{"id":"abc123"}}')],
        [event(b'{"user":{"id":"abc"}}'), event(b'{"user":{}}'), event(b"{"), event()],
    ),
    (
        {"expression": 'ce.type == "dev.knative.observation" &&\ndata.latency > 300.0\n'},
        [event(b'{"latency":301}', type="dev.knative.observation")],
        [event(b'{"latency":300}', type="dev.knative.observation"), event(b'{"latency":301}')],
    ),
    # Illustrations of the caveats and of alternatives.
    (
        {"all": [{"attributes": {"type": PULL}}, {"expression": 'ce.source.match("*knative*")'}]},
        [event(type=PULL, source=SOURCE)],
        [event(type=PULL)],
    ),
    ({"cel": 'ce.subject == "knative/eventing/pull/23"'}, [event(subject="knative/eventing/pull/23")], [event()]),
]  # fmt: skip


@pytest.mark.parametrize(("spec", "matched", "dropped"), EXAMPLES)
def test_examples(spec, matched, dropped):
    compiled = compile_filter(spec)
    assert [compiled.matches(each) for each in matched] == [True] * len(matched)
    assert [compiled.matches(each) for each in dropped] == [False] * len(dropped)


def test_more_than_one_filter_at_the_top_is_refused():
    with pytest.raises(FilterError, match="exactly one key"):
        compile_filter(
            {"attributes": {"type": PULL}, "expression": 'ce.subject == "knative/eventing/pull/23"'}
        )


def test_the_expression_as_the_proposal_has_it_is_refused_where_its_bracket_is_missing():
    with pytest.raises(FilterError, match="line 2, column 72"):
        compile_filter(
            {"expression": f'ce.type == "{PULL}" ||\n(ce.type == "{ISSUE}" && ce.source.matches("proposals")'}
        )


def test_data_without_its_prefix_is_refused():
    with pytest.raises(FilterError, match="undeclared reference to 'user"):
        compile_filter({"expression": 'user.id == "abc123"'})


def test_attributes_that_agree_become_the_same_expression():
    assert compile_filter({"attributes": {"type": PULL}}) == compile_filter({"sourceAndType": {"type": PULL}})
    assert compile_filter({"attributes": {"type": PULL}}) == compile_filter({"exact": {"type": PULL}})


def test_source_and_type_is_marked_as_deprecated():
    compiled = compile_filter([{"not": {"sourceAndType": {"type": "t"}}}])
    assert compiled.notes == (
        "filters[0].not.sourceAndType: sourceAndType is deprecated; attributes does the same",
    )
    assert compile_filter({"attributes": {"type": "t"}}).notes == ()


def test_an_empty_value_asks_for_an_attribute_that_is_not_empty():
    compiled = compile_filter({"attributes": {"subject": ""}})
    assert compiled.cel == 'has(ce.subject) && ce.subject != ""'
    assert [compiled.matches(event(**each)) for each in ({"subject": "x"}, {"subject": ""}, {})] == [
        True,
        False,
        False,
    ]
    assert compile_filter({"attributes": {"count": ""}}).matches(event(count=0))


def test_no_attributes_hold_always():
    assert compile_filter({"attributes": {}}).cel == "true"


def test_a_missing_attribute_is_false_under_a_negation_too():
    assert compile_filter({"not": {"attributes": {"repository": "x"}}}).matches(event())
    assert compile_filter({"not": {"attributes": {"a.b": "x"}}}).matches(event())


def test_a_dotted_name_is_an_extension_or_a_field_of_one():
    compiled = compile_filter({"attributes": {"github.repository": "proposals"}})
    assert compiled.matches(event(github={"repository": "proposals"}))
    assert not compiled.matches(event(github={"repository": "eventing"}))
    assert not compiled.matches(event(github="proposals"))


REFUSED = [
    ({"attributes": []}, "filter.attributes"),
    ({"attributes": {"type": 1}}, "filter.attributes.type"),
    ({"attributes": {"Type": "x"}}, "filter.attributes"),
    ({"attributes": {"": "x"}}, "filter.attributes"),
    ({"attributes": {"data": "x"}}, "filter.attributes"),
    ({"attributes": {"data.x": "x"}}, "filter.attributes"),
    ({"attributes": {"a..b": "x"}}, "filter.attributes"),
    ({"attributes": {".a": "x"}}, "filter.attributes"),
    ({"sourceAndType": {}}, "filter.sourceAndType"),
    ({"sourceAndType": {"subject": "x"}}, "filter.sourceAndType"),
    ({"sourceAndType": {"type": None}}, "filter.sourceAndType.type"),
    ({"expression": ""}, "filter.expression"),
]


@pytest.mark.parametrize(("spec", "path"), REFUSED)
def test_refuses_with_the_path_to_the_fault(spec, path):
    with pytest.raises(FilterError) as refusal:
        compile_filter(spec)
    assert refusal.value.path == path
