"""Parse failures told in the user's terms.

In: a formula and Lark's exception. Out: code, place, message, help. What people and models type from other
languages is recognised by what stands at the place; the rest is told by what could stand there.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from lark import UnexpectedCharacters, UnexpectedInput, UnexpectedToken


@dataclass(frozen=True, slots=True)
class SyntaxFault:
    code: str
    start: int
    end: int
    message: str
    help: str


_STEP = "give the value a step of its own"
_FOREIGN: tuple[tuple[str, str, str], ...] = (
    (r"===?", "`{0}` is not an operator here", "write `==` to compare"),
    (r"=>|=<", "`{0}` is not an operator", "write `>=` or `<=`"),
    (r"[-+*/]=|:=", "`{0}` assigns; a formula is one expression", _STEP),
    (r"=", "`=` assigns; a formula is one expression", f"write `==` to compare, or {_STEP}"),
    (r"&&?", "`{0}` is not an operator here", "write `and`"),
    (r"\|\|?", "`{0}` is not an operator here", "write `or`"),
    (r"!(?!=)", "`!` is not an operator here", "write `not`"),
    (r"<>", "`<>` is not an operator", "write `!=`"),
    (r"between\b|BETWEEN\b", "`{0}` is not in the language", "write `1 <= x <= 2`"),
    (r"like\b|LIKE\b|contains\b|CONTAINS\b", "`{0}` is not in the language", "write `'Thai' in context.categories`"),
    (r"\^", "`^` is not an operator here", "write `**` for a power"),
    (r"\?", "`?` is not an operator here", "write `a if condition else b`"),
    (r"is\s+not\b", "there is no `is not`", "write `!= None`"),
    (r"is\b", "there is no `is`", "write `== None`"),
    (r"lambda\b|for\b|while\b|def\b|import\b|return\b|class\b|yield\b|await\b|async\b|with\b|del\b|exec\b|try\b",
     "`{0}` is not in the language: a formula is one expression", "use the operations and functions of the seed"),
    (r"then\b", "`then` is not in the language", "write `a if condition else b`"),
    (r"elif\b", "`elif` is not in the language", "write `a if c1 else b if c2 else d`"),
    (r"AND\b|And\b", "`{0}` is written in small letters", "write `and`"),
    (r"OR\b|Or\b", "`{0}` is written in small letters", "write `or`"),
    (r"NOT\b|Not\b", "`{0}` is written in small letters", "write `not`"),
    (r"IN\b|In\b", "`{0}` is written in small letters", "write `in`"),
    (r"\[", "values cannot be indexed", "name the field with a dot, such as `extraction.severity`"),
    (r"\{|\}", "`{0}` is not in the language", "a list is written ['a', 'b']"),
    (r"\.", "a dot may only join a namespace and a field", "write `meta.stars`"),
    (r":", "`:` is not in the language", "write `a if condition else b`"),
    (r";", "a formula is one expression", "give every value a step of its own"),
    (r"\$", "`$` stands before the name of a filter", "write `$NAME`"),
    (r"#.*", "a formula has no comments", "remove it"),
    (r"\)", "this `)` closes nothing", "remove it"),
    (r"\]", "this `]` closes nothing", "remove it"),
    (r"[@~`\\]", "`{0}` is not in the language", "remove it"),
)  # fmt: skip
_OLDER: tuple[tuple[str, str, str], ...] = (
    (r"for\b", "a second loop cannot stand in the first", "write one `for`, with conditions behind `if`"),
    (r"where\b", "`where` is not in the language", "write `if`"),
    (r"\.\s*[A-Za-z_]\w*", "values have no methods or attributes", "compare the value itself; a review's field is `e['field']`"),
    (r":", "values cannot be cut into parts", "use the whole value"),
)  # fmt: skip
"""What formulas of the older shape have besides: more of Python than there is."""
_COMPILED_OLDER = tuple((re.compile(pattern), message, help) for pattern, message, help in _OLDER)
_COMPILED = tuple((re.compile(pattern), message, help) for pattern, message, help in _FOREIGN)

_TYPEWRITER = {
    **dict.fromkeys("‘’“”„‚«»", "'"), **dict.fromkeys("−–—", "-"), **dict.fromkeys("×·", "*"), "÷": "/",
    "≥": ">=", "≤": "<=", "≠": "!=",
}  # fmt: skip
"""What a word processor makes of the keyboard's characters."""

