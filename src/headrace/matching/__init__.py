"""Event -> subscriptions: who wants it."""

from typing import TYPE_CHECKING

from headrace.exports import exported

if TYPE_CHECKING:
    from headrace.matching.bloom.export import export_bloom
    from headrace.matching.matcher import Matcher
    from headrace.matching.scope import Scope

__all__ = ["Matcher", "Scope", "export_bloom"]
__getattr__ = exported(
    __name__,
    {
        "Matcher": "headrace.matching.matcher",
        "export_bloom": "headrace.matching.bloom.export",
        "Scope": "headrace.matching.scope",
    },
)
