"""Filters as people type them.

    filter    = terms { "or" terms }
    terms     = factor { "and" factor }
    factor    = "(" filter ")" | "true" | "false" | "topic" name | "exists" name | name condition
    condition = ("=" | "!=" | "<" | "<=" | ">" | ">=") value
              | "between" value "and" value          both ends included
              | "in" "(" [ value { "," value } ] ")"
              | "prefix" string
    value     = number | string | "true" | "false"
    name      = word | string                        a word is letters, digits, "_", "." and "-", and no keyword
    string    = in double or single quotes, with the escapes \\" \\' \\\\ \\/ \\b \\f \\n \\r \\t \\uXXXX \\UXXXXXXXX

`str` of a filter is such a text and parses back to an equal filter.
"""

from __future__ import annotations

import re
from typing import Final, final

from roamcast.errors import FilterError, InputError
from roamcast.pubsub.event import Value
from roamcast.pubsub.filters import (
    EVERYTHING,
    NOTHING,
    OPERATORS,
    And,
    Compare,
    Exists,
    Filter,
    OneOf,
    Or,
    Prefix,
    Range,
    Topic,
)
from roamcast.pubsub.literals import KEYWORDS
from roamcast.pubsub.necessary import unsatisfiable
from roamcast.pubsub.values import INT_HIGH, INT_LOW

MAX_PARENTHESES: Final = 64
"""Ours: more than people write, and too few to overflow the stack."""

