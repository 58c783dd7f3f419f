"""JSON objects that somebody writes: of a declared member, check, JSON Schema and documentation are made."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from headrace.documents.schemas import Named, nullable, record
from headrace.errors import InvalidRequest

if TYPE_CHECKING:
    from collections.abc import Mapping

    from headrace.documents.faults import Faults
    from headrace.documents.kinds import Kind
    from headrace.documents.schemas import Schema


@dataclass(frozen=True, slots=True)
class Member:
    """`kind` is the kind of its value, `about` its documentation. A `default` of None is none.

    What is left out has the default; so has null where `takes_null`.
    """

    kind: Kind
    about: str = ""
    default: Any = None
    is_required: bool = False
    takes_null: bool = False

    @property
    def schema(self) -> Schema:
        """The member as JSON Schema."""
        taken = nullable(self.kind.schema) if self.takes_null else self.kind.schema
        shown = {"default": self.default, "description": self.about}
        more = {name: value for name, value in shown.items() if value not in (None, "")}
        return {"$ref": taken, **more} if isinstance(taken, Named) else {**taken, **more}


@dataclass(frozen=True, slots=True)
class Form:
    """The body of a request: an object that has these members and no others. `more` are keywords of JSON Schema."""

    name: str
    members: Mapping[str, Member]
    more: Schema = field(default_factory=dict)

    @property
    def schema(self) -> Named:
        """The form as JSON Schema."""
        required = [name for name, each in self.members.items() if each.is_required]
        properties = {name: each.schema for name, each in self.members.items()}
        return Named(self.name, record(properties, required, **self.more))

    def read(self, document: object) -> tuple[dict[str, Any], Faults]:
        """Return the values by name, and what is wrong; InvalidRequest for what is no object."""
        names = ", ".join(self.members)
        if not isinstance(document, dict):
            raise InvalidRequest([("", f"the body has to be a JSON object with: {names}")])
        unknown = [str(name) for name in document if name not in self.members]
        faults: Faults = [(name, f"unknown member; this request has: {names}") for name in unknown]
        values = {}
        for name, member in self.members.items():
            values[name] = member.default
            if name not in document:
                faults += [(name, "is required")] if member.is_required else []
            elif not member.takes_null or document[name] is not None:
                wrong = [(name + path, problem) for path, problem in member.kind(document[name])]
                values[name] = None if wrong else member.kind.normal(document[name])
                faults += wrong
        return values, faults


def refuse(faults: Faults) -> None:
    """Raise InvalidRequest if there is a fault."""
    if faults:
        raise InvalidRequest(faults)
