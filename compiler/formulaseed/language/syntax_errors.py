"""Parse failures told in the user's terms.

In: a formula and Lark's exception. Out: code, place, message, help. What people and models type from other
languages is recognised by what stands at the place; the rest is told by what could stand there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from unicodedata import normalize

from lark import UnexpectedCharacters, UnexpectedInput, UnexpectedToken

from formulaseed.language.foreign_functions import FOREIGN_FUNCTIONS, help_for_method
from formulaseed.language.foreign_syntax import ALONE, AT_A_PLACE, OLDER, QUOTED, SIGNS, TYPEWRITER, Foreign


@dataclass(frozen=True, slots=True)
class SyntaxFault:
    """What is wrong at the characters `start` to `end`. `instead` and `is_certain` as in `foreign.Foreign`.

    `is_told_later`: where the text can be read with what is there instead, the checker has more to say of it.
    """

    code: str
    start: int
    end: int
    message: str
    help: str
    instead: str | None = None
    is_certain: bool = True
    is_told_later: bool = False


_NO_NUMBER = re.compile(
    r"(?<![\w.])(?:[0-9]{1,3}(?:,[0-9]{3})+(?![\w,])|[0-9]+(?:_[0-9]+)+|0[xXbBoO]\w+|0[0-9]+|[0-9]+\.[0-9]+\.[0-9.]+"
    r"|(?P<decimal>[0-9]+,[0-9]+)(?![\w.]|\s*,))"
)

_TEXT_OR_SIGN = re.compile(
    r"""'(?:[^'\\]|\\.)*+'?|"(?:[^"\\]|\\.)*+"?|"""
    + rf"(?P<sign>{'|'.join(row.pattern.pattern for row in SIGNS)}|{QUOTED.pattern}|[^\W\x00-\x7f]+|[^\x00-\x7f])"
)
_BRACKET = re.compile(r"""'(?:[^'\\]|\\.)*+'?|"(?:[^"\\]|\\.)*+"?|[(\[]|[)\]]|,""")

_WORDS_AS_TEXT = re.compile(r"(?:[=!]=|\bin\s*\[(?:[^\]]*,)?)\s*([A-Za-z][\w-]*(?:[ ]+[A-Za-z][\w-]*)*)$")
"""Words behind a comparison operator, or in a list, that more words follow."""
_NAME_ALONE = re.compile(r"\s*([A-Za-z_]\w*)\s*")
_SPOKEN = {"√": "write `sqrt(x)`", "∑": "write `sum([a, b])`", "∏": "write `a * b`"}
_IN_FRONT = {"if": "write `a if condition else b`", "and": "write `a and b`", "or": "write `a or b`"}
_CHAIN = re.compile(r"([A-Za-z_][\w.]*?)(?:\.\w+\([^()]*\))+$")
"""A value and the methods of it that are called one after another."""
_ARGUMENT = re.compile(r"\s*('[^']*'|\"[^\"]*\"|[\w.]*)\s*\)")
_NOW = re.compile(r"\b(?:datetime|date|time)\b[\w.]*\([^()]*\)$|\b(?i:now|today)\(\)$")
_NO_CLOCK = "a formula does not know what day it is"
_A_PARAMETER = "declare the year in `parameters` and write `param.AS_OF_YEAR`"
_ENDS = "'\")]"
_CALLED = "functions are called by name, such as `len(context.name)`"
_WHOLE = "use the value itself"

_WORDS = ("and", "or", "in", "if", "else")

_WHAT = (
    ({"NAME", "NUMBER"}, "a value (a name, a number, a text, `(`)"),
    ({"ELSE"}, "`else`"),
    ({"RPAR"}, "`)`"),
    ({"RSQB"}, "`]`"),
    ({"PLUS"}, "an operator or the end"),
    ({"LESSTHAN"}, "a comparison such as `< 4.0`"),
    ({"IN"}, "`in`"),
)


