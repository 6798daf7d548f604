"""The checks on an expression's text that run before any parser sees it.

Length, alphabet, nesting and the size of literals are decided here, token by token, so that the
parser behind only ever meets a short text over a small alphabet.
"""

from __future__ import annotations

import keyword
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from ullage.expr import errors
from ullage.expr.errors import ExpressionError
from ullage.place import Place

At = Callable[[int, int], Place]
TokenKind = Literal["name", "number", "symbol"]

MAX_LENGTH = 2000
MAX_DEPTH = 64
MAX_LITERAL = 2**63
MAX_DIGITS = len(str(MAX_LITERAL))

BLANKS = " \t\r\n"
IDENTIFIER = re.compile(r"[a-z][a-z0-9_]*")
OPERATOR_WORDS = frozenset(("and", "or", "not", "if", "else", "for", "in"))
_CLOSING = {"(": ")", "[": "]"}

_TOKEN = re.compile(
    r"(?P<number>[0-9]+\^[0-9]+(?![0-9A-Za-z_.^])|[0-9][0-9A-Za-z_.]*|\.[0-9][0-9A-Za-z_.]*)"
    r"|(?P<name>[A-Za-z_][A-Za-z0-9_]*)"
    r"|(?P<string>'[^']*'?|\"[^\"]*\"?)"
    r"|(?P<symbol>===|\*\*|//|<<|>>|<>|<=|>=|=>|=<|==|!=|:=|->|&&|\|\||.)",
    re.DOTALL,
)
_SYMBOLS = frozenset(
    ("+", "-", "*", "//", "%", "==", "!=", "<", "<=", ">", ">=", "(", ")", "[", "]", ",")
)

_REFUSED_SYMBOLS: dict[str, tuple[str, str]] = {
    "/": ("'/' divides inexactly", "use '//' to round down or 'cdiv(a, b)' to round up"),
    "**": ("powers are not part of the language", "multiply, or write a literal power as '2^31'"),
    "^": ("'^' is only for literals", "write a literal power without spaces, as in '2^31'"),
    "=": ("'=' does not compare", "compare with '=='; functions take no keyword arguments"),
    ":=": ("':=' does not exist here", "give the value a name of its own among the definitions"),
    ".": ("a name has no attributes", "write the name of a parameter, definition or axis"),
    ":": ("':' has no meaning in an expression", "there are no slices, lambdas or dictionaries"),
    "{": ("sets and dictionaries are not part of the language", "write a list: '[a, b]'"),
    "}": ("sets and dictionaries are not part of the language", "write a list: '[a, b]'"),
    "&": ("'&' is not an operator here", "write 'and'"),
    "&&": ("'&&' is not an operator here", "write 'and'"),
    "|": ("'|' is not an operator here", "write 'or'"),
    "||": ("'||' is not an operator here", "write 'or'"),
    "!": ("'!' is not an operator here", "write 'not'"),
    "?": ("'?' is not an operator here", "write 'a if condition else b'"),
    "~": ("'~' is not an operator here", "write 'not', or a unary '-'"),
    "<>": ("'<>' is not a comparison", "write '!='"),
    "=<": ("'=<' is not a comparison", "write '<='"),
    "=>": ("'=>' is not a comparison", "write '>='"),
    "===": ("'===' is not a comparison", "write '=='"),
    "<<": ("shifts are not part of the language", "multiply by a literal power, as in 'x * 2^4'"),
    ">>": ("shifts are not part of the language", "divide by a literal power, as in 'x // 2^4'"),
    "#": ("a comment is not part of an expression", "put the comment on a line of its own"),
    ";": ("an expression is not a statement", "write one expression"),
}
_REFUSED_WORDS: dict[str, tuple[str, str]] = {
    "True": ("'True' is not a name", "write 'true'"),
    "False": ("'False' is not a name", "write 'false'"),
    "None": ("'None' does not exist here", "guard the name with 'when' instead"),
    "is": ("'is' is not a comparison here", "write '=='"),
    "lambda": ("functions are not defined in expressions", "name the value among the definitions"),
}


@dataclass(frozen=True, slots=True)
class Token:
    """A name, number or symbol; `value` is the integer that a number stands for, else 0."""

    kind: TokenKind
    text: str
    offset: int
    value: int = 0

    @property
    def width(self) -> int:
        return len(self.text)


def scan(text: str, at: At, *, keywords: bool = False) -> tuple[Token, ...]:
    """The tokens of `text`; `keywords` allows `=`.

    Raises ExpressionError for a text that is empty or too long, and for any token, number or
    nesting that the language does not have.
    """
    if len(text) > MAX_LENGTH:
        message = f"an expression of {len(text)} characters; at most {MAX_LENGTH} are allowed"
        hint = "name parts of it among the definitions"
        raise ExpressionError(errors.OVER_A_LIMIT, message, at(0, 1), hint)
    tokens: list[Token] = []
    for match in _TOKEN.finditer(text):
        if match.group() not in BLANKS:
            tokens.append(_token(match, at, keywords))
    if not tokens:
        raise ExpressionError(errors.NOT_AN_EXPRESSION, "an expression is missing here", at(0, 1))
    _check_brackets(tokens, at)
    return tuple(tokens)


def _token(match: re.Match[str], at: At, keywords: bool) -> Token:
    text, offset = match.group(), match.start()
    place = at(offset, len(text))
    match match.lastgroup:
        case "number":
            return Token("number", text, offset, _literal(text, place))
        case "name":
            _check_word(text, place)
            return Token("name", text, offset)
        case "string":
            hint = "write the name or the value of an enum without quotes"
            raise ExpressionError(
                errors.NOT_IN_THE_LANGUAGE, "there are no strings here", place, hint
            )
        case _:
            if text not in _SYMBOLS and not (keywords and text == "="):
                raise _refused_symbol(text, place)
            return Token("symbol", text, offset)


