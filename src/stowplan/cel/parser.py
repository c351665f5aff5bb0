"""The parser. Climbs precedence, so that nesting takes few frames.

Upstream: github.com/google/cel-go/parser/parser.go
"""

from __future__ import annotations

from stowplan.cel.lexer import RESERVED, Token, bytes_value, string_value, tokenize
from stowplan.cel.macros import expand
from stowplan.cel.syntax import (
    CallNode,
    CompileError,
    CreateList,
    CreateMap,
    CreateStruct,
    Ident,
    Literal,
    Select,
    SyntaxNode,
    qualified_name,
)
from stowplan.cel.types import BOOL, BYTES, DOUBLE, INT, NULL, STRING, UINT
from stowplan.cel.values import MAX_INT, MAX_UINT, MIN_INT, UInt

_BINARY = {
    **dict.fromkeys(("<", "<=", ">=", ">", "==", "!="), 1),
    "in": 1,
    "+": 2,
    "-": 2,
    "*": 3,
    "/": 3,
    "%": 3,
}
_MAX_DEPTH = 250
_MAX_LITERAL_DIGITS = 4300
_EXPECTED = (
    "expecting {'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', "
    "NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}"
)


def parse(source: str) -> SyntaxNode:
    """The syntax tree of an expression. Raises CompileError."""
    parser = _Parser(tokenize(source))
    node = parser.expression()
    parser.expect("end")
    return node