def explain(
    text: str, error: UnexpectedInput, subject: str | None, *, older: bool = False, is_condition: bool = False
) -> SyntaxFault:
    """Why a text is no formula, at which characters, and what to write instead.

    `subject` is the name that a case's `when` continues, None for a whole formula; `older` is for one with loops,
    `is_condition` for one that must be true or false: no step's value can be assigned there.
    """
    expected: set[str] = set()
    position = len(text)
    if isinstance(error, UnexpectedToken):
        expected = set(error.accepts or error.expected or ())
        if error.token.type != "$END":
            position = error.token.start_pos if error.token.start_pos is not None else len(text)
    elif isinstance(error, UnexpectedCharacters):
        expected = set(error.allowed or ())
        position = error.pos_in_stream or 0
    if not text.strip():
        return SyntaxFault("FS102", 0, len(text), "the formula is empty", "write an expression such as `N_MILD + 1`")
    if subject is not None and not re.match(r"\s*(==|!=|<|>|in\b|not\s+in\b)", text):
        return _no_comparison(text, subject)
    if position >= len(text):
        return _at_end(text, expected)
    for foreign in OLDER if older else ():
        match = foreign.pattern.match(text, position)
        if match:
            return _fault(foreign, match)
    if (
        is_condition
        and re.compile(r"=(?![=<>])").match(text, position)
        and not re.search(r"[<>!=]\s+$", text[:position])
    ):
        return SyntaxFault("FS103", position, position + 1, "`=` does not compare", "write `==`", "==")
    fault = _at(text, position, expected, subject or "x")
    is_arrow = not is_condition and text.startswith("=>", fault.start) and _NAME_ALONE.fullmatch(text[: fault.start])
    return replace(fault, instead=None) if is_arrow else fault  # `x => x` may be a function


def foreign_signs(text: str, behind: int) -> Iterator[SyntaxFault]:
    """The signs and characters from `behind` on that are in no formula, whatever stands around them."""
    for match in _TEXT_OR_SIGN.finditer(text):
        if match.lastgroup == "sign" and match.start() >= behind:
            yield _sign(text, match.start()) or _unknown_character(text, match.start())


def _sign(text: str, position: int) -> SyntaxFault | None:
    """The foreign sign that begins there."""
    found = ((row, row.pattern.match(text, position)) for row in SIGNS)
    return next((_fault(row, match) for row, match in found if match), None)


def _fault(foreign: Foreign, match: re.Match[str]) -> SyntaxFault:
    message, help = foreign.told(foreign.message, match), foreign.told(foreign.help, match)
    instead = foreign.told(foreign.instead, match) if foreign.instead else foreign.instead
    return SyntaxFault("FS103", match.start(), match.end(), message, help, instead, foreign.is_certain)


def reported_alone(fault: SyntaxFault) -> SyntaxFault:
    """The same fault, told of a formula that stands alone, without a seed around it."""
    message, help = fault.message, fault.help
    for said, instead in ALONE:
        message, help = message.replace(said, instead), help.replace(said, instead)
    return replace(fault, message=message, help=help)


_COMPARES = re.compile(r"==|!=|<=|>=|<(?!>)|>|in\b|not\s+in\b")


def _no_comparison(text: str, subject: str) -> SyntaxFault:
    """A `when` that does not begin with a comparison operator, though there is a `source`."""
    message = "with `source`, `when` starts with a comparison operator"
    help = "write it like `< 4.0`, or drop `source` and write the whole condition"
    named = re.match(rf"\s*{re.escape(subject)}(?!\w)\s*", text)
    bare, without = text[named.end() if named else 0 :].strip(), f"leave `{subject}` out: " if named else ""
    if named and _COMPARES.match(bare):
        return SyntaxFault("FS101", 0, named.end(), message, f"{without}write `{bare}`", "")
    instead, is_certain = None, True
    if bare.startswith("="):
        rest = bare.lstrip("=")
        instead = f"{rest[0]}={rest[1:]}" if rest[:1] in ("<", ">") else f"=={rest}"
        help = f"{without}write `{instead}`"
    elif bare.lower() in ("else", "default", "otherwise", "_", "*"):
        help = 'write {"else": …} as the last rule'
    elif re.fullmatch(r"'[^']*'", bare) and not named:
        instead = f"== {bare}"
        help = f"write `{instead}`"
    elif re.fullmatch(r"-?[0-9]+(\.[0-9]+)?", bare) and not named:
        instead, is_certain = f"== {bare}", False
        help = f"write a comparison: `{instead}`, or `< {bare}`"
    elif re.fullmatch(r"\w[\w -]*", bare) and not named and not re.search(r"\b(and|or|not|in|if)\b", bare):
        help = f"write `== '{bare}'` if it is a text"
    return SyntaxFault("FS101", 0, len(text), message, help, instead, is_certain)


