"""Parse tokens to a tree.

Operators bind, from tightest to loosest: function calls; `NOT` and `-`; `LIKE` and `IN`; `* / %`; `+ -`;
comparisons; `AND OR XOR`. Operators of equal precedence group from the left.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from headrace.errors import FilterError
from headrace.filters.bounds.limits import DEFAULT_LIMITS
from headrace.filters.cesql.functions import require_functions
from headrace.filters.cesql.syntax import (
    Arithmetic,
    Attribute,
    Boolean,
    Call,
    Comparison,
    Exists,
    In,
    Integer,
    Like,
    Logic,
    Minus,
    Not,
    String,
    children,
)
from headrace.filters.cesql.text.tokens import KEYWORDS, tokens_of
from headrace.filters.values.cesql.casts import INT32

if TYPE_CHECKING:
    from collections.abc import Mapping

    from headrace.filters.bounds.limits import Limits
    from headrace.filters.cesql.syntax import Node
    from headrace.filters.cesql.text.tokens import Token


_LOGIC, _COMPARISON, _SUM, _PRODUCT = 1, 2, 3, 4
BINDING: Mapping[str, int] = {
    **dict.fromkeys(("AND", "OR", "XOR"), _LOGIC),
    **dict.fromkeys(("=", "!=", "<>", "<", "<=", ">", ">="), _COMPARISON),
    **dict.fromkeys(("+", "-"), _SUM),
    **dict.fromkeys(("*", "/", "%"), _PRODUCT),
}
_ATTRIBUTE_NAME = re.compile(r"[A-Za-z0-9]+\Z")
_FUNCTION_NAME = re.compile(r"[A-Za-z][A-Za-z_]*\Z")


def parse(text: str, limits: Limits = DEFAULT_LIMITS) -> Node:
    """Return the tree, or raise `FilterError` with the position of the fault.

    `limits.depth` bounds the height of the tree, so that functions over it may recurse, and `limits.atoms` the number
    of attributes and calls. By the specification a call of an unknown function is an error of evaluation; here it is
    refused.
    """
    limits.check("length", len(text), "characters", value=text)
    node = _Parser(text, limits).whole()
    _check_size(node, text, limits)
    require_functions(node, text)
    return node


class _Parser:
    """Parses one text once. `_depth` counts the nested expressions that are being parsed."""

    def __init__(self, text: str, limits: Limits) -> None:
        self._text = text
        self._limits = limits
        self._tokens = tokens_of(text)
        self._next = 0
        self._depth = 0

    def whole(self) -> Node:
        node = self._expression(_LOGIC)
        if self._peek().kind != "end":
            raise self._unexpected("an operator or the end")
        return node

    def _expression(self, loosest: int) -> Node:
        self._depth += 1
        if self._depth > self._limits.depth:
            raise _too_deep(self._text, self._peek().position, self._limits)
        left = self._suffixed()
        while BINDING.get(self._peek().kind, 0) >= loosest:
            operator = self._take()
            left = self._binary(left, operator, self._expression(BINDING[operator.kind] + 1))
        self._depth -= 1
        return left

    def _binary(self, left: Node, token: Token, right: Node) -> Node:
        operator, position = token.kind, token.position
        if BINDING[operator] == _LOGIC:
            same = isinstance(left, Logic) and left.operator == operator
            before = left.operands if isinstance(left, Logic) and same else (left,)
            return Logic(operator, (*before, right), position=position)
        if BINDING[operator] == _COMPARISON:
            return Comparison(left, "!=" if operator == "<>" else operator, right, position=position)
        return Arithmetic(left, operator, right, position=position)

    def _suffixed(self) -> Node:
        node = self._prefixed()
        while True:
            start = self._peek()
            negated = start.kind == "NOT"
            suffix = self._tokens[self._next + negated]
            if suffix.kind not in ("LIKE", "IN"):
                return node
            self._next += 1 + negated
            node = self._like(node, suffix) if suffix.kind == "LIKE" else self._in(node, suffix)
            if negated:
                node = Not(node, position=start.position)

    def _like(self, operand: Node, keyword: Token) -> Node:
        if self._peek().kind != "string":
            raise self._fault("the pattern of LIKE must be a string literal", self._peek())
        pattern = _unquoted(self._take().text)
        return Like(operand, pattern, position=keyword.position)

    def _in(self, operand: Node, keyword: Token) -> Node:
        self._expect("(")
        return In(operand, self._list(), position=keyword.position)

    def _list(self) -> tuple[Node, ...]:
        found = [self._expression(_LOGIC)]
        while self._peek().kind == ",":
            self._next += 1
            found.append(self._expression(_LOGIC))
        self._expect(")", "`,` or `)`")
        return tuple(found)

    def _prefixed(self) -> Node:
        prefixes: list[Token] = []
        while self._peek().kind == "NOT" or self._is_minus():
            prefixes.append(self._take())
        node = self._operand()
        for token in reversed(prefixes):
            node = (Not if token.kind == "NOT" else Minus)(node, position=token.position)
        return node

    def _is_minus(self) -> bool:
        return self._peek().kind == "-" and not _is_sign(*self._tokens[self._next : self._next + 2])

    def _operand(self) -> Node:
        token = self._peek()
        match token.kind:
            case "(":
                self._next += 1
                node = self._expression(_LOGIC)
                self._expect(")", "an operator or `)`")
                return node
            case "EXISTS":
                self._next += 1
                return Exists(self._attribute_name(), position=token.position)
            case "word" if self._tokens[self._next + 1].kind == "(":
                return self._call(self._take())
            case "word":
                return Attribute(self._attribute_name(), position=token.position)
            case _:
                return self._literal(self._take())

    def _literal(self, token: Token) -> Node:
        match token.kind:
            case "string":
                return String(_unquoted(token.text), position=token.position)
            case "TRUE" | "FALSE":
                return Boolean(token.kind == "TRUE", position=token.position)
            case "integer":
                return self._integer(token, token.text)
            case "+" | "-" if _is_sign(token, self._peek()):
                return self._integer(token, token.kind + self._take().text)
            case _:
                raise self._unexpected("a value", token)

    def _integer(self, token: Token, digits: str) -> Integer:
        # Python refuses to parse thousands of digits, which exceed 32 bits anyway.
        value = int(digits) if len(digits.lstrip("+-0")) <= 10 else INT32.stop
        if value not in INT32:
            raise self._fault("an integer must fit in 32 bits: from -2147483648 to 2147483647", token)
        return Integer(value, position=token.position)

    def _attribute_name(self) -> str:
        token = self._take()
        if token.kind in KEYWORDS:
            raise self._fault(f"{token.text} is a keyword and can't name an attribute", token)
        if token.kind != "word" or not _ATTRIBUTE_NAME.match(token.text):
            raise self._fault(
                "an attribute's name consists of letters and digits, not of digits alone", token
            )
        return token.text.lower()

    def _call(self, token: Token) -> Call:
        if not _FUNCTION_NAME.match(token.text):
            raise self._fault("a function's name consists of letters and underscores", token)
        self._expect("(")
        if self._peek().kind == ")":
            self._next += 1
            return Call(token.text.upper(), (), position=token.position)
        return Call(token.text.upper(), self._list(), position=token.position)

    def _peek(self) -> Token:
        return self._tokens[self._next]

    def _take(self) -> Token:
        token = self._tokens[self._next]
        if token.kind != "end":
            self._next += 1
        return token

    def _expect(self, kind: str, wanted: str = "") -> None:
        if self._peek().kind != kind:
            raise self._unexpected(wanted or f"`{kind}`")
        self._next += 1

    def _unexpected(self, wanted: str, token: Token | None = None) -> FilterError:
        token = token or self._peek()
        found = "the expression ends" if token.kind == "end" else f"there is {token.text[:40]}"
        return self._fault(f"{found} where {wanted} is expected", token)

    def _fault(self, problem: str, token: Token) -> FilterError:
        return FilterError(problem, source=self._text, position=token.position, value=token.text)


def _is_sign(token: Token, following: Token) -> bool:
    """Return whether the token is the sign of the integer after it: `-10` is a literal, `- 10` an operation."""
    return following.kind == "integer" and following.position == token.position + 1


def _unquoted(literal: str) -> str:
    quote = literal[0]
    return literal[1:-1].replace("\\" + quote, quote)


def _check_size(root: Node, text: str, limits: Limits) -> None:
    """Check the height of the tree: a chain such as `1 + 1 + …` is high, though its text isn't nested at all."""
    atoms = 0
    waiting = [(root, 1)]
    while waiting:
        node, depth = waiting.pop()
        if depth > limits.depth:
            raise _too_deep(text, node.position, limits)
        atoms += isinstance(node, Attribute | Exists | Call)
        waiting += [(child, depth + 1) for child in children(node)]
    limits.check("atoms", atoms, "attributes and function calls", source=text, position=root.position)


def _too_deep(text: str, position: int, limits: Limits) -> FilterError:
    problem = f"the expression is nested deeper than the limit `depth` of {limits.depth}"
    return FilterError(problem, source=text, position=position, limit="depth")