class _Parser:
    def __init__(self, tokens: list[Token]) -> None:
        self.tokens = tokens
        self.position = 0
        self.depth = 0

    @property
    def token(self) -> Token:
        return self.tokens[self.position]

    def take(self) -> Token:
        token = self.tokens[self.position]
        self.position += 1
        return token

    def accept(self, kind: str) -> Token | None:
        return self.take() if self.token.kind == kind else None

    def expect(self, kind: str) -> Token:
        if self.token.kind != kind:
            self.fail(f"expecting '{kind}'" if kind != "end" else "expecting <EOF>")
        return self.take()

    def fail(self, hint: str) -> None:
        token = self.token
        raise CompileError(f"Syntax error: mismatched input '{token.text}' {hint}", token.at)

    def expression(self) -> SyntaxNode:
        self.depth += 1
        if self.depth > _MAX_DEPTH:
            raise CompileError(f"expression recursion limit exceeded: {_MAX_DEPTH}", self.token.at)
        node = self.chain("||", "_||_")
        if mark := self.accept("?"):
            yes = self.chain("||", "_||_")
            self.expect(":")
            node = CallNode(mark.at, "_?_:_", None, [node, yes, self.expression()])
        self.depth -= 1
        return node

    def chain(self, symbol: str, function: str) -> SyntaxNode:
        """The terms of a logical operator, in one call: long chains must not nest."""
        first = self.chain("&&", "_&&_") if symbol == "||" else self.binary(1)
        terms, at = [first], self.token.at
        while self.accept(symbol):
            terms.append(self.chain("&&", "_&&_") if symbol == "||" else self.binary(1))
        return first if len(terms) == 1 else CallNode(at, function, None, terms)

    def binary(self, level: int) -> SyntaxNode:
        left = self.unary()
        while (weight := _BINARY.get(self.token.kind, 0)) >= level:
            operator = self.take()
            right = self.binary(weight + 1)
            left = CallNode(operator.at, "@in" if operator.kind == "in" else f"_{operator.kind}_", None, [left, right])
        return left

    def unary(self) -> SyntaxNode:
        first = self.token
        if first.kind not in ("!", "-"):
            return self.member()
        if first.kind == "-" and self.tokens[self.position + 1].kind in ("int", "double"):
            self.take()
            return self.postfix(self.number(self.take(), negative=True, at=first.at))
        count = 0
        while self.accept(first.kind):
            count += 1
        node = self.member()
        return node if count % 2 == 0 else CallNode(first.at, f"{first.kind}_", None, [node])

    def member(self) -> SyntaxNode:
        return self.postfix(self.primary())

    def postfix(self, node: SyntaxNode) -> SyntaxNode:
        while True:
            if dot := self.accept("."):
                optional = self.accept("?") is not None
                name = self.field_name()
                if not optional and self.token.kind == "(":
                    opening = self.take()
                    node = expand(CallNode(opening.at, name, node, self.arguments()))
                else:
                    node = Select(dot.at, node, name, optional=optional)
            elif bracket := self.accept("["):
                function = "_[?_]" if self.accept("?") else "_[_]"
                index = self.expression()
                self.expect("]")
                node = CallNode(bracket.at, function, None, [node, index])
            elif self.token.kind == "{" and (name_of := qualified_name(node)):
                node = self.struct(name_of)
            else:
                return node

    def field_name(self) -> str:
        token = self.take()
        if token.kind == "escaped":
            raise CompileError("unsupported syntax: '`'", token.at)
        # Words that are reserved for variables are allowed as names of fields.
        if token.kind != "name":
            self.position -= 1
            self.fail("expecting IDENTIFIER")
        return token.text

    def arguments(self) -> list[SyntaxNode]:
        args: list[SyntaxNode] = []
        while not self.accept(")"):
            if args:
                self.expect(",")
            args.append(self.expression())
        return args

    def primary(self) -> SyntaxNode:
        token = self.take()
        match token.kind:
            case "name":
                return self.name(token)
            case ".":
                return self.name(self.expect("name"))
            case "(":
                node = self.expression()
                self.expect(")")
                return node
            case "[":
                return CreateList(token.at, self.items())
            case "{":
                return CreateMap(token.at, self.entries())
            case "int" | "uint" | "double":
                return self.number(token)
            case "string" | "raw":
                return Literal(token.at, string_value(token), STRING)
            case "bytes" | "rawbytes":
                return Literal(token.at, bytes_value(token), BYTES)
            case "true" | "false":
                return Literal(token.at, token.kind == "true", BOOL)
            case "null":
                return Literal(token.at, None, NULL)
        self.position -= 1
        self.fail(_EXPECTED)
        raise AssertionError

    def name(self, token: Token) -> SyntaxNode:
        if token.text in RESERVED:
            raise CompileError(f"reserved identifier: {token.text}", token.at)
        if opening := self.accept("("):
            return expand(CallNode(opening.at, token.text, None, self.arguments()))
        return Ident(token.at, token.text)

    def number(self, token: Token, *, negative: bool = False, at: int | None = None) -> SyntaxNode:
        at = token.at if at is None else at
        sign = -1 if negative else 1
        if token.kind == "double":
            return Literal(at, sign * float(token.text), DOUBLE)
        if token.kind == "uint":
            value = _integer(token.text[:-1])
            if value > MAX_UINT:
                raise CompileError("invalid uint literal", at)
            return Literal(at, UInt(value), UINT)
        value = sign * _integer(token.text)
        if not MIN_INT <= value <= MAX_INT:
            raise CompileError("invalid int literal", at)
        return Literal(at, value, INT)

    def items(self) -> list[tuple[SyntaxNode, bool]]:
        items: list[tuple[SyntaxNode, bool]] = []
        while not self.accept("]"):
            if items:
                self.expect(",")
                if self.accept("]"):
                    break
            optional = self.accept("?") is not None
            items.append((self.expression(), optional))
        return items

    def entries(self) -> list[tuple[SyntaxNode, SyntaxNode, bool]]:
        entries: list[tuple[SyntaxNode, SyntaxNode, bool]] = []
        while not self.accept("}"):
            if entries:
                self.expect(",")
                if self.accept("}"):
                    break
            optional = self.accept("?") is not None
            key = self.expression()
            self.expect(":")
            entries.append((key, self.expression(), optional))
        return entries

    def struct(self, name: str) -> SyntaxNode:
        """A message literal. No type has one here, so its fields are skipped and the checker reports the name."""
        opening = self.take()
        while not self.accept("}"):
            self.accept("?")
            self.field_name()
            self.expect(":")
            self.expression()
            if not self.accept(","):
                self.expect("}")
                break
        return CreateStruct(opening.at, name)


def _integer(text: str) -> int:
    """Python converts at most 4300 digits, and no literal of so many fits 64 bits."""
    if len(text) > _MAX_LITERAL_DIGITS:
        return MAX_UINT + 1
    return int(text, 0 if "x" in text else 10)
