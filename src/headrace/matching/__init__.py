"""Event -> subscriptions: who wants it."""

from headrace.matching.matcher import Matcher
from headrace.matching.scope import Scope

__all__ = ["Matcher", "Scope"]