_NO_NUMBER = re.compile(
    r"(?<![\w.])(?:[0-9]{1,3}(?:,[0-9]{3})+(?![\w,])|[0-9]+(?:_[0-9]+)+|0[xXbBoO]\w+|0[0-9]+|[0-9]+\.[0-9]+\.[0-9.]+)"
)

_ALONE = (
    (_STEP, "write the value itself where it is used"),
    ("use the operations and functions of the seed", "use the operators and functions of formulas"),
    ("write `'Thai' in context.categories`", "write `'Pro' in title`"),
    ("name the field with a dot, such as `extraction.severity`", "name the field with a dot, such as `cpu.cores`"),
    ("a dot may only join a namespace and a field", "a dot may only join an entity and a field"),
    ("write `meta.stars`", "write `cpu.cores`"),
    ("give every value a step of its own", "write one formula for each value"),
    (": the step's name stands in `name`; to compare write `==`", ", and write the value itself where it is used"),
    ("write an expression such as `N_MILD + 1`", "write an expression such as `ram_gb * 2.5`"),
    ("use the operation `case`, or write", "write"),
)
"""What a formula that stands alone is told, in place of what is said of a seed's."""

_WORDS = ("and", "or", "in", "if", "else")
_JOINED = {"<>": "write `!=`", "===": "write `==` to compare", "<<": "write `<`", ">>": "write `>`"}

_WHAT = (
    ({"NAME", "NUMBER"}, "a value (a name, a number, a text, `(`)"),
    ({"ELSE"}, "`else`"),
    ({"RPAR"}, "`)`"),
    ({"RSQB"}, "`]`"),
    ({"PLUS"}, "an operator or the end"),
    ({"LESSTHAN"}, "a comparison such as `< 4.0`"),
    ({"IN"}, "`in`"),
)