def _refused_symbol(text: str, place: Place) -> ExpressionError:
    known = _REFUSED_SYMBOLS.get(text)
    if known is not None:
        return ExpressionError(errors.NOT_IN_THE_LANGUAGE, known[0], place, known[1])
    shown = text if text.isascii() and text.isprintable() else f"U+{ord(text[0]):04X}"
    return ExpressionError(
        errors.NOT_IN_THE_LANGUAGE, f"'{shown}' has no meaning in an expression", place
    )


def _check_word(text: str, place: Place) -> None:
    if text in OPERATOR_WORDS:
        return
    if text in _REFUSED_WORDS:
        message, hint = _REFUSED_WORDS[text]
        raise ExpressionError(errors.NOT_IN_THE_LANGUAGE, message, place, hint)
    check_identifier(text, place)


def check_identifier(text: str, place: Place) -> None:
    """Raises ExpressionError unless `text` may name something: `[a-z][a-z0-9_]*`, not reserved."""
    if not IDENTIFIER.fullmatch(text):
        message = f"'{text[:40]}' is not a name" if text else "a name is missing here"
        hint = "names are lowercase letters, digits and '_', and start with a letter"
        raise ExpressionError(errors.NOT_A_NAME, message, place, hint)
    if keyword.iskeyword(text):
        raise ExpressionError(errors.NOT_A_NAME, f"'{text}' is a reserved word", place)


def _literal(text: str, place: Place) -> int:
    base, _, exponent = text.partition("^")
    if not base.isdigit():
        raise _malformed_number(text, place)
    for digits in (base, exponent):
        if len(digits) > 1 and digits.startswith("0"):
            message = f"'{text[:40]}' starts with a zero"
            raise ExpressionError(errors.NOT_AN_EXPRESSION, message, place, "write it without")
    if len(base) <= MAX_DIGITS and len(exponent) <= MAX_DIGITS:
        value = _power(int(base), int(exponent)) if exponent else int(base)
        if value <= MAX_LITERAL:
            return value
    raise ExpressionError(errors.OVER_A_LIMIT, "a literal is at most 2^63 in size", place)


def _power(base: int, exponent: int) -> int:
    """`base` to the `exponent`, or some number above the limit if the power is above it."""
    value = 1
    for _ in range(min(exponent, MAX_LITERAL.bit_length())):
        value *= base
    return value


def _malformed_number(text: str, place: Place) -> ExpressionError:
    if "." in text:
        hint = "all numbers are integers; write a fraction as 'cdiv(5 * x, 4)'"
        return ExpressionError(
            errors.NOT_IN_THE_LANGUAGE, "there are no decimal numbers", place, hint
        )
    hint = "integers are written with decimal digits only"
    return ExpressionError(
        errors.NOT_IN_THE_LANGUAGE, f"'{text[:40]}' is not an integer", place, hint
    )


def _check_brackets(tokens: list[Token], at: At) -> None:
    opened: list[Token] = []
    for token in tokens:
        if token.text in _CLOSING:
            opened.append(token)
            if len(opened) > MAX_DEPTH:
                raise too_deep(at(token.offset, 1))
        elif token.text in _CLOSING.values() and (
            not opened or _CLOSING[opened.pop().text] != token.text
        ):
            message = f"'{token.text}' closes nothing that is open here"
            raise ExpressionError(errors.NOT_AN_EXPRESSION, message, at(token.offset, 1))
    if opened:
        message = f"this '{opened[-1].text}' is never closed"
        raise ExpressionError(errors.NOT_AN_EXPRESSION, message, at(opened[-1].offset, 1))


def too_deep(place: Place) -> ExpressionError:
    """The error for a nesting that is over the limit."""
    message = f"an expression nested more than {MAX_DEPTH} deep"
    return ExpressionError(
        errors.OVER_A_LIMIT, message, place, "name parts of it among the definitions"
    )


def explain(tokens: tuple[Token, ...], at: At) -> ExpressionError | None:
    """The first place where an operand or an operator is missing, if there is one.

    For a text that the parser refused; its own message and offset differ between versions.
    """
    previous: Token | None = None
    for token, following in zip(tokens, (*tokens[1:], None), strict=True):
        missing = _missing_between(previous, token, following)
        if missing is not None:
            message = f"{missing} is missing before '{token.text}'"
            return ExpressionError(errors.NOT_AN_EXPRESSION, message, at(token.offset, token.width))
        previous = token
    last = tokens[-1]
    if _ends_operand(last):
        return None
    message = f"an operand is missing after '{last.text}'"
    return ExpressionError(errors.NOT_AN_EXPRESSION, message, at(last.offset, last.width))


def _missing_between(previous: Token | None, token: Token, following: Token | None) -> str | None:
    """What must stand between `previous` and `token`, or None when they may be neighbours."""
    if previous is not None and _ends_operand(previous):
        negated = token.text == "not" and (following is None or following.text != "in")
        return "an operator" if negated or _is_operand(token) else None
    if _is_operand(token) or token.text in ("(", "[", "not", "+", "-"):
        return None
    before = "" if previous is None else previous.text
    closes_empty = token.text in (")", "]") and before in ("(", "[", ",")
    return None if closes_empty or (before, token.text) == ("not", "in") else "an operand"


def _is_operand(token: Token) -> bool:
    return token.kind == "number" or (token.kind == "name" and token.text not in OPERATOR_WORDS)


def _ends_operand(token: Token) -> bool:
    return _is_operand(token) or token.text in (")", "]")
