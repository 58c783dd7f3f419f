"""The OpenAPI document of one process: the routes that it serves, and only the components that these need."""

from __future__ import annotations

import re
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from headrace.api.openapi.components import Components
from headrace.api.openapi.head import HEAD, SECURITY_SCHEMES
from headrace.api.openapi.problems import problem_answer, problems_of, reference
from headrace.api.routes.shared_parameters import path_parameters

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from headrace.api.openapi.operation import Answer, Body, Header
    from headrace.api.routes.parameters import Parameter
    from headrace.api.routes.route import Route


def assemble(routes: Collection[Route]) -> dict[str, Any]:
    """Describe these routes."""
    writer = _Writer({route.operation: route.path for route in routes})
    paths: dict[str, dict[str, Any]] = {}
    for route in routes:
        paths.setdefault(route.path, {})[route.method.lower()] = writer.operation(route)
    refused = sorted({status for route in routes for status in problems_of(route)})
    problems = {f"Problem{status}": writer.answer(problem_answer(status)) for status in refused}
    components = {
        "responses": problems,
        "schemas": dict(sorted(writer.components.schemas.items())),
        "securitySchemes": SECURITY_SCHEMES,
    }
    info = HEAD["info"] | {"version": version("headrace")}
    return {**HEAD, "info": info, "paths": paths, "components": components}


class _Writer:
    """Writes the parts of one document. `paths` are those that links lead to, by operation."""

    def __init__(self, paths: Mapping[str, str]) -> None:
        self.components = Components()
        self._paths = paths

    def operation(self, route: Route) -> dict[str, Any]:
        others = [each for each in route.parameters if each.where != "path"]
        parameters = [*path_parameters(route.path, route.parameters), *others]
        answers = {str(status): self.answer(each) for status, each in route.answers.items()}
        refused = {str(status): reference(status) for status in problems_of(route)}
        return {
            "operationId": route.operation,
            "tags": [route.tag],
            "summary": route.summary,
            **({"description": route.description} if route.description else {}),
            **({"parameters": [self._parameter(each) for each in parameters]} if parameters else {}),
            **({"requestBody": self._body(route.body)} if route.body else {}),
            "responses": refused | answers,
            **_security(route),
        }

    def answer(self, answer: Answer) -> dict[str, Any]:
        headers = {each.name: self._header(each) for each in answer.headers}
        links = {name: self._link(target) for name, target in answer.links.items()}
        return {
            "description": answer.description,
            **({"headers": headers} if headers else {}),
            **self._content(answer.by_media_type),
            **({"links": links} if links else {}),
        }

    def _body(self, body: Body) -> dict[str, Any]:
        return {
            **({"description": body.description} if body.description else {}),
            **({"required": True} if body.required else {}),
            **self._content(body.by_media_type),
        }

    def _content(self, by_media_type: Mapping[str, Any]) -> dict[str, Any]:
        content = {name: {"schema": self.components.resolve(each)} for name, each in by_media_type.items()}
        return {"content": content} if content else {}

    def _parameter(self, parameter: Parameter[Any]) -> dict[str, Any]:
        return {
            "name": parameter.name,
            "in": parameter.where,
            **({"required": True} if parameter.where == "path" else {}),
            **({"description": parameter.description} if parameter.description else {}),
            "schema": self.components.resolve(parameter.schema),
            **({"example": parameter.example} if parameter.example else {}),
        }

    def _header(self, header: Header) -> dict[str, Any]:
        required = {"required": True} if header.required else {}
        return {
            "description": header.description,
            **required,
            "schema": self.components.resolve(header.schema),
        }

    def _link(self, target: str) -> dict[str, Any]:
        names = re.findall(r"\{(\w+)\}", self._paths[target])
        return {"operationId": target, "parameters": {name: f"$response.body#/{name}" for name in names}}


def _security(route: Route) -> dict[str, Any]:
    """Mark an operation that is open to everybody; one of which only a part is open takes either."""
    if not route.permission.is_open:
        return {}
    return {"security": [] if route.permission.role is None else HEAD["security"]}
