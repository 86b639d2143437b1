"""Conversion of numbers and texts in a statement to one plain form that all parsers read the same. Pure.

sqlglot reads `1_000` as `1 AS _000`, and does not recognize `E'\n'`, `$$a$$`, `U&'\0041'` and `0x1F`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from sqlglot.tokenizer_core import Token, TokenType

from keeps.sources.databases.rules import Dialect, RefusedSQLError

_LARGEST = (1 << 63) - 1
_NUMBERS = (TokenType.NUMBER, TokenType.HEX_STRING, TokenType.BIT_STRING)
_NUMBER = re.compile(r"(?:\d\w*(?:\.\w*)?|\.\d\w*)(?:(?<=[eE])[+-]\d\w*)?")
_DECIMAL = re.compile(r"(?:\d+(?:_\d+)*)?(?:\.(?:\d+(?:_\d+)*)?)?(?:[eE][+-]?\d+(?:_\d+)*)?")
_OTHER_BASE: dict[Dialect, re.Pattern[str]] = {
    "postgresql": re.compile(r"0(?:[xX](?:_?[0-9a-fA-F])+|[oO](?:_?[0-7])+|[bB](?:_?[01])+)"),
    "sqlite": re.compile(r"0[xX][0-9a-fA-F]+"),
    "mysql": re.compile(r"(?!)"),
}
_ESCAPE = re.compile(
    r"\\(?:([bfnrt])|([0-7]{1,3})|x([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|(.))|''", re.DOTALL
)
_UNICODE_ESCAPE = re.compile(r"\\(?:([0-9a-fA-F]{4})|\+([0-9a-fA-F]{6})|(\\))|''|\\")
_CONTROLS = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}


def plain_literals(sql: str, tokens: Sequence[Token], dialect: Dialect) -> str:
    """Return the statement with its literals in plain form. Raises RefusedSQLError for an invalid one."""
    if dialect == "sqlite" and any(
        one.token_type is TokenType.STRING and other.token_type is TokenType.STRING for one, other in pairwise(tokens)
    ):
        raise RefusedSQLError("syntax", "two strings are adjacent; join them with ||")
    parts: list[str] = []
    done = 0
    for start, end, text in _changes(sql, tokens, dialect):
        if start < done:
            continue
        parts += [sql[done:start], text]
        done = end
    return "".join([*parts, sql[done:]])


def _changes(sql: str, tokens: Sequence[Token], dialect: Dialect) -> Iterator[tuple[int, int, str]]:
    for token in tokens:
        end = token.end + 1
        literal = sql[token.start : end]
        if token.token_type in _NUMBERS and (number := _NUMBER.match(sql, token.start)) is not None:
            plain = _number(number.group(), dialect)
            if plain != literal:
                yield token.start, number.end(), plain
        elif dialect == "postgresql" and literal[:2] in ("E'", "e'"):
            yield token.start, end, _quoted(_ESCAPE.sub(_unescaped, literal[2:-1]))
        elif dialect == "postgresql" and literal[:3] in ("U&'", "u&'"):
            yield token.start, end, _quoted(_UNICODE_ESCAPE.sub(_from_unicode, literal[3:-1]))
        elif dialect == "postgresql" and literal.startswith("$") and literal.endswith("$") and len(literal) > 3:
            tag = literal[: literal.index("$", 1) + 1]
            yield token.start, end, _quoted(literal[len(tag) : -len(tag)])
        elif dialect != "sqlite" and literal[:2] in ("N'", "n'"):
            yield token.start, end, literal[1:]


def _number(said: str, dialect: Dialect) -> str:
    if _DECIMAL.fullmatch(said):
        if "_" not in said or dialect != "mysql":
            return said.replace("_", "")
    elif _OTHER_BASE[dialect].fullmatch(said):
        value = int(said.replace("_", ""), 0)
        if value <= _LARGEST:
            return str(value)
    raise RefusedSQLError(
        "syntax", f"{said[:40]!r} is not a number; if a word follows the number, put a space between them"
    )


def _unescaped(found: re.Match[str]) -> str:
    control, octal, byte, short, long, other = found.groups()
    if control:
        return _CONTROLS[control]
    if octal or byte:
        code = int(octal, 8) if octal else int(byte, 16)
        if code > 127:
            raise RefusedSQLError("syntax", "byte escapes in strings are not allowed; write the characters")
        return _character(code)
    if short or long:
        return _character(int(short or long, 16))
    return other or "'"


def _from_unicode(found: re.Match[str]) -> str:
    short, long, backslash = found.groups()
    if short or long:
        return _character(int(short or long, 16))
    if not backslash and found.group() == "\\":
        raise RefusedSQLError("syntax", "in a U&'…' string, write an escape as \\ and four hexadecimal digits")
    return backslash or "'"


def _character(code: int) -> str:
    if code == 0 or 0xD800 <= code < 0xE000 or code > 0x10FFFF:
        raise RefusedSQLError("syntax", "a string contains the code of a character that does not exist")
    return chr(code)


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