def _at_end(text: str, expected: set[str]) -> SyntaxFault:
    last = max(len(text.rstrip()) - 1, 0)
    if re.search(r"[0-9]\s*%\s*$", text):
        return _per_cent(last)
    help = f"complete it with {_expectation(expected)}"
    if text.rstrip().endswith("not") and "IN" in expected:
        help = "complete it with `in` and a list"
    if "ELSE" in expected:
        help = "add `else` and the other value: `a if condition else b`"
    return SyntaxFault("FS102", last, len(text), "the formula ends too early", help)


def _per_cent(place: int) -> SyntaxFault:
    message = "`%` is the remainder of a division, not per cent"
    return SyntaxFault("FS103", place, place + 1, message, "write 0.1 for 10 %")


def _at(text: str, position: int, expected: set[str], subject: str) -> SyntaxFault:
    before = text[:position].rstrip()
    per_cent = re.search(r"[0-9]\s*%$", before)
    if per_cent and "NAME" in expected:
        return _per_cent(len(before) - 1)
    named = re.search(r"\(\s*(?:.*,\s*)?[A-Za-z_]\w*$", before)
    if text[position] == "=" and text[position : position + 2] != "==" and named:
        message = "arguments have no names here"
        return SyntaxFault("FS103", position, position + 1, message, "give them by position, such as `round(x, 2)`")
    torn = re.compile(r"([!=])\s+=(?!=)").match(text, position)
    if torn:
        whole = f"{torn[1]}="
        return SyntaxFault("FS103", position, torn.end(), "the operator is torn apart", f"write `{whole}`", whole)
    if text[position] == "=" and not before and text[position : position + 2] != "==":
        message = "a formula does not begin with `=`"
        return SyntaxFault("FS103", position, position + 1, message, "remove it", "")
    if text[position] == "=" and re.search(r"[<>!=]\s+$", text[:position]):
        whole = f"{before[-1]}="
        help = f"write `{whole}`"
        return SyntaxFault("FS103", len(before) - 1, position + 1, "the operator is torn apart", help, whole)
    assigned = _NAME_ALONE.fullmatch(before)
    if re.compile(r"=(?![=<>])").match(text, position) and assigned:
        help = f"remove `{assigned[1]} =`: the step's name stands in `name`; to compare write `==`"
        return SyntaxFault("FS103", position, position + 1, "`=` assigns; a formula is one expression", help)
    number = None if re.search(r"\bin\s*\([^()]*$", before) else _number(text, position)
    if number is not None:
        return number
    sign = _sign(text, len(text[:position].rstrip("<>=!")))  # a part of it may have been read
    if sign is not None and sign.end > position:
        return sign
    called = re.compile(r"(?:if|and|or)(?=\s*(\())").match(text, position)
    if called and "NAME" in expected and _has_arguments(text, called.start(1)):
        message, help = f"there is no function `{called.group()}`", _IN_FRONT[called.group()]
        instead = called.group().upper()
        return SyntaxFault("FS207", position, called.end(), message, help, instead, is_told_later=True)
    counted = re.search(r"\b((?i:count))\s*\($", before)
    if counted and re.compile(r"\*\s*\)").match(text, position):
        message, help = f"there is no function `{counted[1]}`", FOREIGN_FUNCTIONS["count"]
        return SyntaxFault("FS207", counted.start(), text.index(")", position) + 1, message, help)
    begins = re.match(r"\s*(if)\b", text, re.IGNORECASE)
    opened = begins.end() + len(text[begins.end() :]) - len(text[begins.end() :].lstrip()) if begins else 0
    if begins and not (text.startswith("(", opened) and _has_arguments(text, opened)):
        help = "the value stands first: `a if condition else b`"
        return SyntaxFault("FS101", begins.start(1), begins.end(1), "a formula does not begin with `if`", help)
    if re.match(r"\s*case\s+when\b", text, re.IGNORECASE):
        help = "use the operation `case`, or write `a if condition else b`"
        return SyntaxFault("FS103", 0, len(text.split()[0]), "`CASE WHEN` is not in the language", help)
    previous = _word_before(text, position)
    if before.endswith("not") and "IN" in expected:
        found = re.compile(r"\S+").match(text, position)
        help = "write `!=`" if found and found.group().startswith("=") else "write `not in`, or `!=`"
        return SyntaxFault("FS101", len(before) - 3, position + 1, "`not` needs `in` here", help)
    if text[position] == ".":
        return _dot(text, position, before)
    for foreign in AT_A_PLACE:
        match = foreign.pattern.match(text, position)
        if match and not (match.group() in ")]" and "NAME" in expected):
            return _fault(foreign, match)
        if previous:  # `lambda x`: the name before is the culprit
            match = foreign.pattern.fullmatch(text, *previous)
            if match:
                return _fault(foreign, match)
    character = text[position]
    escape = re.compile(r"""(['"])(?:(?!\1)[^\\]|\\['"\\nt])*+(\\.)""").match(text, position)
    if escape:
        help = "write `\\\\` for a backslash"
        return SyntaxFault("FS101", escape.start(2), escape.end(2), f"`{escape.group(2)}` is no escape here", help)
    if character in "'\"" and not re.compile(r"""(['"])(?:(?!\1)[^\\]|\\.)*+\1""").match(text, position):
        message = "the text that begins here is not closed"
        return SyntaxFault("FS102", position, len(text), message, f"close it with `{character}`")
    if ord(character) > 126 or not character.isprintable():
        return _unknown_character(text, position)
    return _misplaced(text, position, expected, before, subject)