_SPACE: Final = re.compile(r"\s*")
_TOKEN: Final = re.compile(
    r"""(?P<word>[A-Za-z_][A-Za-z0-9_.-]*)
      | (?P<number>[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)(?![A-Za-z0-9_.])
      | (?P<string>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')
      | (?P<sign>!=|<=|>=|[=<>(),])""",
    re.VERBOSE | re.DOTALL,
)
_WHOLE: Final = re.compile(r"[+-]?[0-9]+")
_ESCAPE: Final = re.compile(r"\\(u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8}|.)", re.DOTALL)
_ESCAPED: Final = {'"': '"', "'": "'", "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}

END: Final = "end"
KEYWORD: Final = "keyword"


def parse(text: str) -> Filter:
    """The filter of a text; a `FilterError` has the position of the first wrong character."""
    parser = _Parser(text)
    result = parser.filter()
    if parser.kind != END:
        raise parser.expected('"and", "or" or the end')
    return result


def parse_subscription(text: str) -> Filter:
    """Like `parse`, and refuses a filter that no event can match."""
    result = parse(text)
    if unsatisfiable(result):
        raise FilterError("no event can match this filter: its conditions exclude each other", text, 0)
    return result


@final
class _Parser:
    """Recursive descent with one token of look-ahead, which begins at `position`."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.kind = END
        self.token = ""
        self.position = 0
        self.next_position = 0
        self.parentheses = 0
        self.advance()

    def advance(self) -> str:
        """Return the current token and go on to the next."""
        token = self.token
        space = _SPACE.match(self.text, self.next_position)
        self.position = self.next_position if space is None else space.end()
        if self.position == len(self.text):
            self.kind, self.token = END, ""
            return token
        match = _TOKEN.match(self.text, self.position)
        if match is None:
            raise self.unreadable()
        self.token = match.group()
        self.next_position = match.end()
        self.kind = KEYWORD if self.token in KEYWORDS else str(match.lastgroup)
        return token

    def unreadable(self) -> FilterError:
        character = self.text[self.position]
        if character in "\"'":
            return FilterError(f"expected a closing {character} for the text that begins", self.text, self.position)
        if character.isdigit() or character in "+-.":
            return FilterError("expected a number such as 7, -3 or 2.5e3", self.text, self.position)
        return FilterError(f"unexpected {character!r}", self.text, self.position)

    def expected(self, what: str) -> FilterError:
        actual = "the end" if self.kind == END else self.token if self.kind == "string" else f'"{self.token}"'
        return FilterError(f"expected {what}, found {actual}", self.text, self.position)

    def at(self, token: str) -> bool:
        return self.token == token and self.kind in (KEYWORD, "sign")

    def skip(self, token: str, what: str) -> None:
        if not self.at(token):
            raise self.expected(what)
        self.advance()

    # ---- the grammar

    def filter(self) -> Filter:
        position = self.position
        parts = [self.terms()]
        while self.at("or"):
            self.advance()
            parts.append(self.terms())
        return parts[0] if len(parts) == 1 else self.built(Or, parts, position)

    def terms(self) -> Filter:
        position = self.position
        parts = [self.factor()]
        while self.at("and"):
            self.advance()
            parts.append(self.factor())
        return parts[0] if len(parts) == 1 else self.built(And, parts, position)

    def built(self, connective: type[And] | type[Or], parts: list[Filter], position: int) -> Filter:
        try:
            return connective(parts)
        except InputError as error:
            raise FilterError(str(error), self.text, position) from None

    def factor(self) -> Filter:
        if self.at("("):
            return self.parenthesised()
        if self.at("true"):
            self.advance()
            return EVERYTHING
        if self.at("false"):
            self.advance()
            return NOTHING
        if self.at("not"):
            raise FilterError('there is no "not"; write the opposite condition', self.text, self.position)
        return self.leaf()

    def parenthesised(self) -> Filter:
        self.parentheses += 1
        if self.parentheses > MAX_PARENTHESES:
            raise FilterError(f"more than {MAX_PARENTHESES} open parentheses", self.text, self.position)
        self.advance()
        result = self.filter()
        self.skip(")", '"and", "or" or ")"')
        self.parentheses -= 1
        return result

    def leaf(self) -> Filter:
        position = self.position
        try:
            if self.at("topic"):
                self.advance()
                return Topic(self.name("the name of a topic"))
            if self.at("exists"):
                self.advance()
                return Exists(self.name("the name of an attribute"))
            return self.condition(self.name('a condition such as temperature > 30, "topic", "exists" or "("'))
        except FilterError:
            raise
        except InputError as error:
            raise FilterError(str(error), self.text, position) from None

    def condition(self, name: str) -> Filter:
        if self.kind == "sign" and self.token in OPERATORS:
            return Compare(name, self.advance(), self.value())
        if self.at("between"):
            self.advance()
            low = self.value()
            self.skip("and", '"and" and the upper end')
            return Range(name, low, self.value())
        if self.at("in"):
            self.advance()
            return OneOf(name, self.values())
        if self.at("prefix"):
            self.advance()
            if self.kind != "string":
                raise self.expected("a text in quotes")
            return Prefix(name, self.string())
        raise self.expected("one of = != < <= > >= between in prefix")

    def values(self) -> list[Value]:
        self.skip("(", '"(" and values')
        result: list[Value] = []
        while not (self.at(")") and not result):
            result.append(self.value())
            if not self.at(","):
                break
            self.advance()
        self.skip(")", '"," or ")"')
        return result

    def name(self, what: str) -> str:
        if self.kind == "word":
            return self.advance()
        if self.kind == "string":
            return self.string()
        raise self.expected(what)

    def value(self) -> Value:
        if self.kind == "number":
            return self.number()
        if self.kind == "string":
            return self.string()
        if self.at("true") or self.at("false"):
            return self.advance() == "true"
        hint = " (texts go in quotes)" if self.kind == "word" else ""
        raise self.expected(f"a value{hint}")

    def number(self) -> Value:
        position, token = self.position, self.advance()
        if not _WHOLE.fullmatch(token):
            return float(token)
        # Python refuses to read a number of thousands of digits, so the length is checked first.
        if len(token.lstrip("+-0")) > 20 or not INT_LOW <= int(token) <= INT_HIGH:
            raise FilterError("a whole number must fit in 64 bits", self.text, position)
        return int(token)

    def string(self) -> str:
        position, token = self.position, self.advance()
        result: list[str] = []
        done = 1
        for escape in _ESCAPE.finditer(token, 1, len(token) - 1):
            result.append(token[done : escape.start()])
            result.append(self.escaped(escape.group(1), position + escape.start()))
            done = escape.end()
        result.append(token[done:-1])
        try:
            return _whole_characters("".join(result))
        except UnicodeDecodeError:
            raise FilterError("half of a surrogate pair in the text that begins", self.text, position) from None

    def escaped(self, code: str, position: int) -> str:
        if code in _ESCAPED:
            return _ESCAPED[code]
        if len(code) > 1 and int(code[1:], 16) <= 0x10FFFF:
            return chr(int(code[1:], 16))
        raise FilterError(f"no escape \\{code} in a text", self.text, position)


def _whole_characters(text: str) -> str:
    """JSON writes a character beyond U+FFFF as two escapes, a surrogate pair."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16")
