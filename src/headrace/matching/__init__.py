"""Event -> subscriptions: who wants it."""

from typing import TYPE_CHECKING

from headrace.exports import exported

if TYPE_CHECKING:
    from headrace.matching.matcher import Matcher
    from headrace.matching.scope import Scope

__all__ = ["Matcher", "Scope"]
__getattr__ = exported(__name__, {"Matcher": "headrace.matching.matcher", "Scope": "headrace.matching.scope"})
