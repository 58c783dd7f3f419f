"""A route says everything about itself."""

from headrace.api.access.permissions import OPEN, Target, subscribe
from headrace.api.openapi.operation import Answer, Body
from headrace.api.openapi.problems import problems_of
from headrace.api.routes.parameters import header, text
from headrace.api.routes.route import Tag, routes_of
from headrace.api.routes.shared_parameters import path_parameters

THINGS = Tag("Things", "What there is.")
FOUND = Answer("It.", str)


class Handler:
    @THINGS.route("GET /things/{id}", subscribe(Target.SUBSCRIPTION), FOUND, parameters=(text("a", ""),))
    async def show_one_thing(self, _):
        """Show a thing.

        With everything
        about it.
        """

    @THINGS.route("PUT /things/{id}", OPEN, {201: FOUND}, records="thing", body=Body(str), problems={409})
    @THINGS.route(
        "POST /things", OPEN, FOUND, operation="addThing", summary="Add it.", parameters=(header("h", ""),)
    )
    async def put_thing(self, _):
        """Put it."""

    async def not_a_route(self, _):
        """Serve nothing."""


ROUTES = {route.operation: (route, endpoint) for route, endpoint in routes_of(Handler())}


def test_they_are_found_in_their_order_with_their_endpoints():
    assert list(ROUTES) == ["showOneThing", "putThing", "addThing"]
    assert [endpoint.__name__ for _, endpoint in ROUTES.values()] == [
        "show_one_thing",
        "put_thing",
        "put_thing",
    ]


def test_a_docstring_is_summary_and_description():
    shown, added = ROUTES["showOneThing"][0], ROUTES["addThing"][0]
    assert (shown.summary, shown.description) == ("Show a thing.", "With everything\nabout it.")
    assert (added.summary, added.description) == ("Add it.", "")


def test_method_path_answers_and_what_is_recorded():
    put = ROUTES["putThing"][0]
    assert (put.method, put.path, put.records, put.tag) == ("PUT", "/things/{id}", "thing", "Things")
    assert put.answers == {201: FOUND}
    assert ROUTES["addThing"][0].answers == {200: FOUND}


def test_refusals_follow_from_the_rest():
    assert problems_of(ROUTES["showOneThing"][0]) == [400, 401, 403, 404, 503]
    assert problems_of(ROUTES["putThing"][0]) == [400, 409, 413, 415]
    assert problems_of(ROUTES["addThing"][0]) == []


def test_parameters_of_a_path_are_known_by_what_stands_before_them():
    one, two = (path_parameters(path, ())[0] for path in ("/subscriptions/{id}/x", "/api/attempts/{id}"))
    assert (one.description, two.description) == ("The id of a subscription.", "The id of an attempt.")
    assert [each.name for each in path_parameters("/a/{namespace}/{name}", ())] == ["namespace", "name"]