def explain(text: str, error: UnexpectedInput, subject: str | None, *, older: bool = False) -> SyntaxFault:
    """Why a text is no formula, at which characters, and what to write instead.

    `subject` is the name that a case's `when` continues, None for a whole formula; `older` is for one with loops.
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
        return _no_comparison(text)
    if position >= len(text):
        return _at_end(text, expected)
    for pattern, message, help in _COMPILED_OLDER if older else ():
        match = pattern.match(text, position)
        if match:
            return SyntaxFault("FS103", position, match.end(), message, help)
    return _at(text, position, expected, subject or "x")


def told_alone(fault: SyntaxFault) -> SyntaxFault:
    """The same fault, told of a formula that stands alone, without a seed around it."""
    message, help = fault.message, fault.help
    for said, instead in _ALONE:
        message, help = message.replace(said, instead), help.replace(said, instead)
    return replace(fault, message=message, help=help)


def _no_comparison(text: str) -> SyntaxFault:
    help = "write it like `< 4.0`, or drop `source` and write the whole condition"
    if text.strip().startswith("="):
        rest = text.strip().lstrip("=")
        help = f"write `{rest[0]}={rest[1:]}`" if rest[:1] in ("<", ">") else f"write `=={rest}`"
    elif text.strip().lower() in ("else", "default", "otherwise", "_", "*"):
        help = 'write {"else": …} as the last rule'
    return SyntaxFault("FS101", 0, len(text), "with `source`, `when` starts with a comparison operator", help)


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
    torn = re.compile(r"!\s+=").match(text, position)
    if torn:
        return SyntaxFault("FS103", position, torn.end(), "the operator is torn apart", "write `!=`")
    if text[position] == "=" and re.search(r"[<>!=]\s+$", text[:position]):
        sign = f"{before[-1]}="
        return SyntaxFault("FS103", len(before) - 1, position + 1, "the operator is torn apart", f"write `{sign}`")
    assigned = re.fullmatch(r"\s*([A-Za-z_]\w*)", before)
    if text[position] == "=" and text[position : position + 2] != "==" and assigned:
        help = f"remove `{assigned[1]} =`: the step's name stands in `name`; to compare write `==`"
        return SyntaxFault("FS103", position, position + 1, "`=` assigns; a formula is one expression", help)
    number = _number(text, position)
    if number is not None:
        return number
    joined = re.compile(r"<>|<<|>>|===|==>|=>").match(text, max(position - 1, 0)) or re.compile("===").match(
        text, max(position - 2, 0)
    )
    if joined and joined.end() > position:
        help = _JOINED.get(joined.group(), "write `>=`")
        return SyntaxFault("FS103", joined.start(), joined.end(), f"`{joined.group()}` is not an operator", help)
    begins = re.match(r"\s*(if)\b", text, re.IGNORECASE)
    if begins and not text[begins.end() :].lstrip().startswith("("):
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
    for pattern, message, help in _COMPILED:
        match = pattern.match(text, position)
        if match and not (match.group() in ")]" and "NAME" in expected):
            return SyntaxFault("FS103", position, match.end(), message.format(match.group().strip()), help)
        if previous and pattern.fullmatch(previous[1]):  # `lambda x`: the name before is the culprit
            start, word = previous
            return SyntaxFault("FS103", start, start + len(word), message.format(word), help)
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
    """`1,000`, `1_000` and `0x1F`, which stop the parser in their middle."""
    for match in _NO_NUMBER.finditer(text):
        if match.start() < position < match.end():
            plain = match.group().replace(",", "").replace("_", "")
            help = f"write {int(plain)}" if plain.isdigit() else "write it like 12 or 0.5"
            return SyntaxFault("FS101", match.start(), match.end(), f"`{match.group()}` is no number here", help)
    return None


def _unknown_character(text: str, position: int) -> SyntaxFault:
    character = text[position]
    end = position + 1
    instead = _TYPEWRITER.get(character)
    help = "remove it"
    if instead is not None:
        help = f"write `{instead}`"
    elif character.isspace():
        help = "write a plain space"
    elif character.isalpha():
        word = re.compile(r"\w+").match(text, position)
        end = word.end() if word else end
        help = "names use the letters a to z, digits and `_`"
    found = text[position:end] if text[position:end].isprintable() else ascii(text[position:end])[1:-1]
    name = f" (U+{ord(character):04X})" if end == position + 1 else ""
    return SyntaxFault("FS103", position, end, f"`{found}`{name} is not in the language", help)


def _misplaced(text: str, position: int, expected: set[str], before: str, subject: str) -> SyntaxFault:
    match = re.compile(r"[\w.]+|'[^']*'|\"[^\"]*\"|<=|>=|==|!=|\*\*|//|\S").match(text, position)
    found = match.group() if match else text[position]
    end = position + len(found)
    if "PLUS" in expected and found not in _WORDS and (found[0].isalnum() or found[0] in "_('\"$"):
        if found[0] in "'\"" and before[-1:].isalpha():
            return SyntaxFault("FS101", position, end, "a text takes no prefix", "write the text alone")
        help = "write an operator, such as `==`" if found[0] in "'\"" else "write an operator, such as `*` to multiply"
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


def _word_before(text: str, position: int) -> tuple[int, str] | None:
    match = re.search(r"([A-Za-z_]\w*)\s+$", text[:position])
    return (match.start(1), match.group(1)) if match else None


def _expectation(expected: set[str]) -> str:
    return next((words for tokens, words in _WHAT if tokens <= expected), "the end of the formula")
