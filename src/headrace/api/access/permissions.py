"""The permission that a request needs; every route has one.

Be careful with `Target.HANDLER`: the endpoint itself must ask `access_of(request)` which namespaces count, or its
answer is withheld.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto

from headrace.auth.roles import Role


class Target(Enum):
    """What a request is about, which tells in which namespaces the role is needed."""

    NONE = auto()
    """No namespace: the role is needed in any one."""
    EVERY = auto()
    """All namespaces: the role is needed everywhere."""
    PATH = auto()
    """The namespace in the path."""
    CHANNEL = auto()
    """The channel in the path, in its namespace."""
    SUBSCRIPTION = auto()
    """The subscription whose id is in the path; one of another namespace is not found."""
    JOB = auto()
    ATTEMPT = auto()
    REDRIVE = auto()
    KEY = auto()
    HANDLER = auto()
    """What the body names, or a list that is narrowed to the caller's namespaces."""


BY_ID = frozenset({Target.SUBSCRIPTION, Target.JOB, Target.ATTEMPT, Target.REDRIVE, Target.KEY})
"""Named by an id, which doesn't tell the namespace."""


@dataclass(frozen=True, slots=True)
class Permission:
    """`role` None: any authenticated caller. `is_open`: everybody."""

    role: Role | None = None
    target: Target = Target.NONE
    is_open: bool = False


OPEN = Permission(is_open=True)
OPEN_IN_PART = Permission(Role.SUBSCRIBE, is_open=True)
"""Everybody gets an answer, but only those with the role in every namespace get all of it."""


def known(target: Target = Target.NONE) -> Permission:
    """Ask for any role."""
    return Permission(None, target)


def publish(target: Target) -> Permission:
    """Ask for the role of producers."""
    return Permission(Role.PUBLISH, target)


def subscribe(target: Target) -> Permission:
    """Ask for the role of consumers."""
    return Permission(Role.SUBSCRIBE, target)


def admin(target: Target) -> Permission:
    """Ask for the role of owners."""
    return Permission(Role.ADMIN, target)