def _number(text: str, position: int) -> SyntaxFault | None:
    """`1,000`, `5,5`, `1_000` and `0x1F`, which stop the parser in their middle."""
    for match in _NO_NUMBER.finditer(text):
        if match.start() < position < match.end():
            plain = match.group().replace(",", "." if match["decimal"] else "").replace("_", "")
            instead = str(int(plain)) if plain.isdigit() else plain if match["decimal"] else None
            help = f"write {instead}" if instead else "write it like 12 or 0.5"
            message = f"`{match.group()}` is no number here"
            return SyntaxFault("FS101", match.start(), match.end(), message, help, instead)
    return None


def _unknown_character(text: str, position: int) -> SyntaxFault:
    quoted = QUOTED.match(text, position)
    if quoted:
        instead = f"'{quoted[1]}'"
        message = f"`{quoted.group()}` stands in quotes that are not in the language"
        return SyntaxFault("FS103", position, quoted.end(), message, f"write `{instead}`", instead)
    character = text[position]
    end = position + 1
    typed, plain = TYPEWRITER.get(character), normalize("NFKC", character)
    help, instead = "remove it", ""
    if typed is not None:
        help, instead = f"write `{typed}`", f" {typed} "
    elif character in _SPOKEN:
        return SyntaxFault("FS103", position, end, f"`{character}` is not in the language", _SPOKEN[character])
    elif character.isspace():
        help, instead = "write a plain space", " "
    elif len(plain) == 1 and plain.isascii() and plain.isprintable() and not character.isalpha():  # `１` and `（`
        help, instead = f"write `{plain}`", plain
    elif character.isalpha():
        word = re.compile(r"\w+").match(text, position)
        end = word.end() if word else end
        help, instead = "names use the letters a to z, digits and `_`", "_"
    found = text[position:end] if text[position:end].isprintable() else ascii(text[position:end])[1:-1]
    name = f" (U+{ord(character):04X})" if end == position + 1 else ""
    message = f"`{found}`{name} is not in the language"
    if typed == "'" or ord(character) < 32:  # a quote without its counterpart, an order to a terminal
        return SyntaxFault("FS103", position, end, message, help)
    return SyntaxFault("FS103", position, end, message, help, instead, is_certain=instead != "_")


def _dot(text: str, position: int, before: str) -> SyntaxFault:
    """A dot that joins no names: a method, an attribute, or a letter of another alphabet behind it."""
    if re.compile(r"\.\s*[^\W\d_]").match(text, position) and not text[position + 1 :].lstrip()[0].isascii():
        return _unknown_character(text, len(text) - len(text[position + 1 :].lstrip()))
    named = re.compile(r"\.\s*([A-Za-z_]\w*)(\s*\()?").match(text, position)
    now = _NOW.search(before)
    if now:
        return SyntaxFault("FS103", now.start(), named.end(1) if named else position + 1, _NO_CLOCK, _A_PARAMETER)
    if named and (named[2] or before[-1:] in _ENDS):
        what = "methods" if named[2] else "parts"
        message, help = f"values have no {what} such as `{named[1]}`", _CALLED if named[2] else _WHOLE
        chain, given = _CHAIN.search(before), _ARGUMENT.match(text, named.end())
        if named[2] and chain and given:
            help = help_for_method(chain[1], named[1], [given[1]] if given[1] else []) or help
        return SyntaxFault("FS103", position, named.end(1), message, help)
    message = "a dot may only join a namespace and a field"
    return SyntaxFault("FS103", position, position + 1, message, "write `meta.stars`")


def _has_arguments(text: str, opened: int) -> bool:
    """Whether a comma stands in the bracket that opens there."""
    depth = 0
    for match in _BRACKET.finditer(text, opened):
        found = match.group()
        depth += 1 if found in "([" else -1 if found in ")]" else 0
        if depth == 0 or (depth == 1 and found == ","):
            return found == ","
    return False


def _misplaced(text: str, position: int, expected: set[str], before: str, subject: str) -> SyntaxFault:
    match = re.compile(r"[\w.]+|'[^']*'|\"[^\"]*\"|<=|>=|==|!=|\*\*|//|\S").match(text, position)
    found = match.group() if match else text[position]
    end = position + len(found)
    if "PLUS" in expected and found not in _WORDS and (found[0].isalnum() or found[0] in "_('\"$"):
        if found[0] in "'\"" and before[-1:].isalpha():
            return SyntaxFault("FS101", position, end, "a text takes no prefix", "write the text alone")
        help = "write an operator, such as `==`" if found[0] in "'\"" else "write an operator, such as `*` to multiply"
        words = _WORDS_AS_TEXT.search(before)
        rest = re.compile(r"[A-Za-z][\w-]*(?:[ ]+(?!(?:and|or|not|in|if|else)\b)[A-Za-z][\w-]*)*").match(text, position)
        if words and rest:
            help = f"write `'{words[1]} {rest.group()}'` if it is a string"
        return SyntaxFault("FS101", position, end, f"an operator is missing before `{found}`", help)
    if found == "," and re.search(r"\bin\s*\([^()]*$", before):
        return SyntaxFault("FS101", position, end, "a list stands in square brackets", "write it like `in [1, 2]`")
    if found == "if" and before.endswith("else"):
        help = "write `a if c1 else b if c2 else d`"
        return SyntaxFault("FS101", position, end, "the value stands before `if`", help)
    if "NAME" in expected and (found in _WORDS or not re.match(r"[\w('\"$\[]", found)):
        return SyntaxFault("FS101", position, end, f"a value is missing before `{found}`", _value_help(found, subject))
    return SyntaxFault("FS101", position, end, f"`{found}` cannot stand here", f"expected: {_expectation(expected)}")


def _value_help(found: str, subject: str) -> str:
    if found in ("<", "<=", ">", ">=", "==", "!="):
        return f"repeat the name: `… and {subject} {found} 9`"
    return "write a name, a number or a text"


def _word_before(text: str, position: int) -> tuple[int, int] | None:
    match = re.search(r"([A-Za-z_]\w*)\s+$", text[:position])
    return match.span(1) if match else None


def _expectation(expected: set[str]) -> str:
    return next((words for tokens, words in _WHAT if tokens <= expected), "the end of the formula")
